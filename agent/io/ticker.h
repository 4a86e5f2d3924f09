/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_TICKER_H
#define AGENT_IO_TICKER_H

/*
 * Wakes the gate when the next of its deadlines is due, or in vain somewhat
 * earlier: after a minute at the latest.
 */

#include "agent/core/base.h"

struct event_base;
struct gate;
struct ticker;
struct turn;

/* NULL without memory; all passed must outlive it. */
MUST_CHECK struct ticker *ticker_open(struct event_base *base,
				      struct turn *turn, struct gate *gate);
void ticker_close(struct ticker **ticker);

/* Once a turn, when the gate has settled what it had to. */
void ticker_set(struct ticker *ticker, usec_t now);

#endif

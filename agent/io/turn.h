/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_TURN_H
#define AGENT_IO_TURN_H

/*
 * One turn of the event loop: what has ended is read first, then come the
 * questions, and the answers of all of it leave together at the end.
 *
 * Every event callback that touches the gate calls turn_enter() first and
 * uses the time that it returns.
 */

#include "agent/core/base.h"

struct event_base;
struct turn;

typedef void (*turn_fn)(void *arg, usec_t now);

/* NULL without memory. */
MUST_CHECK struct turn *turn_open(struct event_base *base);
void turn_close(struct turn **turn);

/* What each turn begins with. */
void turn_first(struct turn *turn, turn_fn fn, void *arg);

/* What each turn ends with. */
void turn_last(struct turn *turn, turn_fn fn, void *arg);

/* The time of this turn; the first call of a turn begins it. errno stays. */
usec_t turn_enter(struct turn *turn);

#endif

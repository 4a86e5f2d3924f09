/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_GATE_PRIVATE_H
#define AGENT_CORE_GATE_PRIVATE_H

/* What the files of the gate share: the moves of a request. */

#include "agent/core/gate.h"

/*
 * Lets every waiter run that can, oldest first: the one place where a turn is
 * handed over. Call it whenever a unit, a ceiling or an endpoint was freed.
 */
void gate_wake(struct gate *g, struct pool *p, usec_t now);

/* Ends every waiter of the pool. */
void gate_end_waiters(struct gate *g, struct pool *p, enum reason reason,
		      usec_t now);

/* Gives back what an executing request holds and hands it on. */
void gate_release(struct gate *g, struct request *r, usec_t now);

/* The same for a unit that nobody returned. */
void gate_reclaim(struct gate *g, struct request *r, usec_t now);

#endif

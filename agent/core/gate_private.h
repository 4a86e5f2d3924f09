/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_GATE_PRIVATE_H
#define AGENT_CORE_GATE_PRIVATE_H

/* What the files of the gate share: the moves of a request. */

#include "agent/core/gate.h"

void gate_count(struct pool *p, enum reason reason);

void gate_fill_refusal(struct answer *a, const struct pool *p,
		       enum reason reason, uint32_t limit, bool streamed);
void gate_fill_admission(struct answer *a, const struct request *r);

/* Its client has gone, or asked anew: nobody reads this answer. */
void gate_fill_unread(struct request *r);

/* Its answer, which is filled in, goes out with the next ones. */
void gate_stand_in_line(struct gate *g, struct request *r);

/* It executes there. */
void gate_begin(struct gate *g, struct request *r, const struct placement *at,
		usec_t now);

/* It waits no more; what becomes of it is the caller's. */
void gate_leave_queue(struct gate *g, struct request *r);

/* Ends a waiter with an answer. */
void gate_refuse_waiter(struct gate *g, struct request *r, enum reason reason,
			usec_t now);

/* Ends a waiter that has gone; its answer, if any, is the caller's. */
void gate_cancel_waiter(struct gate *g, struct request *r);

/*
 * Lets every waiter run that can, in turn: the one place where a turn is
 * handed over. Whose turn comes while no endpoint is eligible ends. Call it
 * whenever a unit, a ceiling, a share or an endpoint changed.
 */
void gate_wake(struct gate *g, struct pool *p, usec_t now);

/* Ends every waiter of the pool. */
void gate_end_waiters(struct gate *g, struct pool *p, enum reason reason,
		      usec_t now);

/* Gives back what an executing request holds and hands it on. */
void gate_release(struct gate *g, struct request *r, usec_t now);

/* The same for a unit that nobody returned. */
void gate_reclaim(struct gate *g, struct request *r, usec_t now);

/* Looks after a pool that time alone changes, as long as it does. */
void gate_attend(struct gate *g, const struct pool *p, usec_t now);

/* Makes the pool's endpoints known to looks. */
void gate_watch_pool(struct gate *g, struct pool *p);

/* The reverse, and frees it; it is in no list. */
void gate_discard_pool(struct gate *g, struct pool *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate answers, and how a request moves from state to state. */
#include <assert.h>

#include "agent/core/gate.h"
#include "agent/core/gate_private.h"
#include "agent/core/ledger.h"
#include "agent/core/wheel.h"

void
gate_count(struct pool *p, enum reason reason)
{
	p->decisions[reason]++;
}

/* ---- what is answered ---- */

static uint32_t
msec(usec_t t)
{
	t /= USEC_PER_MSEC;
	return t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

void
gate_fill_refusal(struct answer *a, const struct pool *p, enum reason reason,
		  uint32_t limit, bool streamed)
{
	const struct reason_row *row = &reason_table[reason];

	*a = (struct answer){
		.verdict = VERDICT_REFUSE,
		.reason = reason,
		.close = !row->keep || streamed,
		.retry_after = pool_retry_after(p, row->retry),
		.inflight = p->units,
		.queued = p->queue.len,
		.limit = limit,
	};
}

void
gate_fill_admission(struct answer *a, const struct request *r)
{
	const struct pool *p = r->pool;

	*a = (struct answer){
		.verdict = VERDICT_ADMIT,
		.reason = REASON_ADMITTED,
		/* A streamed body that had to wait (row 175). */
		.close = r->streamed && r->waited,
		.permit = r->permit,
		.server = r->endpoint != NULL ? r->endpoint->server : NULL,
		.backend = p->backend[0] != '\0' ? p->backend : NULL,
		.prefill = r->prefill != NULL ? r->prefill->target : NULL,
		.respond = r->prefill != NULL || pool_exposes(p) ||
			   pool_wants_first_token(p),
	};
}

void
gate_fill_unread(struct request *r)
{
	const struct reason_row *row = &reason_table[REASON_CANCELLED];

	r->answer = (struct answer){
		.verdict = VERDICT_REFUSE,
		.reason = REASON_CANCELLED,
		.close = true,
		.retry_after = pool_retry_after(r->pool, row->retry),
	};
}

void
gate_stand_in_line(struct gate *g, struct request *r)
{
	assert(!r->due);
	r->due = true;
	TAILQ_INSERT_TAIL(&g->answers, r, answered);
}

static void
forget_answer(struct gate *g, struct request *r)
{
	if (!r->due)
		return;
	r->due = false;
	TAILQ_REMOVE(&g->answers, r, answered);
}

bool
gate_next_answer(struct gate *g, struct asker *to, struct answer *answer)
{
	struct request *r = TAILQ_FIRST(&g->answers);

	if (r == NULL)
		return false;
	*to = r->asker;
	*answer = r->answer;
	forget_answer(g, r);
	LIST_REMOVE(r, on_peer);
	if (r->state == REQUEST_ENDED)
		ledger_free(r);
	return true;
}

/* ---- how a request moves ---- */

void
gate_begin(struct gate *g, struct request *r, const struct placement *at,
	   usec_t now)
{
	r->permit = ++g->permits;
	pool_take(r->pool, at, r);
	ledger_begin(g->ledger, r, now);
	gate_count(r->pool, REASON_ADMITTED);
}

void
gate_leave_queue(struct gate *g, struct request *r)
{
	queue_leave(&r->pool->queue, r);
	wheel_drop(g->wheel, &r->deadline);
}

static void
run_waiter(struct gate *g, struct request *r, const struct placement *at,
	   usec_t now)
{
	gate_leave_queue(g, r);
	histogram_add(&r->pool->waits, now - r->since);
	gate_begin(g, r, at, now);
	gate_fill_admission(&r->answer, r);
	gate_stand_in_line(g, r);
}

void
gate_refuse_waiter(struct gate *g, struct request *r, enum reason reason,
		   usec_t now)
{
	struct pool *p = r->pool;

	gate_leave_queue(g, r);
	gate_count(p, reason);
	gate_fill_refusal(&r->answer, p, reason, pool_ceiling(p), r->streamed);
	r->answer.queued_ms = msec(now - r->since);
	ledger_remove(g->ledger, r);
	gate_stand_in_line(g, r);
}

static void
bypass_waiter(struct gate *g, struct request *r)
{
	gate_leave_queue(g, r);
	r->answer = (struct answer){ .verdict = VERDICT_BYPASS };
	ledger_remove(g->ledger, r);
	gate_stand_in_line(g, r);
}

void
gate_cancel_waiter(struct gate *g, struct request *r)
{
	gate_leave_queue(g, r);
	gate_count(r->pool, REASON_CANCELLED);
	ledger_remove(g->ledger, r);
}

/* Its turn: it runs or ends. False where it, and so everybody, waits on. */
static bool
take_turn(struct gate *g, struct pool *p, struct request *next, usec_t now)
{
	bool enforced = pool_mode(p) == MODE_ENFORCE;
	struct placement at;

	if (pool_mode(p) == MODE_OFF) {
		bypass_waiter(g, next);
		return true;
	}
	if (enforced && !pool_has_room(p))
		return false;
	switch (pool_place(p, ROLE_NORMAL, now, &at)) {
	case PICK_NONE_ELIGIBLE:
		if (!enforced)
			break;
		gate_refuse_waiter(g, next, REASON_NO_HEALTHY_CAPACITY, now);
		return true;
	case PICK_ALL_FULL:
		if (enforced)
			return false;
		break;
	case PICK_FOUND:
		break;
	}
	run_waiter(g, next, &at, now);
	return true;
}

void
gate_wake(struct gate *g, struct pool *p, usec_t now)
{
	struct request *next;

	while ((next = pool_next_waiter(p)) != NULL)
		if (!take_turn(g, p, next, now))
			return;
}

void
gate_end_waiters(struct gate *g, struct pool *p, enum reason reason, usec_t now)
{
	struct request *oldest;

	while ((oldest = queue_oldest(&p->queue)) != NULL)
		gate_refuse_waiter(g, oldest, reason, now);
}

static void
bury_if_done(struct gate *g, struct pool *p)
{
	if (!p->retired || p->executing > 0)
		return;
	TAILQ_REMOVE(&g->retired, p, link);
	gate_discard_pool(g, p);
}

void
gate_release(struct gate *g, struct request *r, usec_t now)
{
	struct pool *p = r->pool;

	pool_give_back(p, r);
	ledger_remove(g->ledger, r);
	/* Still in line: its NOTIFY gets an answer, but no unit. */
	if (r->due)
		gate_fill_unread(r);
	else
		ledger_free(r);
	gate_wake(g, p, now);
	bury_if_done(g, p);
}

void
gate_reclaim(struct gate *g, struct request *r, usec_t now)
{
	r->pool->reclaimed++;
	gate_release(g, r, now);
}

void
gate_peer_lost(struct gate *g, struct peer *peer)
{
	struct request *r;

	while ((r = LIST_FIRST(&peer->waiters)) != NULL) {
		LIST_REMOVE(r, on_peer);
		forget_answer(g, r);
		if (r->state == REQUEST_WAITING)
			gate_cancel_waiter(g, r);
		/* An executing one keeps its unit until its line comes. */
		if (r->state == REQUEST_ENDED)
			ledger_free(r);
	}
}

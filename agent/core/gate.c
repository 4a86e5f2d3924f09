/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/gate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate_private.h"
#include "agent/core/inference.h"
#include "agent/core/ledger.h"
#include "agent/core/permit.h"
#include "agent/core/wheel.h"

static bool
open_parts(struct gate *g, usec_t now)
{
	g->ledger = malloc(sizeof(*g->ledger));
	g->wheel = malloc(sizeof(*g->wheel));
	if (g->ledger == NULL || g->wheel == NULL)
		return false;
	wheel_init(g->wheel, now);
	if (!rulebook_init(&g->rules, g->options.hash_key))
		return false;
	if (ledger_init(g->ledger, g->options.hash_key))
		return true;
	rulebook_fini(&g->rules);
	return false;
}

struct gate *
gate_new(const struct gate_options *options, const struct settings_env *env,
	 usec_t now)
{
	struct gate *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->options = *options;
	g->env = *env;
	TAILQ_INIT(&g->pools);
	TAILQ_INIT(&g->retired);
	TAILQ_INIT(&g->answers);
	if (!open_parts(g, now)) {
		free(g->ledger);
		free(g->wheel);
		free(g);
		return NULL;
	}
	return g;
}

static void
free_pools(struct gate_pools *pools)
{
	struct pool *p;

	while ((p = TAILQ_FIRST(pools)) != NULL) {
		TAILQ_REMOVE(pools, p, link);
		pool_free(&p);
	}
}

void
gate_free(struct gate **gate)
{
	struct gate *g = *gate;
	struct request *r;

	if (g == NULL)
		return;
	assert(TAILQ_EMPTY(&g->answers));
	while ((r = TAILQ_FIRST(&g->ledger->executing)) != NULL) {
		pool_give_back(r->pool, r);
		ledger_remove(g->ledger, r);
		ledger_free(r);
	}
	rulebook_fini(&g->rules);
	free_pools(&g->pools);
	free_pools(&g->retired);
	ledger_fini(g->ledger);
	free(g->ledger);
	free(g->wheel);
	free(g);
	*gate = NULL;
}

static void
count(struct pool *p, enum reason reason)
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

static void
fill_refusal(struct answer *a, const struct pool *p, enum reason reason,
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

static void
fill_admission(struct answer *a, const struct request *r)
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
	};
}

/* For one whose client has gone, or who asked anew: nobody reads it. */
static void
fill_unread(struct answer *a)
{
	*a = (struct answer){
		.verdict = VERDICT_REFUSE,
		.reason = REASON_CANCELLED,
		.close = true,
		.retry_after = 5,
	};
}

static void
stand_in_line(struct gate *g, struct request *r)
{
	if (r->due)
		return;
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

static void
begin(struct gate *g, struct request *r, struct endpoint *e, usec_t now)
{
	r->permit = ++g->permits;
	pool_take(r->pool, e, r);
	ledger_begin(g->ledger, r, now);
	count(r->pool, REASON_ADMITTED);
}

static void
leave_queue(struct gate *g, struct request *r)
{
	queue_leave(&r->pool->queue, r);
	wheel_drop(g->wheel, &r->deadline);
}

static void
run_waiter(struct gate *g, struct request *r, struct endpoint *e, usec_t now)
{
	leave_queue(g, r);
	histogram_add(&r->pool->waits, now - r->since);
	begin(g, r, e, now);
	fill_admission(&r->answer, r);
	stand_in_line(g, r);
}

static void
refuse_waiter(struct gate *g, struct request *r, enum reason reason, usec_t now)
{
	struct pool *p = r->pool;

	leave_queue(g, r);
	count(p, reason);
	fill_refusal(&r->answer, p, reason, pool_ceiling(p), r->streamed);
	r->answer.queued_ms = msec(now - r->since);
	ledger_remove(g->ledger, r);
	stand_in_line(g, r);
}

static void
bypass_waiter(struct gate *g, struct request *r)
{
	leave_queue(g, r);
	r->answer = (struct answer){ .verdict = VERDICT_BYPASS };
	ledger_remove(g->ledger, r);
	stand_in_line(g, r);
}

static void
cancel_waiter(struct gate *g, struct request *r)
{
	leave_queue(g, r);
	count(r->pool, REASON_CANCELLED);
	ledger_remove(g->ledger, r);
}

/* False when the head, and so everybody behind it, has to go on waiting. */
static bool
wake_head(struct gate *g, struct pool *p, struct request *head, usec_t now)
{
	bool enforced = pool_mode(p) == MODE_ENFORCE;
	struct endpoint *e;

	if (pool_mode(p) == MODE_OFF) {
		bypass_waiter(g, head);
		return true;
	}
	if (enforced && !pool_has_room(p))
		return false;
	switch (pool_pick(p, &e)) {
	case PICK_NONE_ELIGIBLE:
		if (enforced)
			refuse_waiter(g, head, REASON_NO_HEALTHY_CAPACITY, now);
		else
			run_waiter(g, head, NULL, now);
		return true;
	case PICK_ALL_FULL:
		if (enforced)
			return false;
		run_waiter(g, head, e, now);
		return true;
	case PICK_FOUND:
		run_waiter(g, head, e, now);
		return true;
	}
	assert(false && "unknown pick");
	return false;
}

void
gate_wake(struct gate *g, struct pool *p, usec_t now)
{
	struct request *head;

	while ((head = queue_head(&p->queue)) != NULL)
		if (!wake_head(g, p, head, now))
			return;
}

void
gate_end_waiters(struct gate *g, struct pool *p, enum reason reason, usec_t now)
{
	struct request *head;

	while ((head = queue_head(&p->queue)) != NULL)
		refuse_waiter(g, head, reason, now);
}

static void
bury_if_done(struct gate *g, struct pool *p)
{
	if (!p->retired || p->units > 0)
		return;
	TAILQ_REMOVE(&g->retired, p, link);
	pool_free(&p);
}

void
gate_release(struct gate *g, struct request *r, usec_t now)
{
	struct pool *p = r->pool;

	pool_give_back(p, r);
	ledger_remove(g->ledger, r);
	/* Still in line: its NOTIFY gets an answer, but no unit. */
	if (r->due)
		fill_unread(&r->answer);
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

/* ---- the ladder ---- */

/* A question on its way down. */
struct decision {
	struct gate *g;
	struct pool *p;
	const struct ask *ask;
	usec_t now;
	struct answer *answer; /* filled in by the step that decides */
};

static enum verdict
bypass(struct answer *answer)
{
	*answer = (struct answer){ .verdict = VERDICT_BYPASS };
	return VERDICT_BYPASS;
}

static enum verdict
refuse(const struct decision *d, enum reason reason, uint32_t limit)
{
	count(d->p, reason);
	fill_refusal(d->answer, d->p, reason, limit, d->ask->streamed);
	return VERDICT_REFUSE;
}

static struct request *
new_request(const struct decision *d)
{
	struct request *r = ledger_add(d->g->ledger, d->ask->id);
	usec_t waited = d->ask->waited;

	if (r == NULL)
		return NULL;
	r->pool = d->p;
	r->asker = d->ask->asker;
	r->streamed = d->ask->streamed;
	r->waited = waited > 0;
	r->since = d->now - (waited < d->now ? waited : d->now);
	return r;
}

static void
wait_on_peer(struct request *r, const struct asker *asker)
{
	r->asker = *asker;
	LIST_INSERT_HEAD(&asker->peer->waiters, r, on_peer);
}

static usec_t
deadline_of(const struct request *r, usec_t now)
{
	uint32_t window_ms = r->pool->effective.value.queue_wait_ms;
	usec_t deadline = r->since + window_ms * USEC_PER_MSEC;

	return deadline > now ? deadline : now;
}

static bool
may_wait(const struct decision *d)
{
	return d->p->effective.value.queue_depth > 0 && d->ask->http < 2 &&
	       !d->ask->leg && !d->p->disaggregated;
}

/* Over a ceiling: waits where it may and there is room, else is refused. */
static enum verdict
queue_or_refuse(const struct decision *d, uint32_t limit)
{
	struct queue *queue = &d->p->queue;
	struct request *r;

	if (!may_wait(d))
		return refuse(d, REASON_CAPACITY_SHED, limit);
	if (!queue_has_room(queue, d->p->effective.value.queue_depth))
		return refuse(d, REASON_QUEUE_FULL, limit);

	r = new_request(d);
	if (r == NULL)
		return refuse(d, REASON_CAPACITY_SHED, limit);
	queue_join(queue, r);
	r->waited = true;
	wheel_set(d->g->wheel, &r->deadline, deadline_of(r, d->now));
	wait_on_peer(r, &d->ask->asker);
	count(d->p, REASON_QUEUED);
	return VERDICT_WAIT;
}

static enum verdict
admit(const struct decision *d, struct endpoint *e)
{
	struct request *r = new_request(d);

	/*
	 * A unit that cannot be written down cannot come back, so it is not
	 * taken; but where the gate only counts, that refuses nobody.
	 */
	if (r == NULL && pool_mode(d->p) != MODE_ENFORCE)
		return bypass(d->answer);
	if (r == NULL)
		return refuse(d, REASON_CAPACITY_SHED, pool_ceiling(d->p));
	begin(d->g, r, e, d->now);
	fill_admission(d->answer, r);
	return VERDICT_ADMIT;
}

/* Observe: what enforce would have done at a ceiling. */
static void
count_would(struct pool *p)
{
	count(p, p->effective.value.queue_depth > 0
			 ? REASON_OBSERVE_WOULD_QUEUE
			 : REASON_OBSERVE_WOULD_SHED);
}

/* The ceiling that holds the waiters up. */
static uint32_t
ceiling_in_the_way(const struct pool *p)
{
	uint32_t ceiling = pool_ceiling(p);

	return ceiling > 0 ? ceiling
			   : pool_endpoint_ceiling(p, pool_serving_role(p));
}

/* Steps 5 to 9 where the gate refuses. */
static enum verdict
enforce(const struct decision *d)
{
	struct pool *p = d->p;
	struct endpoint *e;

	/* 5. A waiter could run before it: without a share, whoever waits. */
	if (p->queue.len > 0)
		return queue_or_refuse(d, ceiling_in_the_way(p));
	/* 6. The service is at its ceiling. */
	if (!pool_has_room(p))
		return queue_or_refuse(d, pool_ceiling(p));

	switch (pool_pick(p, &e)) {
	case PICK_NONE_ELIGIBLE: /* 7. Nobody could serve it. */
		return refuse(d, REASON_NO_HEALTHY_CAPACITY, pool_ceiling(p));
	case PICK_ALL_FULL: /* 8. Every endpoint is at its ceiling. */
		return queue_or_refuse(
			d, pool_endpoint_ceiling(p, pool_serving_role(p)));
	case PICK_FOUND: /* 9. */
		return admit(d, e);
	}
	assert(false && "unknown pick");
	return bypass(d->answer);
}

/* The same steps where it only counts. */
static enum verdict
observe(const struct decision *d)
{
	struct endpoint *e;
	enum pick pick = pool_pick(d->p, &e);

	if (!pool_has_room(d->p)) /* 6 */
		count_would(d->p);
	if (pick == PICK_NONE_ELIGIBLE) /* 7 */
		count(d->p, REASON_OBSERVE_WOULD_SHED);
	if (pick == PICK_ALL_FULL) /* 8 */
		count_would(d->p);
	return admit(d, e); /* 9 */
}

static enum verdict
decide(const struct decision *d)
{
	bool enforced = pool_mode(d->p) == MODE_ENFORCE;

	/* 1. Not an inference call. */
	if (!inference_is(d->ask->method, d->ask->query.path)) {
		count(d->p, REASON_BYPASS);
		return bypass(d->answer);
	}
	/* 2. The gate is closing. */
	if (d->g->draining && enforced)
		return refuse(d, REASON_DRAINING, pool_ceiling(d->p));
	/* 3. Its line came first: the client is gone. */
	if (ledger_ended_early(d->g->ledger, d->ask->id))
		return bypass(d->answer);
	/* 4. is the tenant's share. */
	return enforced ? enforce(d) : observe(d);
}

/* Without memory to wait on: the newer is refused for both. */
static enum verdict
give_up(const struct decision *d, struct request *older)
{
	leave_queue(d->g, older);
	ledger_remove(d->g->ledger, older);
	fill_unread(&older->answer);
	stand_in_line(d->g, older);
	return refuse(d, REASON_CAPACITY_SHED, ceiling_in_the_way(d->p));
}

/* A waiter asks anew: the place stays, the answer goes to the newer. */
static enum verdict
move_waiter(const struct decision *d, struct request *older)
{
	struct request *newer = ledger_replace(d->g->ledger, older);

	if (newer == NULL)
		return give_up(d, older);
	newer->pool = older->pool;
	newer->since = older->since;
	newer->streamed = d->ask->streamed;
	newer->waited = true;
	queue_replace(&newer->pool->queue, older, newer);
	wheel_drop(d->g->wheel, &older->deadline);
	wheel_set(d->g->wheel, &newer->deadline, older->deadline.deadline);
	wait_on_peer(newer, &d->ask->asker);

	fill_unread(&older->answer);
	stand_in_line(d->g, older);
	return VERDICT_WAIT;
}

enum verdict
gate_ask(struct gate *g, const struct ask *ask, usec_t now,
	 struct answer *answer)
{
	struct request *live = ledger_find(g->ledger, ask->id);
	struct decision d = { g, NULL, ask, now, answer };
	struct service *s;

	if (live != NULL && live->state == REQUEST_WAITING) {
		d.p = live->pool;
		return move_waiter(&d, live);
	}
	if (live != NULL && live->state == REQUEST_EXECUTING) {
		fill_admission(answer, live);
		return VERDICT_ADMIT;
	}

	/* 0. Not one of ours, or not gated. */
	s = rulebook_match(&g->rules, &ask->query);
	if (s == NULL || s->pool == NULL || pool_mode(s->pool) == MODE_OFF)
		return bypass(answer);
	d.p = s->pool;
	return decide(&d);
}

/* ---- how it ends ---- */

/* A line that names a permit, of an id that is not live. */
static enum line_result
end_unknown_permit(struct gate *g, struct text text)
{
	struct permit permit;

	if (permit_parse(text, &permit) &&
	    (permit.epoch != g->options.epoch || permit.number <= g->permits))
		return LINE_LATE;
	metrics_count(&g->metrics, METRIC_anomalies, ANOMALY_UNKNOWN_PERMIT);
	return LINE_UNKNOWN;
}

static enum line_result
end_unknown(struct gate *g, const struct ending *ending, usec_t now)
{
	if (ending->permit.len > 0)
		return end_unknown_permit(g, ending->permit);
	if (ending->verdict.len > 0)
		return LINE_NOTED;
	ledger_end_early(g->ledger, ending->id, now);
	return LINE_EARLY;
}

static enum line_result
end_request(struct gate *g, const struct ending *ending, usec_t now)
{
	struct request *r;

	if (ending->id.len == 0 || ending->id.len > REQUEST_ID_MAX)
		return LINE_NOTED;
	r = ledger_find(g->ledger, ending->id);
	if (r == NULL)
		return end_unknown(g, ending, now);

	switch (r->state) {
	case REQUEST_EXECUTING:
		gate_release(g, r, now);
		return LINE_RELEASED;
	case REQUEST_WAITING:
		cancel_waiter(g, r);
		fill_unread(&r->answer);
		stand_in_line(g, r);
		return LINE_CANCELLED;
	case REQUEST_ENDED_EARLY:
		return LINE_LATE;
	case REQUEST_ENDED:
		break;
	}
	assert(false && "an ended request is in the ledger");
	return LINE_LATE;
}

enum line_result
gate_end(struct gate *g, const struct ending *ending, usec_t now)
{
	enum line_result result = end_request(g, ending, now);

	metrics_count(&g->metrics, METRIC_log_lines, result);
	return result;
}

void
gate_peer_lost(struct gate *g, struct peer *peer)
{
	struct request *r;

	while ((r = LIST_FIRST(&peer->waiters)) != NULL) {
		LIST_REMOVE(r, on_peer);
		forget_answer(g, r);
		if (r->state == REQUEST_WAITING)
			cancel_waiter(g, r);
		/* An executing one keeps its unit until its line comes. */
		if (r->state == REQUEST_ENDED)
			ledger_free(r);
	}
}

static void
reclaim_aged(struct gate *g, usec_t now)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&g->ledger->executing)) != NULL &&
	       now - r->admitted >= g->options.unit_max_age)
		gate_reclaim(g, r, now);
}

void
gate_tick(struct gate *g, usec_t now)
{
	struct wheel_node *node;

	while ((node = wheel_expired(g->wheel, now)) != NULL)
		refuse_waiter(g, CONTAINER_OF(node, struct request, deadline),
			      REASON_QUEUE_TIMEOUT, now);
	ledger_forget(g->ledger, now);
	if (g->options.unit_max_age != USEC_NEVER)
		reclaim_aged(g, now);
}

static usec_t
sooner(usec_t a, usec_t b)
{
	return a < b ? a : b;
}

usec_t
gate_wakeup(const struct gate *g)
{
	const struct request *early = TAILQ_FIRST(&g->ledger->early);
	const struct request *oldest = TAILQ_FIRST(&g->ledger->executing);
	usec_t at = wheel_wakeup(g->wheel);

	if (early != NULL)
		at = sooner(at, early->since + LEDGER_EARLY_USEC);
	if (oldest != NULL && g->options.unit_max_age != USEC_NEVER)
		at = sooner(at, oldest->admitted + g->options.unit_max_age);
	return at;
}

uint64_t
gate_queue_depths(const struct gate *g)
{
	const struct pool *p;
	uint64_t depths = 0;

	TAILQ_FOREACH (p, &g->pools, link)
		if (pool_mode(p) == MODE_ENFORCE)
			depths += p->effective.value.queue_depth;
	return depths;
}

bool
gate_has_waiters(const struct gate *g)
{
	/* Each waiter has its deadline there, and nobody else has one. */
	return g->wheel->len > 0;
}

void
gate_drain(struct gate *g, usec_t now)
{
	struct pool *p;

	g->draining = true;
	TAILQ_FOREACH (p, &g->pools, link)
		gate_end_waiters(g, p, REASON_DRAINED, now);
}

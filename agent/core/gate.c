/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/gate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate_private.h"
#include "agent/core/inference.h"
#include "agent/core/ledger.h"
#include "agent/core/wheel.h"

static bool
open_parts(struct gate *g, usec_t now)
{
	g->ledger = malloc(sizeof(*g->ledger));
	g->wheel = malloc(sizeof(*g->wheel));
	if (g->ledger == NULL || g->wheel == NULL)
		return false;
	wheel_init(g->wheel, now);
	if (!index_init(&g->endpoints))
		return false;
	if (!rulebook_init(&g->rules, g->options.hash_key)) {
		index_fini(&g->endpoints);
		return false;
	}
	if (ledger_init(g->ledger, g->options.hash_key))
		return true;
	rulebook_fini(&g->rules);
	index_fini(&g->endpoints);
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
	g->pass_at = USEC_NEVER;
	if (!open_parts(g, now)) {
		free(g->ledger);
		free(g->wheel);
		free(g);
		return NULL;
	}
	return g;
}

static void
free_pools(struct gate *g, struct gate_pools *pools)
{
	struct pool *p;

	while ((p = TAILQ_FIRST(pools)) != NULL) {
		TAILQ_REMOVE(pools, p, link);
		gate_discard_pool(g, p);
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
	free_pools(g, &g->pools);
	free_pools(g, &g->retired);
	index_fini(&g->endpoints);
	ledger_fini(g->ledger);
	free(g->ledger);
	free(g->wheel);
	free(g);
	*gate = NULL;
}

/* ---- the ladder ---- */

/* A question on its way down. */
struct decision {
	struct gate *g;
	struct pool *p;
	struct tenant *tenant; /* NULL for a leg, which has no service unit */
	uint64_t tenant_key;
	const struct ask *ask;
	bool ended_early; /* its line came before it */
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
	gate_count(d->p, reason);
	gate_fill_refusal(d->answer, d->p, reason, limit, d->ask->streamed);
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
	r->tenant = d->tenant;
	r->tenant_key = d->tenant_key;
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
	       d->ask->leg == ROLE_NORMAL && !d->p->disaggregated;
}

/* Its tenant waits as often as it may. */
static enum verdict
refuse_tenant(const struct decision *d)
{
	enum verdict refused =
		refuse(d, REASON_TENANT_SHARE, pool_ceiling(d->p));

	d->answer->retry_after = pool_retry_after(d->p, RETRY_MEAN);
	return refused;
}

static enum verdict
join_queue(const struct decision *d, enum reason reason, uint32_t limit)
{
	struct request *r = new_request(d);

	if (r == NULL)
		return refuse(d, reason, limit);
	r->state = REQUEST_WAITING;
	r->waited = true;
	queue_join(&d->p->queue, r);
	wheel_set(d->g->wheel, &r->deadline, deadline_of(r, d->now));
	wait_on_peer(r, &d->ask->asker);
	gate_count(d->p, REASON_QUEUED);
	return VERDICT_WAIT;
}

/* Over a bound: waits where it may and there is room, else is refused. */
static enum verdict
queue_or_refuse(const struct decision *d, enum reason reason, uint32_t limit)
{
	const struct pool *p = d->p;

	if (!may_wait(d))
		return refuse(d, reason, limit);
	assert(d->tenant != NULL);
	if (d->tenant->waiting >= p->tenants.queue_bound)
		return refuse_tenant(d);
	if (!queue_has_room(&p->queue, p->effective.value.queue_depth))
		return refuse(d, REASON_QUEUE_FULL, limit);
	return join_queue(d, reason, limit);
}

static enum verdict
admit(const struct decision *d, const struct placement *at)
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
	gate_begin(d->g, r, at, d->now);
	gate_fill_admission(d->answer, r);
	return VERDICT_ADMIT;
}

/* Observe: what enforce would have done at a ceiling. */
static void
count_would(struct pool *p)
{
	gate_count(p, p->effective.value.queue_depth > 0
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

/* Steps 7 to 9: where it could run. */
static enum verdict
enforce_place(const struct decision *d)
{
	struct placement at;

	switch (pool_place(d->p, d->ask->leg, d->now, &at)) {
	case PICK_NONE_ELIGIBLE: /* 7. Nobody could serve it. */
		return refuse(d, REASON_NO_HEALTHY_CAPACITY,
			      pool_ceiling(d->p));
	case PICK_ALL_FULL: /* 8. Every endpoint is at its ceiling. */
		return queue_or_refuse(d, REASON_CAPACITY_SHED, at.limit);
	case PICK_FOUND: /* 9. */
		return admit(d, &at);
	}
	assert(false && "unknown pick");
	return bypass(d->answer);
}

static bool
is_over(const struct decision *d)
{
	return tenant_is_over(d->tenant, d->p->tenants.unit_bound);
}

/* What nobody else could use may be lent. */
static bool
may_borrow(const struct pool *p)
{
	return p->effective.value.tenant_borrow == SWITCH_ON &&
	       p->queue.len == 0 && pool_has_room(p);
}

/* Steps 4 to 9 where the gate refuses. */
static enum verdict
enforce(const struct decision *d)
{
	struct pool *p = d->p;

	if (d->tenant == NULL)
		return enforce_place(d);
	/* 4. Its tenant holds its share. */
	if (is_over(d) && !may_borrow(p))
		return queue_or_refuse(d, REASON_TENANT_SHARE, pool_ceiling(p));
	/* 5. A waiter could run before it, since its share lets it. */
	if (queue_head(&p->queue) != NULL)
		return queue_or_refuse(d, REASON_CAPACITY_SHED,
				       ceiling_in_the_way(p));
	/* 6. The service is at its ceiling. */
	if (!pool_has_room(p))
		return queue_or_refuse(d, REASON_CAPACITY_SHED,
				       pool_ceiling(p));
	return enforce_place(d);
}

/* The same steps where it only counts. */
static enum verdict
observe(const struct decision *d)
{
	struct placement at;
	enum pick pick = pool_place(d->p, d->ask->leg, d->now, &at);

	if (d->tenant != NULL && is_over(d) && !may_borrow(d->p)) /* 4 */
		gate_count(d->p, REASON_OBSERVE_WOULD_SHED);
	if (d->tenant != NULL && !pool_has_room(d->p)) /* 6 */
		count_would(d->p);
	if (pick == PICK_NONE_ELIGIBLE) /* 7 */
		gate_count(d->p, REASON_OBSERVE_WOULD_SHED);
	for (; at.full > 0; at.full--) /* 8 */
		count_would(d->p);
	return admit(d, &at); /* 9 */
}

/* Its slot, unless it is a leg. */
static void
find_tenant(struct decision *d)
{
	struct tenants *t = &d->p->tenants;
	struct text name = d->ask->tenant;

	if (d->p->disaggregated && d->ask->leg != ROLE_NORMAL)
		return;
	/* No name is one tenant, and nowhere to be read. */
	if (name.len > 0)
		d->tenant_key =
			index_hash(name.at, name.len, d->g->options.hash_key);
	d->tenant = tenants_slot(t, d->tenant_key);
	if (t->active && d->tenant == &t->last)
		metrics_count(&d->g->metrics, METRIC_anomalies,
			      ANOMALY_TENANT_TABLE_FULL);
}

static enum verdict
decide(struct decision *d)
{
	bool enforced = pool_mode(d->p) == MODE_ENFORCE;

	/* 1. Not an inference call. */
	if (!inference_is(d->ask->method, d->ask->query.path)) {
		gate_count(d->p, REASON_BYPASS);
		return bypass(d->answer);
	}
	/* 2. The gate is closing. */
	if ((d->g->draining || d->g->maintenance.on) && enforced)
		return refuse(d, REASON_DRAINING, pool_ceiling(d->p));
	/* 3. Its line came first: the client is gone. */
	if (d->ended_early)
		return bypass(d->answer);
	find_tenant(d);
	return enforced ? enforce(d) : observe(d);
}

/* Without memory to wait on: the newer is refused for both. */
static enum verdict
give_up(const struct decision *d, struct request *older)
{
	gate_leave_queue(d->g, older);
	ledger_remove(d->g->ledger, older);
	gate_fill_unread(older);
	gate_stand_in_line(d->g, older);
	return refuse(d, REASON_CAPACITY_SHED, ceiling_in_the_way(d->p));
}

/* A waiter asks anew: the place stays, the answer goes to the newer. */
static enum verdict
move_waiter(const struct decision *d, struct request *older)
{
	struct request *newer = ledger_replace(d->g->ledger, older);

	if (newer == NULL)
		return give_up(d, older);
	newer->state = REQUEST_WAITING;
	newer->pool = older->pool;
	newer->tenant_key = older->tenant_key;
	newer->since = older->since;
	newer->streamed = d->ask->streamed;
	newer->waited = true;
	queue_replace(older, newer);
	wheel_drop(d->g->wheel, &older->deadline);
	wheel_set(d->g->wheel, &newer->deadline, older->deadline.deadline);
	wait_on_peer(newer, &d->ask->asker);

	gate_fill_unread(older);
	gate_stand_in_line(d->g, older);
	return VERDICT_WAIT;
}

enum verdict
gate_ask(struct gate *g, const struct ask *ask, usec_t now,
	 struct answer *answer)
{
	struct request *live = ledger_find(g->ledger, ask->id);
	struct decision d = {
		.g = g, .ask = ask, .now = now, .answer = answer
	};
	struct service *s;

	if (live != NULL && live->state == REQUEST_WAITING) {
		d.p = live->pool;
		return move_waiter(&d, live);
	}
	if (live != NULL && live->state == REQUEST_EXECUTING) {
		gate_fill_admission(answer, live);
		return VERDICT_ADMIT;
	}

	/* 0. Not one of ours, or not gated. */
	s = rulebook_match(&g->rules, &ask->query);
	if (s == NULL || s->pool == NULL || pool_mode(s->pool) == MODE_OFF)
		return bypass(answer);
	d.p = s->pool;
	d.ended_early = live != NULL;
	return decide(&d);
}

/* ---- its answer ---- */

/* Its prefill is done; what comes later is not its first token. */
static void
begin_answer(struct request *r, usec_t now)
{
	pool_end_prefill(r);
	if (!r->begun)
		pool_first_token(r->pool, r->endpoint, now - r->admitted, now);
	r->begun = true;
}

void
gate_respond(struct gate *g, const struct response *response, usec_t now,
	     struct exposure *exposure)
{
	struct request *r = ledger_find(g->ledger, response->id);
	const struct pool *p;

	*exposure = (struct exposure){ .exposed = false };
	if (r == NULL || r->state != REQUEST_EXECUTING)
		return;
	p = r->pool;
	if (pool_move(r->pool, r, response->server))
		gate_wake(g, r->pool, now);
	if (response->begun)
		begin_answer(r, now);
	if (!pool_exposes(p))
		return;
	*exposure = (struct exposure){ .exposed = true,
				       .inflight = p->units,
				       .queued = p->queue.len,
				       .limit = pool_ceiling(p) };
}

/* ---- all pools ---- */

uint64_t
gate_queue_depths(const struct gate *g)
{
	const struct pool *p;
	uint64_t depths = 0;

	TAILQ_FOREACH (p, &g->pools, link)
		depths += pool_queue_depth(p);
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

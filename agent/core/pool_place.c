/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request runs, and what it holds while it does. */
#include <assert.h>

#include "agent/core/pool.h"
#include "agent/core/pool_private.h"

/* What waits in it, where that is known. */
static uint32_t
waiting_in(const struct pool *p, const struct endpoint *e, usec_t now)
{
	return pool_is_fresh(p, e->reported, now) ? e->waiting : 0;
}

static void
keep_lighter(const struct pool *p, usec_t now, struct endpoint **best,
	     struct endpoint *e)
{
	if (*best == NULL || endpoint_is_lighter(e, *best) ||
	    (!endpoint_is_lighter(*best, e) &&
	     waiting_in(p, e, now) < waiting_in(p, *best, now)))
		*best = e;
}

static enum pick
pick(const struct pool *p, enum role role, usec_t now,
     struct endpoint **endpoint)
{
	uint32_t ceiling = pool_endpoint_ceiling(p, role);
	struct endpoint *free_one = NULL;
	struct endpoint *any = NULL;

	for (size_t i = 0; i < p->endpoint_count; i++) {
		size_t at = p->rotation[role] + i;
		struct endpoint *e =
			&p->endpoints[at < p->endpoint_count
					      ? at
					      : at - p->endpoint_count];

		if (e->role != role || !endpoint_is_eligible(e))
			continue;
		keep_lighter(p, now, &any, e);
		if (endpoint_has_room(
			    e, endpoint_ramp(e, ceiling, pool_warm_up(p), now)))
			keep_lighter(p, now, &free_one, e);
	}
	*endpoint = free_one != NULL ? free_one : any;
	if (any == NULL)
		return PICK_NONE_ELIGIBLE;
	return free_one != NULL ? PICK_FOUND : PICK_ALL_FULL;
}

static enum pick
place(const struct pool *p, enum role role, usec_t now, struct placement *at,
      struct endpoint **endpoint)
{
	enum pick found = pick(p, role, now, endpoint);

	if (found == PICK_ALL_FULL) {
		at->limit = pool_endpoint_ceiling(p, role);
		at->full++;
	}
	return found;
}

enum pick
pool_place(const struct pool *p, enum role leg, usec_t now,
	   struct placement *at)
{
	bool whole = leg == ROLE_NORMAL || !p->disaggregated;
	enum pick found, prefill;

	*at = (struct placement){ .full = 0 };
	found = place(p, whole ? pool_serving_role(p) : leg, now, at,
		      &at->endpoint);
	if (!whole || !p->disaggregated)
		return found;
	prefill = place(p, ROLE_PREFILL, now, at, &at->prefill);
	return prefill < found ? prefill : found;
}

static void
rotate(struct pool *p, const struct endpoint *e)
{
	p->rotation[e->role] = (size_t)(e - p->endpoints) + 1;
}

static void
take_prefill(struct pool *p, struct endpoint *e, struct request *r)
{
	r->prefill = e;
	if (e == NULL)
		return;
	e->units++;
	e->beside++;
	rotate(p, e);
}

static void
take_endpoint(struct pool *p, struct endpoint *e, struct request *r)
{
	r->endpoint = e;
	if (e == NULL) {
		TAILQ_INSERT_TAIL(&p->elsewhere, r, executing);
		return;
	}
	e->units++;
	TAILQ_INSERT_TAIL(&e->executing, r, executing);
	rotate(p, e);
}

void
pool_take(struct pool *p, const struct placement *at, struct request *r)
{
	p->executing++;
	take_endpoint(p, at->endpoint, r);
	take_prefill(p, at->prefill, r);
	if (r->tenant == NULL)
		return;
	p->units++;
	r->tenant->units++;
	queue_review(&p->queue, r->tenant);
}

void
pool_end_prefill(struct request *r)
{
	struct endpoint *e = r->prefill;

	if (e == NULL)
		return;
	assert(e->units > 0 && e->beside > 0);
	e->units--;
	e->beside--;
	r->prefill = NULL;
}

static void
leave_endpoint(struct pool *p, struct request *r)
{
	struct endpoint *e = r->endpoint;

	if (e == NULL) {
		TAILQ_REMOVE(&p->elsewhere, r, executing);
		return;
	}
	assert(e->units > e->beside);
	e->units--;
	TAILQ_REMOVE(&e->executing, r, executing);
	r->endpoint = NULL;
}

/* In the place that its age has among those who execute there. */
static void
join_executing(struct endpoint *e, struct request *r)
{
	struct request *before = TAILQ_LAST(&e->executing, endpoint_units);

	while (before != NULL && before->admitted > r->admitted)
		before = TAILQ_PREV(before, endpoint_units, executing);
	if (before == NULL)
		TAILQ_INSERT_HEAD(&e->executing, r, executing);
	else
		TAILQ_INSERT_AFTER(&e->executing, before, r, executing);
}

static struct endpoint *
endpoint_named(const struct pool *p, enum role role, struct text server)
{
	for (size_t i = 0; i < p->endpoint_count; i++) {
		struct endpoint *e = &p->endpoints[i];

		if (e->role == role && text_is(server, e->server))
			return e;
	}
	return NULL;
}

bool
pool_move(struct pool *p, struct request *r, struct text server)
{
	struct endpoint *from = r->endpoint;
	struct endpoint *to;

	if (from == NULL || text_is(server, from->server))
		return false;
	to = endpoint_named(p, from->role, server);
	if (to == NULL)
		return false;
	leave_endpoint(p, r);
	r->endpoint = to;
	to->units++;
	join_executing(to, r);
	return true;
}

void
pool_give_back(struct pool *p, struct request *r)
{
	assert(p->executing > 0);
	p->executing--;
	leave_endpoint(p, r);
	pool_end_prefill(r);
	if (r->tenant == NULL)
		return;
	assert(p->units > 0 && r->tenant->units > 0);
	p->units--;
	r->tenant->units--;
	queue_review(&p->queue, r->tenant);
	r->tenant = NULL;
}

struct request *
pool_next_waiter(const struct pool *p)
{
	struct request *head = queue_head(&p->queue);

	if (head == NULL && p->effective.value.tenant_borrow == SWITCH_ON)
		return queue_borrower(&p->queue);
	return head;
}

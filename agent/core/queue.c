/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/queue.h"

#include <assert.h>
#include <string.h>

#include "agent/core/request.h"

/* ---- the tenants, by their heads ---- */

static bool
is_older(const struct tenant *a, const struct tenant *b)
{
	return TAILQ_FIRST(&a->line)->turn < TAILQ_FIRST(&b->line)->turn;
}

/* Of one heap. */
static bool
is_before(const struct tenant *a, const struct tenant *b)
{
	if (a->over && a->units != b->units)
		return a->units < b->units;
	return is_older(a, b);
}

static void
put_at(struct queue_heads *h, size_t place, struct tenant *tenant)
{
	h->tenant[place] = tenant;
	tenant->place = (uint8_t)place;
}

static size_t
rise(struct queue_heads *h, size_t place, const struct tenant *tenant)
{
	while (place > 0) {
		size_t above = (place - 1) / 2;

		if (!is_before(tenant, h->tenant[above]))
			break;
		put_at(h, place, h->tenant[above]);
		place = above;
	}
	return place;
}

static size_t
sink(struct queue_heads *h, size_t place, const struct tenant *tenant)
{
	size_t below;

	while ((below = 2 * place + 1) < h->len) {
		if (below + 1 < h->len &&
		    is_before(h->tenant[below + 1], h->tenant[below]))
			below++;
		if (!is_before(h->tenant[below], tenant))
			break;
		put_at(h, place, h->tenant[below]);
		place = below;
	}
	return place;
}

/* Puts it where it belongs, from a place that is free. */
static void
settle(struct queue_heads *h, size_t place, struct tenant *tenant)
{
	put_at(h, sink(h, rise(h, place, tenant), tenant), tenant);
}

static struct queue_heads *
heads_of(struct queue *q, const struct tenant *tenant)
{
	return tenant->over ? &q->over : &q->under;
}

static void
enter(struct queue *q, struct tenant *tenant)
{
	struct queue_heads *h;

	tenant->over = tenant_is_over(tenant, q->unit_bound);
	h = heads_of(q, tenant);
	assert(h->len < ARRAY_LEN(h->tenant));
	settle(h, h->len++, tenant);
}

static void
withdraw(struct queue *q, const struct tenant *tenant)
{
	struct queue_heads *h = heads_of(q, tenant);
	struct tenant *last = h->tenant[--h->len];

	if (last != tenant)
		settle(h, tenant->place, last);
}

/* ---- waiters ---- */

void
queue_init(struct queue *q)
{
	memset(q, 0, sizeof(*q));
	q->unit_bound = TENANT_UNBOUNDED;
}

void
queue_fini(struct queue *q)
{
	assert(q->len == 0);
	assert(q->under.len == 0 && q->over.len == 0);
}

bool
queue_has_room(const struct queue *q, uint32_t depth)
{
	return q->len < depth;
}

void
queue_join(struct queue *q, struct request *r)
{
	r->turn = q->turns++;
	queue_rejoin(q, r);
}

void
queue_rejoin(struct queue *q, struct request *r)
{
	struct tenant *tenant = r->tenant;

	TAILQ_INSERT_TAIL(&tenant->line, r, queued);
	q->len++;
	if (tenant->waiting++ == 0)
		enter(q, tenant);
}

void
queue_leave(struct queue *q, struct request *r)
{
	struct tenant *tenant = r->tenant;
	bool was_head = TAILQ_FIRST(&tenant->line) == r;

	assert(q->len > 0 && tenant->waiting > 0);
	q->len--;
	TAILQ_REMOVE(&tenant->line, r, queued);
	if (--tenant->waiting == 0)
		withdraw(q, tenant);
	else if (was_head)
		settle(heads_of(q, tenant), tenant->place, tenant);
}

void
queue_replace(struct request *older, struct request *newer)
{
	newer->tenant = older->tenant;
	newer->turn = older->turn;
	TAILQ_INSERT_BEFORE(older, newer, queued);
	TAILQ_REMOVE(&older->tenant->line, older, queued);
}

void
queue_review(struct queue *q, struct tenant *tenant)
{
	if (tenant->waiting == 0)
		return;
	withdraw(q, tenant);
	enter(q, tenant);
}

static size_t
list_heads(const struct queue_heads *h, struct tenant **list)
{
	for (size_t i = 0; i < h->len; i++)
		list[i] = h->tenant[i];
	return h->len;
}

void
queue_set_bound(struct queue *q, uint32_t unit_bound)
{
	struct tenant *waiting[2 * (TENANTS_MAX + 1)];
	size_t n = list_heads(&q->under, waiting);

	n += list_heads(&q->over, waiting + n);
	q->unit_bound = unit_bound;
	for (size_t i = 0; i < n; i++)
		queue_review(q, waiting[i]);
}

static struct request *
first(const struct queue_heads *h)
{
	return h->len > 0 ? TAILQ_FIRST(&h->tenant[0]->line) : NULL;
}

struct request *
queue_head(const struct queue *q)
{
	return first(&q->under);
}

struct request *
queue_borrower(const struct queue *q)
{
	return first(&q->over);
}

struct request *
queue_oldest(const struct queue *q)
{
	struct request *oldest = first(&q->under);

	for (size_t i = 0; i < q->over.len; i++) {
		struct request *r = TAILQ_FIRST(&q->over.tenant[i]->line);

		if (oldest == NULL || r->turn < oldest->turn)
			oldest = r;
	}
	return oldest;
}

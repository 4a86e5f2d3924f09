/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/gate_model.h"

#include <string.h>

/* Where it adapts, as the gate has it. */
static uint32_t
ceiling_in_force(const struct mpool *m)
{
	return pool_ceiling(m->pool);
}

bool
model_is_whole(const struct mpool *m, enum role leg)
{
	return leg == ROLE_NORMAL || !m->disaggregated;
}

void
model_count(const struct model *model, const struct mpool *m, struct tally *t)
{
	memset(t, 0, sizeof(*t));
	for (unsigned n = 0; n < model->id_count; n++) {
		const struct mid *i = &model->ids[n];

		if (i->pool != m || i->place == FREE ||
		    !model_is_whole(m, i->leg))
			continue;
		t->active += t->units[i->group] + t->waiting[i->group] == 0;
		t->units[i->group] += i->place == EXECUTING;
		t->waiting[i->group] += i->place == WAITING;
		t->all_units += i->place == EXECUTING;
	}
}

/* ---- shares ---- */

bool
model_is_shared(const struct mpool *m)
{
	const struct settings *s = &m->settings;

	return s->mode != MODE_OFF && s->max_outstanding > 0 &&
	       s->tenant_max_share_pct > 0 && s->tenant_max_share_pct < 100;
}

/* The smallest number that is not less than that part. */
static uint32_t
part_of(uint32_t whole, uint32_t percent)
{
	uint32_t part = 1;

	while (part * 100 < whole * percent)
		part++;
	return part;
}

uint32_t
model_unit_bound(const struct mpool *m)
{
	if (!model_is_shared(m))
		return UINT32_MAX;
	return part_of(ceiling_in_force(m), m->settings.tenant_max_share_pct);
}

uint32_t
model_queue_bound(const struct mpool *m)
{
	if (!model_is_shared(m))
		return UINT32_MAX;
	return part_of(m->settings.queue_depth,
		       m->settings.tenant_max_share_pct);
}

unsigned
model_group(const struct model *model, const struct mpool *m, unsigned tenant)
{
	struct tally t;
	unsigned slots = 0;

	if (!model_is_shared(m))
		return MODEL_LAST;
	model_count(model, m, &t);
	for (unsigned i = 0; i < MODEL_LAST; i++)
		slots += t.units[i] + t.waiting[i] > 0;
	return t.units[tenant] + t.waiting[tenant] > 0 || slots < 64
		       ? tenant
		       : MODEL_LAST;
}

static bool
is_over(const struct mpool *m, const struct tally *t, unsigned group)
{
	return t->units[group] >= model_unit_bound(m);
}

static bool
borrows(const struct mpool *m)
{
	return m->settings.tenant_borrow == SWITCH_ON;
}

unsigned
model_next(const struct model *model, const struct mpool *m)
{
	uint32_t fewest = UINT32_MAX;
	unsigned borrower = MODEL_IDS;
	struct tally t;

	model_count(model, m, &t);
	for (uint32_t n = 0; n < m->waiting_len; n++) {
		unsigned group = model->ids[m->waiting[n]].group;

		if (m->settings.mode != MODE_ENFORCE || !is_over(m, &t, group))
			return m->waiting[n];
		if (t.units[group] >= fewest)
			continue;
		fewest = t.units[group];
		borrower = m->waiting[n];
	}
	return borrows(m) ? borrower : MODEL_IDS;
}

/* ---- ceilings ---- */

static bool
has_room(const struct mpool *m, const struct tally *t)
{
	uint32_t ceiling = ceiling_in_force(m);

	return ceiling == 0 || t->all_units < ceiling;
}

static uint32_t
ceiling_of(const struct mpool *m, enum role role)
{
	if (role == ROLE_PREFILL)
		return m->settings.prefill_max_inflight;
	return role == ROLE_DECODE ? m->settings.decode_max_inflight
				   : m->settings.ep_max_inflight;
}

static void
look_at_role(const struct mpool *m, enum role role, struct mplace *at)
{
	uint32_t ceiling = ceiling_of(m, role);
	unsigned up = 0, room = 0;

	for (size_t i = 0; i < m->pool->endpoint_count; i++) {
		const struct endpoint *e = &m->pool->endpoints[i];

		if (e->role != role || !e->up)
			continue;
		up++;
		room += ceiling == 0 || e->units < ceiling;
	}
	at->none = at->none || up == 0;
	if (up == 0 || room > 0)
		return;
	at->full++;
	at->limit = ceiling;
}

struct mplace
model_place(const struct mpool *m, enum role leg)
{
	struct mplace at = { .none = false };

	if (!m->disaggregated) {
		look_at_role(m, ROLE_NORMAL, &at);
		return at;
	}
	if (leg != ROLE_PREFILL)
		look_at_role(m, ROLE_DECODE, &at);
	if (leg != ROLE_DECODE)
		look_at_role(m, ROLE_PREFILL, &at);
	return at;
}

/* ---- the ladder ---- */

static struct forecast
refused(enum reason reason, uint32_t limit)
{
	return (struct forecast){ VERDICT_REFUSE, reason, limit };
}

/* What becomes of one that cannot run now. */
static struct forecast
held(const struct mpool *m, const struct tally *t, const struct ask *ask,
     unsigned group, struct forecast f)
{
	const struct settings *s = &m->settings;

	if (s->queue_depth == 0 || ask->http > 1 || ask->leg != ROLE_NORMAL ||
	    m->disaggregated)
		return f;
	if (t->waiting[group] >= model_queue_bound(m))
		return refused(REASON_TENANT_SHARE, ceiling_in_force(m));
	if (m->waiting_len >= s->queue_depth)
		return refused(REASON_QUEUE_FULL, f.limit);
	return (struct forecast){ VERDICT_WAIT, REASON_QUEUED, 0 };
}

static struct forecast
forecast_place(const struct mpool *m, const struct tally *t,
	       const struct ask *ask, unsigned group)
{
	struct mplace at = model_place(m, ask->leg);

	if (at.none)
		return refused(REASON_NO_HEALTHY_CAPACITY, ceiling_in_force(m));
	if (at.full > 0)
		return held(m, t, ask, group,
			    refused(REASON_CAPACITY_SHED, at.limit));
	return (struct forecast){ VERDICT_ADMIT, REASON_ADMITTED, 0 };
}

/* A waiter that is under its share: whose turn may come. */
static bool
somebody_is_first(const struct model *model, const struct mpool *m,
		  const struct tally *t)
{
	for (uint32_t n = 0; n < m->waiting_len; n++)
		if (!is_over(m, t, model->ids[m->waiting[n]].group))
			return true;
	return false;
}

/* Nobody is there who could use the unit instead. */
static bool
is_lent(const struct mpool *m, const struct tally *t)
{
	return borrows(m) && m->waiting_len == 0 && has_room(m, t);
}

static struct forecast
forecast_enforced(const struct model *model, const struct mpool *m,
		  const struct ask *ask, unsigned group)
{
	const struct settings *s = &m->settings;
	uint32_t held_up = ceiling_in_force(m) > 0 ? ceiling_in_force(m)
						   : s->ep_max_inflight;
	struct tally t;

	model_count(model, m, &t);
	if (!model_is_whole(m, ask->leg))
		return forecast_place(m, &t, ask, group);
	if (is_over(m, &t, group) && !is_lent(m, &t))
		return held(m, &t, ask, group,
			    refused(REASON_TENANT_SHARE, ceiling_in_force(m)));
	if (somebody_is_first(model, m, &t))
		return held(m, &t, ask, group,
			    refused(REASON_CAPACITY_SHED, held_up));
	if (!has_room(m, &t))
		return held(m, &t, ask, group,
			    refused(REASON_CAPACITY_SHED, ceiling_in_force(m)));
	return forecast_place(m, &t, ask, group);
}

struct forecast
model_forecast(const struct model *model, const struct mpool *m,
	       const struct ask *ask, unsigned group)
{
	if (m->settings.mode != MODE_ENFORCE)
		return (struct forecast){ VERDICT_ADMIT, REASON_ADMITTED, 0 };
	if (model->closed)
		return refused(REASON_DRAINING, ceiling_in_force(m));
	return forecast_enforced(model, m, ask, group);
}

void
model_observed(const struct model *model, const struct mpool *m, enum role leg,
	       unsigned group, uint64_t would[REASON_COUNT])
{
	enum reason at_ceiling = m->settings.queue_depth > 0
					 ? REASON_OBSERVE_WOULD_QUEUE
					 : REASON_OBSERVE_WOULD_SHED;
	struct mplace at = model_place(m, leg);
	struct tally t;

	model_count(model, m, &t);
	memset(would, 0, REASON_COUNT * sizeof(would[0]));
	if (model_is_whole(m, leg)) {
		would[REASON_OBSERVE_WOULD_SHED] +=
			is_over(m, &t, group) && !is_lent(m, &t);
		would[at_ceiling] += !has_room(m, &t);
	}
	would[REASON_OBSERVE_WOULD_SHED] += at.none;
	would[at_ceiling] += at.full;
}

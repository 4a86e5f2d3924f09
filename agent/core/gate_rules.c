/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/core/gate_private.h"

/* Two series of the same labels would spoil a whole scrape. */
static void
tell_apart(const struct gate *g, const struct rule *rule, struct pool *pool)
{
	const struct service *s;

	TAILQ_FOREACH (s, &g->rules.services, link) {
		if (s->pool == NULL || rule_same_key(s->rule, rule) ||
		    !pool_same_labels(s->pool, pool))
			continue;
		pool_tell_apart(pool, rule);
		return;
	}
}

static void
add_pool(struct gate *g, const struct rule *rule, struct pool *pool, usec_t now)
{
	if (pool == NULL)
		return;
	tell_apart(g, rule, pool);
	TAILQ_INSERT_TAIL(&g->pools, pool, link);
	gate_watch_pool(g, pool);
	gate_attend(g, pool, now);
}

/* Its waiters end; it lives on for those who execute. */
static void
retire(struct gate *g, struct pool *p, usec_t now)
{
	if (p == NULL)
		return;
	gate_end_waiters(g, p, REASON_DRAINED, now);
	TAILQ_REMOVE(&g->pools, p, link);
	if (p->executing == 0) {
		gate_discard_pool(g, p);
		return;
	}
	p->retired = true;
	TAILQ_INSERT_TAIL(&g->retired, p, link);
}

static void
create(struct gate *g, struct gate_plan *plan, usec_t now)
{
	add_pool(g, plan->rule, plan->pool, now);
	rulebook_add(&g->rules, plan->place, plan->rule);
	plan->place->pool = plan->pool;
	plan->place->changed = now;
}

static void
change_in_place(struct gate *g, struct gate_plan *plan, usec_t now)
{
	struct service *s = plan->stored;

	rulebook_replace(&g->rules, s, plan->rule);
	s->changed = now;
	if (s->pool != NULL) {
		pool_configure(s->pool, &plan->rule->declared, &g->env);
		gate_attend(g, s->pool, now);
		gate_wake(g, s->pool, now);
	}
}

static void
recreate(struct gate *g, struct gate_plan *plan, usec_t now)
{
	struct service *s = plan->stored;

	add_pool(g, plan->rule, plan->pool, now);
	if (plan->pool != NULL && s->pool != NULL)
		pool_inherit(plan->pool, s->pool, now);
	retire(g, s->pool, now);
	rulebook_replace(&g->rules, s, plan->rule);
	s->pool = plan->pool;
	s->changed = now;
}

static enum gate_change
foresee(const struct service *stored, const struct rule *rule)
{
	if (stored == NULL)
		return GATE_CREATED;
	if (!rule_same_service(stored->rule, rule))
		return GATE_RECREATED;
	if (memcmp(&stored->rule->declared, &rule->declared,
		   sizeof(rule->declared)) != 0)
		return GATE_CHANGED;
	return GATE_UNCHANGED;
}

/* Sets what the change needs; false where one of it is not to be had. */
static bool
provide(struct gate_plan *plan, const struct gate *g)
{
	bool anew =
		plan->change == GATE_CREATED || plan->change == GATE_RECREATED;

	if (plan->change == GATE_CREATED) {
		plan->place = rulebook_place();
		if (plan->place == NULL)
			return false;
	}
	if (!anew || !rule_is_ai_service(plan->rule))
		return true;
	plan->pool = pool_new(plan->rule, &g->env);
	return plan->pool != NULL;
}

bool
gate_plan_put(struct gate_plan *plan, const struct gate *g, struct rule *rule)
{
	memset(plan, 0, sizeof(*plan));
	plan->rule = rule;
	plan->stored = rulebook_find(&g->rules, rule);
	plan->change = foresee(plan->stored, rule);
	if (provide(plan, g))
		return true;
	gate_plan_drop(plan);
	return false;
}

void
gate_plan_drop(struct gate_plan *plan)
{
	rule_free(&plan->rule);
	free(plan->place);
	plan->place = NULL;
	pool_free(&plan->pool);
}

enum gate_change
gate_carry_out(struct gate *g, struct gate_plan *plan, usec_t now)
{
	switch (plan->change) {
	case GATE_CREATED:
		create(g, plan, now);
		break;
	case GATE_CHANGED:
		change_in_place(g, plan, now);
		break;
	case GATE_RECREATED:
		recreate(g, plan, now);
		break;
	case GATE_UNCHANGED:
	case GATE_NO_MEMORY:
		gate_plan_drop(plan);
		break;
	}
	return plan->change;
}

enum gate_change
gate_put(struct gate *g, struct rule *rule, usec_t now)
{
	struct gate_plan plan;

	if (!gate_plan_put(&plan, g, rule))
		return GATE_NO_MEMORY;
	return gate_carry_out(g, &plan, now);
}

void
gate_delete(struct gate *g, struct service *s, usec_t now)
{
	retire(g, s->pool, now);
	rulebook_remove(&g->rules, s);
}

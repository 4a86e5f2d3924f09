/* SPDX-License-Identifier: Apache-2.0 */
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

static bool
add_pool(struct gate *g, const struct rule *rule, struct pool **pool)
{
	*pool = NULL;
	if (!rule_is_ai_service(rule))
		return true;
	*pool = pool_new(rule, &g->env);
	if (*pool == NULL)
		return false;
	tell_apart(g, rule, *pool);
	TAILQ_INSERT_TAIL(&g->pools, *pool, link);
	gate_watch_pool(g, *pool);
	return true;
}

/* Its waiters end; it lives on for those who execute. */
static void
retire(struct gate *g, struct pool *p, usec_t now)
{
	if (p == NULL)
		return;
	gate_end_waiters(g, p, REASON_DRAINED, now);
	TAILQ_REMOVE(&g->pools, p, link);
	if (p->units == 0) {
		gate_discard_pool(g, p);
		return;
	}
	p->retired = true;
	TAILQ_INSERT_TAIL(&g->retired, p, link);
}

static enum gate_change
create(struct gate *g, struct rule *rule, usec_t now)
{
	struct pool *pool;
	struct service *s;

	if (!add_pool(g, rule, &pool)) {
		rule_free(&rule);
		return GATE_NO_MEMORY;
	}
	s = rulebook_add(&g->rules, rule);
	if (s == NULL) {
		retire(g, pool, now);
		rule_free(&rule);
		return GATE_NO_MEMORY;
	}
	s->pool = pool;
	return GATE_CREATED;
}

static enum gate_change
change_in_place(struct gate *g, struct service *s, struct rule *rule,
		usec_t now)
{
	if (memcmp(&s->rule->declared, &rule->declared,
		   sizeof(rule->declared)) == 0) {
		rule_free(&rule);
		return GATE_UNCHANGED;
	}
	rulebook_replace(&g->rules, s, rule);
	if (s->pool != NULL) {
		pool_configure(s->pool, &rule->declared, &g->env);
		gate_wake(g, s->pool, now);
	}
	return GATE_CHANGED;
}

static enum gate_change
recreate(struct gate *g, struct service *s, struct rule *rule, usec_t now)
{
	struct pool *pool;

	if (!add_pool(g, rule, &pool)) {
		rule_free(&rule);
		return GATE_NO_MEMORY;
	}
	if (pool != NULL && s->pool != NULL)
		pool_inherit(pool, s->pool);
	retire(g, s->pool, now);
	rulebook_replace(&g->rules, s, rule);
	s->pool = pool;
	return GATE_RECREATED;
}

enum gate_change
gate_put(struct gate *g, struct rule *rule, usec_t now)
{
	struct service *s = rulebook_find(&g->rules, rule);

	if (s == NULL)
		return create(g, rule, now);
	if (rule_same_service(s->rule, rule))
		return change_in_place(g, s, rule, now);
	return recreate(g, s, rule, now);
}

void
gate_delete(struct gate *g, struct service *s, usec_t now)
{
	retire(g, s->pool, now);
	rulebook_remove(&g->rules, s);
}

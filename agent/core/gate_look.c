/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/gate.h"
#include "agent/core/gate_private.h"

static void
begin_pools(struct gate_pools *pools)
{
	struct pool *p;

	TAILQ_FOREACH (p, pools, link)
		for (size_t i = 0; i < p->endpoint_count; i++) {
			p->endpoints[i].seen = false;
			p->endpoints[i].seen_up = false;
			p->endpoints[i].seen_sessions = 0;
		}
}

void
gate_look_begin(struct gate *g, usec_t asked)
{
	g->look_asked = asked;
	begin_pools(&g->pools);
	begin_pools(&g->retired);
}

static void
tell_pool(struct pool *p, const struct server_look *look)
{
	struct endpoint *e = pool_endpoint(p, &look->address, look->port);

	if (e == NULL)
		return;
	e->seen = true;
	e->seen_up = e->seen_up || look->up;
	e->seen_sessions += look->sessions;
	endpoint_name(e, look->server);
}

static void
tell_named(struct gate *g, struct text name, const struct server_look *look)
{
	struct service *s = rulebook_named(&g->rules, name);

	for (; s != NULL; s = rulebook_next_named(s))
		if (s->pool != NULL)
			tell_pool(s->pool, look);
}

void
gate_look_server(struct gate *g, const struct server_look *look)
{
	bool is_default = text_is(look->backend, g->options.backend);
	struct pool *p;

	tell_named(g, look->backend, look);
	if (is_default)
		tell_named(g, text_of(""), look);
	TAILQ_FOREACH (p, &g->retired, link)
		if (p->backend[0] == '\0' ? is_default
					  : text_is(look->backend, p->backend))
			tell_pool(p, look);
}

static size_t
reclaim_oldest(struct gate *g, struct endpoint *e, uint32_t lost, usec_t now)
{
	uint32_t left = lost;

	/* The last one may take a retired pool, and with it e, away. */
	while (left > 0) {
		struct request *r = TAILQ_FIRST(&e->executing);

		left--;
		gate_reclaim(g, r, now);
	}
	return lost;
}

static size_t
conclude(struct gate *g, struct pool *p, bool complete, usec_t now)
{
	size_t count = p->endpoint_count;
	uint32_t lost[RULE_ENDPOINTS_MAX];
	size_t reclaimed = 0;

	for (size_t i = 0; i < count; i++) {
		struct endpoint *e = &p->endpoints[i];

		lost[i] = 0;
		if (!e->seen)
			continue;
		e->up = e->seen_up;
		if (complete)
			lost[i] = endpoint_look(e, e->seen_sessions,
						g->look_asked);
	}
	gate_wake(g, p, now);
	for (size_t i = 0; i < count; i++)
		if (lost[i] > 0)
			reclaimed += reclaim_oldest(g, &p->endpoints[i],
						    lost[i], now);
	return reclaimed;
}

static size_t
conclude_pools(struct gate *g, struct gate_pools *pools, bool complete,
	       usec_t now)
{
	struct pool *p = TAILQ_FIRST(pools);
	size_t reclaimed = 0;

	while (p != NULL) {
		struct pool *next = TAILQ_NEXT(p, link);

		reclaimed += conclude(g, p, complete, now);
		p = next;
	}
	return reclaimed;
}

size_t
gate_look_end(struct gate *g, bool complete, usec_t now)
{
	return conclude_pools(g, &g->pools, complete, now) +
	       conclude_pools(g, &g->retired, complete, now);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What HAProxy says of the servers, and the units that nobody owns any more. */
#include <stddef.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/core/gate_private.h"

static uint64_t
hash_of(const struct gate *g, const struct address *address, uint16_t port)
{
	uint8_t key[sizeof(address->bytes) + sizeof(port)];

	memcpy(key, address->bytes, sizeof(address->bytes));
	memcpy(key + sizeof(address->bytes), &port, sizeof(port));
	return index_hash(key, sizeof(key), g->options.hash_key);
}

void
gate_watch_pool(struct gate *g, struct pool *p)
{
	for (size_t i = 0; i < p->endpoint_count; i++) {
		struct endpoint *e = &p->endpoints[i];

		index_add(&g->endpoints, &e->node,
			  hash_of(g, &e->address, e->port));
	}
}

void
gate_discard_pool(struct gate *g, struct pool *p)
{
	for (size_t i = 0; i < p->endpoint_count; i++)
		index_remove(&g->endpoints, &p->endpoints[i].node);
	pool_free(&p);
}

static void
unsee(struct endpoint *e)
{
	e->seen = e->seen_own = e->seen_up = false;
	e->seen_sessions = 0;
	e->lost = 0;
}

static void
begin_pools(struct gate_pools *pools)
{
	struct pool *p;

	TAILQ_FOREACH (p, pools, link)
		for (size_t i = 0; i < p->endpoint_count; i++)
			unsee(&p->endpoints[i]);
}

void
gate_look_begin(struct gate *g, usec_t asked)
{
	g->look_asked = asked;
	begin_pools(&g->pools);
	begin_pools(&g->retired);
}

static const char *
backend_of(const struct gate *g, const struct pool *p)
{
	return p->backend[0] != '\0' ? p->backend : g->options.backend;
}

static uint32_t
add_up_to_max(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void
tell(struct endpoint *e, const struct server_look *look)
{
	e->seen = true;
	e->seen_up = e->seen_up || look->up;
	e->seen_sessions = add_up_to_max(e->seen_sessions, look->sessions);
	endpoint_name(e, look->server);
}

/*
 * A rule whose name is no backend is served by the default one, as in the
 * shipped configuration; its own backend, once seen, counts alone.
 */
static void
tell_backend(const struct gate *g, struct endpoint *e,
	     const struct server_look *look)
{
	if (text_is(look->backend, backend_of(g, e->pool))) {
		if (!e->seen_own)
			unsee(e);
		e->seen_own = true;
		tell(e, look);
	} else if (!e->seen_own && text_is(look->backend, g->options.backend)) {
		tell(e, look);
	}
}

void
gate_look_server(struct gate *g, const struct server_look *look)
{
	struct index_node *node = index_first(
		&g->endpoints, hash_of(g, &look->address, look->port));

	for (; node != NULL; node = index_next(node)) {
		struct endpoint *e = CONTAINER_OF(node, struct endpoint, node);

		if (e->port == look->port &&
		    address_equals(&e->address, &look->address))
			tell_backend(g, e, look);
	}
}

/* Sets lost of each endpoint; returns the sessions that no unit accounts for.
 */
static uint32_t
compare(struct pool *p, usec_t asked)
{
	uint32_t spare = 0;

	for (size_t i = 0; i < p->endpoint_count; i++) {
		struct endpoint *e = &p->endpoints[i];

		if (!e->seen)
			continue;
		spare = add_up_to_max(
			spare, endpoint_spare(e, e->seen_sessions, asked));
		e->lost = endpoint_look(e, e->seen_sessions, asked);
	}
	return spare;
}

/* HAProxy may have sent a unit to another server than ours (redispatch). */
static void
spare_some(struct pool *p, uint32_t spare)
{
	for (size_t i = 0; i < p->endpoint_count && spare > 0; i++) {
		struct endpoint *e = &p->endpoints[i];
		uint32_t n = e->lost < spare ? e->lost : spare;

		e->lost -= n;
		spare -= n;
	}
}

static size_t
reclaim_lost(struct gate *g, struct pool *p, usec_t now)
{
	struct endpoint *e = p->endpoints;
	struct endpoint *end = e + p->endpoint_count;
	size_t left = 0, reclaimed = 0;

	for (size_t i = 0; i < p->endpoint_count; i++)
		left += p->endpoints[i].lost;
	/* The last one may take a retired pool, and all in it, away. */
	while (left > 0 && e < end) {
		if (e->lost == 0) {
			e++;
			continue;
		}
		e->lost--;
		left--;
		reclaimed++;
		gate_reclaim(g, TAILQ_FIRST(&e->executing), now);
	}
	return reclaimed;
}

static void
set_up(const struct pool *p, struct endpoint *e, usec_t now)
{
	if (e->seen_up && !e->up)
		pool_return(p, e, now);
	e->up = e->seen_up;
}

static size_t
conclude(struct gate *g, struct pool *p, bool complete, usec_t now)
{
	for (size_t i = 0; i < p->endpoint_count; i++)
		if (p->endpoints[i].seen)
			set_up(p, &p->endpoints[i], now);
	gate_attend(g, p, now);
	if (complete)
		spare_some(p, compare(p, g->look_asked));
	gate_wake(g, p, now);
	return reclaim_lost(g, p, now);
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

/* ---- what others say of the endpoints ---- */

static bool
is_host(const struct endpoint *e, const struct address *address, uint16_t port)
{
	return address_equals(&e->address, address) &&
	       (port == 0 || e->port == port);
}

static size_t
set_host(const struct pool *p, const struct address *address, uint16_t port,
	 bool red, usec_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < p->endpoint_count; i++) {
		struct endpoint *e = &p->endpoints[i];

		if (!is_host(e, address, port))
			continue;
		if (e->red && !red)
			pool_return(p, e, now);
		e->red = red;
		n++;
	}
	return n;
}

size_t
gate_set_host(struct gate *g, const struct address *address, uint16_t port,
	      bool red, usec_t now)
{
	struct pool *p;
	size_t n = 0;

	TAILQ_FOREACH (p, &g->pools, link) {
		size_t found = set_host(p, address, port, red, now);

		if (found == 0)
			continue;
		n += found;
		gate_attend(g, p, now);
		gate_wake(g, p, now);
	}
	return n;
}

void
gate_report(struct gate *g, const struct address *address, uint16_t port,
	    uint32_t waiting, usec_t now)
{
	struct index_node *node =
		index_first(&g->endpoints, hash_of(g, address, port));

	for (; node != NULL; node = index_next(node)) {
		struct endpoint *e = CONTAINER_OF(node, struct endpoint, node);

		if (!is_host(e, address, port))
			continue;
		e->waiting = waiting;
		e->reported = now;
	}
}

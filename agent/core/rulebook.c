/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/rulebook.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool
rulebook_init(struct rulebook *b, const uint64_t hash_key[2])
{
	memset(b, 0, sizeof(*b));
	memcpy(b->hash_key, hash_key, sizeof(b->hash_key));
	TAILQ_INIT(&b->services);
	if (!index_init(&b->by_port))
		return false;
	if (!index_init(&b->by_name)) {
		index_fini(&b->by_port);
		return false;
	}
	return true;
}

void
rulebook_fini(struct rulebook *b)
{
	struct service *s;

	while ((s = TAILQ_FIRST(&b->services)) != NULL)
		rulebook_remove(b, s);
	index_fini(&b->by_port);
	index_fini(&b->by_name);
}

static uint64_t
hash_port(const struct rulebook *b, uint16_t port)
{
	return index_hash(&port, sizeof(port), b->hash_key);
}

static uint64_t
hash_name(const struct rulebook *b, struct text name)
{
	return index_hash(name.at, name.len, b->hash_key);
}

static void
enter(struct rulebook *b, struct service *s)
{
	b->changes++;
	index_add(&b->by_port, &s->by_port, hash_port(b, s->rule->port));
	index_add(&b->by_name, &s->by_name,
		  hash_name(b, text_of(s->rule->name)));
}

static void
leave(struct rulebook *b, struct service *s)
{
	b->changes++;
	index_remove(&b->by_port, &s->by_port);
	index_remove(&b->by_name, &s->by_name);
}

struct service *
rulebook_place(void)
{
	return calloc(1, sizeof(struct service));
}

void
rulebook_add(struct rulebook *b, struct service *place, struct rule *rule)
{
	place->rule = rule;
	place->number = b->declared++;
	TAILQ_INSERT_TAIL(&b->services, place, link);
	b->len++;
	enter(b, place);
}

void
rulebook_replace(struct rulebook *b, struct service *s, struct rule *rule)
{
	assert(rule_same_key(s->rule, rule));
	leave(b, s);
	rule_free(&s->rule);
	s->rule = rule;
	enter(b, s);
}

void
rulebook_remove(struct rulebook *b, struct service *s)
{
	leave(b, s);
	TAILQ_REMOVE(&b->services, s, link);
	b->len--;
	rule_free(&s->rule);
	free(s);
}

#define SERVICE_BY_PORT(node) CONTAINER_OF(node, struct service, by_port)
#define SERVICE_BY_NAME(node) CONTAINER_OF(node, struct service, by_name)

struct service *
rulebook_find(const struct rulebook *b, const struct rule *key)
{
	struct index_node *node =
		index_first(&b->by_port, hash_port(b, key->port));

	for (; node != NULL; node = index_next(node)) {
		struct service *s = SERVICE_BY_PORT(node);

		if (rule_same_key(s->rule, key))
			return s;
	}
	return NULL;
}

static struct service *
with_name(struct index_node *node, struct text name)
{
	for (; node != NULL; node = index_next(node)) {
		struct service *s = SERVICE_BY_NAME(node);

		if (text_is(name, s->rule->name))
			return s;
	}
	return NULL;
}

struct service *
rulebook_named(const struct rulebook *b, struct text name)
{
	return with_name(index_first(&b->by_name, hash_name(b, name)), name);
}

struct service *
rulebook_next_named(const struct service *s)
{
	return with_name(index_next(&s->by_name), text_of(s->rule->name));
}

/* Keeps the better fitting of two. */
static void
weigh(struct service *s, const struct rule_query *query, struct service **best,
      uint32_t *best_fit)
{
	uint32_t fit = rule_fit(s->rule, query);

	if (fit > *best_fit ||
	    (fit > 0 && fit == *best_fit && s->number < (*best)->number)) {
		*best = s;
		*best_fit = fit;
	}
}

struct service *
rulebook_match(const struct rulebook *b, const struct rule_query *query)
{
	struct service *best = NULL;
	uint32_t fit = 0;
	struct index_node *node;

	if (query->pool.len > 0) {
		struct service *s = rulebook_named(b, query->pool);

		for (; s != NULL; s = rulebook_next_named(s))
			weigh(s, query, &best, &fit);
		return best;
	}
	node = index_first(&b->by_port, hash_port(b, query->port));
	for (; node != NULL; node = index_next(node))
		weigh(SERVICE_BY_PORT(node), query, &best, &fit);
	return best;
}

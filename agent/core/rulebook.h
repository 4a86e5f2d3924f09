/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_RULEBOOK_H
#define AGENT_CORE_RULEBOOK_H

/*
 * All rules, in the order in which they were first declared, each with its
 * pool where the gate runs on it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "agent/core/index.h"
#include "agent/core/rule.h"

struct pool;

struct service {
	TAILQ_ENTRY(service) link;
	struct index_node by_port;
	struct index_node by_name;
	struct rule *rule; /* owned */
	struct pool *pool; /* borrowed of the gate; NULL: not an AI service */
	uint64_t number;   /* in the order of declaration */
	usec_t changed;    /* when a write last changed it */
};

TAILQ_HEAD(services, service);

struct rulebook {
	struct services services;
	size_t len;
	uint64_t declared; /* services so far */
	uint64_t changes;  /* so that one can see that there was one */
	struct index by_port;
	struct index by_name;
	uint64_t hash_key[2];
};

MUST_CHECK bool rulebook_init(struct rulebook *b, const uint64_t hash_key[2]);

/* Frees the rules; their pools are the gate's. */
void rulebook_fini(struct rulebook *b);

/* A place for a rule, in no book yet: free() it or add it. NULL without memory.
 */
MUST_CHECK struct service *rulebook_place(void);

/* Takes the place and the rule, whose key no stored one may have. */
void rulebook_add(struct rulebook *b, struct service *place, struct rule *rule);

/* Takes the rule in place of the stored one, whose key it has. */
void rulebook_replace(struct rulebook *b, struct service *s, struct rule *rule);

void rulebook_remove(struct rulebook *b, struct service *s);

/* The stored rule with that key, or NULL. */
struct service *rulebook_find(const struct rulebook *b, const struct rule *key);

/* The rules of that name, one after the other; NULL at the end. */
struct service *rulebook_named(const struct rulebook *b, struct text name);
struct service *rulebook_next_named(const struct service *s);

/*
 * The rule that a request falls under (interface 6.1), or NULL. Of rules that
 * fit alike, as two of one name may, the one declared first.
 */
struct service *rulebook_match(const struct rulebook *b,
			       const struct rule_query *query);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_INDEX_H
#define AGENT_CORE_INDEX_H

/*
 * A hash table of objects that embed their link, so that adding one cannot
 * fail and removing one needs no search beyond its bucket. The caller hashes
 * and compares. Grows by itself; where there is no memory to grow it gets
 * slower instead.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"

struct index_node {
	struct index_node *next;
	uint64_t hash;
};

struct index {
	struct index_node **bucket; /* owned */
	size_t mask;                /* buckets less one, a power of two */
	size_t len;
};

/* False without memory. */
MUST_CHECK bool index_init(struct index *index);

/* Every node must have been removed. */
void index_fini(struct index *index);

void index_add(struct index *index, struct index_node *node, uint64_t hash);
void index_remove(struct index *index, struct index_node *node);

/* The first node of that hash, and the next ones; NULL at the end. */
struct index_node *index_first(const struct index *index, uint64_t hash);
struct index_node *index_next(const struct index_node *node);

/* SipHash-1-3: who does not know the key cannot make keys collide. */
uint64_t index_hash(const void *bytes, size_t len, const uint64_t key[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

bool
index_init(struct index *index)
{
	index->bucket = calloc(FIRST_BUCKETS, sizeof(struct index_node *));
	index->mask = FIRST_BUCKETS - 1;
	index->len = 0;
	return index->bucket != NULL;
}

void
index_fini(struct index *index)
{
	assert(index->len == 0);
	free(index->bucket);
	index->bucket = NULL;
}

static void
put(struct index_node **bucket, size_t mask, struct index_node *node)
{
	struct index_node **head = &bucket[node->hash & mask];

	node->next = *head;
	*head = node;
}

static void
grow(struct index *index)
{
	size_t mask = index->mask * 2 + 1;
	struct index_node **bucket =
		calloc(mask + 1, sizeof(struct index_node *));

	if (bucket == NULL)
		return;
	for (size_t i = 0; i <= index->mask; i++) {
		struct index_node *node = index->bucket[i];

		while (node != NULL) {
			struct index_node *next = node->next;

			put(bucket, mask, node);
			node = next;
		}
	}
	free(index->bucket);
	index->bucket = bucket;
	index->mask = mask;
}

void
index_add(struct index *index, struct index_node *node, uint64_t hash)
{
	if (index->len > index->mask)
		grow(index);
	node->hash = hash;
	put(index->bucket, index->mask, node);
	index->len++;
}

void
index_remove(struct index *index, struct index_node *node)
{
	struct index_node **at = &index->bucket[node->hash & index->mask];

	while (*at != node) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = node->next;
	index->len--;
}

static struct index_node *
with_hash(struct index_node *node, uint64_t hash)
{
	while (node != NULL && node->hash != hash)
		node = node->next;
	return node;
}

struct index_node *
index_first(const struct index *index, uint64_t hash)
{
	return with_hash(index->bucket[hash & index->mask], hash);
}

struct index_node *
index_next(const struct index_node *node)
{
	return with_hash(node->next, node->hash);
}

static uint64_t
rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* Written out so that the compiler makes one load of it. */
static uint64_t
whole_word(const uint8_t *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
	       (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 |
	       (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
	       (uint64_t)at[7] << 56;
}

static uint64_t
little_endian(const uint8_t *at, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)at[i] << (8 * i);
	return word;
}

uint64_t
index_hash(const void *bytes, size_t len, const uint64_t key[2])
{
	/* The constants and rounds of SipHash-1-3. */
	uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575),
			  key[1] ^ UINT64_C(0x646f72616e646f6d),
			  key[0] ^ UINT64_C(0x6c7967656e657261),
			  key[1] ^ UINT64_C(0x7465646279746573) };
	const uint8_t *at = bytes;
	const uint8_t *last = at + (len & ~(size_t)7);
	uint64_t word;

	for (; at != last; at += 8) {
		word = whole_word(at);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = (uint64_t)len << 56 | little_endian(at, len & 7);
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/ledger.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool
ledger_init(struct ledger *l, const uint64_t hash_key[2])
{
	memset(l, 0, sizeof(*l));
	memcpy(l->hash_key, hash_key, sizeof(l->hash_key));
	TAILQ_INIT(&l->executing);
	TAILQ_INIT(&l->early);
	return index_init(&l->by_id);
}

void
ledger_fini(struct ledger *l)
{
	struct ledger_line *lines[] = { &l->executing, &l->early };

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct request *r;

		while ((r = TAILQ_FIRST(lines[i])) != NULL) {
			ledger_remove(l, r);
			ledger_free(r);
		}
	}
	index_fini(&l->by_id);
}

static struct text
id_of(const struct request *r)
{
	return (struct text){ r->id, r->id_len };
}

struct request *
ledger_find(const struct ledger *l, struct text id)
{
	uint64_t hash = index_hash(id.at, id.len, l->hash_key);
	struct index_node *node = index_first(&l->by_id, hash);

	for (; node != NULL; node = index_next(node)) {
		struct request *r = CONTAINER_OF(node, struct request, node);

		if (text_equals(id_of(r), id))
			return r;
	}
	return NULL;
}

struct request *
ledger_add(struct ledger *l, struct text id)
{
	struct request *r;

	assert(id.len > 0 && id.len <= REQUEST_ID_MAX);
	r = calloc(1, sizeof(*r) + id.len);
	if (r == NULL)
		return NULL;
	r->id_len = (uint8_t)id.len;
	memcpy(r->id, id.at, id.len);
	index_add(&l->by_id, &r->node, index_hash(id.at, id.len, l->hash_key));
	return r;
}

struct request *
ledger_replace(struct ledger *l, struct request *older)
{
	struct request *newer = ledger_add(l, id_of(older));

	if (newer == NULL)
		return NULL;
	ledger_remove(l, older);
	return newer;
}

void
ledger_remove(struct ledger *l, struct request *r)
{
	index_remove(&l->by_id, &r->node);
	if (r->state == REQUEST_EXECUTING)
		TAILQ_REMOVE(&l->executing, r, aged);
	if (r->state == REQUEST_ENDED_EARLY) {
		TAILQ_REMOVE(&l->early, r, aged);
		l->early_len--;
	}
	r->state = REQUEST_ENDED;
}

void
ledger_free(struct request *r)
{
	assert(r->state == REQUEST_ENDED);
	free(r);
}

void
ledger_begin(struct ledger *l, struct request *r, usec_t now)
{
	assert(r->state == REQUEST_NEW || r->state == REQUEST_WAITING);
	r->state = REQUEST_EXECUTING;
	r->admitted = now;
	TAILQ_INSERT_TAIL(&l->executing, r, aged);
}

static void
forget_oldest(struct ledger *l)
{
	struct request *r = TAILQ_FIRST(&l->early);

	ledger_remove(l, r);
	ledger_free(r);
}

void
ledger_end_early(struct ledger *l, struct text id, usec_t now)
{
	struct request *r;

	if (l->early_len >= LEDGER_EARLY_MAX)
		forget_oldest(l);
	r = ledger_add(l, id);
	if (r == NULL)
		return;
	r->state = REQUEST_ENDED_EARLY;
	r->since = now;
	TAILQ_INSERT_TAIL(&l->early, r, aged);
	l->early_len++;
}

void
ledger_forget(struct ledger *l, usec_t now)
{
	const struct request *r;

	while ((r = TAILQ_FIRST(&l->early)) != NULL &&
	       now - r->since >= LEDGER_EARLY_USEC)
		forget_oldest(l);
}

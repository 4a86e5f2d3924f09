/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/receipts.h"

#include <assert.h>
#include <err.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int
by_nonce(const void *a, const void *b)
{
	const struct receipt *one = a, *other = b;

	return strcmp(one->nonce, other->nonce);
}

static void
tally_add(struct tally *t)
{
	t->received++;
	t->active++;
	if (t->peak < t->active)
		t->peak = t->active;
}

static void
tally_forget(struct tally *t)
{
	t->received = 0;
	t->peak = t->active;
}

static struct receipt *
store(struct receipts *rs, const char *nonce)
{
	struct receipt *r = calloc(1, sizeof(*r));

	if (r == NULL || (r->nonce = strdup(nonce)) == NULL ||
	    tsearch(r, &rs->by_nonce, by_nonce) == NULL)
		err(1, "receipt");
	TAILQ_INSERT_TAIL(&rs->each, r, link);
	return r;
}

static void
forget(struct receipts *rs, struct receipt *r)
{
	TAILQ_REMOVE(&rs->each, r, link);
	tdelete(r, &rs->by_nonce, by_nonce);
	free(r->nonce);
	free(r);
}

static struct receipt *
find(const struct receipts *rs, const char *nonce)
{
	const struct receipt key = { .nonce = (char *)(uintptr_t)nonce };
	struct receipt *const *found = tfind(&key, &rs->by_nonce, by_nonce);

	return found != NULL ? *found : NULL;
}

void
receipts_init(struct receipts *rs)
{
	memset(rs, 0, sizeof(*rs));
	TAILQ_INIT(&rs->each);
	rs->order = json_array();
	if (rs->order == NULL)
		err(1, "receipts");
}

void
receipts_fini(struct receipts *rs)
{
	assert(rs->total.active == 0);
	receipts_forget(rs);
	json_decref(rs->order);
}

void
receipts_forget(struct receipts *rs)
{
	struct receipt *r, *next;

	json_array_clear(rs->order);
	tally_forget(&rs->total);
	for (r = TAILQ_FIRST(&rs->each); r != NULL; r = next) {
		next = TAILQ_NEXT(r, link);
		tally_forget(&r->tally);
		if (r->tally.active == 0)
			forget(rs, r);
	}
}

struct receipt *
receipts_arrive(struct receipts *rs, const char *nonce)
{
	struct receipt *r;

	tally_add(&rs->total);
	if (nonce == NULL)
		return NULL;

	r = find(rs, nonce);
	if (r == NULL)
		r = store(rs, nonce);
	tally_add(&r->tally);
	json_array_append_new(rs->order, json_string(nonce));
	return r;
}

void
receipts_done(struct receipts *rs, struct receipt *receipt)
{
	rs->total.active--;
	if (receipt != NULL)
		receipt->tally.active--;
}

struct tally
receipts_find(const struct receipts *rs, const char *nonce)
{
	const struct receipt *r = find(rs, nonce);

	return r != NULL ? r->tally : (struct tally){ 0 };
}

json_t *
receipts_counts(const struct receipts *rs)
{
	json_t *all = json_object();
	const struct receipt *r;

	TAILQ_FOREACH (r, &rs->each, link) {
		if (r->tally.received > 0)
			json_object_set_new(
				all, r->nonce,
				json_integer((json_int_t)r->tally.received));
	}
	return all;
}

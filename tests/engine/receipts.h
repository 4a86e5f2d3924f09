/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_RECEIPTS_H
#define TESTS_ENGINE_RECEIPTS_H

/*
 * Proof of what reached the engine: a tally of inference requests in all and
 * for each nonce, and the nonces in order of arrival.
 */

#include <jansson.h>
#include <stddef.h>
#include <sys/queue.h>

#include "agent/core/base.h"

struct tally {
	unsigned long received;
	unsigned long active; /* in progress now */
	unsigned long peak;   /* most at once */
};

struct receipt {
	TAILQ_ENTRY(receipt) link;
	struct tally tally;
	char *nonce; /* owned */
};

struct receipts {
	struct tally total;         /* those without a nonce too */
	TAILQ_HEAD(, receipt) each; /* owned */
	void *by_nonce;             /* a tsearch tree of the same */
	json_t *order;              /* owned: the array of nonces */
};

void receipts_init(struct receipts *rs);

/* Nobody may be in progress. */
void receipts_fini(struct receipts *rs);

/* Forgets who came; those in progress stay. */
void receipts_forget(struct receipts *rs);

/*
 * One arrives, with a nonce or NULL. Hand what this returns to
 * receipts_done(), once; it is NULL for one without a nonce.
 */
struct receipt *receipts_arrive(struct receipts *rs, const char *nonce);
void receipts_done(struct receipts *rs, struct receipt *receipt);

/* All zero for a nonce that never came. */
struct tally receipts_find(const struct receipts *rs, const char *nonce);

/* An object, nonce to count. The caller owns it. */
json_t *receipts_counts(const struct receipts *rs);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_LEDGER_H
#define AGENT_CORE_LEDGER_H

/*
 * Every live request by its id, and the memory they live in.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/index.h"
#include "agent/core/request.h"
#include "agent/core/text.h"

/* How long the end of a request that never asked is remembered. */
#define LEDGER_EARLY_USEC (10 * USEC_PER_SEC)

/* How many such ends at most; the oldest is forgotten first. */
#define LEDGER_EARLY_MAX 65536

TAILQ_HEAD(ledger_line, request);

struct ledger {
	struct index by_id;
	uint64_t hash_key[2];
	struct ledger_line executing; /* oldest first */
	struct ledger_line early;     /* oldest first */
	size_t early_len;
};

/* False without memory. */
MUST_CHECK bool ledger_init(struct ledger *l, const uint64_t hash_key[2]);

/* Forgets all, whatever its state. */
void ledger_fini(struct ledger *l);

struct request *ledger_find(const struct ledger *l, struct text id);

/*
 * A request with that id, which must not be in the ledger, all else zero.
 * NULL without memory.
 */
MUST_CHECK struct request *ledger_add(struct ledger *l, struct text id);

/*
 * A new request in the place of older, which is removed. NULL without memory,
 * and nothing changed.
 */
MUST_CHECK struct request *ledger_replace(struct ledger *l,
					  struct request *older);

/* Takes it out of the books; it still lives until ledger_free(). */
void ledger_remove(struct ledger *l, struct request *r);

/* r must have been removed. */
void ledger_free(struct request *r);

/* Puts an added request among those executing, as the youngest. */
void ledger_begin(struct ledger *l, struct request *r, usec_t now);

/* Remembers the end of an id that is not in the ledger. */
void ledger_end_early(struct ledger *l, struct text id, usec_t now);

/* Forgets early ends older than LEDGER_EARLY_USEC. */
void ledger_forget(struct ledger *l, usec_t now);

#endif

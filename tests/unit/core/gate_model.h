/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORE_GATE_MODEL_H
#define TESTS_UNIT_CORE_GATE_MODEL_H

/*
 * A naive gate: a list of requests, and the ladder told from that list alone.
 * Every count is made by looking at all of them, so it can be slow, but hardly
 * wrong in the same way as the gate.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/gate.h"

#define MODEL_IDS 400
#define MODEL_TENANTS 90

/* Those who are counted together because they have no slot of their own. */
#define MODEL_LAST MODEL_TENANTS
#define MODEL_GROUPS (MODEL_TENANTS + 1)

enum place { FREE, WAITING, EXECUTING };

struct mpool {
	struct pool *pool; /* gone with its last unit once retired */
	struct settings settings;
	bool disaggregated;
	bool retired;
	uint32_t executing;
	unsigned waiting[MODEL_IDS]; /* ids, oldest first */
	uint32_t waiting_len;
	uint64_t decisions[REASON_COUNT];
	uint64_t ran_after_wait;
	uint64_t reclaimed;
};

struct mid {
	struct mpool *pool;
	enum place place;
	enum role leg; /* ROLE_NORMAL: a whole request */
	unsigned tenant;
	unsigned group; /* its tenant, or MODEL_LAST */
	const struct endpoint *endpoint;
	const struct endpoint *prefill;
	uint64_t newest; /* question */
	uint64_t permit;
	usec_t since;
	usec_t deadline;
	usec_t admitted;
	usec_t early_since;
	bool early;
	char id[16];
};

struct model {
	struct mid ids[MODEL_IDS];
	unsigned id_count;
	bool closed; /* for maintenance */
};

/* What each group of a pool holds. */
struct tally {
	uint32_t units[MODEL_GROUPS]; /* of the service */
	uint32_t waiting[MODEL_GROUPS];
	uint32_t all_units;
	uint32_t active; /* groups that hold anything */
};

void model_count(const struct model *model, const struct mpool *m,
		 struct tally *t);

/* Whether each tenant has a share of its own. */
bool model_is_shared(const struct mpool *m);

/* What one of them may execute and how many of it may wait. */
uint32_t model_unit_bound(const struct mpool *m);
uint32_t model_queue_bound(const struct mpool *m);

/* With whom a newcomer of that tenant is counted. */
unsigned model_group(const struct model *model, const struct mpool *m,
		     unsigned tenant);

/* Whether the request has a unit of the service. */
bool model_is_whole(const struct mpool *m, enum role leg);

/* The id whose turn is next, or MODEL_IDS. */
unsigned model_next(const struct model *model, const struct mpool *m);

/* How the endpoints stand that a request needs. */
struct mplace {
	bool none;     /* of one role no endpoint is up */
	unsigned full; /* roles with some up, and all of those full */
	uint32_t limit;
};

struct mplace model_place(const struct mpool *m, enum role leg);

struct forecast {
	enum verdict verdict;
	enum reason reason;
	uint32_t limit; /* of a refusal */
};

/* What the ladder says, from step 2 on. */
struct forecast model_forecast(const struct model *model, const struct mpool *m,
			       const struct ask *ask, unsigned group);

/* How often each ceiling would have refused it, where all are admitted. */
void model_observed(const struct model *model, const struct mpool *m,
		    enum role leg, unsigned group,
		    uint64_t would[REASON_COUNT]);

#endif

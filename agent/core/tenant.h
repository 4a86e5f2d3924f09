/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_TENANT_H
#define AGENT_CORE_TENANT_H

/*
 * What each tenant of a pool holds, and how much of the pool it may hold
 * (rows 238 to 264).
 *
 * A tenant is a digest of its name; no name is a name too. The table has room
 * for TENANTS_MAX that hold something; all beyond share one last slot, and
 * who is placed there stays there. A slot whose tenant holds nothing is free.
 * Without a share everybody is in the last slot, and nothing is bounded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"

#define TENANTS_MAX 64

/* No bound on the units or the waiters of a tenant. */
#define TENANT_UNBOUNDED UINT32_MAX

struct request;

TAILQ_HEAD(tenant_line, request);

struct tenant {
	uint64_t key;
	uint32_t units;
	uint32_t waiting;
	struct tenant_line line; /* its waiters, oldest first */

	/* where the queue has it: meaningful while anybody waits in line */
	bool over; /* among those over their share */
	uint8_t place;
};

struct tenants {
	bool active;          /* a share is in force */
	uint32_t unit_bound;  /* of one tenant; at least 1 */
	uint32_t queue_bound; /* the same for its waiters */
	struct tenant slot[TENANTS_MAX];
	struct tenant last; /* of all beyond, and of all without a share */
};

void tenants_init(struct tenants *t);

/* percent of each, rounded up, at least 1; 0, 100 and no ceiling are no share.
 */
void tenants_bound(struct tenants *t, uint32_t percent, uint32_t ceiling,
		   uint32_t depth);

/*
 * The slot of a tenant, which is free where it holds nothing. It is the last
 * one where there is no share or no room.
 */
struct tenant *tenants_slot(struct tenants *t, uint64_t key);

/* Those that hold a unit or a place; 0 without a share. */
uint32_t tenants_active(const struct tenants *t);

/* Whether it may not take one more of its own right. */
bool tenant_is_over(const struct tenant *tenant, uint32_t unit_bound);

#endif

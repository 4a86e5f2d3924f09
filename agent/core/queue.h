/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_QUEUE_H
#define AGENT_CORE_QUEUE_H

/*
 * Who waits on a pool: each tenant's waiters in line, first come first served,
 * and the tenants in the order of their oldest waiters. Those that are over
 * their share are apart, whoever holds the fewest units first, so that what is
 * lent does not all go to one. The next one is found among the heads alone, and
 * whoever cannot run holds nobody up.
 *
 * The bound on the length is an argument, since a smaller depth binds
 * newcomers only (row 173).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/tenant.h"

struct request;

/* Tenants, the one that is served first at the top of a heap. */
struct queue_heads {
	struct tenant *tenant[TENANTS_MAX + 1];
	uint8_t len;
};

struct queue {
	struct queue_heads under; /* may take a unit of their own right */
	struct queue_heads over;
	uint32_t unit_bound; /* from which on a tenant is over */
	uint32_t len;
	uint64_t turns; /* given so far */
};

void queue_init(struct queue *q);

/* Every waiter must have left: a forgotten one is a client left hanging. */
void queue_fini(struct queue *q);

bool queue_has_room(const struct queue *q, uint32_t depth);

/* Behind all others; its tenant is set. */
void queue_join(struct queue *q, struct request *r);

/* Behind its tenant's others, with the turn it has. */
void queue_rejoin(struct queue *q, struct request *r);

/* r must be waiting in q. */
void queue_leave(struct queue *q, struct request *r);

/* newer takes the place of older, which leaves. */
void queue_replace(struct request *older, struct request *newer);

/* To be called when the units of a tenant have changed. */
void queue_review(struct queue *q, struct tenant *tenant);

/* The same for all tenants, since the bound is another one. */
void queue_set_bound(struct queue *q, uint32_t unit_bound);

/* Who is served next of those under their share, or NULL. */
struct request *queue_head(const struct queue *q);

/* The same of those that are over it: of whose tenant holds the fewest units.
 */
struct request *queue_borrower(const struct queue *q);

/* Who has waited longest of all, or NULL. */
struct request *queue_oldest(const struct queue *q);

#endif

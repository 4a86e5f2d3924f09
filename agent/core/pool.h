/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_POOL_H
#define AGENT_CORE_POOL_H

/*
 * One gated service: the settings in force, who executes where, who waits,
 * and what was decided.
 *
 * A pool whose rule is gone lives on, retired, until its last unit is back, so
 * that a late release moves the counts of nobody else (row 108).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/adaptive.h"
#include "agent/core/base.h"
#include "agent/core/endpoint.h"
#include "agent/core/metrics.h"
#include "agent/core/queue.h"
#include "agent/core/reason.h"
#include "agent/core/request.h"
#include "agent/core/rule.h"
#include "agent/core/settings.h"
#include "agent/core/tenant.h"

#define POOL_LABEL_MAX 65 /* its terminator included (contract 7) */

struct pool {
	TAILQ_ENTRY(pool) link; /* in one of the gate's lists */
	struct settings_effective effective;
	bool disaggregated;
	bool retired; /* its rule is gone; it lives for its last units */

	char *service; /* owned, "VIP:port" */
	char *backend; /* owned, the rule's name; empty for none */
	char label[POOL_LABEL_MAX];

	struct endpoint *endpoints; /* owned */
	size_t endpoint_count;
	size_t rotation[ROLE_DECODE + 1]; /* where the next search begins */

	uint32_t executing; /* requests; all but legs hold a service unit */
	uint32_t units;     /* of the service */
	struct endpoint_units elsewhere; /* who executes where HAProxy chose */
	struct adaptive adaptive;
	usec_t stepped; /* the evidence that the last step was taken on */
	struct tenants tenants;
	struct queue queue;

	uint64_t decisions[REASON_COUNT];
	struct histogram waits; /* of those that were run after a wait */
	uint64_t reclaimed;
};

/* NULL without memory. */
MUST_CHECK struct pool *pool_new(const struct rule *rule,
				 const struct settings_env *env);

/* Whether the series of the two could not be told apart. */
bool pool_same_labels(const struct pool *a, const struct pool *b);

/* Makes its label differ by a digest of the whole key of its rule. */
void pool_tell_apart(struct pool *p, const struct rule *rule);

/* The endpoint of that address, or NULL. */
struct endpoint *pool_endpoint(const struct pool *p,
			       const struct address *address, uint16_t port);

/*
 * Takes over what is known of the endpoints that both have: their health,
 * their names and what they say. Those that are new have to warm up.
 */
void pool_inherit(struct pool *p, const struct pool *from, usec_t now);

/* Nobody may execute or wait. */
void pool_free(struct pool **pool);

/*
 * Puts a rule's changed settings in force; whom that frees is not woken. With
 * a first share who executes and waits is counted for its tenant from then on
 * (interface 6.9).
 */
void pool_configure(struct pool *p, const struct settings *declared,
		    const struct settings_env *env);

enum mode pool_mode(const struct pool *p);

/* The service ceiling in force, the adaptive one too; 0 is none. */
uint32_t pool_ceiling(const struct pool *p);

/* Whether its engines are asked how they are. */
bool pool_is_scraped(const struct pool *p);

/* Whether the time to the first token of an answer matters. */
bool pool_wants_first_token(const struct pool *p);

/* Whether time alone changes what is in force. */
bool pool_is_moving(const struct pool *p);

/* Once a second while it is moving; whom it frees is not woken. */
void pool_pass(struct pool *p, usec_t now);

/* An endpoint of it is back in service. */
void pool_return(const struct pool *p, struct endpoint *e, usec_t now);

/* One answered after that long; NULL is one that HAProxy chose. */
void pool_first_token(const struct pool *p, struct endpoint *e, usec_t took,
		      usec_t now);

/* The endpoints whose ceilings ramp. */
uint32_t pool_warming(const struct pool *p);

/* How many may wait; 0 where nobody ever does (contract rows 177, 178). */
uint32_t pool_queue_depth(const struct pool *p);

/* Whether the service ceiling leaves room for one more. */
bool pool_has_room(const struct pool *p);

/* The ceiling of a role on each endpoint; 0 is none. */
uint32_t pool_endpoint_ceiling(const struct pool *p, enum role role);

/* The role whose endpoints answer a whole request: decode for a P/D pool. */
enum role pool_serving_role(const struct pool *p);

/* In the order in which they are in the way. */
enum pick { PICK_NONE_ELIGIBLE, PICK_ALL_FULL, PICK_FOUND };

/* Where a request runs; NULL is where HAProxy chooses. */
struct placement {
	struct endpoint *endpoint;
	struct endpoint *prefill; /* beside it, for a whole request on P/D */
	uint32_t limit;           /* with PICK_ALL_FULL: the ceiling */
	unsigned full;            /* roles whose endpoints are all full */
};

/*
 * Of each role that the request needs the endpoint with the fewest units for
 * its weight among the eligible ones with room; among equals the one in which
 * fewer requests wait, then in rotation. leg is ROLE_NORMAL for a whole
 * request, and means nothing unless P/D. With PICK_ALL_FULL they are those that
 * they would be if there were no ceiling.
 */
enum pick pool_place(const struct pool *p, enum role leg, usec_t now,
		     struct placement *at);

/* r executes there from now on; its tenant, if it has one, holds a unit. */
void pool_take(struct pool *p, const struct placement *at, struct request *r);

/*
 * It executes on the endpoint of that name, if that serves what its own one
 * does; else, or where it has none, it stays. Returns whether it moved.
 */
bool pool_move(struct pool *p, struct request *r, struct text server);

/* Its prefill is done, if it has one. */
void pool_end_prefill(struct request *r);

/* All that r holds. */
void pool_give_back(struct pool *p, struct request *r);

/*
 * The waiter whose turn it is: the oldest of those whose tenant is under its
 * share and then, where shares may be borrowed, the oldest of the tenant that
 * holds the fewest units. NULL for none.
 */
struct request *pool_next_waiter(const struct pool *p);

/* Whether admitted answers carry the pool's counts. */
bool pool_exposes(const struct pool *p);

/* Seconds that a refused client is asked to stay away. */
uint32_t pool_retry_after(const struct pool *p, enum retry_rule rule);

/* One value of a METRIC_POOL family that is no histogram. */
uint64_t pool_metric(const struct pool *p, enum metric_id id, size_t value);

#endif

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

#include "agent/core/base.h"
#include "agent/core/endpoint.h"
#include "agent/core/metrics.h"
#include "agent/core/queue.h"
#include "agent/core/reason.h"
#include "agent/core/request.h"
#include "agent/core/rule.h"
#include "agent/core/settings.h"

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
	size_t rotation; /* where the next search among equals begins */

	uint32_t units; /* requests that execute */
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
 * Takes over what is known of the endpoints that both have: their health and
 * their names.
 */
void pool_inherit(struct pool *p, const struct pool *from);

/* Nobody may execute or wait. */
void pool_free(struct pool **pool);

/* Puts a rule's changed settings in force; whom that frees is not woken. */
void pool_configure(struct pool *p, const struct settings *declared,
		    const struct settings_env *env);

enum mode pool_mode(const struct pool *p);

/* The service ceiling in force; 0 is none. */
uint32_t pool_ceiling(const struct pool *p);

/* How many may wait; 0 where nobody ever does (contract rows 177, 178). */
uint32_t pool_queue_depth(const struct pool *p);

/* Whether the service ceiling leaves room for one more. */
bool pool_has_room(const struct pool *p);

/* The ceiling of a role on each endpoint; 0 is none. */
uint32_t pool_endpoint_ceiling(const struct pool *p, enum role role);

/* The role whose endpoints serve a request: decode for a P/D pool. */
enum role pool_serving_role(const struct pool *p);

enum pick { PICK_NONE_ELIGIBLE, PICK_ALL_FULL, PICK_FOUND };

/*
 * The endpoint with the fewest units for its weight among the eligible ones
 * with room, in rotation among equals. With PICK_ALL_FULL *endpoint is the
 * one that it would be if there were no ceiling.
 */
enum pick pool_pick(struct pool *p, struct endpoint **endpoint);

/* r executes on endpoint from now on; NULL where HAProxy chooses. */
void pool_take(struct pool *p, struct endpoint *endpoint, struct request *r);

/* The reverse, whatever the endpoint. */
void pool_give_back(struct pool *p, struct request *r);

/* Seconds that a refused client is asked to stay away. */
uint32_t pool_retry_after(const struct pool *p, enum retry_rule rule);

/* One value of a METRIC_POOL family that is no histogram. */
uint64_t pool_metric(const struct pool *p, enum metric_id id, size_t value);

#endif

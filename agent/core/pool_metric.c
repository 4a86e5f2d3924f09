/* SPDX-License-Identifier: Apache-2.0 */
/* What is published of a pool. */
#include <assert.h>

#include "agent/core/pool.h"

static uint64_t
units_of_role(const struct pool *p, enum role role)
{
	uint64_t units = 0;

	for (size_t i = 0; i < p->endpoint_count; i++)
		if (p->endpoints[i].role == role)
			units += p->endpoints[i].units;
	return units;
}

static uint64_t
inflight(const struct pool *p, enum metric_role role)
{
	switch (role) {
	case METRIC_ROLE_SERVICE:
		return p->units;
	case METRIC_ROLE_NORMAL:
		return units_of_role(p, ROLE_NORMAL);
	case METRIC_ROLE_PREFILL:
		return units_of_role(p, ROLE_PREFILL);
	case METRIC_ROLE_DECODE:
		return units_of_role(p, ROLE_DECODE);
	case METRIC_ROLE_QUEUE:
		return p->queue.len;
	}
	assert(false && "unknown role");
	return 0;
}

static uint64_t
limit(const struct pool *p, enum metric_role role)
{
	switch (role) {
	case METRIC_ROLE_SERVICE:
		return p->effective.value.max_outstanding;
	case METRIC_ROLE_NORMAL:
		return pool_endpoint_ceiling(p, ROLE_NORMAL);
	case METRIC_ROLE_PREFILL:
		return pool_endpoint_ceiling(p, ROLE_PREFILL);
	case METRIC_ROLE_DECODE:
		return pool_endpoint_ceiling(p, ROLE_DECODE);
	case METRIC_ROLE_QUEUE:
		return p->effective.value.queue_depth;
	}
	assert(false && "unknown role");
	return 0;
}

uint64_t
pool_metric(const struct pool *p, enum metric_id id, size_t value)
{
	switch ((int)id) {
	case METRIC_mode:
		return (uint64_t)pool_mode(p) - MODE_OFF;
	case METRIC_inflight:
		return inflight(p, (enum metric_role)value);
	case METRIC_limit:
		return limit(p, (enum metric_role)value);
	case METRIC_queued:
		return p->queue.len;
	case METRIC_decisions:
		return p->decisions[value];
	case METRIC_effective_limit:
		return pool_ceiling(p);
	case METRIC_adapt_state:
		return value == (size_t)p->adaptive.state;
	case METRIC_adapt_reason:
		return value == (size_t)p->adaptive.reason;
	case METRIC_adapt_moves:
		return p->adaptive.moves[value];
	case METRIC_warming_endpoints:
		return pool_warming(p);
	case METRIC_tenants_active:
		return tenants_active(&p->tenants);
	case METRIC_reclaimed:
		return p->reclaimed;
	default:
		assert(false && "not a number of a pool");
		return 0;
	}
}

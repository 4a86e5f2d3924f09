/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "agent/core/gate.h"
#include "agent/core/gate_private.h"

bool
gate_enter_maintenance(struct gate *g, uint32_t drain_timeout_s, int64_t wall,
		       usec_t now)
{
	struct pool *p;

	if (g->maintenance.on)
		return false;
	g->maintenance = (struct maintenance){
		.on = true,
		.number = g->maintenance.number + 1,
		.entered = now,
		.entered_wall = wall,
		.drain_timeout_s = drain_timeout_s,
	};
	TAILQ_FOREACH (p, &g->pools, link)
		gate_end_waiters(g, p, REASON_DRAINED, now);
	return true;
}

bool
gate_leave_maintenance(struct gate *g)
{
	bool was_on = g->maintenance.on;

	g->maintenance.on = false;
	return was_on;
}

static uint64_t
executing_on(const struct gate_pools *pools)
{
	const struct pool *p;
	uint64_t executing = 0;

	TAILQ_FOREACH (p, pools, link)
		executing += p->executing;
	return executing;
}

uint64_t
gate_in_flight(const struct gate *g)
{
	return executing_on(&g->pools) + executing_on(&g->retired);
}

void
gate_peer_greeted(struct gate *g, usec_t now)
{
	g->peers++;
	g->greeted = now;
}

void
gate_peer_gone(struct gate *g)
{
	assert(g->peers > 0);
	g->peers--;
}

bool
gate_is_attached(const struct gate *g, usec_t now)
{
	return g->peers > 0 ||
	       (g->greeted > 0 && now - g->greeted < GATE_GREETING_TRUST);
}

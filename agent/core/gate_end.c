/* SPDX-License-Identifier: Apache-2.0 */
/* How requests end: by their lines, by their deadlines, by their age. */
#include <assert.h>

#include "agent/core/gate.h"
#include "agent/core/gate_private.h"
#include "agent/core/ledger.h"
#include "agent/core/permit.h"
#include "agent/core/wheel.h"

/* ---- lines ---- */

/* A line that names a permit, of an id that is not live. */
static enum line_result
end_unknown_permit(struct gate *g, struct text text)
{
	struct permit permit;

	if (permit_parse(text, &permit) &&
	    (permit.epoch != g->options.epoch || permit.number <= g->permits))
		return LINE_LATE;
	metrics_count(&g->metrics, METRIC_anomalies, ANOMALY_UNKNOWN_PERMIT);
	return LINE_UNKNOWN;
}

static enum line_result
end_unknown(struct gate *g, const struct ending *ending, usec_t now)
{
	if (ending->permit.len > 0)
		return end_unknown_permit(g, ending->permit);
	if (ending->verdict.len > 0)
		return LINE_NOTED;
	ledger_end_early(g->ledger, ending->id, now);
	return LINE_EARLY;
}

static enum line_result
end_request(struct gate *g, const struct ending *ending, usec_t now)
{
	struct request *r;

	if (ending->id.len == 0 || ending->id.len > REQUEST_ID_MAX)
		return LINE_NOTED;
	r = ledger_find(g->ledger, ending->id);
	if (r == NULL)
		return end_unknown(g, ending, now);

	switch (r->state) {
	case REQUEST_EXECUTING:
		gate_release(g, r, now);
		return LINE_RELEASED;
	case REQUEST_WAITING:
		gate_cancel_waiter(g, r);
		gate_fill_unread(r);
		gate_stand_in_line(g, r);
		return LINE_CANCELLED;
	case REQUEST_ENDED_EARLY:
		return LINE_LATE;
	case REQUEST_NEW:
	case REQUEST_ENDED:
		break;
	}
	assert(false && "an ended request is in the ledger");
	return LINE_LATE;
}

enum line_result
gate_end(struct gate *g, const struct ending *ending, usec_t now)
{
	enum line_result result = end_request(g, ending, now);

	metrics_count(&g->metrics, METRIC_log_lines, result);
	return result;
}

/* ---- time ---- */

/* Where HAProxy's sessions are known, they say more than an age. */
static bool
is_watched(const struct request *r, usec_t now)
{
	const struct endpoint *e = r->endpoint;

	return e != NULL && e->looked[0] > 0 &&
	       now - e->looked[0] < GATE_LOOK_TRUST;
}

static void
reclaim_aged(struct gate *g, usec_t now)
{
	struct request *r = TAILQ_FIRST(&g->ledger->executing);
	struct request *next;

	for (; r != NULL && now - r->admitted >= g->options.unit_max_age;
	     r = next) {
		next = TAILQ_NEXT(r, aged);
		if (is_watched(r, now))
			g->spared = now;
		else
			gate_reclaim(g, r, now);
	}
}

/* When ages are looked at next: not at each turn for those that are spared. */
static usec_t
next_aged(const struct gate *g)
{
	const struct request *oldest = TAILQ_FIRST(&g->ledger->executing);
	usec_t at;

	if (oldest == NULL || g->options.unit_max_age == USEC_NEVER)
		return USEC_NEVER;
	at = oldest->admitted + g->options.unit_max_age;
	return g->spared > 0 && at < g->spared + USEC_PER_SEC
		       ? g->spared + USEC_PER_SEC
		       : at;
}

/* ---- time ---- */

void
gate_attend(struct gate *g, const struct pool *p, usec_t now)
{
	if (g->pass_at == USEC_NEVER && pool_is_moving(p))
		g->pass_at = now + USEC_PER_SEC;
}

static void
pass(struct gate *g, usec_t now)
{
	struct pool *p;

	g->pass_at = USEC_NEVER;
	TAILQ_FOREACH (p, &g->pools, link) {
		if (!pool_is_moving(p))
			continue;
		pool_pass(p, now);
		gate_wake(g, p, now);
		gate_attend(g, p, now);
	}
}

void
gate_tick(struct gate *g, usec_t now)
{
	struct wheel_node *node;

	while ((node = wheel_expired(g->wheel, now)) != NULL)
		gate_refuse_waiter(g,
				   CONTAINER_OF(node, struct request, deadline),
				   REASON_QUEUE_TIMEOUT, now);
	ledger_forget(g->ledger, now);
	if (now >= next_aged(g))
		reclaim_aged(g, now);
	if (now >= g->pass_at)
		pass(g, now);
}

static usec_t
sooner(usec_t a, usec_t b)
{
	return a < b ? a : b;
}

usec_t
gate_wakeup(const struct gate *g)
{
	const struct request *early = TAILQ_FIRST(&g->ledger->early);
	usec_t at = sooner(wheel_wakeup(g->wheel),
			   sooner(next_aged(g), g->pass_at));

	if (early != NULL)
		at = sooner(at, early->since + LEDGER_EARLY_USEC);
	return at;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/adaptive.h"

static void
open_up(struct adaptive *a)
{
	a->ceiling = a->configured;
	a->state = ADAPT_OPEN;
}

void
adaptive_configure(struct adaptive *a, bool on, uint32_t configured)
{
	bool was_on = a->state != ADAPT_OFF;

	if (!on || configured == 0) {
		a->state = ADAPT_OFF;
		a->reason = ADAPT_NONE;
		a->configured = configured;
		a->ceiling = configured;
		return;
	}
	if (!was_on || a->ceiling == a->configured ||
	    a->ceiling >= configured) {
		a->configured = configured;
		open_up(a);
		return;
	}
	a->configured = configured;
}

static uint32_t
floor_of(const struct adaptive *a)
{
	return a->configured < 4 ? 1 : a->configured / 4;
}

static void
tighten(struct adaptive *a, enum adapt_reason reason)
{
	uint32_t ceiling = (uint32_t)((uint64_t)a->ceiling * 4 / 5);
	uint32_t least = floor_of(a);

	a->reason = reason;
	if (ceiling < least)
		ceiling = least;
	/* A raised configuration may have left it below its floor. */
	if (ceiling < a->ceiling) {
		a->ceiling = ceiling;
		a->moves[ADAPT_DOWN]++;
	}
	if (a->ceiling < a->configured)
		a->state = ADAPT_TIGHTENED;
}

static bool
widen(struct adaptive *a)
{
	bool rises = a->ceiling < a->configured;

	a->reason = ADAPT_CLEAR;
	if (rises) {
		a->ceiling++;
		a->moves[ADAPT_UP]++;
	}
	a->state = a->ceiling < a->configured ? ADAPT_TIGHTENED : ADAPT_OPEN;
	return rises;
}

static void
hold(struct adaptive *a)
{
	if (a->ceiling == a->configured) {
		a->state = ADAPT_OPEN;
		return;
	}
	a->state = ADAPT_FROZEN;
	a->reason = ADAPT_STALE;
}

bool
adaptive_step(struct adaptive *a, const struct adapt_evidence *evidence)
{
	if (a->state == ADAPT_OFF)
		return false;
	if (!evidence->fresh)
		hold(a);
	else if (evidence->queued)
		tighten(a, ADAPT_QUEUED);
	else if (evidence->late)
		tighten(a, ADAPT_TTFT);
	else
		return widen(a);
	return false;
}

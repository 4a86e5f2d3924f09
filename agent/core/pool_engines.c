/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines of a pool are like, and what follows from it. */
#include "agent/core/pool.h"
#include "agent/core/pool_private.h"

usec_t
pool_warm_up(const struct pool *p)
{
	return p->effective.value.warmup_ms * USEC_PER_MSEC;
}

static usec_t
trust(const struct pool *p)
{
	return p->effective.value.telemetry_stale_ms * USEC_PER_MSEC;
}

bool
pool_is_fresh(const struct pool *p, usec_t at, usec_t now)
{
	return at > 0 && now - at <= trust(p);
}

static void
warm(struct pool *p, usec_t now)
{
	for (size_t i = 0; i < p->endpoint_count; i++)
		if (p->endpoints[i].warmed > 0)
			endpoint_warm(&p->endpoints[i], pool_warm_up(p), now);
}

uint32_t
pool_warming(const struct pool *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->endpoint_count; i++)
		n += p->endpoints[i].warmed > 0 ? 1 : 0;
	return n;
}

void
pool_return(const struct pool *p, struct endpoint *e, usec_t now)
{
	if (pool_warm_up(p) > 0)
		endpoint_return(e, now);
}

bool
pool_is_adaptive(const struct pool *p)
{
	return p->effective.value.adaptive > FOLLOW_OFF;
}

bool
pool_is_scraped(const struct pool *p)
{
	return pool_mode(p) != MODE_OFF &&
	       (pool_is_adaptive(p) || p->disaggregated);
}

bool
pool_wants_first_token(const struct pool *p)
{
	return pool_mode(p) != MODE_OFF && pool_is_adaptive(p) &&
	       p->effective.value.ttft_target_ms > 0;
}

void
pool_first_token(const struct pool *p, struct endpoint *e, usec_t took,
		 usec_t now)
{
	if (e != NULL && pool_wants_first_token(p))
		endpoint_first_token(e, took, trust(p), now);
}

bool
pool_is_moving(const struct pool *p)
{
	return p->adaptive.state != ADAPT_OFF || pool_warming(p) > 0;
}

/* Whether that is evidence still; *newest is when the last of it came. */
static bool
heed(const struct pool *p, usec_t at, usec_t now, usec_t *newest)
{
	if (!pool_is_fresh(p, at, now))
		return false;
	if (at > *newest)
		*newest = at;
	return true;
}

static struct adapt_evidence
gather(const struct pool *p, usec_t now, usec_t *newest)
{
	uint32_t target = p->effective.value.ttft_target_ms;
	struct adapt_evidence evidence = { .fresh = false };

	for (size_t i = 0; i < p->endpoint_count; i++) {
		const struct endpoint *e = &p->endpoints[i];

		if (heed(p, e->reported, now, newest)) {
			evidence.fresh = true;
			evidence.queued = evidence.queued || e->waiting > 0;
		}
		if (target > 0 && heed(p, e->first_token_at, now, newest)) {
			evidence.fresh = true;
			evidence.late =
				evidence.late || e->first_token_ms > target;
		}
	}
	return evidence;
}

/* Literally each second, or only once on what has not been acted on yet. */
static void
adapt(struct pool *p, usec_t now)
{
	usec_t newest = 0;
	struct adapt_evidence evidence = gather(p, now, &newest);
	bool sampled = p->effective.value.adaptive == FOLLOW_SAMPLE;

	if (sampled && evidence.fresh && newest <= p->stepped)
		return;
	p->stepped = newest;
	adaptive_step(&p->adaptive, &evidence);
	pool_share_out(p);
}

void
pool_pass(struct pool *p, usec_t now)
{
	warm(p, now);
	if (p->adaptive.state != ADAPT_OFF)
		adapt(p, now);
}

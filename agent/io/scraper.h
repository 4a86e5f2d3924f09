/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_SCRAPER_H
#define AGENT_IO_SCRAPER_H

/*
 * Asks the engines of every rule that adapts, or is P/D, for their metrics
 * (rows 210 to 213) and reports to the gate how many requests wait in each.
 * Each engine is asked once in an interval, all of them spread over it.
 *
 * An engine is asked at its own address and nowhere else: no name, no proxy,
 * no redirect. What it answers is bounded in time and length.
 */

#include <stddef.h>

#include "agent/core/base.h"

struct event_base;
struct gate;
struct scraper;
struct turn;

/* A zero is what is usual. */
struct scraper_options {
	usec_t interval; /* 10 s */
	usec_t patience; /* 2 s, with one answer */
	size_t at_once;  /* 128 are asked at the same time, others later */
};

/* NULL without memory; everything passed but options must outlive it. */
MUST_CHECK struct scraper *scraper_open(struct event_base *base,
					struct turn *turn, struct gate *gate,
					const struct scraper_options *options);
void scraper_close(struct scraper **scraper);

/* To be called when the rules have changed: whom to ask may be others. */
void scraper_follow(struct scraper *scraper);

#endif

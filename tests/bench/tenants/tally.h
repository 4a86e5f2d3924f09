/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_TENANTS_TALLY_H
#define TESTS_BENCH_TENANTS_TALLY_H

/*
 * What became of the requests of one run: for each tenant, and of all but the
 * heaviest together.
 */

#include "tests/bench/tenants/trace.h"

#define TALLY_HEAVY 3 /* tenants that are not among the lighter */

enum outcome { OUTCOME_SERVED, OUTCOME_REFUSED, OUTCOME_TIMED_OUT };

#define OUTCOMES (OUTCOME_TIMED_OUT + 1)

/* Who holds what at one time. */
struct units {
	uint32_t ceiling;
	uint32_t busy;
	uint32_t borrowed; /* of those, beyond the shares of their tenants */
	uint32_t waiting;  /* requests */
};

struct tally {
	const struct trace *trace;       /* borrowed */
	enum outcome *outcome;           /* owned; of each arrival */
	usec_t *wait;                    /* owned; of those that were served */
	size_t order[TRACE_TENANTS_MAX]; /* who sent most first */

	/* units times time */
	usec_t whole;
	usec_t busy;
	usec_t borrowed;
	usec_t idle; /* free while anybody waited */
};

void tally_init(struct tally *t, const struct trace *trace);
void tally_fini(struct tally *t);

/* Once for each arrival; wait is 0 unless it was served. */
void tally_note(struct tally *t, size_t arrival, enum outcome outcome,
		usec_t wait);

/* For so long they were these. */
void tally_pass(struct tally *t, usec_t time, const struct units *units);

/* Refused or timed out, of all tenants but the heaviest TALLY_HEAVY. */
size_t tally_light_lost(const struct tally *t);

/* A line for each tenant, the lighter ones together, and all. */
void tally_print(const struct tally *t, const char *title);

#endif

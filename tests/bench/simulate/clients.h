/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SIMULATE_CLIENTS_H
#define TESTS_BENCH_SIMULATE_CLIENTS_H

/*
 * The clients of a workload: each asks once, and one that is refused does not
 * come back. What became of each is counted here, and counted once.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"
#include "tests/bench/simulate/workload.h"

/* What becomes of a request. */
enum fate {
	FATE_OPEN,      /* nothing yet */
	FATE_GOOD,      /* its first token came within the budget */
	FATE_LATE,      /* and after it */
	FATE_REFUSED,   /* at once */
	FATE_TIMED_OUT, /* in the queue */
	FATES
};

struct clients {
	const struct workload *workload; /* borrowed */
	usec_t start;                    /* of the workload */
	usec_t budget;
	size_t arrived;
	enum fate *fates; /* owned; of each request */
	size_t count[FATES];
	size_t hopeless; /* begun when the budget was over already */
};

void clients_init(struct clients *c, const struct workload *workload,
		  usec_t start, usec_t budget);
void clients_fini(struct clients *c);

/* When the next one asks; USEC_NEVER after the last. */
usec_t clients_next(const struct clients *c);

/* Who asks then. */
size_t clients_arrive(struct clients *c);

const struct work *clients_work(const struct clients *c, size_t request);

/* An engine begins with it. */
void clients_begin(struct clients *c, size_t request, usec_t now);

void clients_first_token(struct clients *c, size_t request, usec_t now);
void clients_refuse(struct clients *c, size_t request, bool waited);

#endif

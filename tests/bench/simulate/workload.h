/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SIMULATE_WORKLOAD_H
#define TESTS_BENCH_SIMULATE_WORKLOAD_H

/*
 * Who asks when, and for how much: CSV with a first line of names, arrived_s,
 * prompt_tokens, output_tokens. A file that cannot be read ends the program.
 */

#include <stddef.h>

#include "agent/core/base.h"

struct work {
	usec_t at;
	unsigned prompt_tokens;
	unsigned output_tokens;
};

struct workload {
	struct work *works; /* owned, in order of time */
	size_t count;
};

/* So many times as fast as it was; of it the seconds from one to another. */
void workload_read(struct workload *w, const char *path, double speed,
		   double from, double to);
void workload_fini(struct workload *w);

#endif

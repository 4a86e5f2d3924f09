/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_TENANTS_TRACE_H
#define TESTS_BENCH_TENANTS_TRACE_H

/*
 * A recorded workload: who sent a request when, and how long it takes.
 *
 * The file is CSV with a first line of names: arrived_s, tenant,
 * prompt_tokens, output_tokens. A file that cannot be read ends the program.
 */

#include <stddef.h>

#include "agent/core/base.h"

#define TRACE_TENANTS_MAX 64
#define TRACE_NAME_MAX 16

struct arrival {
	usec_t at;
	usec_t service; /* how long it executes */
	size_t tenant;  /* index of its name */
};

struct trace {
	struct arrival *arrivals; /* owned, in order of time */
	size_t count;
	char names[TRACE_TENANTS_MAX][TRACE_NAME_MAX];
	size_t sent[TRACE_TENANTS_MAX]; /* by each of them */
	size_t tenants;
};

/* A token of the prompt takes 0.2 ms, one of the answer 20 ms. */
void trace_read(struct trace *t, const char *path);
void trace_fini(struct trace *t);

/*
 * Moves the arrivals together or apart so that they would keep units so many
 * percent of the ceiling busy. What each takes stays.
 */
void trace_load(struct trace *t, unsigned percent, unsigned ceiling);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SIMULATE_SIMULATION_H
#define TESTS_BENCH_SIMULATE_SIMULATION_H

/*
 * Clients, the gate and two engines in virtual time: from event to event, so
 * that an hour takes a fraction of a second, and the same each time.
 *
 * Without a gate a request goes where the fewest run. Engines are asked how
 * many wait in them every ten seconds.
 */

#include <stdint.h>
#include <stdio.h>

#include "tests/bench/simulate/clients.h"
#include "tests/bench/simulate/engine_model.h"
#include "tests/bench/simulate/options.h"

#define SIMULATION_ENGINES 2

struct simulation {
	struct clients clients;
	struct engine_model engines[SIMULATION_ENGINES];
	usec_t scrapes[SIMULATION_ENGINES]; /* the next ones */
	struct gate *gate;                  /* owned */
	const struct pool *pool;            /* borrowed from the gate */
	struct peer peer;
	FILE *series;  /* owned; NULL for none */
	usec_t second; /* its next line */
	usec_t now;
	usec_t end;
};

/* What cannot be had ends the program. */
void simulation_init(struct simulation *s, const struct options *options,
		     const struct workload *workload);
void simulation_fini(struct simulation *s);

/*
 * To a minute after the last has asked. Who has no first token by then counts
 * as open.
 */
void simulation_run(struct simulation *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SIMULATE_REPORT_H
#define TESTS_BENCH_SIMULATE_REPORT_H

/* What came of a simulation, on stdout. */

#include <stdbool.h>

#include "tests/bench/simulate/simulation.h"

void report_print(const struct simulation *s, bool json);

#endif

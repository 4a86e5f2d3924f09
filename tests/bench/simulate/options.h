/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SIMULATE_OPTIONS_H
#define TESTS_BENCH_SIMULATE_OPTIONS_H

/*
 * What the command line asks to simulate.
 *
 * Every row of settings.def can be given by its name, NAME=VALUE; the ones
 * that are used most have options of their own.
 */

#include <stdbool.h>

#include "agent/core/base.h"
#include "tests/unit/core/kit.h"

struct options {
	const char *trace;
	const char *series; /* file for it; NULL for none */
	double speed;       /* of the trace */
	double from, to;    /* seconds of it */
	usec_t budget;      /* from arrival to the first token */
	bool spread;        /* engines are not asked at the same moment */
	bool json;
	char rule[KIT_LINE_MAX]; /* for kit_rule(); no mode is no gate */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* What is wrong it has said; and --help is done. */
enum options_result options_read(struct options *options, int argc,
				 char **argv);

#endif

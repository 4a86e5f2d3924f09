/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded workload, the gate, and engines that get slower when they are
 * full, in virtual time: an hour takes a fraction of a second. --help says
 * how; docs/goodput.md what came of it.
 */
#include "tests/bench/simulate/options.h"
#include "tests/bench/simulate/report.h"
#include "tests/bench/simulate/simulation.h"
#include "tests/bench/simulate/workload.h"

static void
simulate(const struct options *options)
{
	struct workload workload;
	struct simulation simulation;

	workload_read(&workload, options->trace, options->speed, options->from,
		      options->to);
	simulation_init(&simulation, options, &workload);
	simulation_run(&simulation);
	report_print(&simulation, options->json);
	simulation_fini(&simulation);
	workload_fini(&workload);
}

int
main(int argc, char **argv)
{
	struct options options;

	kit_at("simulate");
	switch (options_read(&options, argc, argv)) {
	case OPTIONS_RUN:
		simulate(&options);
		return 0;
	case OPTIONS_DONE:
		return 0;
	case OPTIONS_WRONG:
		break;
	}
	return 1;
}

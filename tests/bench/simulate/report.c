/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/report.h"

#include <stdio.h>

#include "agent/core/gate.h"

struct line {
	const char *name;
	size_t value;
	const char *help;
};

static void
print_text(const struct line *line)
{
	printf("%-10s %7zu  %s\n", line->name, line->value, line->help);
}

static void
print_json(const struct line *line)
{
	printf("\"%s\": %zu, ", line->name, line->value);
}

void
report_print(const struct simulation *s, bool json)
{
	const struct clients *c = &s->clients;
	const uint64_t *moves = s->pool->adaptive.moves;
	const struct line lines[] = {
		{ "requests", c->workload->count, "" },
		{ "good", c->count[FATE_GOOD],
		  "first token within the budget" },
		{ "late", c->count[FATE_LATE], "and after it" },
		{ "refused", c->count[FATE_REFUSED], "at once" },
		{ "timed_out", c->count[FATE_TIMED_OUT], "waited in vain" },
		{ "open", c->count[FATE_OPEN],
		  "no first token a minute after the last arrival" },
		{ "hopeless", c->hopeless,
		  "began when the budget was over already" },
		{ "down", moves[ADAPT_DOWN], "steps of the ceiling" },
		{ "up", moves[ADAPT_UP], "" },
	};
	double goodput = 100.0 * (double)c->count[FATE_GOOD] /
			 (double)c->workload->count;

	if (json)
		putchar('{');
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		(json ? print_json : print_text)(&lines[i]);
	if (json)
		printf("\"goodput\": %.2f}\n", goodput);
	else
		printf("%-10s %6.1f%%  of all\n", "goodput", goodput);
}

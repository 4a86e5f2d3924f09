/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables settings|metrics|reasons: the reference pages of docs/, written from
 * the tables of the core, so that what is listed once is documented once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/metrics.h"
#include "agent/core/reason.h"
#include "agent/core/settings.h"

static const char *
word_or_number(const struct setting *def, uint32_t value, char buf[16])
{
	const char *const *words = setting_words(def->kind);

	if (words != NULL)
		return words[value];
	snprintf(buf, 16, "%u", value);
	return buf;
}

static void
print_values(const struct setting *def)
{
	const char *const *words = setting_words(def->kind);

	if (words == NULL) {
		printf("0–%u", def->rule_max);
		return;
	}
	for (size_t i = 0; words[i] != NULL; i++)
		printf("%s%s", i > 0 ? ", " : "", words[i]);
}

static void
print_setting(const struct setting *def)
{
	char buf[16];

	printf("| `%s` | ", def->rule_name);
	print_values(def);
	printf(" | %s%s%s | `%s`", word_or_number(def, def->fallback, buf),
	       def->unit[0] != '\0' ? " " : "", def->unit, def->env);
	if (def->env_fallback != NULL)
		printf(", else `%s`", def->env_fallback);
	printf(" | %s |\n", def->help);
}

static void
print_settings(void)
{
	puts("# Settings of a rule\n"
	     "\n"
	     "Each is a member of `serviceArguments`. In a POST to a rule that "
	     "is there already, one that is\n"
	     "absent keeps the value it has; `0` or `inherit` takes it back. "
	     "What no POST has declared comes\n"
	     "from the environment of the process, and what that does not "
	     "declare from the default. GET shows\n"
	     "what is in force under `fc_effective`, without the `fc_`, and "
	     "under `fc_effective.source` who\n"
	     "said so. All of them change live.\n"
	     "\n"
	     "| member | values | default | environment | what it does |\n"
	     "|---|---|---|---|---|");
	for (size_t i = 0; i < SETTING_COUNT; i++)
		print_setting(&settings_table[i]);
}

static const char *
type_word(enum metric_type type)
{
	static const char *const words[] = { "counter", "gauge", "histogram" };

	return words[type];
}

static void
print_metric(const struct metric_row *row)
{
	const struct metric_label_row *label = metric_label_row(row->label);

	printf("| `%s` | %s | %s", row->family, type_word(row->type),
	       row->scope == METRIC_POOL ? "service, pool" : "");
	if (label->name != NULL) {
		printf("%s%s: ", row->scope == METRIC_POOL ? "; " : "",
		       label->name);
		for (size_t i = 0; i < label->count; i++)
			printf("%s%s", i > 0 ? ", " : "", label->values[i]);
	}
	printf(" | %s |\n", row->help);
}

static void
print_metrics(void)
{
	puts("# Metrics\n"
	     "\n"
	     "At `/metrics` and `/netlox/v1/metrics`, live, in Prometheus text "
	     "format. Every value of a label\n"
	     "is there from the start; the series of a service go with its "
	     "rule.\n"
	     "\n"
	     "| family | type | labels | what it says |\n"
	     "|---|---|---|---|");
	for (size_t i = 0; i < METRIC_COUNT; i++)
		print_metric(&metrics_table[i]);
}

static void
print_reason(const struct reason_row *row)
{
	static const char *const waits[] = { "1 s", "mean wait, 1–30 s",
					     "5 s" };

	if (row->status == 0) {
		printf("| `%s` | %s | | | | |\n", row->label, row->when);
		return;
	}
	printf("| `%s` | %s | %u | `%s` | %s | %s |\n", row->label, row->when,
	       row->status, row->error, waits[row->retry],
	       row->keep ? "kept where the body was buffered" : "closed");
}

static void
print_reasons(void)
{
	puts("# Decisions\n"
	     "\n"
	     "The reasons of `loxilb_ai_admission_decisions_total`, and what a "
	     "client sees of those that\n"
	     "refuse it.\n"
	     "\n"
	     "| reason | when | status | error | Retry-After | connection |\n"
	     "|---|---|---|---|---|---|");
	for (size_t i = 0; i < REASON_COUNT; i++)
		print_reason(&reason_table[i]);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} pages[] = { { "settings", print_settings },
		      { "metrics", print_metrics },
		      { "reasons", print_reasons } };

	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(pages); i++) {
		if (strcmp(argv[1], pages[i].name) == 0) {
			pages[i].print();
			return EXIT_SUCCESS;
		}
	}
	fputs("usage: tables settings|metrics|reasons\n", stderr);
	return EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/options.h"

#include <float.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/settings.h"
#include "agent/core/text.h"

/* Each setter returns NULL or what is wrong with the value. */
typedef const char *(*setter)(void *field, const char *value);

static const char *
set_text(void *field, const char *value)
{
	const char **text = field;

	*text = value;
	return NULL;
}

static const char *
set_number(void *field, const char *value)
{
	double *number = field;
	char *end;
	double read = strtod(value, &end);

	/* Written so that NaN, which compares false with all, is refused. */
	if (end == value || *end != '\0' || !(read >= 0 && read <= 1e9))
		return "must be a number from 0 to 1e9";
	*number = read;
	return NULL;
}

static const char *
set_speed(void *field, const char *value)
{
	double speed = 0;
	const char *why = set_number(&speed, value);

	if (why != NULL || !(speed >= 0.001))
		return "must be a number from 0.001 to 1e9";
	return set_number(field, value);
}

static const char *
set_msec(void *field, const char *value)
{
	usec_t *time = field;
	unsigned long long msec;

	if (!text_number(text_of(value), 3600000, &msec))
		return "must be milliseconds, up to 3600000";
	*time = msec * USEC_PER_MSEC;
	return NULL;
}

static const char *
set_spread(void *field, const char *value)
{
	bool *spread = field;

	if (strcmp(value, "spread") != 0 && strcmp(value, "together") != 0)
		return "must be spread or together";
	*spread = value[0] == 's';
	return NULL;
}

/* Options of the simulation. */
static const struct row {
	const char *name;
	const char *argument;
	const char *fallback; /* NULL for none */
	setter set;
	size_t offset;
	const char *help;
} rows[] = {
#define AT(field) offsetof(struct options, field)
	{ "trace", "FILE", NULL, set_text, AT(trace),
	  "who asks when: arrived_s,prompt_tokens,output_tokens" },
	{ "speed", "X", "6", set_speed, AT(speed),
	  "so many times as fast as it was recorded" },
	{ "from", "S", "0", set_number, AT(from), "second of it to begin at" },
	{ "to", "S", NULL, set_number, AT(to), "second of it to end at" },
	{ "budget", "MS", "2000", set_msec, AT(budget),
	  "a first token is good within that time of the request" },
	{ "scrapes", "HOW", "spread", set_spread, AT(spread),
	  "engines are asked in turn, or together" },
	{ "series", "FILE", NULL, set_text, AT(series),
	  "writes what is in force each second, as CSV" },
#undef AT
};

/* Options that are settings of the rule. */
static const struct {
	const char *name;
	const char *argument;
	enum setting_id setting;
} shorts[] = {
	{ "ceiling", "N", SETTING_ID_max_outstanding },
	{ "adaptive", "HOW", SETTING_ID_adaptive },
	{ "queue", "N", SETTING_ID_queue_depth },
	{ "wait", "MS", SETTING_ID_queue_wait_ms },
};

enum flag { FLAG_JSON = 256, FLAG_HELP, FLAG_SHORT };

#define OPTION_COUNT (ARRAY_LEN(rows) + ARRAY_LEN(shorts) + 2)

static bool
complain(const char *name, const char *value, const char *why)
{
	fprintf(stderr, "simulate: %s %s (is \"%s\")\n", name, why, value);
	return false;
}

/* ---- settings ---- */

static const struct setting *
find_setting(struct text name)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (text_is(name, settings_table[i].name))
			return &settings_table[i];
	return NULL;
}

static const char *
check_setting(const struct setting *def, const char *value)
{
	const char *const *words = setting_words(def->kind);
	unsigned long long number;

	if (words == NULL)
		return text_number(text_of(value), def->rule_max, &number)
			       ? NULL
			       : "must be a number, and not beyond its range";
	for (; *words != NULL; words++)
		if (strcmp(*words, value) == 0)
			return NULL;
	return "is not one of its words";
}

static bool
add_setting(struct options *o, const struct setting *def, const char *value)
{
	const char *why = check_setting(def, value);
	size_t len = strlen(o->rule);
	size_t room = sizeof(o->rule) - len;

	if (why != NULL)
		return complain(def->name, value, why);
	if ((size_t)snprintf(o->rule + len, room, " %s=%s", def->name, value) >=
	    room)
		return complain(def->name, value, "is one too many");
	return true;
}

/* NAME=VALUE */
static bool
add_word(struct options *o, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct setting *def = find_setting((struct text){ word, len });

	if (def == NULL || word[len] == '\0') {
		fprintf(stderr,
			"simulate: \"%s\" is no setting; --help lists "
			"them\n",
			word);
		return false;
	}
	return add_setting(o, def, word + len + 1);
}

/* Who sets a ceiling wants it to hold. */
static bool
enforce(struct options *o)
{
	if (strchr(o->rule, '=') == NULL || strstr(o->rule, " mode=") != NULL)
		return true;
	return add_word(o, "mode=enforce");
}

/* ---- help ---- */

static void
print_settings(void)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		const char *const *words = setting_words(def->kind);

		printf("  %-24s", def->name);
		if (words == NULL)
			printf("0 to %u", def->rule_max);
		else /* but "inherit" */
			while (*++words != NULL)
				printf("%s ", *words);
		putchar('\n');
	}
}

static void
print_help(void)
{
	puts("usage: simulate --trace FILE [option ...] [NAME=VALUE ...]\n"
	     "\n"
	     "Plays a recorded workload through the gate and two engines that "
	     "get slower when\n"
	     "they are full, in virtual time, and says what became of the "
	     "requests. The gate\n"
	     "is the agent's own code; the engines are a model "
	     "(engine_model.h).\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		printf("  --%s %-*s%s%s%s%s\n", rows[i].name,
		       21 - (int)strlen(rows[i].name), rows[i].argument,
		       rows[i].help, rows[i].fallback != NULL ? " [" : "",
		       rows[i].fallback != NULL ? rows[i].fallback : "",
		       rows[i].fallback != NULL ? "]" : "");
	for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
		printf("  --%s %-*s%s\n", shorts[i].name,
		       21 - (int)strlen(shorts[i].name), shorts[i].argument,
		       settings_table[shorts[i].setting].help);
	puts("  --json                  the result as JSON\n"
	     "  --help                  print this and exit\n"
	     "\n"
	     "NAME=VALUE is any setting of the rule (docs/settings.md). With "
	     "one, the gate\n"
	     "enforces, unless mode= says otherwise; without any there is no "
	     "gate.\n");
	print_settings();
	puts("\n"
	     "A first run:  simulate --trace tests/data/azure_llm_code.csv "
	     "--ceiling 16 --queue 64\n"
	     "And all of docs/goodput.md:  tests/bench/simulate/goodput.py "
	     "--help");
}

/* ---- the command line ---- */

static void
list_options(struct option list[OPTION_COUNT + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		list[n++] = (struct option){ rows[i].name, required_argument,
					     NULL, (int)i };
	for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
		list[n++] = (struct option){ shorts[i].name, required_argument,
					     NULL, FLAG_SHORT + (int)i };
	list[n++] = (struct option){ "json", no_argument, NULL, FLAG_JSON };
	list[n++] = (struct option){ "help", no_argument, NULL, FLAG_HELP };
	list[n] = (struct option){ NULL, 0, NULL, 0 };
}

static bool
take_value(struct options *o, const struct row *row, const char *value)
{
	const char *why = row->set((char *)o + row->offset, value);

	return why == NULL || complain(row->name, value, why);
}

static bool
take(struct options *o, int found)
{
	if (found < 0 || found == '?')
		return false;
	if ((size_t)found < ARRAY_LEN(rows))
		return take_value(o, &rows[found], optarg);
	if (found == FLAG_JSON) {
		o->json = true;
		return true;
	}
	return add_setting(
		o, &settings_table[shorts[found - FLAG_SHORT].setting], optarg);
}

static void
set_defaults(struct options *o)
{
	memset(o, 0, sizeof(*o));
	o->to = DBL_MAX;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].fallback != NULL)
			take_value(o, &rows[i], rows[i].fallback);
}

enum options_result
options_read(struct options *o, int argc, char **argv)
{
	struct option list[OPTION_COUNT + 1];
	bool ok = true;
	int found;

	list_options(list);
	set_defaults(o);
	while ((found = getopt_long(argc, argv, "", list, NULL)) != -1) {
		if (found == FLAG_HELP) {
			print_help();
			return OPTIONS_DONE;
		}
		ok = take(o, found) && ok;
	}
	for (; optind < argc; optind++)
		ok = add_word(o, argv[optind]) && ok;
	if (o->trace == NULL) {
		fputs("simulate: --trace is missing; --help says more\n",
		      stderr);
		ok = false;
	}
	return ok && enforce(o) ? OPTIONS_RUN : OPTIONS_WRONG;
}

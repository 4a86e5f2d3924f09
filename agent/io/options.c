/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/text.h"

/* Each setter returns NULL or what is wrong with the value. */
typedef const char *(*setter)(void *field, const char *value);

static const char *
set_text(void *field, const char *value)
{
	const char **text = field;

	if (value[0] == '\0')
		return "must not be empty";
	*text = value;
	return NULL;
}

static const char *
add_text(void *field, const char *value)
{
	struct option_list *list = field;

	if (value[0] == '\0')
		return "must not be empty";
	if (list->count == OPTIONS_LIST_MAX)
		return "is given too often";
	list->value[list->count++] = value;
	return NULL;
}

static const char *
set_time(void *field, const char *value)
{
	static const struct {
		const char *unit;
		usec_t usec;
	} units[] = { { "ms", USEC_PER_MSEC },
		      { "s", USEC_PER_SEC },
		      { "m", 60 * USEC_PER_SEC },
		      { "h", 3600 * USEC_PER_SEC } };
	size_t digits = strspn(value, "0123456789");
	unsigned long long number;
	usec_t *time = field;

	if (!text_number((struct text){ value, digits }, 1000000, &number) ||
	    number == 0)
		return "must be a time such as 30s, 5m or 2h";
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(value + digits, units[i].unit) == 0) {
			*time = number * units[i].usec;
			return NULL;
		}
	}
	return "must be a time such as 30s, 5m or 2h";
}

static const char *
set_number(void *field, const char *value)
{
	uint32_t *number = field;
	unsigned long long read;

	if (!text_number(text_of(value), 1048576, &read) || read == 0)
		return "must be a number from 1 to 1048576";
	*number = (uint32_t)read;
	return NULL;
}

static const char *
set_switch(void *field, const char *value)
{
	bool *on = field;

	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return "must be on or off";
	*on = value[1] == 'n';
	return NULL;
}

static const char *
set_level(void *field, const char *value)
{
	enum log_level *level = field;

	for (size_t i = 0; log_level_words[i] != NULL; i++) {
		if (strcmp(value, log_level_words[i]) == 0) {
			*level = (enum log_level)i;
			return NULL;
		}
	}
	return "must be one of error, warn, info, debug";
}

static const char *
set_format(void *field, const char *value)
{
	enum log_format *format = field;

	if (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
		return "must be text or json";
	*format = value[0] == 't' ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON;
	return NULL;
}

/* Every option that takes a value, once. */
static const struct row {
	const char *name;
	const char *env;
	const char *argument;
	const char *fallback; /* NULL for none */
	setter set;
	size_t offset;
	const char *help;
} rows[] = {
#define AT(field) offsetof(struct options, field)
	{ "spop-listen", "SPOA_ADMISSION_SPOP_LISTEN", "ADDR", "127.0.0.1:9021",
	  add_text, AT(spop_listen), "where HAProxy's SPOE backend connects" },
	{ "log-listen", "SPOA_ADMISSION_LOG_LISTEN", "ADDR", "127.0.0.1:9022",
	  set_text, AT(log_listen),
	  "where HAProxy's log lines arrive, TCP and UDP" },
	{ "api-listen", "SPOA_ADMISSION_API_LISTEN", "ADDR", "127.0.0.1:11111",
	  set_text, AT(api_listen), "REST API and metrics" },
	{ "api-token-file", "SPOA_ADMISSION_API_TOKEN_FILE", "FILE", NULL,
	  set_text, AT(api_token_file),
	  "holds the token that writes must carry" },
	{ "haproxy-socket", "SPOA_ADMISSION_HAPROXY_SOCKET", "ADDR", NULL,
	  add_text, AT(haproxy_sockets),
	  "runtime API of a HAProxy; finds lost units" },
	{ "rules", "SPOA_ADMISSION_RULES", "FILE", NULL, set_text, AT(rules),
	  "JSON rules to start with, where no state is" },
	{ "state-dir", "SPOA_ADMISSION_STATE_DIR", "DIR", NULL, set_text,
	  AT(state_dir), "keeps the rules over a restart" },
	{ "haproxy-backend", "SPOA_ADMISSION_HAPROXY_BACKEND", "NAME", "pool",
	  set_text, AT(haproxy_backend),
	  "HAProxy backend of rules that have no name" },
	{ "haproxy-manage", "SPOA_ADMISSION_HAPROXY_MANAGE", "", "off",
	  set_switch, AT(haproxy_manage),
	  "whether rules' endpoints are made servers of HAProxy" },
	{ "haproxy-frontend", "SPOA_ADMISSION_HAPROXY_FRONTEND", "NAME", NULL,
	  add_text, AT(haproxy_frontends),
	  "public frontend, for the accept valve" },
	{ "unit-max-age", "SPOA_ADMISSION_UNIT_MAX_AGE", "TIME", "2h", set_time,
	  AT(unit_max_age),
	  "without --haproxy-socket: age at which a unit is given back" },
	{ "scrape-interval", "SPOA_ADMISSION_SCRAPE_INTERVAL", "TIME", "10s",
	  set_time, AT(scrape_interval),
	  "how often the engines of adaptive rules are asked" },
	{ "request-buffer-kib", "SPOA_ADMISSION_REQUEST_BUFFER_KIB", "N",
	  "1024", set_number, AT(request_buffer_kib),
	  "what a waiting request may hold in HAProxy" },
	{ "log-level", "SPOA_ADMISSION_LOG_LEVEL", "LEVEL", "info", set_level,
	  AT(log_level), "error, warn, info or debug" },
	{ "log-format", "SPOA_ADMISSION_LOG_FORMAT", "FORMAT", "text",
	  set_format, AT(log_format), "text or json" },
#undef AT
};

enum flag { FLAG_API_OPEN = 256, FLAG_CHECK, FLAG_VERSION, FLAG_HELP };

static const struct {
	const char *name;
	enum flag flag;
	const char *help;
} flags[] = {
	{ "api-open", FLAG_API_OPEN,
	  "let the API listen beyond loopback without a token" },
	{ "check", FLAG_CHECK, "say what is wrong with all of this, and exit" },
	{ "version", FLAG_VERSION, "print the version and exit" },
	{ "help", FLAG_HELP, "print this and exit" },
};

#define OPTION_COUNT (ARRAY_LEN(rows) + ARRAY_LEN(flags))

static void
print_help(void)
{
	puts("usage: spoa-admission [option ...]\n"
	     "\n"
	     "Admission gate for inference engines behind HAProxy. HAProxy "
	     "asks "
	     "it over SPOP\n"
	     "whether a request may run; it admits, lets wait or refuses.\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		int pad = 26 - (int)strlen(row->name) -
			  (int)strlen(row->argument);

		printf("  --%s %s%*s%s%s%s%s\n", row->name, row->argument, pad,
		       "", row->help, row->fallback != NULL ? " [" : "",
		       row->fallback != NULL ? row->fallback : "",
		       row->fallback != NULL ? "]" : "");
	}
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		printf("  --%-27s%s\n", flags[i].name, flags[i].help);
	puts("\n"
	     "ADDR is host:port, [v6]:port or unix:/path; port 0 lets the "
	     "system choose, and\n"
	     "the log says which. --spop-listen, --haproxy-socket and "
	     "--haproxy-frontend may\n"
	     "be repeated. Each option can be given in the environment: "
	     "--log-level as\n"
	     "SPOA_ADMISSION_LOG_LEVEL.\n"
	     "Defaults of the rules come from LLB_FC_*; see docs/settings.md.\n"
	     "\n"
	     "A first run:  spoa-admission --log-level debug");
}

static void *
field_of(struct options *options, const struct row *row)
{
	return (char *)options + row->offset;
}

static bool
complain(const char *what, const char *name, const char *value, const char *why)
{
	fprintf(stderr, "spoa-admission: %s%s %s (is \"%s\")\n", what, name,
		why, value);
	return false;
}

/* What nobody gave on the command line. */
static bool
fill_in(struct options *options, const bool *given)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		const char *value = getenv(row->env);
		bool from_env = value != NULL;
		const char *why = NULL;

		if (given[i])
			continue;
		if (!from_env)
			value = row->fallback;
		if (value != NULL)
			why = row->set(field_of(options, row), value);
		if (why != NULL)
			ok = complain("", row->env, value, why);
	}
	return ok;
}

static void
list_options(struct option list[OPTION_COUNT + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		list[n++] = (struct option){ rows[i].name,
					     rows[i].set == set_switch
						     ? optional_argument
						     : required_argument,
					     NULL, (int)i };
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		list[n++] = (struct option){ flags[i].name, no_argument, NULL,
					     (int)flags[i].flag };
	list[n] = (struct option){ NULL, 0, NULL, 0 };
}

static enum options_result
take_flag(struct options *options, int flag, const char *version)
{
	switch (flag) {
	case FLAG_API_OPEN:
		options->api_open = true;
		return OPTIONS_RUN;
	case FLAG_CHECK:
		options->check = true;
		return OPTIONS_RUN;
	case FLAG_VERSION:
		printf("spoa-admission %s\n", version);
		return OPTIONS_DONE;
	case FLAG_HELP:
		print_help();
		return OPTIONS_DONE;
	default:
		fputs("usage: spoa-admission [option ...]; "
		      "--help lists them\n",
		      stderr);
		return OPTIONS_WRONG;
	}
}

static bool
take_value(struct options *options, size_t i, bool *given)
{
	const struct row *row = &rows[i];
	/* Only a switch may be said without a word. */
	const char *value = optarg == NULL ? "on" : optarg;
	const char *why = row->set(field_of(options, row), value);

	given[i] = true;
	if (why == NULL)
		return true;
	return complain("--", row->name, value, why);
}

/* Says each bad value, not only the first. */
static enum options_result
read_arguments(struct options *options, int argc, char **argv, bool *given,
	       const char *version)
{
	struct option list[OPTION_COUNT + 1];
	enum options_result result;
	bool ok = true;
	int found;

	list_options(list);
	while ((found = getopt_long(argc, argv, "", list, NULL)) != -1) {
		if (found >= 0 && (size_t)found < ARRAY_LEN(rows)) {
			ok = take_value(options, (size_t)found, given) && ok;
			continue;
		}
		result = take_flag(options, found, version);
		if (result != OPTIONS_RUN)
			return result;
	}
	if (optind < argc) {
		fprintf(stderr, "spoa-admission: \"%s\" is no option\n",
			argv[optind]);
		return take_flag(options, '?', version);
	}
	return ok ? OPTIONS_RUN : OPTIONS_WRONG;
}

enum options_result
options_read(struct options *options, int argc, char **argv,
	     const char *version)
{
	bool given[ARRAY_LEN(rows)] = { false };
	enum options_result result;

	memset(options, 0, sizeof(*options));
	result = read_arguments(options, argc, argv, given, version);
	if (result == OPTIONS_DONE)
		return result;
	return fill_in(options, given) ? result : OPTIONS_WRONG;
}

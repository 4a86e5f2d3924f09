/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"

static enum options_result
read_words(struct options *options, const char *const *words)
{
	char *argv[64] = { NULL };
	int argc = 0;

	/* As at the start of a program. */
	optind = 0;
	while (words[argc] != NULL) {
		argv[argc] = (char *)(uintptr_t)words[argc];
		argc++;
	}
	return options_read(options, argc, argv, "1.2.3");
}

#define READ(options, ...)                                                     \
	read_words(options, (const char *const[]){ "program", __VA_ARGS__ })

static int
forget_environment(void **state)
{
	(void)state;
	clearenv();
	return 0;
}

static void
defaults_are_those_of_the_interface(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(READ(&o, NULL), OPTIONS_RUN);
	assert_int_equal(o.spop_listen.count, 1);
	assert_string_equal(o.spop_listen.value[0], "127.0.0.1:9021");
	assert_string_equal(o.log_listen, "127.0.0.1:9022");
	assert_string_equal(o.api_listen, "127.0.0.1:11111");
	assert_int_equal(o.haproxy_sockets.count, 0);
	assert_null(o.api_token_file);
	assert_null(o.rules);
	assert_null(o.state_dir);
	assert_string_equal(o.haproxy_backend, "pool");
	assert_false(o.haproxy_manage);
	assert_int_equal(o.haproxy_frontends.count, 0);
	assert_int_equal(o.unit_max_age, 7200 * USEC_PER_SEC);
	assert_int_equal(o.scrape_interval, 10 * USEC_PER_SEC);
	assert_int_equal(o.request_buffer_kib, 1024);
	assert_int_equal(o.log_level, LOG_LEVEL_INFO);
	assert_int_equal(o.log_format, LOG_FORMAT_TEXT);
	assert_false(o.api_open);
	assert_false(o.check);
}

static void
option_beats_environment_beats_default(void **state)
{
	struct options o;

	(void)state;
	setenv("SPOA_ADMISSION_API_LISTEN", "from-env", 1);
	setenv("SPOA_ADMISSION_LOG_LISTEN", "from-env", 1);
	setenv("SPOA_ADMISSION_SPOP_LISTEN", "from-env", 1);
	assert_int_equal(
		READ(&o, "--log-listen", "given", "--spop-listen=one", NULL),
		OPTIONS_RUN);
	assert_string_equal(o.api_listen, "from-env");
	assert_string_equal(o.log_listen, "given");
	assert_int_equal(o.spop_listen.count, 1);
	assert_string_equal(o.spop_listen.value[0], "one");
}

/* A bad value nobody uses is no fault. */
static void
overruled_environment_is_not_read(void **state)
{
	struct options o;

	(void)state;
	setenv("SPOA_ADMISSION_LOG_LEVEL", "loud", 1);
	assert_int_equal(READ(&o, "--log-level", "debug", NULL), OPTIONS_RUN);
	assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(READ(&o, NULL), OPTIONS_WRONG);
}

static void
some_may_be_repeated(void **state)
{
	struct options o;
	const char *words[2 * OPTIONS_LIST_MAX + 4] = { "program" };

	(void)state;
	for (size_t i = 0; i < OPTIONS_LIST_MAX; i++) {
		words[2 * i + 1] = "--haproxy-socket";
		words[2 * i + 2] = i == 0 ? "first" : "other";
	}
	assert_int_equal(read_words(&o, words), OPTIONS_RUN);
	assert_int_equal(o.haproxy_sockets.count, OPTIONS_LIST_MAX);
	assert_string_equal(o.haproxy_sockets.value[0], "first");

	words[2 * OPTIONS_LIST_MAX + 1] = "--haproxy-socket";
	words[2 * OPTIONS_LIST_MAX + 2] = "one too many";
	assert_int_equal(read_words(&o, words), OPTIONS_WRONG);
}

static void
times_have_units(void **state)
{
	static const struct {
		const char *text;
		usec_t time; /* 0 is refused */
	} rows[] = {
		{ "1ms", 1000 },
		{ "30s", 30 * USEC_PER_SEC },
		{ "5m", 300 * USEC_PER_SEC },
		{ "2h", 7200 * USEC_PER_SEC },
		{ "1000000h", 3600000000 * USEC_PER_SEC },
		{ "1000001h", 0 },
		{ "0s", 0 },
		{ "5", 0 },
		{ "s", 0 },
		{ "-5s", 0 },
		{ "5 s", 0 },
		{ "5sec", 0 },
		{ "99999999999999999999s", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct options o;
		enum options_result result =
			READ(&o, "--unit-max-age", rows[i].text, NULL);

		if (rows[i].time == 0) {
			assert_int_equal(result, OPTIONS_WRONG);
			continue;
		}
		assert_int_equal(result, OPTIONS_RUN);
		assert_int_equal(o.unit_max_age, rows[i].time);
	}
}

static void
a_switch_needs_no_word(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(READ(&o, "--haproxy-manage", NULL), OPTIONS_RUN);
	assert_true(o.haproxy_manage);
	setenv("SPOA_ADMISSION_HAPROXY_MANAGE", "on", 1);
	assert_int_equal(READ(&o, NULL), OPTIONS_RUN);
	assert_true(o.haproxy_manage);
	assert_int_equal(READ(&o, "--haproxy-manage=off", NULL), OPTIONS_RUN);
	assert_false(o.haproxy_manage);
	setenv("SPOA_ADMISSION_HAPROXY_MANAGE", "1", 1);
	assert_int_equal(READ(&o, NULL), OPTIONS_WRONG);
}

static void
frontends_are_named_one_by_one(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(READ(&o, "--haproxy-frontend=a", "--haproxy-frontend",
			      "b", NULL),
			 OPTIONS_RUN);
	assert_int_equal(o.haproxy_frontends.count, 2);
	assert_string_equal(o.haproxy_frontends.value[1], "b");
}

static void
bad_values_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "--request-buffer-kib", "0" },
		{ "--request-buffer-kib", "1048577" },
		{ "--request-buffer-kib", "1k" },
		{ "--request-buffer-kib", "" },
		{ "--log-level", "INFO" },
		{ "--log-format", "texts" },
		{ "--rules", "" },
		{ "--spop-listen", "" },
		{ "--haproxy-backend", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct options o;

		assert_int_equal(READ(&o, bad[i][0], bad[i][1], NULL),
				 OPTIONS_WRONG);
	}
}

static void
flags_and_strangers(void **state)
{
	struct options o;

	(void)state;
	assert_int_equal(READ(&o, "--check", NULL), OPTIONS_RUN);
	assert_true(o.check);
	assert_int_equal(READ(&o, "--version", NULL), OPTIONS_DONE);
	assert_int_equal(READ(&o, "--nonsense", NULL), OPTIONS_WRONG);
	assert_int_equal(READ(&o, "-x", NULL), OPTIONS_WRONG);
	assert_int_equal(READ(&o, "word", NULL), OPTIONS_WRONG);
	assert_int_equal(READ(&o, "--rules", NULL), OPTIONS_WRONG);
	assert_int_equal(READ(&o, "--check=yes", NULL), OPTIONS_WRONG);
}

#define OPTIONS_TEST(test)                                                     \
	cmocka_unit_test_setup_teardown(test, forget_environment,              \
					forget_environment)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OPTIONS_TEST(defaults_are_those_of_the_interface),
		OPTIONS_TEST(option_beats_environment_beats_default),
		OPTIONS_TEST(overruled_environment_is_not_read),
		OPTIONS_TEST(some_may_be_repeated),
		OPTIONS_TEST(times_have_units),
		OPTIONS_TEST(a_switch_needs_no_word),
		OPTIONS_TEST(frontends_are_named_one_by_one),
		OPTIONS_TEST(bad_values_are_refused),
		OPTIONS_TEST(flags_and_strangers),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}

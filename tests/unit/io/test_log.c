/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <regex.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"

/* Standard error, taken for the time of a test. */
struct capture {
	int stderr_before;
	int read_end;
};

static struct capture
capture_begin(void)
{
	struct capture c;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	c.read_end = ends[0];
	c.stderr_before = dup(STDERR_FILENO);
	assert_true(c.stderr_before >= 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	return c;
}

static void
capture_end(struct capture *c, char *text, size_t size)
{
	ssize_t n;

	assert_true(fcntl(c->read_end, F_SETFL, O_NONBLOCK) == 0);
	n = read(c->read_end, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	dup2(c->stderr_before, STDERR_FILENO);
	close(c->stderr_before);
	close(c->read_end);
}

static void
text_line_has_time_level_and_message(void **state)
{
	struct capture c = capture_begin();
	char text[4096];
	regex_t re;

	(void)state;
	log_open(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	log_info("gate: opened port=%d", 7);
	capture_end(&c, text, sizeof(text));
	assert_int_equal(regcomp(&re,
				 "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}"
				 "\\.[0-9]{3}Z info gate: opened port=7\n$",
				 REG_EXTENDED),
			 0);
	assert_int_equal(regexec(&re, text, 0, NULL, 0), 0);
	regfree(&re);
}

static void
lines_below_the_level_are_left_out(void **state)
{
	struct capture c = capture_begin();
	char text[4096];

	(void)state;
	log_open(LOG_LEVEL_WARN, LOG_FORMAT_TEXT);
	log_info("no");
	log_debug("no");
	log_warnx("yes");
	log_err("yes");
	capture_end(&c, text, sizeof(text));
	assert_null(strstr(text, "no"));
	assert_non_null(strstr(text, " warn yes\n"));
	assert_non_null(strstr(text, " error yes\n"));
}

static void
only_log_warn_says_errno_and_all_keep_it(void **state)
{
	struct capture c = capture_begin();
	char text[4096];

	(void)state;
	log_open(LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT);
	errno = ENOENT;
	log_warn("a: cannot");
	log_warnx("b: cannot");
	log_err("c: cannot");
	assert_int_equal(errno, ENOENT);
	capture_end(&c, text, sizeof(text));
	assert_non_null(strstr(
		text, "a: cannot error=\"No such file or directory\"\n"));
	assert_non_null(strstr(text, "b: cannot\n"));
	assert_non_null(strstr(text, "c: cannot\n"));
}

static void
value_cannot_begin_another_line(void **state)
{
	struct capture c = capture_begin();
	char text[4096];

	(void)state;
	log_open(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	log_info("x: y path=%s", "a\nb\x1b[0m");
	capture_end(&c, text, sizeof(text));
	assert_non_null(strstr(text, "path=a?b?[0m\n"));
}

static json_t *
message_as_json(const char *value)
{
	struct capture c = capture_begin();
	char text[4096];
	json_t *line;

	log_open(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	log_info("%s", value);
	capture_end(&c, text, sizeof(text));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	line = json_loads(text, 0, NULL);
	assert_non_null(line);
	return line;
}

static void
assert_message(const char *value, const char *expected)
{
	json_t *line = message_as_json(value);

	assert_string_equal(json_string_value(json_object_get(line, "msg")),
			    expected);
	assert_string_equal(json_string_value(json_object_get(line, "level")),
			    "info");
	assert_int_equal(json_string_length(json_object_get(line, "ts")), 24);
	json_decref(line);
}

#define REPLACED "\xef\xbf\xbd"

static void
json_line_escapes_whatever_comes(void **state)
{
	(void)state;
	assert_message("plain", "plain");
	assert_message("a\"b\\c\n\t\x01", "a\"b\\c\n\t\x01");
	assert_message("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		       "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	assert_message("\xff", REPLACED);
	assert_message("\xc3", REPLACED);
	assert_message("\xc0\xaf", REPLACED REPLACED);
	assert_message("\xed\xa0\x80", REPLACED REPLACED REPLACED);
	assert_message("\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED);
}

static void
long_line_is_cut_and_stays_json(void **state)
{
	char value[8192];
	json_t *line;

	(void)state;
	for (size_t i = 0; i < sizeof(value) - 1; i++)
		value[i] = "\x01\xe2\x82\xac\""[i % 5];
	value[sizeof(value) - 1] = '\0';
	line = message_as_json(value);
	assert_in_range(json_string_length(json_object_get(line, "msg")), 100,
			2048);
	json_decref(line);
}

static void
full_pipe_loses_lines_and_blocks_nobody(void **state)
{
	struct capture c = capture_begin();
	char text[64];

	(void)state;
	log_open(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	for (int i = 0; i < 10000; i++)
		log_info("a line of some length that nobody reads n=%d", i);
	capture_end(&c, text, sizeof(text));
	assert_non_null(strstr(text, "info a line"));
}

static void
repeated_fault_is_one_line_a_second(void **state)
{
	struct log_limit limit = { 0 };

	(void)state;
	assert_true(log_limit(&limit, 5));
	assert_int_equal(limit.skipped, 0);
	assert_false(log_limit(&limit, 6));
	assert_false(log_limit(&limit, 4 + USEC_PER_SEC));
	assert_true(log_limit(&limit, 5 + USEC_PER_SEC));
	assert_int_equal(limit.skipped, 2);
	assert_true(log_limit(&limit, 5 + 2 * USEC_PER_SEC));
	assert_int_equal(limit.skipped, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_line_has_time_level_and_message),
		cmocka_unit_test(lines_below_the_level_are_left_out),
		cmocka_unit_test(only_log_warn_says_errno_and_all_keep_it),
		cmocka_unit_test(value_cannot_begin_another_line),
		cmocka_unit_test(json_line_escapes_whatever_comes),
		cmocka_unit_test(long_line_is_cut_and_stays_json),
		cmocka_unit_test(full_pipe_loses_lines_and_blocks_nobody),
		cmocka_unit_test(repeated_fault_is_one_line_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/text.h"

#include <limits.h>
#include <string.h>

#include "agent/core/base.h"
#include "tests/cmocka.h"

static void
absent_and_empty_are_the_same(void **state)
{
	struct text absent = text_of(NULL);

	(void)state;
	assert_int_equal(absent.len, 0);
	assert_true(text_equals(absent, text_of("")));
	assert_true(text_is(absent, ""));
	assert_true(text_is_nocase(absent, ""));
	assert_false(text_is(absent, "a"));
}

static void
equal_is_equal_in_every_byte(void **state)
{
	(void)state;
	assert_true(text_is(text_of("abc"), "abc"));
	assert_false(text_is(text_of("abc"), "ab"));
	assert_false(text_is(text_of("ab"), "abc"));
	assert_false(text_is(text_of("abc"), "abC"));
	assert_true(text_equals((struct text){ "abcd", 3 },
				(struct text){ "abce", 3 }));
	assert_false(text_equals((struct text){ "a\0b", 3 },
				 (struct text){ "a\0c", 3 }));
}

static void
case_is_ignored_for_ascii_letters_only(void **state)
{
	(void)state;
	assert_true(text_is_nocase(text_of("EnFoRcE"), "enforce"));
	assert_true(text_is_nocase(text_of("enforce"), "ENFORCE"));
	assert_false(text_is_nocase(text_of("enforce"), "enforced"));
	assert_false(text_is_nocase(text_of("enforced"), "enforce"));
	/* '@' and '`', '[' and '{' differ in the bit that letters differ in. */
	assert_false(text_is_nocase(text_of("@["), "`{"));
}

static void
cut_takes_what_stands_before_the_first_separator(void **state)
{
	struct text rest = text_of("a:b:c");

	(void)state;
	assert_true(text_is(text_cut(&rest, ':'), "a"));
	assert_true(text_is(text_cut(&rest, ':'), "b"));
	assert_true(text_is(text_cut(&rest, ':'), "c"));
	assert_int_equal(rest.len, 0);
	assert_true(text_is(text_cut(&rest, ':'), ""));

	rest = text_of(":x");
	assert_true(text_is(text_cut(&rest, ':'), ""));
	assert_true(text_is(rest, "x"));
	rest = text_of("x:");
	assert_true(text_is(text_cut(&rest, ':'), "x"));
	assert_int_equal(rest.len, 0);
}

static void
numbers_are_plain_and_bounded(void **state)
{
	static const struct {
		const char *said;
		unsigned long long max;
		bool good;
		unsigned long long value;
	} cases[] = {
		{ "0", 0, true, 0 },
		{ "1", 0, false, 0 },
		{ "7", 5, false, 0 },
		{ "100", 100, true, 100 },
		{ "101", 100, false, 0 },
		{ "0000100", 100, true, 100 },
		{ "18446744073709551615", ULLONG_MAX, true, ULLONG_MAX },
		{ "18446744073709551616", ULLONG_MAX, false, 0 },
		{ "99999999999999999999999", ULLONG_MAX, false, 0 },
		{ "", 9, false, 0 },
		{ "-1", 9, false, 0 },
		{ "+1", 9, false, 0 },
		{ " 1", 9, false, 0 },
		{ "1 ", 9, false, 0 },
		{ "1.0", 9, false, 0 },
		{ "0x1", 9, false, 0 },
		{ "1e1", 99, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned long long value = 12345;
		bool good = text_number(text_of(cases[i].said), cases[i].max,
					&value);

		assert_int_equal(good, cases[i].good);
		/* Set on success only. */
		assert_true(value == (good ? cases[i].value : 12345));
	}
}

static void
host_and_port_fit_the_room_promised(void **state)
{
	char out[sizeof("10.0.0.1") - 1 + TEXT_PORT_MAX];

	(void)state;
	text_host_port(out, "10.0.0.1", 65535);
	assert_string_equal(out, "10.0.0.1:65535");
	assert_int_equal(strlen(out) + 1, sizeof(out));
	text_host_port(out, "10.0.0.1", 0);
	assert_string_equal(out, "10.0.0.1:0");
	text_host_port(out, "::1", 8080);
	assert_string_equal(out, "::1:8080");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_and_empty_are_the_same),
		cmocka_unit_test(equal_is_equal_in_every_byte),
		cmocka_unit_test(case_is_ignored_for_ascii_letters_only),
		cmocka_unit_test(
			cut_takes_what_stands_before_the_first_separator),
		cmocka_unit_test(numbers_are_plain_and_bounded),
		cmocka_unit_test(host_and_port_fit_the_room_promised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

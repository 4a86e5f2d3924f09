/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/permit.h"

#include <string.h>

#include "agent/core/base.h"
#include "tests/cmocka.h"

static void
what_is_written_is_read_back(void **state)
{
	static const uint64_t values[] = {
		0, 1, 15, 16, 0xabcdef, 1U << 31, UINT64_MAX >> 1, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		for (size_t j = 1; j < ARRAY_LEN(values); j++) {
			struct permit in = { values[i], values[j] };
			struct permit out = { 7, 7 };
			char text[PERMIT_TEXT_MAX];
			size_t len = permit_format(text, &in);

			assert_int_equal(len, strlen(text));
			assert_true(len < PERMIT_TEXT_MAX);
			assert_true(permit_parse(text_of(text), &out));
			assert_true(out.epoch == in.epoch);
			assert_true(out.number == in.number);
		}
	}
}

static void
the_longest_one_fits_exactly(void **state)
{
	char text[PERMIT_TEXT_MAX];

	(void)state;
	assert_int_equal(
		permit_format(text, &(struct permit){ UINT64_MAX, UINT64_MAX }),
		PERMIT_TEXT_MAX - 1);
	assert_string_equal(text, "ffffffffffffffff-ffffffffffffffff");
	permit_format(text, &(struct permit){ 0xabc, 1 });
	assert_string_equal(text, "0000000000000abc-1");
}

static void
what_no_agent_wrote_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"-",
		"1",
		"hello",
		"0000000000000abc",
		"0000000000000abc-",
		"-1",
		"0000000000000abc-0",
		"0000000000000abc-00",
		"abc-1",
		"00000000000000abc-1",
		"0000000000000ABC-1",
		"0000000000000abc-A",
		"0000000000000abc-1-1",
		"0000000000000abc--1",
		"0000000000000abc-g",
		"0000000000000abc-1 ",
		" 0000000000000abc-1",
		"0000000000000abg-1",
		"0000000000000abc_1",
		"0000000000000abc-10000000000000000",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct permit out = { 7, 7 };

		assert_false(permit_parse(text_of(wrong[i]), &out));
		assert_true(out.epoch == 7 && out.number == 7);
	}
	assert_false(permit_parse((struct text){ "0000000000000abc-1\0", 19 },
				  &(struct permit){ 0 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(the_longest_one_fits_exactly),
		cmocka_unit_test(what_no_agent_wrote_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

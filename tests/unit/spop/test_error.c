/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/error.h"

#include <string.h>

#include "tests/cmocka.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	enum spop_error error;
	uint32_t status;
	const char *text;
} table[] = {
	{ SPOP_EINVAL, 4, "invalid frame received" },
	{ SPOP_EUNEXPECTED, 4, "invalid frame received" },
	{ SPOP_ETOOBIG, 3, "frame is too big" },
	{ SPOP_ENOVERSION, 5, "version value not found" },
	{ SPOP_ENOSIZE, 6, "max-frame-size value not found" },
	{ SPOP_ENOCAPABILITIES, 7, "capabilities value not found" },
	{ SPOP_EVERSION, 8, "unsupported version" },
	{ SPOP_ESIZE, 9, "max-frame-size too big or too small" },
	{ SPOP_EFRAGMENT, 10, "payload fragmentation is not supported" },
	{ SPOP_EINTERLACED, 11, "invalid interlaced frames" },
	{ SPOP_ENOFRAME, 12, "frame-id not found" },
	{ SPOP_ENOSPACE, 13, "resource allocation error" },
	{ SPOP_ECOUNT, 13, "resource allocation error" },
};

static void
each_error_has_its_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		assert_int_equal(spop_status_of((int)table[i].error),
				 table[i].status);
		assert_string_equal(spop_status_text(table[i].status),
				    table[i].text);
	}
}

static void
each_error_has_words_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *text = spop_strerror((int)table[i].error);

		assert_true(text[0] != '\0');
		assert_string_not_equal(text, spop_strerror(0));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(
				text, spop_strerror((int)table[j].error));
	}
}

static void
no_error_is_not_taken_for_one(void **state)
{
	static const int none[] = { 0, 1, 100, -100, INT32_MAX, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		assert_string_equal(spop_strerror(none[i]), spop_strerror(0));
		assert_int_equal(spop_status_of(none[i]), SPOP_STATUS_UNKNOWN);
	}
	assert_string_equal(spop_strerror(SPOP_ECOUNT - 1), spop_strerror(0));
}

static void
each_status_has_a_text(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= 13; i++)
		assert_string_not_equal(spop_status_text(i),
					spop_status_text(99));
	assert_string_equal(spop_status_text(14), spop_status_text(99));
	assert_string_equal(spop_status_text(UINT32_MAX), spop_status_text(99));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_error_has_its_status),
		cmocka_unit_test(each_error_has_words_of_its_own),
		cmocka_unit_test(no_error_is_not_taken_for_one),
		cmocka_unit_test(each_status_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/writer.h"

#include <string.h>

#include "spop/error.h"
#include "tests/cmocka.h"

static void
what_is_put_lies_in_a_row(void **state)
{
	static const uint8_t expected[] = { 'a', 'b', 7, 240, 0 };
	uint8_t buf[5];
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_writer_put(&w, "ab", 2);
	spop_writer_put_byte(&w, 7);
	spop_writer_put_varint(&w, 240);
	spop_writer_put(&w, NULL, 0);
	assert_int_equal(w.error, 0);
	assert_int_equal(w.len, sizeof(expected));
	assert_memory_equal(buf, expected, sizeof(expected));
}

static void
the_first_failure_ends_it(void **state)
{
	uint8_t buf[4] = { 0 };
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, 3);
	spop_writer_put(&w, "ab", 2);
	spop_writer_put(&w, "cd", 2);
	assert_int_equal(w.error, SPOP_ENOSPACE);
	assert_int_equal(w.len, 2);

	/* It would fit, but what is before it is missing. */
	spop_writer_put_byte(&w, 'e');
	assert_int_equal(w.len, 2);
	assert_int_equal(buf[2], 0);
}

static void
no_buffer_takes_nothing(void **state)
{
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, NULL, 0);
	spop_writer_put(&w, "", 0);
	assert_int_equal(w.error, 0);
	spop_writer_put_byte(&w, 1);
	assert_int_equal(w.error, SPOP_ENOSPACE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_lies_in_a_row),
		cmocka_unit_test(the_first_failure_ends_it),
		cmocka_unit_test(no_buffer_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

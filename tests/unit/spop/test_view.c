/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/view.h"

#include <string.h>

#include "spop/error.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

static void
nothing_equals_the_empty_string(void **state)
{
	struct spop_text none = spop_text_of(NULL);

	(void)state;
	assert_int_equal(none.len, 0);
	assert_true(spop_text_is(none, ""));
	assert_false(spop_text_is(none, "a"));
}

static void
a_text_is_compared_whole(void **state)
{
	struct spop_text text = spop_text_of("verdict");

	(void)state;
	assert_true(spop_text_is(text, "verdict"));
	assert_false(spop_text_is(text, "verdic"));
	assert_false(spop_text_is(text, "verdict!"));
	assert_false(spop_text_is(text, "Verdict"));
	assert_false(spop_text_is((struct spop_text){ "a\0b", 3 }, "a"));
}

static void
a_decoded_text_is_a_view(void **state)
{
	static const uint8_t buf[] = { 3, 'a', 0, 'c', 'd' };
	struct spop_text text;

	(void)state;
	assert_int_equal(spop_text_decode(buf, sizeof(buf), &text), 4);
	assert_ptr_equal(text.at, buf + 1);
	assert_int_equal(text.len, 3);
}

static void
a_shorter_text_is_incomplete(void **state)
{
	static const uint8_t buf[] = { 3, 'a', 'b', 'c' };
	struct spop_text text = spop_text_of("kept");

	(void)state;
	for (size_t len = 0; len < sizeof(buf); len++)
		assert_int_equal(spop_text_decode(buf, len, &text), 0);
	assert_true(spop_text_is(text, "kept"));
}

static void
an_empty_text_takes_its_length_only(void **state)
{
	static const uint8_t buf[] = { 0 };
	struct spop_text text = spop_text_of("gone");

	(void)state;
	assert_int_equal(spop_text_decode(buf, sizeof(buf), &text), 1);
	assert_true(spop_text_is(text, ""));
}

/* Nobody can have it whole, so there is no use in waiting for it. */
static void
a_length_beyond_int_is_refused(void **state)
{
	uint8_t buf[16];
	struct spop_writer w;
	struct spop_text text = spop_text_of("kept");

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_writer_put_varint(&w, UINT64_MAX);
	assert_int_equal(spop_text_decode(buf, w.len, &text), SPOP_EINVAL);
	w.len = 0;
	spop_writer_put_varint(&w, INT32_MAX);
	assert_int_equal(spop_text_decode(buf, w.len, &text), SPOP_EINVAL);
	assert_true(spop_text_is(text, "kept"));
}

static void
a_long_text_survives(void **state)
{
	char string[300 + 1];
	uint8_t buf[400];
	struct spop_writer w;
	struct spop_text text;

	(void)state;
	memset(string, 'x', 300);
	string[300] = '\0';
	spop_writer_init(&w, buf, sizeof(buf));
	spop_text_encode(&w, spop_text_of(string));
	assert_int_equal(w.len, 302);
	assert_int_equal(spop_text_decode(buf, w.len, &text), 302);
	assert_true(spop_text_is(text, string));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_equals_the_empty_string),
		cmocka_unit_test(a_text_is_compared_whole),
		cmocka_unit_test(a_decoded_text_is_a_view),
		cmocka_unit_test(a_shorter_text_is_incomplete),
		cmocka_unit_test(an_empty_text_takes_its_length_only),
		cmocka_unit_test(a_length_beyond_int_is_refused),
		cmocka_unit_test(a_long_text_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

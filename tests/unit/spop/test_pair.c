/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/pair.h"

#include "spop/error.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

static void
a_list_is_read_in_order(void **state)
{
	uint8_t buf[64];
	struct spop_writer w;
	struct spop_bytes list;
	struct spop_pair pair;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_pair_encode(&w, "a", spop_value_int(1));
	spop_pair_encode(&w, "", spop_value_string("two"));

	list = (struct spop_bytes){ buf, w.len };
	assert_int_equal(spop_pair_next(&list, &pair), 4);
	assert_true(spop_text_is(pair.name, "a"));
	assert_int_equal(pair.value.number, 1);
	assert_int_equal(spop_pair_next(&list, &pair), 6);
	assert_true(spop_text_is(pair.name, ""));
	assert_true(spop_text_is(pair.value.text, "two"));
	assert_int_equal(spop_pair_next(&list, &pair), 0);
	assert_ptr_equal(list.at, buf + w.len);
}

/* A list is complete when it is read, so its end is no reason to wait. */
static void
a_list_that_ends_within_a_pair_is_refused(void **state)
{
	static const uint8_t buf[] = { 1, 'a', 8, 3, 't', 'w', 'o' };

	(void)state;
	for (size_t len = 1; len < sizeof(buf); len++) {
		struct spop_bytes list = { buf, len };
		struct spop_pair pair = { .name = spop_text_of("kept") };

		assert_int_equal(spop_pair_next(&list, &pair), SPOP_EINVAL);
		assert_ptr_equal(list.at, buf);
		assert_int_equal(list.len, len);
		assert_true(spop_text_is(pair.name, "kept"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_read_in_order),
		cmocka_unit_test(a_list_that_ends_within_a_pair_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

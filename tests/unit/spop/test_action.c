/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/action.h"

#include <string.h>

#include "spop/error.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t set[] = { 1, 3, 2, 1, 'v', 8, 2, 'o', 'k' };
static const uint8_t unset[] = { 2, 2, 1, 3, 'o', 'l', 'd' };

static void
actions_encode(void **state)
{
	uint8_t buf[sizeof(set) + sizeof(unset)];
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_action_set_var(&w, SPOP_SCOPE_TRANSACTION, "v",
			    spop_value_string("ok"));
	spop_action_unset_var(&w, SPOP_SCOPE_SESSION, "old");
	assert_int_equal(w.error, 0);
	assert_int_equal(w.len, sizeof(buf));
	assert_memory_equal(buf, set, sizeof(set));
	assert_memory_equal(buf + sizeof(set), unset, sizeof(unset));
}

static void
actions_are_walked(void **state)
{
	uint8_t buf[sizeof(set) + sizeof(unset)];
	struct spop_bytes list = { buf, sizeof(buf) };
	struct spop_action action;

	(void)state;
	memcpy(buf, set, sizeof(set));
	memcpy(buf + sizeof(set), unset, sizeof(unset));
	assert_int_equal(spop_action_next(&list, &action), sizeof(set));
	assert_int_equal(action.type, SPOP_SET_VAR);
	assert_int_equal(action.scope, SPOP_SCOPE_TRANSACTION);
	assert_true(spop_text_is(action.name, "v"));
	assert_true(spop_text_is(action.value.text, "ok"));

	assert_int_equal(spop_action_next(&list, &action), sizeof(unset));
	assert_int_equal(action.type, SPOP_UNSET_VAR);
	assert_int_equal(action.scope, SPOP_SCOPE_SESSION);
	assert_true(spop_text_is(action.name, "old"));
	assert_int_equal(action.value.type, SPOP_NULL);

	assert_int_equal(spop_action_next(&list, &action), 0);
	assert_int_equal(list.len, 0);
}

static void
each_scope_survives(void **state)
{
	(void)state;
	for (unsigned scope = 0; scope <= SPOP_SCOPE_RESPONSE; scope++) {
		uint8_t buf[32];
		struct spop_writer w;
		struct spop_bytes list;
		struct spop_action action;

		spop_writer_init(&w, buf, sizeof(buf));
		spop_action_set_var(&w, (enum spop_scope)scope, "x",
				    spop_value_int(-5));
		list = (struct spop_bytes){ buf, w.len };
		assert_int_equal(spop_action_next(&list, &action), w.len);
		assert_int_equal(action.scope, scope);
		assert_int_equal(action.value.number, -5);
	}
}

static void
refuses(const uint8_t *bytes, size_t len)
{
	struct spop_bytes list = { bytes, len };
	struct spop_action action = { .name = spop_text_of("kept") };

	assert_int_equal(spop_action_next(&list, &action), SPOP_EINVAL);
	assert_ptr_equal(list.at, bytes);
	assert_int_equal(list.len, len);
	assert_true(spop_text_is(action.name, "kept"));
}

static void
an_action_that_ends_early_is_refused(void **state)
{
	(void)state;
	for (size_t len = 1; len < sizeof(set); len++)
		refuses(set, len);
	for (size_t len = 1; len < sizeof(unset); len++)
		refuses(unset, len);
}

static void
an_unknown_action_is_refused(void **state)
{
	/* type, count of arguments, scope, one of them wrong in each */
	static const uint8_t heads[][3] = {
		{ 0, 3, 2 }, { 3, 3, 2 },   { 255, 2, 2 }, { 1, 2, 2 },
		{ 1, 4, 2 }, { 2, 3, 1 },   { 2, 1, 1 },   { 1, 3, 5 },
		{ 2, 2, 5 }, { 1, 3, 255 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		uint8_t bytes[sizeof(set)];

		memcpy(bytes, set, sizeof(set));
		memcpy(bytes, heads[i], 3);
		refuses(bytes, sizeof(bytes));
	}
}

static void
a_value_of_no_type_is_refused(void **state)
{
	uint8_t bytes[sizeof(set)];

	(void)state;
	memcpy(bytes, set, sizeof(set));
	bytes[5] = 10;
	refuses(bytes, sizeof(bytes));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(actions_encode),
		cmocka_unit_test(actions_are_walked),
		cmocka_unit_test(each_scope_survives),
		cmocka_unit_test(an_action_that_ends_early_is_refused),
		cmocka_unit_test(an_unknown_action_is_refused),
		cmocka_unit_test(a_value_of_no_type_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

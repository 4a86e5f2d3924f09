/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/message.h"

#include "spop/error.h"
#include "spop/frame.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

#define FRAME_HEAD (SPOP_FRAME_PREFIX + SPOP_FRAME_BARE)

static void
begin(struct spop_writer *w, uint8_t *buf, size_t cap)
{
	static const struct spop_frame notify = { .type = SPOP_FRAME_NOTIFY };

	spop_writer_init(w, buf, cap);
	spop_frame_begin(w, &notify, 8192);
}

static struct spop_messages
end(struct spop_writer *w)
{
	int total = spop_frame_end(w);

	assert_true(total >= FRAME_HEAD);
	return (struct spop_messages){ .rest = { w->buf + FRAME_HEAD,
						 w->len - FRAME_HEAD } };
}

/* a(x=1, y="z"), b(), c(n=null) */
static struct spop_messages
write_three(struct spop_writer *w, uint8_t *buf, size_t cap)
{
	begin(w, buf, cap);
	spop_message_begin(w, "a");
	spop_argument_put(w, "x", spop_value_int(1));
	spop_argument_put(w, "y", spop_value_string("z"));
	spop_message_begin(w, "b");
	spop_message_begin(w, "c");
	spop_argument_put(w, "n", (struct spop_value){ .type = SPOP_NULL });
	return end(w);
}

static void
messages_encode(void **state)
{
	static const uint8_t expected[] = { 1, 'a', 2,   1, 'x', 4,   1,
					    1, 'y', 8,   1, 'z', 1,   'b',
					    0, 1,   'c', 1, 1,   'n', 0 };
	uint8_t buf[64];
	struct spop_writer w;
	struct spop_messages list;

	(void)state;
	list = write_three(&w, buf, sizeof(buf));
	assert_int_equal(list.rest.len, sizeof(expected));
	assert_memory_equal(list.rest.at, expected, sizeof(expected));
}

static void
messages_and_arguments_are_walked(void **state)
{
	uint8_t buf[64];
	struct spop_writer w;
	struct spop_messages list = write_three(&w, buf, sizeof(buf));
	struct spop_message message;
	struct spop_pair argument;

	(void)state;
	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_text_is(message.name, "a"));
	assert_int_equal(message.arguments, 2);
	assert_true(spop_argument_next(&list, &argument) > 0);
	assert_true(spop_text_is(argument.name, "x"));
	assert_int_equal(argument.value.number, 1);
	assert_true(spop_argument_next(&list, &argument) > 0);
	assert_true(spop_text_is(argument.value.text, "z"));
	assert_int_equal(spop_argument_next(&list, &argument), 0);

	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_text_is(message.name, "b"));
	assert_int_equal(spop_argument_next(&list, &argument), 0);

	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_argument_next(&list, &argument) > 0);
	assert_int_equal(argument.value.type, SPOP_NULL);
	assert_int_equal(spop_argument_next(&list, &argument), 0);
	assert_int_equal(spop_message_next(&list, &message), 0);
	assert_int_equal(spop_message_next(&list, &message), 0);
}

static void
arguments_may_be_passed_over(void **state)
{
	uint8_t buf[64];
	struct spop_writer w;
	struct spop_messages list = write_three(&w, buf, sizeof(buf));
	struct spop_message message;
	struct spop_pair argument;

	(void)state;
	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_argument_next(&list, &argument) > 0);
	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_text_is(message.name, "b"));
	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_text_is(message.name, "c"));
	assert_int_equal(spop_message_next(&list, &message), 0);
}

/* Some HAProxy versions ask nothing at all. */
static void
no_message_is_fine(void **state)
{
	struct spop_messages list = { 0 };
	struct spop_message message;
	struct spop_pair argument;

	(void)state;
	assert_int_equal(spop_argument_next(&list, &argument), 0);
	assert_int_equal(spop_message_next(&list, &message), 0);
}

/* Walks it all; returns how many messages, or the error. */
static int
walk(struct spop_messages list)
{
	struct spop_message message;
	struct spop_pair argument;
	int count = 0, rc;

	while ((rc = spop_message_next(&list, &message)) > 0) {
		count++;
		while ((rc = spop_argument_next(&list, &argument)) > 0)
			;
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : count;
}

/* Whole messages make a list too; every other prefix is refused. */
static void
a_list_that_ends_early_is_refused(void **state)
{
	static const size_t whole[] = { 0, 12, 15, 21 };
	uint8_t buf[64];
	struct spop_writer w;
	struct spop_messages list = write_three(&w, buf, sizeof(buf));
	int messages = 0;

	(void)state;
	assert_int_equal(list.rest.len, whole[3]);
	for (size_t len = 0; len <= whole[3]; len++) {
		list.rest.len = len;
		if (len == whole[messages])
			assert_int_equal(walk(list), messages++);
		else
			assert_int_equal(walk(list), SPOP_EINVAL);
	}
	assert_int_equal(messages, 4);
}

static void
a_name_without_a_count_is_refused(void **state)
{
	static const uint8_t bytes[] = { 1, 'a', 0 };
	struct spop_messages list = { .rest = { bytes, 2 } };
	struct spop_message message = { .arguments = 77 };

	(void)state;
	assert_int_equal(spop_message_next(&list, &message), SPOP_EINVAL);
	assert_int_equal(message.arguments, 77);
}

static void
a_bad_argument_is_found_even_if_passed_over(void **state)
{
	static const uint8_t bytes[] = { 1, 'a', 1, 1, 'x', 15, 1, 'b', 0 };
	struct spop_messages list = { .rest = { bytes, sizeof(bytes) } };
	struct spop_message message;

	(void)state;
	assert_true(spop_message_next(&list, &message) > 0);
	assert_int_equal(spop_message_next(&list, &message), SPOP_EINVAL);
	assert_true(spop_text_is(message.name, "a"));
	assert_int_equal(spop_message_next(&list, &message), SPOP_EINVAL);
}

static void
a_message_has_at_most_255_arguments(void **state)
{
	uint8_t buf[4096];
	struct spop_writer w;
	struct spop_messages list;
	struct spop_message message;

	(void)state;
	begin(&w, buf, sizeof(buf));
	spop_message_begin(&w, "full");
	for (int i = 0; i < SPOP_ARGUMENTS_MAX; i++)
		spop_argument_put(&w, "x", spop_value_bool(true));
	list = end(&w);
	assert_true(spop_message_next(&list, &message) > 0);
	assert_int_equal(message.arguments, 255);

	begin(&w, buf, sizeof(buf));
	spop_message_begin(&w, "over");
	for (int i = 0; i <= SPOP_ARGUMENTS_MAX; i++)
		spop_argument_put(&w, "x", spop_value_bool(true));
	assert_int_equal(spop_frame_end(&w), SPOP_ECOUNT);
	assert_int_equal(w.len, 0);
}

/* Whatever fits not, is taken back, and nothing behind buf is touched. */
static void
each_smaller_buffer_is_refused(void **state)
{
	uint8_t buf[64];
	struct spop_writer w;
	size_t whole;

	(void)state;
	(void)write_three(&w, buf, sizeof(buf));
	whole = w.len;
	for (size_t cap = 0; cap < whole; cap++) {
		begin(&w, buf, cap);
		spop_message_begin(&w, "a");
		spop_argument_put(&w, "x", spop_value_int(1));
		spop_argument_put(&w, "y", spop_value_string("z"));
		spop_message_begin(&w, "b");
		spop_message_begin(&w, "c");
		spop_argument_put(&w, "n", (struct spop_value){ 0 });
		assert_int_equal(spop_frame_end(&w), SPOP_ENOSPACE);
		assert_int_equal(w.len, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_encode),
		cmocka_unit_test(messages_and_arguments_are_walked),
		cmocka_unit_test(arguments_may_be_passed_over),
		cmocka_unit_test(no_message_is_fine),
		cmocka_unit_test(a_list_that_ends_early_is_refused),
		cmocka_unit_test(a_name_without_a_count_is_refused),
		cmocka_unit_test(a_bad_argument_is_found_even_if_passed_over),
		cmocka_unit_test(a_message_has_at_most_255_arguments),
		cmocka_unit_test(each_smaller_buffer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

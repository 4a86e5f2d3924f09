/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/log_frame.h"

#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"

struct stream {
	struct log_frame frame;
	struct text rest;
};

static struct stream
stream_of(const char *bytes)
{
	return (struct stream){ .rest = text_of(bytes) };
}

/* The next message; the empty text where more bytes are needed. */
static struct text
next(struct stream *s)
{
	struct text line = { NULL, 0 };
	size_t used;

	do {
		used = log_frame_next(&s->frame, s->rest, &line);
		assert_true(used <= s->rest.len);
		s->rest.at += used;
		s->rest.len -= used;
	} while (used > 0 && line.len == 0);
	return line;
}

static void
assert_next(struct stream *s, const char *expected)
{
	assert_true(text_is(next(s), expected));
}

static void
lines_end_with_a_newline(void **state)
{
	struct stream s = stream_of("one\ntwo\r\n\nthree\nfou");

	(void)state;
	assert_next(&s, "one");
	assert_next(&s, "two");
	assert_next(&s, "three");
	assert_next(&s, "");
	assert_int_equal(s.rest.len, 3);
}

static void
counted_messages_need_no_newline(void **state)
{
	struct stream s = stream_of("5 <1>ab4 <1>c6 <1>de\n7 <1>fg");

	(void)state;
	assert_next(&s, "<1>ab");
	assert_next(&s, "<1>c");
	assert_next(&s, "<1>de");
	assert_next(&s, "");
	assert_int_equal(s.rest.len, 7);
}

static void
kinds_are_told_apart_per_message(void **state)
{
	struct stream s = stream_of("<1>a\n4 <1>b<1>c\n5 <1>d\n<1>e\n");

	(void)state;
	assert_next(&s, "<1>a");
	assert_next(&s, "<1>b");
	assert_next(&s, "<1>c");
	assert_next(&s, "<1>d");
	assert_next(&s, "<1>e");
}

static void
line_that_begins_with_a_number_is_a_line(void **state)
{
	struct stream s = stream_of("200 admission id=1\n10.0.0.1:5 x\n"
				    "0 x\n99999 x\n8193 x\n12\n"
				    "4 events dropped\n");

	(void)state;
	assert_next(&s, "200 admission id=1");
	assert_next(&s, "10.0.0.1:5 x");
	assert_next(&s, "0 x");
	assert_next(&s, "99999 x");
	assert_next(&s, "8193 x");
	assert_next(&s, "12");
	assert_next(&s, "4 events dropped");
}

static void
terminators_at_the_end_are_trimmed(void **state)
{
	static const char bytes[] = "12 events dropped\0\n7 <1>ab\r\0<1>x\n";
	struct stream s = { .rest = { bytes, sizeof(bytes) - 1 } };

	(void)state;
	assert_next(&s, "12 events dropped");
	assert_next(&s, "<1>ab");
	assert_next(&s, "<1>x");
}

/* Every way to cut the stream in two gives the same messages. */
static void
bytes_may_come_in_pieces(void **state)
{
	static const char bytes[] = "5 <1>ab<1>c\n4 <1>d\nx\n";

	(void)state;
	for (size_t cut = 0; cut < sizeof(bytes); cut++) {
		struct stream s = { .rest = { bytes, cut } };
		struct text line = next(&s);
		size_t lines = 0;

		while (line.len > 0) {
			lines++;
			line = next(&s);
		}
		s.rest.len = (size_t)(bytes + sizeof(bytes) - 1 - s.rest.at);
		while (next(&s).len > 0)
			lines++;
		assert_int_equal(lines, 4);
		assert_int_equal(s.rest.len, 0);
	}
}

static void
longest_line_is_taken(void **state)
{
	char *bytes = malloc(LOG_LINE_MAX + 1);
	struct stream s = { .rest = { bytes, LOG_LINE_MAX + 1 } };

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', LOG_LINE_MAX);
	bytes[LOG_LINE_MAX] = '\n';
	assert_int_equal(next(&s).len, LOG_LINE_MAX);
	free(bytes);
}

static void
longer_line_is_skipped(void **state)
{
	char *bytes = malloc(LOG_FRAME_MAX);
	struct stream s = { .rest = { bytes, LOG_FRAME_MAX - 1 } };

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', LOG_FRAME_MAX);
	assert_int_equal(next(&s).len, 0);
	assert_int_equal(s.rest.len, LOG_FRAME_MAX - 1);

	s.rest.len = LOG_FRAME_MAX;
	assert_int_equal(next(&s).len, 0);
	assert_int_equal(s.rest.len, 0);
	assert_int_equal(s.frame.skipped, LOG_FRAME_MAX);

	s.rest = text_of("its end\nafter\n");
	assert_next(&s, "after");
	assert_int_equal(s.frame.skipped, 0);
	free(bytes);
}

static void
longer_line_is_skipped_in_one_piece(void **state)
{
	char *bytes = malloc(LOG_LINE_MAX + 4);
	struct stream s = { .rest = { bytes, LOG_LINE_MAX + 4 } };

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', LOG_LINE_MAX + 1);
	bytes[LOG_LINE_MAX + 1] = '\n';
	bytes[LOG_LINE_MAX + 2] = 'y';
	bytes[LOG_LINE_MAX + 3] = '\n';
	assert_next(&s, "y");
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_with_a_newline),
		cmocka_unit_test(counted_messages_need_no_newline),
		cmocka_unit_test(kinds_are_told_apart_per_message),
		cmocka_unit_test(line_that_begins_with_a_number_is_a_line),
		cmocka_unit_test(terminators_at_the_end_are_trimmed),
		cmocka_unit_test(bytes_may_come_in_pieces),
		cmocka_unit_test(longest_line_is_taken),
		cmocka_unit_test(longer_line_is_skipped),
		cmocka_unit_test(longer_line_is_skipped_in_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

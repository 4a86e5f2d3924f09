/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/frame.h"

#include <string.h>

#include "spop/error.h"
#include "spop/message.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

static const uint8_t bytes[] = { 0, 0,   0, 11, 3,   0,   0,  0,
				 1, 240, 0, 5,  'a', 'b', 'c' };

static void
a_frame_decodes(void **state)
{
	struct spop_frame frame;

	(void)state;
	assert_int_equal(spop_frame_decode(bytes, sizeof(bytes), 11, &frame),
			 sizeof(bytes));
	assert_int_equal(frame.type, SPOP_FRAME_NOTIFY);
	assert_int_equal(frame.flags, SPOP_FRAME_FIN);
	assert_int_equal(frame.stream_id, 240);
	assert_int_equal(frame.frame_id, 5);
	assert_ptr_equal(frame.payload.at, bytes + 12);
	assert_int_equal(frame.payload.len, 3);
}

static void
a_frame_encodes(void **state)
{
	uint8_t buf[sizeof(bytes)];
	struct spop_writer w;
	struct spop_frame frame = {
		.type = SPOP_FRAME_NOTIFY,
		.flags = SPOP_FRAME_FIN,
		.stream_id = 240,
		.frame_id = 5,
		.payload = { (const uint8_t *)"abc", 3 },
	};

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_frame_begin(&w, &frame, 11);
	assert_int_equal(spop_frame_end(&w), sizeof(bytes));
	assert_int_equal(w.len, sizeof(bytes));
	assert_memory_equal(buf, bytes, sizeof(bytes));
}

static void
each_shorter_prefix_is_incomplete(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(bytes); len++) {
		struct spop_frame frame = { .type = 77 };

		assert_int_equal(spop_frame_decode(bytes, len, 256, &frame), 0);
		assert_int_equal(spop_frame_measure(bytes, len, 256),
				 len < SPOP_FRAME_PREFIX ? 0 : sizeof(bytes));
		assert_int_equal(frame.type, 77);
	}
}

static void
what_follows_a_frame_is_left_alone(void **state)
{
	uint8_t two[2 * sizeof(bytes)];
	struct spop_frame frame;

	(void)state;
	memcpy(two, bytes, sizeof(bytes));
	memcpy(two + sizeof(bytes), bytes, sizeof(bytes));
	assert_int_equal(spop_frame_decode(two, sizeof(two), 256, &frame),
			 sizeof(bytes));
	assert_int_equal(frame.payload.len, 3);
}

/* Four bytes are enough to know that no more should be taken. */
static void
a_bad_length_is_refused_at_once(void **state)
{
	struct spop_frame frame = { .type = 77 };

	(void)state;
	for (uint8_t size = 0; size < SPOP_FRAME_BARE; size++) {
		const uint8_t small[] = { 0, 0, 0, size };

		assert_int_equal(spop_frame_decode(small, 4, 256, &frame),
				 SPOP_EINVAL);
	}
	assert_int_equal(spop_frame_decode(bytes, 4, 11, &frame), 0);
	assert_int_equal(spop_frame_decode(bytes, 4, 10, &frame), SPOP_ETOOBIG);
	assert_int_equal(spop_frame_measure((const uint8_t *)"\xff\xff\xff\xff",
					    4, SPOP_FRAME_SIZE_MAX),
			 SPOP_ETOOBIG);
	assert_int_equal(frame.type, 77);
}

static void
the_smallest_frame_is_bare(void **state)
{
	static const uint8_t bare[] = { 0, 0, 0, 7, 9, 0, 0, 0, 1, 0, 0 };
	struct spop_frame frame;

	(void)state;
	assert_int_equal(spop_frame_decode(bare, sizeof(bare), 7, &frame), 11);
	assert_int_equal(frame.payload.len, 0);
}

static void
ids_must_end_within_the_frame(void **state)
{
	/* The length ends the frame in the midst of an id; more bytes follow */
	static const uint8_t stream[] = { 0, 0,   0,   7, 3, 0, 0, 0,
					  1, 240, 200, 0, 0, 0, 0 };
	static const uint8_t id[] = { 0, 0, 0, 7, 3, 0, 0, 0, 1, 0, 240, 0, 0 };
	struct spop_frame frame;

	(void)state;
	assert_int_equal(spop_frame_decode(stream, sizeof(stream), 256, &frame),
			 SPOP_EINVAL);
	assert_int_equal(spop_frame_decode(id, sizeof(id), 256, &frame),
			 SPOP_EINVAL);
}

static void
reserved_flags_and_types_are_passed_on(void **state)
{
	static const uint8_t odd[] = { 0, 0, 0, 7, 200, 0x80, 1, 2, 3, 0, 0 };
	struct spop_frame frame;

	(void)state;
	assert_int_equal(spop_frame_decode(odd, sizeof(odd), 256, &frame), 11);
	assert_int_equal(frame.type, 200);
	assert_true(frame.flags == 0x80010203);
}

/* Puts n bytes in a frame of at most 32, in a buffer of cap bytes. */
static int
try_frame(struct spop_writer *w, size_t n)
{
	static const uint8_t zeros[64];
	static const struct spop_frame ack = { .type = SPOP_FRAME_ACK };

	spop_frame_begin(w, &ack, 32);
	spop_writer_put(w, zeros, n);
	return spop_frame_end(w);
}

static void
a_frame_fits_exactly_or_not_at_all(void **state)
{
	uint8_t buf[64];
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	assert_int_equal(try_frame(&w, 25), 36);
	assert_int_equal(buf[3], 32);
	assert_int_equal(try_frame(&w, 26), SPOP_ETOOBIG);
	assert_int_equal(w.len, 36);
	assert_int_equal(try_frame(&w, 18), SPOP_ENOSPACE);
	assert_int_equal(w.len, 36);
	assert_int_equal(try_frame(&w, 17), 28);
	assert_int_equal(w.len, 64);
	assert_int_equal(try_frame(&w, 0), SPOP_ENOSPACE);
	assert_int_equal(w.len, 64);
}

/* One that is too big for all buffers shall not be tried in a larger one. */
static void
beyond_both_limits_is_too_big(void **state)
{
	uint8_t buf[16];
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	assert_int_equal(try_frame(&w, 26), SPOP_ETOOBIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_decodes),
		cmocka_unit_test(a_frame_encodes),
		cmocka_unit_test(each_shorter_prefix_is_incomplete),
		cmocka_unit_test(what_follows_a_frame_is_left_alone),
		cmocka_unit_test(a_bad_length_is_refused_at_once),
		cmocka_unit_test(the_smallest_frame_is_bare),
		cmocka_unit_test(ids_must_end_within_the_frame),
		cmocka_unit_test(reserved_flags_and_types_are_passed_on),
		cmocka_unit_test(a_frame_fits_exactly_or_not_at_all),
		cmocka_unit_test(beyond_both_limits_is_too_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/session.h"

#include "tests/unit/spop/frames.h"

#define FIRST SPOP_FRAME_NOTIFY
#define NEXT SPOP_FRAME_UNSET
#define MORE 0
#define LAST SPOP_FRAME_FIN
#define ABORT (SPOP_FRAME_FIN | SPOP_FRAME_ABORT)

/* An open agent that gathers in buf. */
static void
open_gathering(struct spop_session *s, uint8_t *buf, uint32_t cap)
{
	spop_session_init(s, SPOP_AGENT);
	spop_session_gather(s, buf, cap);
	frames_open_agent(s, 1000);
}

/* Feeds a frame and expects the event. */
static void
gives(struct spop_session *s, struct frames *f, enum spop_event_type type)
{
	struct spop_event event;

	assert_true(frames_feed(f, s, &event) > 0);
	assert_int_equal(event.type, type);
}

static void
refuses(struct spop_session *s, struct frames *f, int error)
{
	struct spop_session before = *s;
	struct spop_event event;

	assert_int_equal(frames_feed(f, s, &event), error);
	assert_memory_equal(s, &before, sizeof(before));
	frames_init(f);
}

static void
fragments_are_announced_by_who_gathers(void **state)
{
	uint8_t gathered[64];
	struct spop_session s;
	struct frames f;
	struct spop_event event;
	struct spop_frame frame;
	struct spop_hello said;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	spop_session_gather(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_hello(&f, 1000);
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_true(spop_session_hello_agent(&s, &f.w) > 0);
	assert_true(spop_frame_decode(f.buf, f.w.len, 256, &frame) > 0);
	assert_int_equal(spop_hello_decode_agent(frame.payload, &said), 0);
	assert_int_equal(said.capabilities,
			 SPOP_CAPABILITY_PIPELINING |
				 SPOP_CAPABILITY_FRAGMENTATION);
}

static void
who_does_not_gather_refuses(void **state)
{
	struct spop_session s;
	struct frames f;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	frames_open_agent(&s, 1000);
	frames_init(&f);
	frames_add(&f, FIRST, MORE, 1, "a");
	refuses(&s, &f, SPOP_EFRAGMENT);
	frames_add(&f, NEXT, LAST, 1, "a");
	refuses(&s, &f, SPOP_EFRAGMENT);
	assert_int_equal(spop_status_of(SPOP_EFRAGMENT), SPOP_STATUS_FRAGMENT);
}

/* Cuts a payload of 6 at each set of places, empty parts at the ends too. */
static void
any_split_gives_the_same_payload(void **state)
{
	static const char whole[] = "abcdef";

	(void)state;
	for (unsigned cuts = 0; cuts < 128; cuts++) {
		uint8_t gathered[6];
		struct spop_session s;
		struct frames f;
		struct spop_event event;
		char part[8];
		size_t len = 0;
		uint8_t type = FIRST;

		open_gathering(&s, gathered, sizeof(gathered));
		frames_init(&f);
		for (unsigned i = 0; i < 7; i++) {
			if ((cuts & 1U << i) != 0) {
				part[len] = '\0';
				frames_add(&f, type, MORE, 9, part);
				gives(&s, &f, SPOP_EVENT_FRAGMENT);
				type = NEXT;
				len = 0;
			}
			if (i < 6)
				part[len++] = whole[i];
		}
		part[len] = '\0';
		frames_add(&f, type, LAST, 9, part);
		assert_true(frames_feed(&f, &s, &event) > 0);
		assert_int_equal(event.type, SPOP_EVENT_NOTIFY);
		assert_int_equal(event.stream_id, 9);
		assert_int_equal(event.frame_id, 9);
		assert_int_equal(event.payload.len, 6);
		if (type == NEXT)
			assert_ptr_equal(event.payload.at, gathered);
		else
			assert_ptr_not_equal(event.payload.at, gathered);
	}
}

static void
a_whole_notify_is_not_gathered(void **state)
{
	uint8_t gathered[1];
	struct spop_session s;
	struct frames f;
	struct spop_event event;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_notify(&f, 1, "longer than what can be gathered");
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_int_equal(event.payload.len, 32);
}

static void
too_large_a_payload_is_refused(void **state)
{
	uint8_t gathered[4];
	struct spop_session s;
	struct frames f;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_add(&f, FIRST, MORE, 1, "abcde");
	refuses(&s, &f, SPOP_ETOOBIG);
	frames_add(&f, FIRST, MORE, 1, "abcd");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_add(&f, NEXT, LAST, 1, "e");
	refuses(&s, &f, SPOP_ETOOBIG);
	frames_add(&f, NEXT, LAST, 1, "");
	gives(&s, &f, SPOP_EVENT_NOTIFY);
}

static void
interlaced_frames_are_refused(void **state)
{
	uint8_t gathered[8];
	struct spop_session s;
	struct frames f;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_add(&f, FIRST, MORE, 1, "a");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_notify(&f, 2, "b");
	refuses(&s, &f, SPOP_EINTERLACED);
	frames_add(&f, FIRST, MORE, 2, "b");
	refuses(&s, &f, SPOP_EINTERLACED);
	frames_add(&f, FIRST, MORE, 1, "b");
	refuses(&s, &f, SPOP_EINTERLACED);
	assert_int_equal(spop_status_of(SPOP_EINTERLACED),
			 SPOP_STATUS_INTERLACED);
}

static void
a_fragment_of_nothing_is_refused(void **state)
{
	struct spop_frame other = {
		.type = NEXT, .flags = LAST, .stream_id = 1, .frame_id = 2
	};
	uint8_t gathered[8];
	struct spop_session s;
	struct frames f;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_add(&f, NEXT, LAST, 1, "a");
	refuses(&s, &f, SPOP_ENOFRAME);

	frames_add(&f, FIRST, MORE, 1, "a");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_add(&f, NEXT, LAST, 2, "b");
	refuses(&s, &f, SPOP_ENOFRAME);
	spop_frame_begin(&f.w, &other, 256);
	assert_true(spop_frame_end(&f.w) > 0);
	refuses(&s, &f, SPOP_ENOFRAME);
	other.stream_id = 2;
	other.frame_id = 1;
	spop_frame_begin(&f.w, &other, 256);
	assert_true(spop_frame_end(&f.w) > 0);
	refuses(&s, &f, SPOP_ENOFRAME);

	frames_add(&f, NEXT, LAST, 1, "c");
	gives(&s, &f, SPOP_EVENT_NOTIFY);
	frames_add(&f, NEXT, LAST, 1, "d");
	refuses(&s, &f, SPOP_ENOFRAME);
	assert_int_equal(spop_status_of(SPOP_ENOFRAME), SPOP_STATUS_NO_FRAME);
}

static void
abort_drops_what_was_gathered(void **state)
{
	uint8_t gathered[8];
	struct spop_session s;
	struct frames f;
	struct spop_event event;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_add(&f, FIRST, MORE, 1, "abc");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_add(&f, NEXT, ABORT, 1, "more than there is room for");
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_int_equal(event.type, SPOP_EVENT_ABORT);
	assert_int_equal(event.stream_id, 1);
	assert_int_equal(event.frame_id, 1);

	frames_add(&f, NEXT, LAST, 1, "d");
	refuses(&s, &f, SPOP_ENOFRAME);
	frames_add(&f, FIRST, MORE, 1, "xy");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_add(&f, NEXT, LAST, 1, "z");
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_int_equal(event.payload.len, 3);
	assert_memory_equal(event.payload.at, "xyz", 3);
}

static void
abort_must_be_final(void **state)
{
	uint8_t gathered[8];
	struct spop_session s;
	struct frames f;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_add(&f, FIRST, SPOP_FRAME_ABORT, 1, "a");
	refuses(&s, &f, SPOP_EINVAL);
	frames_add(&f, FIRST, MORE, 1, "a");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_add(&f, NEXT, SPOP_FRAME_ABORT, 1, "a");
	refuses(&s, &f, SPOP_EINVAL);
}

static void
one_may_leave_between_fragments(void **state)
{
	uint8_t gathered[8];
	struct spop_session s;
	struct frames f;

	(void)state;
	open_gathering(&s, gathered, sizeof(gathered));
	frames_init(&f);
	frames_add(&f, FIRST, MORE, 1, "a");
	gives(&s, &f, SPOP_EVENT_FRAGMENT);
	frames_disconnect(&f, SPOP_FRAME_HAPROXY_DISCONNECT, 2, "idle");
	gives(&s, &f, SPOP_EVENT_DISCONNECT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_are_announced_by_who_gathers),
		cmocka_unit_test(who_does_not_gather_refuses),
		cmocka_unit_test(any_split_gives_the_same_payload),
		cmocka_unit_test(a_whole_notify_is_not_gathered),
		cmocka_unit_test(too_large_a_payload_is_refused),
		cmocka_unit_test(interlaced_frames_are_refused),
		cmocka_unit_test(a_fragment_of_nothing_is_refused),
		cmocka_unit_test(abort_drops_what_was_gathered),
		cmocka_unit_test(abort_must_be_final),
		cmocka_unit_test(one_may_leave_between_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/session.h"

#include "tests/unit/spop/frames.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Whatever is refused leaves the session and the event as they were. */
static void
refuses(struct spop_session *s, struct frames *f, int error)
{
	struct spop_session before = *s;
	struct spop_event event = { .stream_id = 77 };

	assert_int_equal(frames_feed(f, s, &event), error);
	assert_memory_equal(s, &before, sizeof(before));
	assert_int_equal(event.stream_id, 77);
}

/* A session costs little, since there is one for each held request. */
static void
a_session_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(struct spop_session) <= 48);
}

static void
hello_is_read_and_answered(void **state)
{
	struct spop_session s;
	struct frames f;
	struct spop_event event;
	struct spop_hello answer;
	struct spop_frame frame;

	(void)state;
	frames_init(&f);
	frames_hello(&f, 16380);
	spop_session_init(&s, SPOP_AGENT);
	assert_int_equal(spop_session_limit(&s), SPOP_HELLO_SIZE_MAX);
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_int_equal(event.type, SPOP_EVENT_HELLO);
	assert_int_equal(event.hello.max_frame_size, 16380);
	assert_int_equal(event.hello.capabilities, SPOP_CAPABILITY_PIPELINING);
	assert_int_equal(event.hello.engine_id.len, 3);
	assert_false(event.hello.healthcheck);
	assert_false(spop_session_is_open(&s));

	assert_true(spop_session_hello_agent(&s, &f.w) > 0);
	assert_true(spop_session_is_open(&s));
	assert_int_equal(spop_session_limit(&s), 16380);
	assert_int_equal(spop_frame_decode(f.buf, f.w.len, 256, &frame),
			 f.w.len);
	assert_int_equal(frame.type, SPOP_FRAME_AGENT_HELLO);
	assert_int_equal(frame.flags, SPOP_FRAME_FIN);
	assert_int_equal(frame.stream_id, 0);
	assert_int_equal(frame.frame_id, 0);
	assert_int_equal(spop_hello_decode_agent(frame.payload, &answer), 0);
	assert_int_equal(answer.max_frame_size, 16380);
	assert_int_equal(answer.capabilities, SPOP_CAPABILITY_PIPELINING);
}

/* HAProxy's check has neither capabilities nor an engine. */
static void
a_health_check_is_answered(void **state)
{
	const struct spop_pair items[] = {
		{ spop_text_of("supported-versions"),
		  spop_value_string("2.0") },
		{ spop_text_of("max-frame-size"), spop_value_int(256) },
		{ spop_text_of("capabilities"), spop_value_string("") },
		{ spop_text_of("healthcheck"), spop_value_bool(true) },
	};
	struct spop_session s;
	struct frames f;
	struct spop_event event;
	struct spop_frame frame;
	struct spop_hello answer;

	(void)state;
	frames_init(&f);
	frames_control(&f, SPOP_FRAME_HAPROXY_HELLO, items, ARRAY_LEN(items));
	spop_session_init(&s, SPOP_AGENT);
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_true(event.hello.healthcheck);
	assert_int_equal(event.hello.engine_id.len, 0);
	assert_int_equal(event.hello.capabilities, 0);

	assert_true(spop_session_hello_agent(&s, &f.w) > 0);
	assert_true(spop_frame_decode(f.buf, f.w.len, 256, &frame) > 0);
	assert_int_equal(spop_hello_decode_agent(frame.payload, &answer), 0);
	assert_int_equal(answer.capabilities, 0);
	assert_int_equal(answer.max_frame_size, 256);
}

/* The faults themselves are test_hello.c's; here is what comes of them. */
static void
a_bad_hello_is_refused_with_its_status(void **state)
{
	static const struct {
		const char *versions; /* NULL leaves the item out */
		int64_t size;         /* so does 0 */
		const char *capabilities;
		int error;
		uint32_t status;
	} table[] = {
		{ NULL, 1000, "", SPOP_ENOVERSION, 5 },
		{ "2.0", 0, "", SPOP_ENOSIZE, 6 },
		{ "2.0", 1000, NULL, SPOP_ENOCAPABILITIES, 7 },
		{ "1.0", 1000, "", SPOP_EVERSION, 8 },
		{ "2.0", 255, "", SPOP_ESIZE, 9 },
		{ "2.0", (16 << 20) + 1, "", SPOP_ESIZE, 9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *versions = table[i].versions;
		const char *capabilities = table[i].capabilities;
		const struct spop_pair items[] = {
			{ spop_text_of(versions ? "supported-versions" : NULL),
			  spop_value_string(versions) },
			{ spop_text_of(table[i].size ? "max-frame-size" : NULL),
			  spop_value_int(table[i].size) },
			{ spop_text_of(capabilities ? "capabilities" : NULL),
			  spop_value_string(capabilities) },
		};
		struct spop_session s;
		struct frames f;

		frames_init(&f);
		frames_control(&f, SPOP_FRAME_HAPROXY_HELLO, items, 3);
		spop_session_init(&s, SPOP_AGENT);
		refuses(&s, &f, table[i].error);
		assert_int_equal(spop_status_of(table[i].error),
				 table[i].status);
	}
}

static void
a_hello_larger_than_it_allows_is_refused(void **state)
{
	char engine[257];
	struct spop_pair items[] = {
		{ spop_text_of("supported-versions"),
		  spop_value_string("2.0") },
		{ spop_text_of("max-frame-size"), spop_value_int(256) },
		{ spop_text_of("capabilities"), spop_value_string("") },
		{ spop_text_of("engine-id"),
		  spop_value_text((struct spop_text){ engine, 0 }) },
	};
	struct spop_session s;
	struct frames f;
	struct spop_event event;
	size_t spare;

	(void)state;
	memset(engine, 'e', sizeof(engine));
	spop_session_init(&s, SPOP_AGENT);
	frames_init(&f);
	frames_control(&f, SPOP_FRAME_HAPROXY_HELLO, items, 4);
	spare = 256 + SPOP_FRAME_PREFIX - f.w.len;

	frames_init(&f);
	items[3].value.text.len = spare + 1;
	frames_control(&f, SPOP_FRAME_HAPROXY_HELLO, items, 4);
	refuses(&s, &f, SPOP_ETOOBIG);

	frames_init(&f);
	items[3].value.text.len = spare;
	frames_control(&f, SPOP_FRAME_HAPROXY_HELLO, items, 4);
	assert_true(frames_feed(&f, &s, &event) > 0);
}

static void
control_frames_are_whole_and_of_no_stream(void **state)
{
	/* What the last byte of the flags and the two ids are changed to. */
	static const struct {
		uint8_t bytes[3];
		int error;
	} table[] = {
		{ { SPOP_FRAME_FIN, 1, 0 }, SPOP_EINVAL },
		{ { SPOP_FRAME_FIN, 0, 1 }, SPOP_EINVAL },
		{ { 0, 0, 0 }, SPOP_EFRAGMENT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct spop_session s;
		struct frames f;

		spop_session_init(&s, SPOP_AGENT);
		frames_init(&f);
		frames_hello(&f, 1000);
		memcpy(f.buf + 8, table[i].bytes, 3);
		refuses(&s, &f, table[i].error);

		frames_init(&f);
		frames_disconnect(&f, SPOP_FRAME_HAPROXY_DISCONNECT, 0, "");
		memcpy(f.buf + 8, table[i].bytes, 3);
		refuses(&s, &f, table[i].error);
	}
}

/* All but HELLO and DISCONNECT, even frames of a kind that nobody knows. */
static void
nothing_comes_before_hello(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		struct spop_session s;
		struct frames f;

		if (type == SPOP_FRAME_HAPROXY_HELLO ||
		    type == SPOP_FRAME_HAPROXY_DISCONNECT)
			continue;
		spop_session_init(&s, SPOP_AGENT);
		frames_init(&f);
		frames_add(&f, (uint8_t)type, SPOP_FRAME_FIN, 1, "");
		refuses(&s, &f, SPOP_EUNEXPECTED);
	}
}

static void
nothing_comes_between_hello_and_its_answer(void **state)
{
	struct spop_session s;
	struct frames f;
	struct spop_event event;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	frames_init(&f);
	frames_hello(&f, 1000);
	assert_true(frames_feed(&f, &s, &event) > 0);
	frames_notify(&f, 1, "");
	refuses(&s, &f, SPOP_EUNEXPECTED);
	frames_init(&f);
	frames_hello(&f, 1000);
	refuses(&s, &f, SPOP_EUNEXPECTED);
}

static void
an_open_session_takes_what_it_should(void **state)
{
	(void)state;
	for (unsigned type = 1; type < 256; type++) {
		struct spop_session s;
		struct frames f;
		struct spop_event event;

		spop_session_init(&s, SPOP_AGENT);
		frames_open_agent(&s, 1000);
		frames_init(&f);
		if (type == SPOP_FRAME_HAPROXY_DISCONNECT)
			continue;
		frames_add(&f, (uint8_t)type, SPOP_FRAME_FIN, 0, "");
		if (type == SPOP_FRAME_HAPROXY_HELLO ||
		    (type >= SPOP_FRAME_AGENT_HELLO &&
		     type <= SPOP_FRAME_ACK)) {
			refuses(&s, &f, SPOP_EUNEXPECTED);
			continue;
		}
		assert_true(frames_feed(&f, &s, &event) > 0);
		assert_int_equal(event.type, type == SPOP_FRAME_NOTIFY
						     ? SPOP_EVENT_NOTIFY
						     : SPOP_EVENT_IGNORED);
		assert_true(spop_session_is_open(&s));
	}
}

static void
a_notify_is_delivered_in_place(void **state)
{
	struct spop_session s;
	struct frames f;
	struct spop_event event;
	int used;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	frames_open_agent(&s, 1000);
	frames_init(&f);
	frames_notify(&f, UINT64_MAX, "payload");
	used = spop_session_feed(&s, f.buf, f.w.len, &event);
	assert_int_equal(used, f.w.len);
	assert_int_equal(event.type, SPOP_EVENT_NOTIFY);
	assert_true(event.stream_id == UINT64_MAX);
	assert_true(event.frame_id == UINT64_MAX);
	assert_false(event.aborted);
	assert_ptr_equal(event.payload.at, f.buf + used - 7);
	assert_int_equal(event.payload.len, 7);
}

/* It has no meaning on a whole frame (SPOE.txt 3.2), as reserved bits have. */
static void
odd_flags_of_a_whole_notify_mean_nothing(void **state)
{
	static const uint32_t flags[] = { 3, 0x80000001, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		struct spop_session s;
		struct frames f;
		struct spop_event event;

		spop_session_init(&s, SPOP_AGENT);
		frames_open_agent(&s, 1000);
		frames_init(&f);
		frames_add(&f, SPOP_FRAME_NOTIFY, flags[i], 1, "x");
		assert_true(frames_feed(&f, &s, &event) > 0);
		assert_int_equal(event.type, SPOP_EVENT_NOTIFY);
		assert_false(event.aborted);
	}
}

static void
a_frame_beyond_the_limit_is_refused_by_its_length(void **state)
{
	const uint8_t hello[] = { 0, 0, 0x10, 0x01 };
	const uint8_t notify[] = { 0, 0, 0x03, 0xe9 };
	struct spop_session s;
	struct spop_event event;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	assert_int_equal(spop_session_feed(&s, hello, 4, &event), SPOP_ETOOBIG);
	assert_int_equal(spop_session_feed(&s, notify, 4, &event), 0);
	frames_open_agent(&s, 1000);
	assert_int_equal(spop_session_feed(&s, notify, 4, &event),
			 SPOP_ETOOBIG);
	assert_int_equal(spop_status_of(SPOP_ETOOBIG), SPOP_STATUS_TOO_BIG);
}

static void
a_frame_of_no_length_is_refused(void **state)
{
	const uint8_t zero[4] = { 0 };
	struct spop_session s;
	struct spop_event event;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	assert_int_equal(spop_session_feed(&s, zero, 4, &event), SPOP_EINVAL);
	frames_open_agent(&s, 1000);
	assert_int_equal(spop_session_feed(&s, zero, 4, &event), SPOP_EINVAL);
}

/* An ACK that takes 17 bytes more than its two texts. */
static int
write_ack(const struct spop_session *s, struct spop_writer *w, const char *name,
	  struct spop_text text)
{
	spop_session_ack(s, w, 1, 1);
	spop_action_set_var(w, SPOP_SCOPE_TRANSACTION, name,
			    spop_value_text(text));
	return spop_frame_end(w);
}

static void
an_ack_may_fill_the_frame_to_the_byte(void **state)
{
	char body[239];
	const struct spop_text text = { body, sizeof(body) };
	struct spop_session s;
	struct frames f;

	(void)state;
	memset(body, 'x', sizeof(body));
	spop_session_init(&s, SPOP_AGENT);
	frames_open_agent(&s, 256);
	frames_init(&f);
	assert_int_equal(write_ack(&s, &f.w, "body", text), 260);
	assert_int_equal(write_ack(&s, &f.w, "body+", text), SPOP_ETOOBIG);

	/* The smaller one that is tried instead lies behind the first. */
	assert_int_equal(write_ack(&s, &f.w, "", spop_text_of("")), 17);
	assert_int_equal(f.w.len, 260 + 17);
}

static void
each_status_arrives(void **state)
{
	static const uint8_t type[] = {
		[SPOP_AGENT] = SPOP_FRAME_HAPROXY_DISCONNECT,
		[SPOP_CLIENT] = SPOP_FRAME_AGENT_DISCONNECT,
	};

	(void)state;
	for (unsigned role = SPOP_AGENT; role <= SPOP_CLIENT; role++)
		for (uint32_t status = 0; status < 100; status++) {
			struct spop_session s;
			struct frames f;
			struct spop_event event;

			spop_session_init(&s, (enum spop_role)role);
			frames_init(&f);
			frames_disconnect(&f, type[role], status, "so long");
			assert_true(frames_feed(&f, &s, &event) > 0);
			assert_int_equal(event.type, SPOP_EVENT_DISCONNECT);
			assert_int_equal(event.disconnect.status, status);
			assert_int_equal(event.disconnect.message.len, 7);
		}
}

static void
each_status_is_sent(void **state)
{
	(void)state;
	for (unsigned role = SPOP_AGENT; role <= SPOP_CLIENT; role++)
		for (uint32_t status = 0; status < 100; status++) {
			struct spop_session s;
			struct frames f;
			struct spop_frame frame;
			struct spop_disconnect said;

			spop_session_init(&s, (enum spop_role)role);
			frames_init(&f);
			assert_true(spop_session_disconnect(&s, &f.w, status,
							    NULL) > 0);
			assert_true(spop_frame_decode(f.buf, f.w.len, 256,
						      &frame) > 0);
			assert_int_equal(
				frame.type,
				role == SPOP_AGENT
					? SPOP_FRAME_AGENT_DISCONNECT
					: SPOP_FRAME_HAPROXY_DISCONNECT);
			assert_int_equal(frame.flags, SPOP_FRAME_FIN);
			assert_int_equal(
				spop_disconnect_decode(frame.payload, &said),
				0);
			assert_int_equal(said.status, status);
			assert_true(spop_text_is(said.message,
						 spop_status_text(status)));
		}
}

static void
nothing_comes_after_disconnect(void **state)
{
	struct spop_session s;
	struct frames f;
	struct spop_event event;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	frames_open_agent(&s, 1000);
	frames_init(&f);
	frames_disconnect(&f, SPOP_FRAME_HAPROXY_DISCONNECT, 0, "bye");
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_false(spop_session_is_open(&s));

	frames_notify(&f, 1, "");
	refuses(&s, &f, SPOP_EUNEXPECTED);
	frames_init(&f);
	frames_disconnect(&f, SPOP_FRAME_HAPROXY_DISCONNECT, 0, "bye");
	refuses(&s, &f, SPOP_EUNEXPECTED);

	/* The answer that is due is still possible. */
	assert_true(spop_session_disconnect(&s, &f.w, 0, NULL) > 0);
}

static void
who_leaves_listens_for_disconnect_only(void **state)
{
	struct spop_session s;
	struct frames f;
	struct spop_event event;

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	frames_open_agent(&s, 1000);
	frames_init(&f);
	assert_true(spop_session_disconnect(&s, &f.w, 99, "shutdown") > 0);
	assert_false(spop_session_is_open(&s));

	frames_init(&f);
	frames_notify(&f, 1, "");
	frames_add(&f, SPOP_FRAME_UNSET, 0, 1, "");
	frames_hello(&f, 1000);
	for (int i = 0; i < 3; i++) {
		assert_true(frames_feed(&f, &s, &event) > 0);
		assert_int_equal(event.type, SPOP_EVENT_IGNORED);
	}
	frames_disconnect(&f, SPOP_FRAME_HAPROXY_DISCONNECT, 0, "bye");
	assert_true(frames_feed(&f, &s, &event) > 0);
	assert_int_equal(event.type, SPOP_EVENT_DISCONNECT);
	frames_notify(&f, 1, "");
	refuses(&s, &f, SPOP_EUNEXPECTED);
}

static void
no_room_changes_nothing(void **state)
{
	struct spop_session s, before;
	struct frames f;
	struct spop_event event;
	struct spop_writer w;
	uint8_t buf[16];

	(void)state;
	spop_session_init(&s, SPOP_AGENT);
	frames_init(&f);
	frames_hello(&f, 1000);
	assert_true(frames_feed(&f, &s, &event) > 0);
	before = s;
	spop_writer_init(&w, buf, sizeof(buf));
	assert_int_equal(spop_session_hello_agent(&s, &w), SPOP_ENOSPACE);
	assert_int_equal(spop_session_disconnect(&s, &w, 0, NULL),
			 SPOP_ENOSPACE);
	assert_memory_equal(&s, &before, sizeof(s));
	assert_int_equal(w.len, 0);
}

static void
no_room_for_a_greeting_changes_nothing(void **state)
{
	const struct spop_hello hello = { .max_frame_size = 1000 };
	struct spop_session s, before;
	struct spop_writer w;
	uint8_t buf[16];

	(void)state;
	spop_session_init(&s, SPOP_CLIENT);
	before = s;
	spop_writer_init(&w, buf, sizeof(buf));
	assert_int_equal(spop_session_hello_client(&s, &w, &hello),
			 SPOP_ENOSPACE);
	assert_memory_equal(&s, &before, sizeof(s));
}

/* Whose limit is not known yet gets the smallest frames. */
static void
a_long_farewell_is_refused(void **state)
{
	char message[300];
	struct spop_session s;
	struct frames f;

	(void)state;
	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	spop_session_init(&s, SPOP_AGENT);
	frames_init(&f);
	assert_int_equal(spop_session_disconnect(&s, &f.w, 0, message),
			 SPOP_ETOOBIG);
	frames_open_agent(&s, 1000);
	assert_true(spop_session_disconnect(&s, &f.w, 0, message) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_small),
		cmocka_unit_test(hello_is_read_and_answered),
		cmocka_unit_test(a_health_check_is_answered),
		cmocka_unit_test(a_bad_hello_is_refused_with_its_status),
		cmocka_unit_test(a_hello_larger_than_it_allows_is_refused),
		cmocka_unit_test(control_frames_are_whole_and_of_no_stream),
		cmocka_unit_test(nothing_comes_before_hello),
		cmocka_unit_test(nothing_comes_between_hello_and_its_answer),
		cmocka_unit_test(an_open_session_takes_what_it_should),
		cmocka_unit_test(a_notify_is_delivered_in_place),
		cmocka_unit_test(odd_flags_of_a_whole_notify_mean_nothing),
		cmocka_unit_test(
			a_frame_beyond_the_limit_is_refused_by_its_length),
		cmocka_unit_test(a_frame_of_no_length_is_refused),
		cmocka_unit_test(an_ack_may_fill_the_frame_to_the_byte),
		cmocka_unit_test(each_status_arrives),
		cmocka_unit_test(each_status_is_sent),
		cmocka_unit_test(nothing_comes_after_disconnect),
		cmocka_unit_test(who_leaves_listens_for_disconnect_only),
		cmocka_unit_test(no_room_changes_nothing),
		cmocka_unit_test(no_room_for_a_greeting_changes_nothing),
		cmocka_unit_test(a_long_farewell_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

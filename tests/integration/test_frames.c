/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What breaks the protocol ends its own connection, with the status that
 * tells why, and nobody else notices (interface 2).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define FIN 1U

/* Sends a frame with these bytes as its payload. */
static void
send_frame(struct asker *asker, unsigned type, unsigned flags,
	   const char *payload, size_t len)
{
	struct spop_frame frame = {
		.type = (uint8_t)type,
		.flags = flags,
		.stream_id = 7,
		.frame_id = 1,
		.payload = { (const uint8_t *)payload, len },
	};

	spop_frame_begin(&asker->out, &frame, SPOP_FRAME_SIZE_MAX);
	assert_true(spop_frame_end(&asker->out) > 0);
	asker_flush(asker);
}

#define BYTES(text) (text), sizeof(text) - 1

static void
bad_frames_end_their_connection_only(void **state)
{
	static const struct {
		unsigned type, flags;
		const char *payload;
		size_t len;
		enum spop_status status;
	} rows[] = {
		/* a first fragment, and a later one of none */
		{ SPOP_FRAME_NOTIFY, 0, BYTES("\1m\0"), SPOP_STATUS_FRAGMENT },
		{ SPOP_FRAME_UNSET, FIN, BYTES("\1m\0"), SPOP_STATUS_FRAGMENT },
		/* a message without its end; an argument; of no known type */
		{ SPOP_FRAME_NOTIFY, FIN, BYTES("\1m"), SPOP_STATUS_INVALID },
		{ SPOP_FRAME_NOTIFY, FIN, BYTES("\1m\1"), SPOP_STATUS_INVALID },
		{ SPOP_FRAME_NOTIFY, FIN, BYTES("\1m\1\1a\x0f"),
		  SPOP_STATUS_INVALID },
		{ SPOP_FRAME_NOTIFY, FIN,
		  BYTES("\x11"
			"admission-request\1\2id\x08\xff\xff"),
		  SPOP_STATUS_INVALID },
		/* what only an agent says */
		{ SPOP_FRAME_ACK, FIN, BYTES(""), SPOP_STATUS_INVALID },
		{ SPOP_FRAME_AGENT_HELLO, FIN, BYTES(""), SPOP_STATUS_INVALID },
	};
	struct agent *agent = agent_start(NULL);
	struct asker *other = asker_open(agent);
	size_t descriptors = agent_descriptors(agent);
	uint64_t waits;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 9,
						  .wait_ms = 600000 });
	asker_decide(other, "runs");
	waits = asker_ask(other, "waits");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct asker *asker = asker_open(agent);

		send_frame(asker, rows[i].type, rows[i].flags, rows[i].payload,
			   rows[i].len);
		if (!asker_is_dismissed(asker, rows[i].status))
			fail_msg("row %zu: status %u", i, asker->status);
		asker_close(&asker);
	}
	assert_int_equal(
		rest_metric(agent, "spop_refused_connections_total", ""),
		ARRAY_LEN(rows));
	agent_settles(agent, descriptors);

	/* The other one still waits, and its place is its own. */
	asker_expects_nothing(other);
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 2,
						  .depth = 9,
						  .wait_ms = 600000 });
	assert_string_equal(asker_reply(other, waits).verdict, "admit");
	asker_close(&other);
	agent_stop(&agent);
}

/* Unknown types may be skipped (SPOE.txt 3.2.2). */
static void
unknown_frames_are_skipped(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);

	(void)state;
	send_frame(asker, 42, FIN, "", 0);
	asker_catch_up(asker);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
reason_is_logged(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);

	(void)state;
	send_frame(asker, SPOP_FRAME_NOTIFY, 0, BYTES("\1m\0"));
	assert_true(asker_is_dismissed(asker, SPOP_STATUS_FRAGMENT));
	assert_true(agent_logs(agent, spop_strerror(SPOP_EFRAGMENT)));
	asker_close(&asker);
	agent_stop(&agent);
}

/* A frame beyond the agreed size is refused by its length alone. */
static void
too_large_frames_are_refused_unread(void **state)
{
	static const char *const lengths[] = { "\0\0\x3f\xfd", /* 16381 */
					       "\xff\xff\xff\xff" };
	struct agent *agent = agent_start(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct asker *asker = asker_open(agent);

		assert_true(wire_send(asker->wire, lengths[i], 4));
		assert_true(asker_is_dismissed(asker, SPOP_STATUS_TOO_BIG));
		asker_close(&asker);
	}
	agent_stop(&agent);
}

/* The goodbye arrives though much of what was sent is never read. */
static void
goodbye_outruns_the_unread(void **state)
{
	struct agent *agent = agent_start(NULL);
	char *much = calloc(1, 400000);

	(void)state;
	assert_non_null(much);
	memset(much, 0xff, 400000);
	for (int i = 0; i < 20; i++) {
		struct asker *asker = asker_open(agent);

		(void)wire_send(asker->wire, much, 400000);
		assert_true(asker_is_dismissed(asker, SPOP_STATUS_TOO_BIG));
		asker_close(&asker);
	}
	free(much);
	agent_stop(&agent);
}

/* HTTP, TLS and noise knock at the wrong door. */
static void
garbage_instead_of_a_hello(void **state)
{
	static const char *const noises[] = {
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	};
	struct agent *agent = agent_start(NULL);
	struct asker *other = asker_open(agent);
	size_t descriptors = agent_descriptors(agent);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(noises); i++) {
		struct wire *wire = wire_open(agent->spop);

		assert_true(wire_send(wire, noises[i], strlen(noises[i])));
		assert_true(wire_fill(wire, patience_end()));
		while (wire_fill(wire, patience_end()))
			;
		assert_true(wire->ended);
		wire_close(&wire);
	}
	asker_catch_up(other);
	agent_settles(agent, descriptors);
	asker_close(&other);
	agent_stop(&agent);
}

static void
frames_may_come_a_byte_at_a_time(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *slow = asker_open(agent);
	struct asker *other = asker_open(agent);
	uint64_t stream;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 10 });
	stream = asker_put_usual(slow, "slow");
	asker_put_usual(slow, "slow-as-well");
	for (size_t i = 0; i < slow->out.len; i++) {
		assert_true(wire_send(slow->wire, slow->out.buf + i, 1));
		/* It is read by then: this is a turn of the loop later. */
		asker_catch_up(other);
	}
	slow->out.len = 0;
	assert_string_equal(asker_reply(slow, stream).verdict, "admit");
	assert_string_equal(asker_reply(slow, stream + 1).verdict, "admit");
	asker_close(&slow);
	asker_close(&other);
	agent_stop(&agent);
}

/* The largest frame, in pieces: each byte is handled once. */
static void
large_frame_in_pieces_is_no_burden(void **state)
{
	enum { PIECE = 8192, ARGUMENT = SPOP_FRAME_SIZE_MAX - 1024 };
	struct agent *agent = agent_start(NULL);
	struct asker *large = asker_open_large(agent, SPOP_FRAME_SIZE_MAX);
	struct asker *other = asker_open(agent);
	uint8_t *buf = calloc(1, SPOP_FRAME_SIZE_MAX);
	char *text = calloc(1, ARGUMENT);
	struct spop_value much = { .type = SPOP_BINARY,
				   .text = { text, ARGUMENT } };
	struct spop_writer w;
	usec_t cpu;

	(void)state;
	assert_non_null(buf);
	assert_non_null(text);
	spop_writer_init(&w, buf, SPOP_FRAME_SIZE_MAX);
	spop_session_notify(&large->session, &w, 1, 1);
	spop_message_begin(&w, "much");
	spop_argument_put(&w, "much", much);
	assert_true(spop_frame_end(&w) > 0);

	cpu = agent_cpu(agent);
	for (size_t at = 0; at < w.len; at += PIECE) {
		size_t left = w.len - at;

		assert_true(wire_send(large->wire, buf + at,
				      left < PIECE ? left : PIECE));
		asker_catch_up(other);
	}
	assert_int_equal(asker_reply(large, 1).set, REPLY_NOTED);
	assert_true(agent_cpu(agent) - cpu < USEC_PER_SEC);
	free(buf);
	free(text);
	asker_close(&large);
	asker_close(&other);
	agent_stop(&agent);
}

/* Who only says that a large frame comes is given no room for it. */
static void
announced_frame_takes_no_memory(void **state)
{
	enum { COUNT = 64 };
	static const char head[] = "\0\xff\xff\xf0\3\0\0\0\1";
	struct agent *agent = agent_start(NULL);
	struct asker *askers[COUNT];
	struct asker *other = asker_open(agent);
	size_t before;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		askers[i] = asker_open_large(agent, SPOP_FRAME_SIZE_MAX);
	asker_catch_up(other);
	before = agent_mapped_bytes(agent);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(wire_send(askers[i]->wire, head, sizeof(head) - 1));
	asker_catch_up(other);
	assert_in_range(agent_mapped_bytes(agent), before,
			before + COUNT * (size_t)65536);
	for (size_t i = 0; i < COUNT; i++)
		asker_close(&askers[i]);
	asker_close(&other);
	agent_stop(&agent);
}

/* A peer that goes in the midst of a frame leaves nothing behind. */
static void
half_a_frame_is_forgotten(void **state)
{
	struct agent *agent = agent_start(NULL);
	size_t descriptors = agent_descriptors(agent);

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct asker *asker = asker_open(agent);

		asker_put_usual(asker, "half");
		assert_true(wire_send(asker->wire, asker->out.buf,
				      asker->out.len / 2));
		if (i % 2 == 0)
			wire_reset(&asker->wire);
		asker_close(&asker);
	}
	agent_settles(agent, descriptors);
	agent_stop(&agent);
}

/* HAProxy's own goodbye is answered, and no fault. */
static void
goodbye_is_answered(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);

	(void)state;
	assert_true(spop_session_disconnect(&asker->session, &asker->out,
					    SPOP_STATUS_TIMEOUT, NULL) > 0);
	asker_flush(asker);
	assert_true(asker_is_dismissed(asker, SPOP_STATUS_NORMAL));
	assert_int_equal(
		rest_metric(agent, "spop_refused_connections_total", ""), 0);
	asker_close(&asker);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(bad_frames_end_their_connection_only),
		AGENT_TEST(unknown_frames_are_skipped),
		AGENT_TEST(reason_is_logged),
		AGENT_TEST(too_large_frames_are_refused_unread),
		AGENT_TEST(goodbye_outruns_the_unread),
		AGENT_TEST(garbage_instead_of_a_hello),
		AGENT_TEST(frames_may_come_a_byte_at_a_time),
		AGENT_TEST(large_frame_in_pieces_is_no_burden),
		AGENT_TEST(announced_frame_takes_no_memory),
		AGENT_TEST(half_a_frame_is_forgotten),
		AGENT_TEST(goodbye_is_answered),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}

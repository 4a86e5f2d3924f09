/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a connection begins, and how a health check ends one (interface 2, "on
 * the wire").
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/io/spop_server.h"
#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/rest.h"

/* A HAPROXY-HELLO; a member that is NULL or 0 is left out. */
struct greeting {
	const char *versions;
	const char *capabilities;
	uint32_t max_frame_size;
	bool healthcheck;
	const char *engine_id;
};

static const struct greeting usual = {
	.versions = "2.0",
	.capabilities = "pipelining,async",
	.max_frame_size = 16380,
	.engine_id = "4C42A7FC-4D7B-4D3C-9D0F-5A6B7C8D9E0F",
};

static void
put_text(struct spop_writer *w, const char *name, const char *text)
{
	if (text != NULL)
		spop_pair_encode(w, name, spop_value_string(text));
}

static void
put_argument(struct spop_writer *w, const char *name, const char *text)
{
	spop_argument_put(w, name, spop_value_string(text));
}

static void
put_size(struct spop_writer *w, uint32_t size)
{
	struct spop_value value = { .type = SPOP_UINT32, .natural = size };

	if (size > 0)
		spop_pair_encode(w, "max-frame-size", value);
}

static void
greet(struct wire *wire, const struct greeting *g)
{
	static const struct spop_frame head = {
		.type = SPOP_FRAME_HAPROXY_HELLO,
		.flags = SPOP_FRAME_FIN,
	};
	uint8_t buf[4096];
	struct spop_writer w;

	spop_writer_init(&w, buf, sizeof(buf));
	spop_frame_begin(&w, &head, sizeof(buf));
	put_text(&w, "supported-versions", g->versions);
	put_size(&w, g->max_frame_size);
	put_text(&w, "capabilities", g->capabilities);
	if (g->healthcheck)
		spop_pair_encode(&w, "healthcheck", spop_value_bool(true));
	put_text(&w, "engine-id", g->engine_id);
	assert_true(spop_frame_end(&w) > 0);
	assert_true(wire_send(wire, w.buf, w.len));
}

/* What an AGENT-HELLO says, as it stands on the wire. */
struct said {
	char version[16];
	char capabilities[64];
	int64_t max_frame_size;
	unsigned items;
};

static void
copy(char *to, size_t size, const struct spop_value *value)
{
	struct spop_text text;

	assert_true(spop_value_to_text(value, &text));
	assert_true(text.len < size);
	memcpy(to, text.at, text.len);
	to[text.len] = '\0';
}

static void
hear(struct wire *wire, struct said *said)
{
	struct spop_frame frame;
	struct spop_pair pair;

	memset(said, 0, sizeof(*said));
	assert_true(wire_frame(wire, &frame, patience_end()));
	assert_int_equal(frame.type, SPOP_FRAME_AGENT_HELLO);
	assert_int_equal(frame.flags, SPOP_FRAME_FIN);
	assert_int_equal(frame.stream_id, 0);
	assert_int_equal(frame.frame_id, 0);
	while (spop_pair_next(&frame.payload, &pair) > 0) {
		said->items++;
		if (spop_text_is(pair.name, "version"))
			copy(said->version, sizeof(said->version), &pair.value);
		else if (spop_text_is(pair.name, "capabilities"))
			copy(said->capabilities, sizeof(said->capabilities),
			     &pair.value);
		else if (spop_text_is(pair.name, "max-frame-size"))
			assert_true(spop_value_to_int(&pair.value,
						      &said->max_frame_size));
	}
	assert_int_equal(frame.payload.len, 0);
}

/* The status of the DISCONNECT that must come now, before the end. */
static uint32_t
dismissal(struct wire *wire)
{
	struct spop_disconnect disconnect;
	struct spop_frame frame;

	assert_true(wire_frame(wire, &frame, patience_end()));
	assert_int_equal(frame.type, SPOP_FRAME_AGENT_DISCONNECT);
	assert_int_equal(spop_disconnect_decode(frame.payload, &disconnect), 0);
	assert_true(disconnect.message.len > 0);
	assert_true(wire_ends(wire));
	return disconnect.status;
}

/* A smaller size than the peer's makes HAProxy 3.0 and older spin. */
static void
frame_size_is_echoed_exactly(void **state)
{
	static const uint32_t sizes[] = { SPOP_FRAME_SIZE_MIN, 257, 16380,
					  65532, SPOP_FRAME_SIZE_MAX };
	struct agent *agent = agent_start(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct greeting g = usual;
		struct wire *wire = wire_open(agent->spop);
		struct said said;

		g.max_frame_size = sizes[i];
		greet(wire, &g);
		hear(wire, &said);
		assert_int_equal(said.max_frame_size, sizes[i]);
		assert_string_equal(said.version, "2.0");
		wire_close(&wire);
	}
	agent_stop(&agent);
}

/* Neither async nor fragmentation, whatever the peer can do. */
static void
only_pipelining_is_announced(void **state)
{
	static const struct {
		const char *peer, *agent;
	} rows[] = {
		{ "pipelining,async,fragmentation", "pipelining" },
		{ "pipelining", "pipelining" },
		{ "async", "" },
		{ "", "" },
		{ "fragmentation , unheard-of", "" },
	};
	struct agent *agent = agent_start(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct greeting g = usual;
		struct wire *wire = wire_open(agent->spop);
		struct said said;

		g.capabilities = rows[i].peer;
		greet(wire, &g);
		hear(wire, &said);
		assert_string_equal(said.capabilities, rows[i].agent);
		assert_int_equal(said.items, 3);
		wire_close(&wire);
	}
	agent_stop(&agent);
}

/* Health check: no engine-id, no capabilities, and a RST at the end. */
static void
health_checks_leave_no_trace(void **state)
{
	static const struct greeting check = {
		.versions = "2.0",
		.capabilities = "",
		.max_frame_size = 16380,
		.healthcheck = true,
	};
	struct agent *agent = agent_start(NULL);
	size_t descriptors = agent_descriptors(agent);

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct wire *wire = wire_open(agent->spop);
		struct said said;

		greet(wire, &check);
		hear(wire, &said);
		assert_int_equal(said.max_frame_size, 16380);
		wire_reset(&wire);
	}
	agent_settles(agent, descriptors);
	rest_metric_becomes(agent, "spop_connections", "", 0);
	assert_int_equal(
		rest_metric(agent, "spop_refused_connections_total", ""), 0);
	assert_null(strstr(agent->log, "refused"));
	agent_stop(&agent);
}

static void
bad_greetings_are_told_why(void **state)
{
	const struct {
		struct greeting greeting;
		uint32_t status;
	} rows[] = {
		{ { "3.0", "", 16380, false, "e" }, SPOP_STATUS_BAD_VERSION },
		{ { NULL, "", 16380, false, "e" }, SPOP_STATUS_NO_VERSION },
		{ { "2.0", "", 0, false, "e" }, SPOP_STATUS_NO_SIZE },
		{ { "2.0", NULL, 16380, false, "e" },
		  SPOP_STATUS_NO_CAPABILITIES },
		{ { "2.0", "", SPOP_FRAME_SIZE_MIN - 1, false, "e" },
		  SPOP_STATUS_BAD_SIZE },
		{ { "2.0", "", SPOP_FRAME_SIZE_MAX + 1, false, "e" },
		  SPOP_STATUS_BAD_SIZE },
	};
	struct agent *agent = agent_start(NULL);
	struct asker *other = asker_open(agent);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire *wire = wire_open(agent->spop);

		greet(wire, &rows[i].greeting);
		assert_int_equal(dismissal(wire), rows[i].status);
		wire_close(&wire);
	}
	assert_true(agent_logs(agent, "spop: connection refused"));
	assert_true(agent_logs(agent, spop_strerror(SPOP_EVERSION)));
	assert_int_equal(
		rest_metric(agent, "spop_refused_connections_total", ""),
		ARRAY_LEN(rows));
	asker_catch_up(other);
	asker_close(&other);
	agent_stop(&agent);
}

static void
one_hello_is_enough(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct wire *wire = wire_open(agent->spop);
	struct said said;

	(void)state;
	greet(wire, &usual);
	hear(wire, &said);
	greet(wire, &usual);
	assert_int_equal(dismissal(wire), SPOP_STATUS_INVALID);
	wire_close(&wire);
	agent_stop(&agent);
}

/* Answers must fit the peer's frames, however small: 256 bytes at least. */
static void
answers_fit_the_smallest_frames(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct wire *wire = wire_open(agent->spop);
	struct greeting g = usual;
	struct said said;
	struct spop_session session;
	uint8_t buf[1024];
	struct spop_writer w;
	struct spop_frame frame;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	g.max_frame_size = SPOP_FRAME_SIZE_MIN;
	greet(wire, &g);
	hear(wire, &said);

	/* The session is for writing only: it has heard what wire has. */
	spop_session_init(&session, SPOP_CLIENT);
	session.state = SPOP_STATE_OPEN;
	session.max_frame_size = SPOP_FRAME_SIZE_MIN;
	spop_writer_init(&w, buf, sizeof(buf));
	for (uint64_t i = 1; i <= 2; i++) {
		char id[16];

		snprintf(id, sizeof(id), "small-%d", (int)i);
		spop_session_notify(&session, &w, i, 1);
		spop_message_begin(&w, "admission-request");
		put_argument(&w, "id", id);
		put_argument(&w, "pool", "chat");
		put_argument(&w, "method", "POST");
		put_argument(&w, "path", "/v1/chat/completions");
		assert_true(spop_frame_end(&w) > 0);
	}
	assert_true(wire_send(wire, w.buf, w.len));
	for (int i = 0; i < 2; i++) {
		assert_true(wire_frame(wire, &frame, patience_end()));
		assert_int_equal(frame.type, SPOP_FRAME_ACK);
		/* Its size counts all but the length itself. */
		assert_true(frame.payload.len + SPOP_FRAME_BARE <=
			    SPOP_FRAME_SIZE_MIN);
	}
	wire_close(&wire);
	agent_stop(&agent);
}

/* Who does not greet is dropped in time, also who does so byte by byte. */
static void
who_does_not_greet_is_dropped(void **state)
{
	struct agent *agent = agent_start(NULL);
	usec_t begin = patience_now();
	usec_t due = begin + SPOP_SERVER_HELLO_SECONDS * USEC_PER_SEC;
	struct asker *greeted = asker_open(agent);
	struct wire *silent = wire_open(agent->spop);
	struct wire *slow = wire_open(agent->spop);

	(void)state;
	/* The first bytes of a frame that never ends. */
	assert_false(wire_fill(silent, begin + 4 * USEC_PER_SEC));
	assert_true(wire_send(slow, "\0\0\0", 3));
	assert_false(wire_fill(silent, begin + 8 * USEC_PER_SEC));
	assert_true(wire_send(slow, "\x40\1", 2));

	assert_true(wire_ends(silent));
	assert_true(patience_now() >= due - USEC_PER_SEC / 10);
	assert_true(wire_ends(slow));
	assert_true(patience_now() < due + 2 * USEC_PER_SEC);
	assert_true(agent_logs(agent, "does not greet"));

	/* Who has greeted may be silent. */
	asker_catch_up(greeted);
	asker_close(&greeted);
	wire_close(&silent);
	wire_close(&slow);
	agent_stop(&agent);
}

/* A greeting that came while the daemon did not run came in time. */
static void
greeting_during_a_stall_is_in_time(void **state)
{
	struct agent *agent = agent_start(NULL);
	usec_t due = patience_now() + SPOP_SERVER_HELLO_SECONDS * USEC_PER_SEC +
		     USEC_PER_SEC / 2;
	struct wire *wire = wire_open(agent->spop);
	struct wire *silent = wire_open(agent->spop);
	struct said said;

	(void)state;
	rest_metric_becomes(agent, "spop_connections", "", 2);
	kill(agent->pid, SIGSTOP);
	greet(wire, &usual);
	/* Its timers have run out when it runs again. */
	assert_false(wire_fill(silent, due));
	kill(agent->pid, SIGCONT);
	hear(wire, &said);
	assert_string_equal(said.version, "2.0");
	assert_true(wire_ends(silent));
	wire_close(&wire);
	wire_close(&silent);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(frame_size_is_echoed_exactly),
		AGENT_TEST(only_pipelining_is_announced),
		AGENT_TEST(health_checks_leave_no_trace),
		AGENT_TEST(bad_greetings_are_told_why),
		AGENT_TEST(one_hello_is_enough),
		AGENT_TEST(answers_fit_the_smallest_frames),
		AGENT_TEST(who_does_not_greet_is_dropped),
		AGENT_TEST(greeting_during_a_stall_is_in_time),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}

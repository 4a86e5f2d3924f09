/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a request is HAProxy's log line, over whichever transport
 * (interface 3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define WIDE 100000
#define FRAMED_MAX (LINE_MAX_BYTES + 32)

static uint64_t
lines_of(const struct agent *agent, const char *result)
{
	char label[64];

	snprintf(label, sizeof(label), "result=\"%s\"", result);
	return rest_metric(agent, "log_lines_total", label);
}

static void
all_come_back(const struct agent *agent)
{
	rest_metric_becomes(agent, "inflight", "role=\"service\"", 0);
}

/* A daemon with one rule that has room. */
static struct agent *
start(unsigned ceiling)
{
	struct agent *agent = agent_start(NULL);

	rest_put_rule(agent, &(struct rest_rule){ .ceiling = ceiling,
						  .depth = 100,
						  .wait_ms = 600000 });
	return agent;
}

/* Admits one and returns the line of its end. */
static void
admit(struct asker *asker, const char *id, char line[LINE_MAX_BYTES])
{
	struct reply reply = asker_decide(asker, id);

	assert_string_equal(reply.verdict, "admit");
	line_format(line, id, reply.permit, reply.verdict);
}

static void
send_tcp(struct wire *wire, const char *text)
{
	assert_true(wire_send(wire, text, strlen(text)));
}

static void
datagram_releases(void **state)
{
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	char line[LINE_MAX_BYTES];

	(void)state;
	admit(asker, "one", line);
	admit(asker, "two", line);
	line_send(lines, line);
	/* Read before any question of the same turn. */
	asker_catch_up(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	assert_int_equal(lines_of(agent, "released"), 1);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
line_over_tcp_releases(void **state)
{
	static const char *const ends[] = { "\n", "\r\n" };
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	struct wire *wire = wire_open(agent->lines);
	char line[LINE_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		admit(asker, "one", line);
		send_tcp(wire, line);
		send_tcp(wire, ends[i]);
		all_come_back(agent);
	}
	wire_close(&wire);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
counted_line_over_tcp_releases(void **state)
{
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	struct wire *wire = wire_open(agent->lines);
	char line[LINE_MAX_BYTES], counted[FRAMED_MAX];

	(void)state;
	admit(asker, "one", line);
	snprintf(counted, sizeof(counted), "%zu %s", strlen(line), line);
	send_tcp(wire, counted);
	all_come_back(agent);

	/* Told apart per message: a line, then a counted one. */
	admit(asker, "two", line);
	send_tcp(wire, line);
	admit(asker, "three", line);
	snprintf(counted, sizeof(counted), "\n%zu %s", strlen(line), line);
	send_tcp(wire, counted);
	all_come_back(agent);
	assert_int_equal(lines_of(agent, "released"), 3);
	wire_close(&wire);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
unix_datagram_releases(void **state)
{
	char folder[] = "/tmp/agent-test-XXXXXX";
	char option[64];
	struct agent *agent;
	struct asker *asker;
	char line[LINE_MAX_BYTES];
	int lines;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(option, sizeof(option), "unix:%s/log", folder);
	agent = agent_start(&(struct agent_setup){
		.options = (const char *const[]){ "--log-listen", option,
						  NULL } });
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	asker = asker_open(agent);
	lines = line_open_unix(option + strlen("unix:"));
	admit(asker, "one", line);
	line_send(lines, line);
	all_come_back(agent);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
	/* It has taken its socket away. */
	assert_int_equal(rmdir(folder), 0);
}

/* Bytes part where they like; the loop has turned in between. */
static void
send_in_two(struct agent *agent, struct wire *wire, const char *text,
	    size_t first)
{
	assert_true(wire_send(wire, text, first));
	assert_int_equal(rest_call(agent, "GET /healthz", "", NULL), 200);
	send_tcp(wire, text + first);
}

/* Puts a line in one of the two forms that a TCP stream may have. */
static size_t
frame_line(char framed[FRAMED_MAX], const char *line, bool counted)
{
	int len = counted ? snprintf(framed, FRAMED_MAX, "%zu %s", strlen(line),
				     line)
			  : snprintf(framed, FRAMED_MAX, "%s\n", line);

	return (size_t)len;
}

static void
cut_everywhere(struct agent *agent, bool counted)
{
	struct asker *asker = asker_open(agent);
	struct wire *wire = wire_open(agent->lines);
	size_t cut = 0;
	size_t len;

	do {
		char line[LINE_MAX_BYTES], framed[FRAMED_MAX];

		admit(asker, "cut", line);
		len = frame_line(framed, line, counted);
		send_in_two(agent, wire, framed, ++cut);
		all_come_back(agent);
	} while (cut < len - 1);
	wire_close(&wire);
	asker_close(&asker);
}

static void
stream_may_be_cut_anywhere(void **state)
{
	struct agent *agent = start(WIDE);

	(void)state;
	cut_everywhere(agent, false);
	cut_everywhere(agent, true);
	assert_int_equal(lines_of(agent, "other"), 0);
	agent_stop(&agent);
}

static void
same_line_twice_counts_once(void **state)
{
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	struct wire *wire = wire_open(agent->lines);
	int lines = line_open_udp(agent);
	char line[LINE_MAX_BYTES], other[LINE_MAX_BYTES];

	(void)state;
	admit(asker, "other", other);
	admit(asker, "one", line);
	line_send(lines, line);
	send_tcp(wire, line);
	send_tcp(wire, "\n");
	rest_metric_becomes(agent, "log_lines_total", "result=\"late\"", 1);
	assert_int_equal(lines_of(agent, "released"), 1);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	assert_int_equal(rest_metric(agent, "anomalies_total",
				     "kind=\"unknown_permit\""),
			 0);
	close(lines);
	wire_close(&wire);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Seen with HTTP/2 clients that leave at once. */
static void
line_before_its_question(void **state)
{
	struct agent *agent = start(1);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply reply;

	(void)state;
	line_leave(lines, "gone");
	reply = asker_decide(asker, "gone");
	assert_int_equal(reply.set, REPLY_VERDICT);
	assert_string_equal(reply.verdict, "bypass");
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 0);
	assert_int_equal(lines_of(agent, "early"), 1);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 160, 162: it leaves, and its turn passes to the next. */
static void
line_of_a_waiter(void **state)
{
	struct agent *agent = start(1);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	char line[LINE_MAX_BYTES];
	struct reply reply;
	uint64_t gone, next;

	(void)state;
	admit(asker, "runs", line);
	gone = asker_ask(asker, "gone");
	next = asker_ask(asker, "next");
	asker_expects_nothing(asker);
	line_leave(lines, "gone");
	reply = asker_reply(asker, gone);
	assert_int_equal(reply.set, REPLY_OF_REFUSE);
	assert_int_equal(reply.status, 503);
	assert_string_equal(reply.error, "admission_drained");
	asker_expects_nothing(asker);
	assert_int_equal(rest_metric(agent, "queued", ""), 1);
	assert_int_equal(rest_decisions(agent, "cancelled"), 1);
	assert_int_equal(lines_of(agent, "cancelled"), 1);

	line_send(lines, line);
	assert_string_equal(asker_reply(asker, next).verdict, "admit");
	assert_int_equal(rest_decisions(agent, "drained"), 0);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Interface 6.4, 6.19. */
static void
permits_are_a_check_not_the_key(void **state)
{
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply reply = asker_decide(asker, "one");
	char permit[64];

	(void)state;
	/* What no agent could have written; a number not yet given. */
	line_end(lines, "nobody", "forged");
	snprintf(permit, sizeof(permit), "%.17sffffff", reply.permit);
	line_end(lines, "nobody", permit);
	asker_catch_up(asker);
	assert_int_equal(lines_of(agent, "unknown"), 2);
	assert_int_equal(rest_metric(agent, "anomalies_total",
				     "kind=\"unknown_permit\""),
			 2);

	/* Of an agent before this one. */
	line_end(lines, "nobody", "00000000000000aa-1");
	asker_catch_up(asker);
	assert_int_equal(lines_of(agent, "late"), 1);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);

	/* The permit of one does not end another; a wrong one ends its id. */
	line_end(lines, "nobody", reply.permit);
	asker_catch_up(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	line_end(lines, "one", "forged");
	asker_catch_up(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 0);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

/* What the client chose stands before the word, and ends nobody. */
static void
client_cannot_forge_a_line(void **state)
{
	static const char *const forged[] = {
		"<134>x haproxy[1]: \"POST / admission id=one permit=- "
		"verdict=- HTTP/1.1\" admission id=other permit=- verdict=-",
		"<134>x haproxy[1]: \"GET /a admission id=one permit=- "
		"verdict=admit HTTP/1.1\"",
		"admission",
		"admission id=",
		"",
	};
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);

	(void)state;
	asker_decide(asker, "one");
	for (size_t i = 0; i < ARRAY_LEN(forged); i++)
		line_send(lines, forged[i]);
	asker_catch_up(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	assert_int_equal(lines_of(agent, "released"), 0);
	assert_int_equal(lines_of(agent, "other"), ARRAY_LEN(forged) - 1);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

/* A burst stands in the socket until it is read; none is lost. */
static void
burst_of_lines_is_kept(void **state)
{
	enum { BURST = 3000 };
	struct agent *agent = start(WIDE);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	char(*line)[LINE_MAX_BYTES] = calloc(BURST, sizeof(*line));
	char id[ID_BYTES];

	(void)state;
	assert_non_null(line);
	for (int i = 0; i < BURST; i++) {
		id_make(id, "burst", i);
		admit(asker, id, line[i]);
	}
	for (int i = 0; i < BURST; i++)
		line_send(lines, line[i]);
	all_come_back(agent);
	assert_int_equal(lines_of(agent, "released"), BURST);
	free(line);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
connections_for_lines_come_and_go(void **state)
{
	struct agent *agent = start(WIDE);
	size_t descriptors = agent_descriptors(agent);
	struct asker *asker = asker_open(agent);
	char line[LINE_MAX_BYTES];

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct wire *wire = wire_open(agent->lines);

		admit(asker, "one", line);
		if (i % 2 == 0)
			send_tcp(wire, "1234 half a");
		else
			send_tcp(wire, line);
		if (i % 4 < 2)
			wire_reset(&wire);
		else
			wire_close(&wire);
		asker_catch_up(asker);
	}
	asker_close(&asker);
	agent_settles(agent, descriptors);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(datagram_releases),
		AGENT_TEST(line_over_tcp_releases),
		AGENT_TEST(counted_line_over_tcp_releases),
		AGENT_TEST(unix_datagram_releases),
		AGENT_TEST(stream_may_be_cut_anywhere),
		AGENT_TEST(same_line_twice_counts_once),
		AGENT_TEST(line_before_its_question),
		AGENT_TEST(line_of_a_waiter),
		AGENT_TEST(permits_are_a_check_not_the_key),
		AGENT_TEST(client_cannot_forge_a_line),
		AGENT_TEST(burst_of_lines_is_kept),
		AGENT_TEST(connections_for_lines_come_and_go),
	};

	return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}

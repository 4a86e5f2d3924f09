/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many connections cost, and what happens when there are too many
 * (interface 2: "under 1 KiB while it holds one"; descriptors run out).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

/* How gcc says that addresses are sanitized, and how clang does. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

#define LOW_LIMIT 64

/* What each side says that cannot accept. */
#define WARNING(who)                                                           \
	who ": cannot accept, new connections wait skipped=0 "                 \
	    "error=\"Too many open files\""

static const struct rest_rule narrow = { .ceiling = 1,
					 .depth = 65536,
					 .wait_ms = 600000 };

/* What it takes of the processor within a second. */
static usec_t
cpu_of_a_second(const struct agent *agent)
{
	usec_t before = agent_cpu(agent);
	usec_t deadline = patience_now() + USEC_PER_SEC;

	while (patience_look_again(deadline))
		;
	return agent_cpu(agent) - before;
}

static void
close_wires(struct wire **wires, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_close(&wires[i]);
}

static void
is_quiet_and_serves_again(struct agent *agent, unsigned port,
			  const char *warning)
{
	struct wire *wires[2 * LOW_LIMIT];
	struct asker *asker;

	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		wires[i] = wire_open(port);
	assert_true(cpu_of_a_second(agent) < USEC_PER_SEC / 5);
	assert_true(agent_logs(agent, warning));
	close_wires(wires, ARRAY_LEN(wires));

	asker = asker_open(agent);
	asker_catch_up(asker);
	assert_int_equal(rest_call(agent, "GET /healthz", "", NULL), 200);
	asker_close(&asker);
}

/* Who finds no descriptor waits in the backlog, and nothing spins. */
static void
descriptors_run_out(void **state)
{
	struct agent *agent =
		agent_start(&(struct agent_setup){ .descriptors = LOW_LIMIT });
	size_t descriptors = agent_descriptors(agent);

	(void)state;
	is_quiet_and_serves_again(agent, agent->spop, WARNING("spop"));
	is_quiet_and_serves_again(agent, agent->lines, WARNING("log"));
	is_quiet_and_serves_again(agent, agent->api, WARNING("api"));
	assert_null(strstr(agent->log, "temporarily unavailable"));
	agent_settles(agent, descriptors);
	assert_int_equal(agent_stop(&agent) < 3 * USEC_PER_SEC, 1);
}

/* Those who are in are served while others find no room. */
static void
questions_go_on_without_descriptors(void **state)
{
	struct agent *agent =
		agent_start(&(struct agent_setup){ .descriptors = LOW_LIMIT });
	struct wire *wires[2 * LOW_LIMIT];
	struct asker *asker;
	int lines = line_open_udp(agent);

	(void)state;
	rest_put_rule(agent, &narrow);
	asker = asker_open(agent);
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		wires[i] = wire_open(agent->spop);
	assert_true(agent_logs(agent, "error=\"Too many open files\""));
	for (int i = 0; i < 100; i++) {
		struct reply reply = asker_decide(asker, "one");

		assert_string_equal(reply.verdict, "admit");
		line_end(lines, "one", reply.permit);
	}
	close_wires(wires, ARRAY_LEN(wires));
	asker_close(&asker);
	close(lines);
	agent_stop(&agent);
}

/* Whoever is woken at night can ask what is the matter. */
static void
the_api_answers_without_descriptors(void **state)
{
	struct agent *agent =
		agent_start(&(struct agent_setup){ .descriptors = LOW_LIMIT });
	struct wire *wires[2 * LOW_LIMIT];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		wires[i] = wire_open(agent->spop);
	assert_true(agent_logs(agent, WARNING("spop")));
	for (int i = 0; i < 20; i++) {
		usec_t begin = patience_now();

		assert_int_equal(rest_call(agent, "GET /healthz", "", NULL),
				 200);
		assert_true(patience_now() - begin < USEC_PER_SEC / 2);
	}
	close_wires(wires, ARRAY_LEN(wires));
	agent_stop(&agent);
}

static void
put_depth(const struct agent *agent, unsigned depth)
{
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = depth,
						  .wait_ms = 600000 });
}

/* However many changes of rules leave it so. */
static void
few_descriptors_are_said_once(void **state)
{
	static const char warning[] = "too few for full queues";
	struct agent *agent =
		agent_start(&(struct agent_setup){ .descriptors = 1024 });

	(void)state;
	put_depth(agent, 1000);
	put_depth(agent, 2000);
	put_depth(agent, 10);
	assert_true(agent_logs(agent, "enough for full queues"));
	assert_non_null(strstr(agent->log, warning));
	assert_null(strstr(strstr(agent->log, warning) + 1, warning));
	agent_stop(&agent);
}

#define PARKS "may park up to"

/* The line of its log that this is part of; the caller frees it. */
static char *
line_with(const struct agent *agent, const char *text)
{
	const char *at = strstr(agent->log, text);

	assert_non_null(at);
	while (at > agent->log && at[-1] != '\n')
		at--;
	return strndup(at, strcspn(at, "\n"));
}

/* A request takes a GiB here, so any machine has too little for these. */
static void
queue_beyond_the_memory_is_said_once_and_applied(void **state)
{
	static const char *const options[] = { "--request-buffer-kib",
					       "1048576", NULL };
	static const char *const says[] = {
		" warn ",
		"10.0.0.1:8000",
		"connectionLimit",
		"fc_max_queue_depth=65536",
		PARKS,
		"LLB_PD_MAX_TOTAL_INFLIGHT",
	};
	struct agent *agent =
		agent_start(&(struct agent_setup){ .options = options });
	char *line;

	(void)state;
	put_depth(agent, 65536);
	/* Row 182. */
	assert_int_equal(rest_metric(agent, "limit", "role=\"queue\""), 65536);
	/* The same again is no change, and without a queue is none too deep. */
	put_depth(agent, 65536);
	put_depth(agent, 0);
	rest_delete_rule(agent);
	assert_true(agent_logs(agent, "deleted"));
	/* Row 180. */
	line = line_with(agent, PARKS);
	for (size_t i = 0; i < ARRAY_LEN(says); i++)
		assert_non_null(strstr(line, says[i]));
	assert_null(strstr(strstr(agent->log, PARKS) + 1, PARKS));
	free(line);
	agent_stop(&agent);
}

/* Row 181; and a depth of who never waits is no queue. */
static void
queue_within_the_memory_is_not_said(void **state)
{
	static const char *const options[] = { "--request-buffer-kib",
					       "1048576", NULL };
	struct agent *usual = agent_start(NULL);
	struct agent *large =
		agent_start(&(struct agent_setup){ .options = options });

	(void)state;
	put_depth(usual, 4);
	rest_delete_rule(usual);
	assert_true(agent_logs(usual, "deleted"));
	assert_null(strstr(usual->log, PARKS));
	rest_put_rule(large, &(struct rest_rule){ .mode = "observe",
						  .ceiling = 1,
						  .depth = 65536,
						  .wait_ms = 600000 });
	rest_delete_rule(large);
	assert_true(agent_logs(large, "deleted"));
	assert_null(strstr(large->log, PARKS));
	agent_stop(&usual);
	agent_stop(&large);
}

/* A connection each, as HAProxy from 3.1 on has it. */
static void
open_waiters(struct agent *agent, struct asker **askers, int count)
{
	char id[ID_BYTES];

	for (int i = 0; i < count; i++) {
		askers[i] = asker_open(agent);
		id_make(id, "0123456789abcdef", i);
		asker_ask(askers[i], id);
	}
	rest_metric_becomes(agent, "queued", "", (uint64_t)count - 1);
}

/* All of them, at once; and the one that ran ends. */
static void
kill_all(struct agent *agent, struct asker **askers, int count)
{
	int lines = line_open_udp(agent);
	char id[ID_BYTES];

	for (int i = 0; i < count; i++) {
		wire_reset(&askers[i]->wire);
		asker_close(&askers[i]);
	}
	rest_metric_becomes(agent, "queued", "", 0);
	rest_metric_becomes(agent, "spop_connections", "", 0);
	id_make(id, "0123456789abcdef", 0);
	line_leave(lines, id);
	rest_metric_becomes(agent, "inflight", "role=\"service\"", 0);
	close(lines);
}

static void
held_connections_are_cheap(void **state)
{
	enum { COUNT = SANITIZED ? 2000 : 9000 };
	struct agent *agent = agent_start(NULL);
	struct asker **askers = calloc(COUNT, sizeof(struct asker *));
	size_t descriptors = agent_descriptors(agent);
	size_t before, each;

	(void)state;
	assert_non_null(askers);
	rest_put_rule(agent, &narrow);
	/* What comes with the first of anything is not theirs. */
	open_waiters(agent, askers, 64);
	kill_all(agent, askers, 64);
	agent_settles(agent, descriptors);

	before = agent_rss_bytes(agent);
	open_waiters(agent, askers, COUNT);
	each = (agent_rss_bytes(agent) - before) / COUNT;
	print_message("bytes of a connection with a waiter: %zu\n", each);
	assert_true(SANITIZED || each < 1024);
	assert_true(cpu_of_a_second(agent) < USEC_PER_SEC / 20);

	kill_all(agent, askers, COUNT);
	agent_settles(agent, descriptors);
	free(askers);
	agent_stop(&agent);
}

/* The same again and again takes no more than once. */
static void
memory_comes_back(void **state)
{
	enum { COUNT = 500, ROUNDS = 8 };
	struct agent *agent = agent_start(NULL);
	struct asker *askers[COUNT];
	size_t descriptors = agent_descriptors(agent);
	size_t after_two = 0;

	(void)state;
	rest_put_rule(agent, &narrow);
	for (int round = 0; round < ROUNDS; round++) {
		open_waiters(agent, askers, COUNT);
		kill_all(agent, askers, COUNT);
		agent_settles(agent, descriptors);
		if (round == 1)
			after_two = agent_rss_bytes(agent);
	}
	assert_true(SANITIZED ||
		    agent_rss_bytes(agent) <= after_two + (size_t)256 * 1024);
	agent_stop(&agent);
}

/* After a reload every connection is opened anew, all of them at once. */
static void
burst_after_a_reload_is_served(void **state)
{
	enum { COUNT = 2000 };
	struct agent *agent = agent_start(NULL);
	struct asker **askers = calloc(COUNT, sizeof(struct asker *));
	struct wire **wires = calloc(COUNT, sizeof(struct wire *));
	size_t descriptors = agent_descriptors(agent);

	(void)state;
	assert_non_null(askers);
	assert_non_null(wires);
	rest_put_rule(agent, &narrow);
	open_waiters(agent, askers, COUNT);
	for (int i = 0; i < COUNT; i++)
		wires[i] = wire_open(agent->spop);
	rest_metric_becomes(agent, "spop_connections", "", (uint64_t)2 * COUNT);
	close_wires(wires, COUNT);
	kill_all(agent, askers, COUNT);
	agent_settles(agent, descriptors);
	free(wires);
	free(askers);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(descriptors_run_out),
		AGENT_TEST(questions_go_on_without_descriptors),
		AGENT_TEST(the_api_answers_without_descriptors),
		AGENT_TEST(few_descriptors_are_said_once),
		AGENT_TEST(queue_beyond_the_memory_is_said_once_and_applied),
		AGENT_TEST(queue_within_the_memory_is_not_said),
		AGENT_TEST(held_connections_are_cheap),
		AGENT_TEST(memory_comes_back),
		AGENT_TEST(burst_after_a_reload_is_served),
	};
	struct rlimit limit;

	/* The tests hold as many connections as the agent does. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}

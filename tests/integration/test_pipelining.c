/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many questions under way at once, on one connection and on several: each
 * NOTIFY is answered once, on its connection, in whatever order.
 */
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define MANY 1000

/* Streams begin + 1 to begin + count are answered alike, once. */
static void
all_are(struct asker *asker, uint64_t begin, int count, const char *verdict)
{
	for (int i = 1; i <= count; i++) {
		struct reply reply = asker_reply(asker, begin + (uint64_t)i);

		assert_string_equal(reply.verdict, verdict);
		assert_int_equal(reply.frame, 1);
	}
	asker_expects_nothing(asker);
}

static void
thousand_questions_in_one_write(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = MANY });
	for (int i = 0; i < MANY; i++) {
		id_make(id, "many", i);
		asker_put_usual(asker, id);
	}
	asker_flush(asker);
	all_are(asker, 0, MANY, "admit");
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""),
			 MANY);
	asker_close(&asker);
	agent_stop(&agent);
}

/* A later question is answered while earlier ones wait. */
static void
answers_come_out_of_order(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply runs, reply;
	uint64_t waits[3];
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 9,
						  .wait_ms = 600000 });
	runs = asker_decide(asker, "runs");
	for (int i = 0; i < 3; i++) {
		id_make(id, "waits", i);
		waits[i] = asker_ask(asker, id);
	}
	/* Behind them, and at once. */
	asker_expects_nothing(asker);

	line_end(lines, "runs", runs.permit);
	reply = asker_reply(asker, waits[0]);
	assert_string_equal(reply.verdict, "admit");
	line_leave(lines, "waits-2");
	reply = asker_reply(asker, waits[2]);
	assert_string_equal(reply.verdict, "refuse");
	asker_expects_nothing(asker);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

/*
 * From HAProxy 3.1 on stream ids count from 1 on each connection, and say
 * nothing outside of it.
 */
static void
connections_do_not_mix(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *askers[8];
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 100000 });
	for (size_t c = 0; c < ARRAY_LEN(askers); c++)
		askers[c] = asker_open(agent);
	for (int i = 0; i < MANY; i++) {
		for (size_t c = 0; c < ARRAY_LEN(askers); c++) {
			id_make(id,
				(const char *[]){ "a", "b", "c", "d", "e", "f",
						  "g", "h" }[c],
				i);
			asker_put_usual(askers[c], id);
		}
	}
	for (size_t c = 0; c < ARRAY_LEN(askers); c++)
		asker_flush(askers[c]);
	for (size_t c = 0; c < ARRAY_LEN(askers); c++) {
		all_are(askers[c], 0, MANY, "admit");
		asker_close(&askers[c]);
	}
	assert_int_equal(rest_metric(agent, "spop_notifies_total", ""),
			 rest_metric(agent, "spop_acks_total", ""));
	agent_stop(&agent);
}

/* What waits on all of them is run in the order of its questions. */
static void
first_come_is_first_served_across_connections(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *askers[4];
	int lines = line_open_udp(agent);
	uint64_t streams[20];
	struct reply last;
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 50,
						  .wait_ms = 600000 });
	for (size_t c = 0; c < ARRAY_LEN(askers); c++)
		askers[c] = asker_open(agent);
	last = asker_decide(askers[0], "runs");
	for (int i = 0; i < (int)ARRAY_LEN(streams); i++) {
		id_make(id, "waits", i);
		streams[i] = asker_ask(askers[i % 4], id);
		asker_catch_up(askers[i % 4]);
	}
	line_end(lines, "runs", last.permit);
	for (int i = 0; i < (int)ARRAY_LEN(streams); i++) {
		id_make(id, "waits", i);
		last = asker_reply(askers[i % 4], streams[i]);
		assert_string_equal(last.verdict, "admit");
		/* Row 153: one release wakes exactly one. */
		for (size_t c = 0; c < ARRAY_LEN(askers); c++)
			asker_expects_nothing(askers[c]);
		line_end(lines, id, last.permit);
	}
	for (size_t c = 0; c < ARRAY_LEN(askers); c++)
		asker_close(&askers[c]);
	close(lines);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(thousand_questions_in_one_write),
		AGENT_TEST(answers_come_out_of_order),
		AGENT_TEST(connections_do_not_mix),
		AGENT_TEST(first_come_is_first_served_across_connections),
	};

	return cmocka_run_group_tests_name("pipelining", tests, NULL, NULL);
}

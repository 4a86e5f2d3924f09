/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those who wait, while they do: deadlines, lost connections, questions asked
 * again, rules that change (contract 14.6, interface 6.2, 6.5, 6.9).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

/* One that runs, and a line of those behind it. */
static const struct rest_rule narrow = { .ceiling = 1,
					 .depth = 100,
					 .wait_ms = 600000 };

static void
is_verdict(struct asker *asker, uint64_t stream, const char *verdict)
{
	assert_string_equal(asker_reply(asker, stream).verdict, verdict);
}

static void
is_drained(struct asker *asker, uint64_t stream)
{
	struct reply reply = asker_reply(asker, stream);

	assert_string_equal(reply.verdict, "refuse");
	assert_int_equal(reply.status, 503);
	assert_string_equal(reply.error, "admission_drained");
	assert_int_equal(reply.retry_after, 5);
	assert_true(reply.close);
}

static unsigned long
queued_ms(const struct reply *reply)
{
	static const char member[] = "\"queued_ms\":";
	const char *at = strstr(reply->body, member);

	assert_non_null(at);
	return strtoul(at + strlen(member), NULL, 10);
}

/* How late the latest of some waiters is told; none is told early. */
static usec_t
lateness(struct asker *asker, usec_t window)
{
	enum { WAITERS = 20 };
	uint64_t streams[WAITERS];
	usec_t asked[WAITERS];
	usec_t worst = 0;
	char id[ID_BYTES];

	for (int i = 0; i < WAITERS; i++) {
		id_make(id, "waits", i);
		asked[i] = patience_now();
		streams[i] = asker_ask(asker, id);
		/* So that they do not all fall due at once. */
		assert_false(
			wire_fill(asker->wire, asked[i] + 5 * USEC_PER_MSEC));
	}
	for (int i = 0; i < WAITERS; i++) {
		struct reply reply = asker_reply(asker, streams[i]);
		usec_t took = reply.at - asked[i];

		assert_int_equal(reply.status, 504);
		assert_true(took >= window);
		if (took - window > worst)
			worst = took - window;
	}
	return worst;
}

/* Row 169. Another program may take the processor, so the best of some. */
static void
deadline_is_kept(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	usec_t best = USEC_NEVER;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 100,
						  .wait_ms = 300 });
	is_verdict(asker, asker_ask(asker, "runs"), "admit");
	for (int i = 0; i < 5 && best > 100 * USEC_PER_MSEC; i++) {
		usec_t late = lateness(asker, 300 * USEC_PER_MSEC);

		if (late < best)
			best = late;
	}
	print_message("504 at most %u ms late\n",
		      (unsigned)(best / USEC_PER_MSEC));
	assert_true(best <= 100 * USEC_PER_MSEC);
	asker_close(&asker);
	agent_stop(&agent);
}

/* While somebody waits for long, the daemon has nothing to do. */
static void
waiting_costs_no_time(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	usec_t before, deadline;

	(void)state;
	rest_put_rule(agent, &narrow);
	is_verdict(asker, asker_ask(asker, "runs"), "admit");
	asker_ask(asker, "waits");
	asker_catch_up(asker);
	before = agent_cpu(agent);
	deadline = patience_now() + 2 * USEC_PER_SEC;
	assert_false(wire_fill(asker->wire, deadline));
	assert_true(agent_cpu(agent) - before <= USEC_PER_SEC / 20);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Interface 2, waited_ms: the wait before an agent's restart counts. */
static void
wait_before_counts(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	usec_t begin = patience_now();
	struct fields fields;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &narrow);
	is_verdict(asker, asker_ask(asker, "runs"), "admit");
	fields_usual(&fields, "waits");
	fields_set(&fields, "waited_ms", spop_value_int(599900));
	reply = asker_decide_fields(asker, &fields);
	assert_int_equal(reply.status, 504);
	assert_true(patience_now() - begin >= 100 * USEC_PER_MSEC);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Interface 6.5: its waiters go with it, its units stay. */
static void
lost_connection_takes_its_waiters_only(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *lost = asker_open(agent);
	struct asker *other = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply runs;
	uint64_t waits;

	(void)state;
	rest_put_rule(agent, &narrow);
	runs = asker_decide(lost, "runs");
	for (int i = 0; i < 10; i++) {
		char id[ID_BYTES];

		id_make(id, "lost", i);
		asker_ask(lost, id);
	}
	asker_catch_up(lost);
	waits = asker_ask(other, "stays");
	asker_expects_nothing(other);
	rest_metric_becomes(agent, "queued", "", 11);

	wire_reset(&lost->wire);
	asker_close(&lost);
	rest_metric_becomes(agent, "queued", "", 1);
	assert_int_equal(rest_decisions(agent, "cancelled"), 10);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	asker_expects_nothing(other);
	line_end(lines, "runs", runs.permit);
	is_verdict(other, waits, "admit");
	close(lines);
	asker_close(&other);
	agent_stop(&agent);
}

/* A unit that was handed to one who is gone: HAProxy's line gives it back. */
static void
unit_of_a_lost_connection_comes_back(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *lost = asker_open(agent);
	struct asker *other = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply runs;
	uint64_t waits;

	(void)state;
	rest_put_rule(agent, &narrow);
	runs = asker_decide(lost, "runs");
	asker_close(&lost);
	waits = asker_ask(other, "waits");
	asker_expects_nothing(other);
	line_end(lines, "runs", runs.permit);
	is_verdict(other, waits, "admit");
	close(lines);
	asker_close(&other);
	agent_stop(&agent);
}

/* Interface 6.2: who asks again keeps place; the older gets what is unread. */
static void
asked_again_keeps_its_place(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *first = asker_open(agent);
	struct asker *second = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply runs;
	uint64_t older, newer, behind;

	(void)state;
	rest_put_rule(agent, &narrow);
	runs = asker_decide(first, "runs");
	older = asker_ask(first, "head");
	asker_expects_nothing(first);
	behind = asker_ask(second, "behind");
	asker_expects_nothing(second);

	newer = asker_ask(second, "head");
	is_drained(first, older);
	asker_expects_nothing(second);
	assert_int_equal(rest_metric(agent, "queued", ""), 2);
	/* Uncounted: neither as queued anew nor as drained. */
	assert_int_equal(rest_decisions(agent, "queued"), 2);
	assert_int_equal(rest_decisions(agent, "drained"), 0);
	assert_int_equal(rest_decisions(agent, "cancelled"), 0);

	/* It belongs to the second connection now. */
	asker_close(&first);
	line_end(lines, "runs", runs.permit);
	runs = asker_reply(second, newer);
	assert_string_equal(runs.verdict, "admit");
	asker_expects_nothing(second);
	line_end(lines, "head", runs.permit);
	is_verdict(second, behind, "admit");
	asker_expects_nothing(second);
	close(lines);
	asker_close(&second);
	agent_stop(&agent);
}

/* The same on one connection, and the deadline is that of the first. */
static void
asked_again_keeps_its_deadline(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	usec_t begin, took;
	uint64_t older, newer;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 9,
						  .wait_ms = 1000 });
	is_verdict(asker, asker_ask(asker, "runs"), "admit");
	begin = patience_now();
	older = asker_ask(asker, "waits");
	assert_false(wire_fill(asker->wire, begin + 700 * USEC_PER_MSEC));
	newer = asker_ask(asker, "waits");
	is_drained(asker, older);
	reply = asker_reply(asker, newer);
	took = patience_now() - begin;
	assert_int_equal(reply.status, 504);
	assert_true(queued_ms(&reply) >= 1000);
	assert_true(queued_ms(&reply) < 1600);
	assert_true(took >= 1000 * USEC_PER_MSEC);
	assert_true(took < 1600 * USEC_PER_MSEC);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 172, 173 and a raise: no restart, no release, no second to wait. */
static void
raise_wakes_at_once(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct rest_rule rule = narrow;
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent, &rule);
	for (int i = 0; i < 6; i++) {
		id_make(id, "waits", i);
		asker_ask(asker, id);
	}
	is_verdict(asker, 1, "admit");
	asker_expects_nothing(asker);

	rule.ceiling = 4;
	rest_put_rule(agent, &rule);
	/* The answers have left before that of the operator. */
	for (uint64_t stream = 2; stream <= 4; stream++)
		is_verdict(asker, stream, "admit");
	asker_expects_nothing(asker);

	/* A smaller depth binds newcomers only. */
	rule.depth = 1;
	rest_put_rule(agent, &rule);
	asker_expects_nothing(asker);
	assert_int_equal(rest_metric(agent, "queued", ""), 2);

	/* To observe is to admit. */
	rule.mode = "observe";
	rest_put_rule(agent, &rule);
	asker_catch_up(asker);
	for (int i = 0; i < 2; i++)
		assert_string_not_equal(asker->replies[i].verdict, "refuse");
	assert_int_equal(asker->count, 2);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
delete_ends_them(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply runs;
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent, &narrow);
	runs = asker_decide(asker, "runs");
	for (int i = 0; i < 5; i++) {
		id_make(id, "waits", i);
		asker_ask(asker, id);
	}
	asker_expects_nothing(asker);
	rest_delete_rule(agent);
	for (uint64_t stream = 2; stream <= 6; stream++)
		is_drained(asker, stream);

	/* What ran on it still ends, and is no unit of the next rule. */
	rest_put_rule(agent, &narrow);
	line_end(lines, "runs", runs.permit);
	asker_catch_up(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 0);
	assert_int_equal(
		rest_metric(agent, "log_lines_total", "result=\"released\""),
		1);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

/* ---- every NOTIFY is answered exactly once ---- */

#define STORM_IDS 40
#define STORM_ASKERS 4

struct storm {
	struct agent *agent;
	struct asker *askers[STORM_ASKERS];
	int lines;
	unsigned seed;
};

/* The same numbers on every machine. */
static unsigned
pick(struct storm *s, unsigned below)
{
	s->seed = s->seed * 1103515245U + 12345U;
	return (s->seed >> 16) % below;
}

static void
storm_step(struct storm *s)
{
	char id[ID_BYTES];
	struct rest_rule rule = narrow;

	id_make(id, "storm", (int)pick(s, STORM_IDS));
	switch (pick(s, 20)) {
	case 0:
		rule.ceiling = 1 + pick(s, 5);
		rest_put_rule(s->agent, &rule);
		return;
	case 1:
		rest_delete_rule(s->agent);
		rest_put_rule(s->agent, &rule);
		return;
	case 2:
	case 3:
	case 4:
	case 5:
		line_leave(s->lines, id);
		return;
	default:
		asker_ask(s->askers[pick(s, STORM_ASKERS)], id);
		return;
	}
}

static void
every_notify_is_answered_once(void **state)
{
	struct storm s = { .agent = agent_start(NULL), .seed = 20261130 };

	(void)state;
	s.lines = line_open_udp(s.agent);
	rest_put_rule(s.agent, &narrow);
	for (int i = 0; i < STORM_ASKERS; i++)
		s.askers[i] = asker_open(s.agent);
	for (int i = 0; i < 4000; i++)
		storm_step(&s);
	/* Who still waits ends with the rule. */
	rest_delete_rule(s.agent);
	for (int i = 0; i < STORM_ASKERS; i++) {
		uint64_t asked = s.askers[i]->asked;

		for (uint64_t stream = 1; stream <= asked; stream++)
			asker_reply(s.askers[i], stream);
		asker_expects_nothing(s.askers[i]);
		asker_close(&s.askers[i]);
	}
	assert_int_equal(rest_metric(s.agent, "spop_notifies_total", ""),
			 rest_metric(s.agent, "spop_acks_total", ""));
	close(s.lines);
	agent_stop(&s.agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(deadline_is_kept),
		AGENT_TEST(waiting_costs_no_time),
		AGENT_TEST(wait_before_counts),
		AGENT_TEST(lost_connection_takes_its_waiters_only),
		AGENT_TEST(unit_of_a_lost_connection_comes_back),
		AGENT_TEST(asked_again_keeps_its_place),
		AGENT_TEST(asked_again_keeps_its_deadline),
		AGENT_TEST(raise_wakes_at_once),
		AGENT_TEST(delete_ends_them),
		AGENT_TEST(every_notify_is_answered_once),
	};

	return cmocka_run_group_tests_name("waiting", tests, NULL, NULL);
}

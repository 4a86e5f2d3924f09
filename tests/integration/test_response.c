/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HAProxy says when an engine's answer begins, and what it is told: the
 * message admission-response and its ACK (interface 2).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define CEILING 4

/* A daemon with the rule, and HAProxy's two sides of it. */
struct stage {
	struct agent *agent;
	struct asker *asker;
	int lines;
};

static void
open_stage(struct stage *s, const struct rest_rule *rule)
{
	s->agent = agent_start(NULL);
	rest_put_rule(s->agent, rule);
	s->asker = asker_open(s->agent);
	s->lines = line_open_udp(s->agent);
}

static void
close_stage(struct stage *s)
{
	close(s->lines);
	asker_close(&s->asker);
	agent_stop(&s->agent);
}

static const struct rest_rule exposing = {
	.ceiling = CEILING, .depth = 8, .wait_ms = 600000, .exposes = true
};
static const struct rest_rule pair = { .ceiling = CEILING, .pair = true };

/* Who is admitted; returns its permit. */
static struct reply
admit(struct stage *s, const char *id, unsigned set)
{
	struct reply reply = asker_decide(s->asker, id);

	assert_string_equal(reply.verdict, "admit");
	assert_int_equal(reply.set, set);
	assert_int_equal(reply.respond, (set & REPLY_RESPOND) != 0);
	return reply;
}

static void
end(struct stage *s, const char *id, const struct reply *reply)
{
	line_end(s->lines, id, reply->permit);
	asker_catch_up(s->asker);
}

static void
is_noted(struct reply reply)
{
	assert_int_equal(reply.set, REPLY_NOTED);
	assert_true(reply.noted);
}

static void
is_not_noted(struct reply reply)
{
	assert_int_equal(reply.set, REPLY_NOTED);
	assert_false(reply.noted);
}

static void
exposes(struct reply reply, int inflight, int queued, int limit)
{
	assert_int_equal(reply.set, REPLY_OF_EXPOSURE);
	assert_true(reply.noted);
	assert_int_equal(reply.inflight, inflight);
	assert_int_equal(reply.queued, queued);
	assert_int_equal(reply.limit, limit);
}

static void
has_units(struct stage *s, int service, int prefill, int decode)
{
	assert_int_equal(rest_metric(s->agent, "inflight", "role=\"service\""),
			 service);
	assert_int_equal(rest_metric(s->agent, "inflight", "role=\"prefill\""),
			 prefill);
	assert_int_equal(rest_metric(s->agent, "inflight", "role=\"decode\""),
			 decode);
}

/* Rows 290, 291: as they are when it is asked, on whatever connection. */
static void
counts_are_those_of_the_moment(void **state)
{
	struct stage s;
	struct asker *other;
	struct reply first, second;

	(void)state;
	open_stage(&s, &exposing);
	other = asker_open(s.agent);
	first = admit(&s, "one", REPLY_OF_ADMIT | REPLY_RESPOND);
	exposes(asker_respond(s.asker, "one", false), 1, 0, CEILING);
	second = admit(&s, "two", REPLY_OF_ADMIT | REPLY_RESPOND);
	admit(&s, "three", REPLY_OF_ADMIT | REPLY_RESPOND);
	admit(&s, "four", REPLY_OF_ADMIT | REPLY_RESPOND);
	asker_ask(s.asker, "waits");
	asker_expects_nothing(s.asker);
	exposes(asker_respond(other, "two", true), 4, 1, CEILING);
	line_leave(s.lines, "waits");
	end(&s, "one", &first);
	exposes(asker_respond(other, "two", true), 3, 0, CEILING);
	end(&s, "two", &second);
	asker_close(&other);
	close_stage(&s);
}

/* Rows 303, 304: a rule that exposes nothing is not asked for. */
static void
rule_that_exposes_nothing(void **state)
{
	struct rest_rule quiet = exposing;
	struct stage s;

	(void)state;
	quiet.exposes = false;
	open_stage(&s, &quiet);
	admit(&s, "one", REPLY_OF_ADMIT);
	is_noted(asker_respond(s.asker, "one", true));
	rest_put_rule(s.agent, &exposing);
	admit(&s, "two", REPLY_OF_ADMIT | REPLY_RESPOND);
	exposes(asker_respond(s.asker, "two", true), 2, 0, CEILING);
	exposes(asker_respond(s.asker, "one", true), 2, 0, CEILING);
	close_stage(&s);
}

/* Nothing is known of it, so nothing is said; nor is anything counted. */
static void
id_that_does_not_execute(void **state)
{
	struct stage s;
	struct reply reply;

	(void)state;
	open_stage(&s, &exposing);
	is_noted(asker_respond(s.asker, "nobody", true));

	reply = admit(&s, "one", REPLY_OF_ADMIT | REPLY_RESPOND);
	end(&s, "one", &reply);
	is_noted(asker_respond(s.asker, "one", true));

	line_leave(s.lines, "early");
	asker_catch_up(s.asker);
	is_noted(asker_respond(s.asker, "early", true));

	for (int i = 0; i < CEILING; i++) {
		char id[ID_BYTES];

		id_make(id, "full", i);
		admit(&s, id, REPLY_OF_ADMIT | REPLY_RESPOND);
	}
	asker_ask(s.asker, "waits");
	is_noted(asker_respond(s.asker, "waits", true));
	assert_int_equal(rest_metric(s.agent, "queued", ""), 1);
	assert_int_equal(rest_metric(s.agent, "anomalies_total",
				     "kind=\"unknown_permit\""),
			 0);
	close_stage(&s);
}

/* Row 28: the first event gives the prefill unit back, once. */
static void
stream_gives_its_prefill_unit_back_once(void **state)
{
	struct rest_rule one = pair;
	struct stage s;
	struct reply reply, more;

	(void)state;
	one.prefill_ceiling = 2;
	open_stage(&s, &one);
	reply = admit(&s, "one", REPLY_OF_PAIR);
	assert_string_equal(reply.server, "10.1.0.1:9000");
	assert_string_equal(reply.prefill, "10.1.0.2:9000");
	more = admit(&s, "two", REPLY_OF_PAIR);
	has_units(&s, 2, 2, 2);

	is_noted(asker_respond(s.asker, "one", true));
	has_units(&s, 2, 1, 2);
	is_noted(asker_respond(s.asker, "one", true));
	has_units(&s, 2, 1, 2);
	end(&s, "one", &reply);
	has_units(&s, 1, 1, 1);
	is_noted(asker_respond(s.asker, "one", true));
	has_units(&s, 1, 1, 1);
	end(&s, "two", &more);
	has_units(&s, 0, 0, 0);
	assert_int_equal(
		rest_metric(s.agent, "anomalies_total", "kind=\"underflow\""),
		0);
	close_stage(&s);
}

/* Of what is in one piece, or begins with a comment, only the end is known. */
static void
other_answers_keep_it_to_their_end(void **state)
{
	struct fields comment = { .count = 0 };
	struct stage s;
	struct reply reply;

	(void)state;
	open_stage(&s, &pair);
	reply = admit(&s, "one", REPLY_OF_PAIR);
	is_noted(asker_respond(s.asker, "one", false));
	has_units(&s, 1, 1, 1);
	fields_set(&comment, "id", spop_value_string("one"));
	fields_set(&comment, "streamed", spop_value_bool(true));
	fields_set(&comment, "head", spop_value_string(": lorem\n\n"));
	is_noted(asker_respond_fields(s.asker, &comment));
	has_units(&s, 1, 1, 1);
	end(&s, "one", &reply);
	has_units(&s, 0, 0, 0);
	close_stage(&s);
}

/* It has its answer again: the pair while there is one, else the rest. */
static void
pair_asks_again(void **state)
{
	struct stage s;
	struct reply first, again;

	(void)state;
	open_stage(&s, &pair);
	first = admit(&s, "one", REPLY_OF_PAIR);
	again = admit(&s, "one", REPLY_OF_PAIR);
	assert_string_equal(first.permit, again.permit);
	assert_string_equal(first.prefill, again.prefill);
	has_units(&s, 1, 1, 1);

	is_noted(asker_respond(s.asker, "one", true));
	again = admit(&s, "one", REPLY_OF_ADMIT);
	assert_string_equal(first.permit, again.permit);
	has_units(&s, 1, 0, 1);
	end(&s, "one", &first);
	has_units(&s, 0, 0, 0);
	close_stage(&s);
}

/* Rows 55, 56, 178: a unit of its own role, and nothing to hear of. */
static void
leg_holds_one_unit(void **state)
{
	struct rest_rule one = pair;
	struct fields fields;
	struct stage s;
	struct reply reply;

	(void)state;
	one.prefill_ceiling = 1;
	one.depth = 4;
	one.wait_ms = 600000;
	open_stage(&s, &one);
	fields_usual(&fields, "leg");
	fields_set(&fields, "role", spop_value_string("prefill"));
	reply = asker_decide_fields(s.asker, &fields);
	assert_int_equal(reply.set, REPLY_OF_ADMIT);
	assert_string_equal(reply.server, "10.1.0.2:9000");
	has_units(&s, 0, 1, 0);
	is_noted(asker_respond(s.asker, "leg", true));
	has_units(&s, 0, 1, 0);

	fields_set(&fields, "id", spop_value_string("more"));
	reply = asker_decide_fields(s.asker, &fields);
	assert_int_equal(reply.set, REPLY_OF_REFUSE);
	assert_int_equal(reply.status, 429);
	assert_int_equal(reply.limit, 1);
	reply = asker_decide(s.asker, "whole");
	assert_int_equal(reply.set, REPLY_OF_REFUSE);
	has_units(&s, 0, 1, 0);
	close_stage(&s);
}

/* Never left without an answer, which HAProxy would wait for. */
static void
unusable_one_is_not_noted(void **state)
{
	struct fields fields = { .count = 0 };
	struct stage s;

	(void)state;
	open_stage(&s, &exposing);
	admit(&s, "one", REPLY_OF_ADMIT | REPLY_RESPOND);
	fields_set(&fields, "streamed", spop_value_bool(true));
	is_not_noted(asker_respond_fields(s.asker, &fields));
	assert_int_equal(
		rest_metric(s.agent, "spop_unusable_total", "cause=\"id\""), 1);
	fields_set(&fields, "id", spop_value_string("one"));
	fields_set(&fields, "streamed", spop_value_string("yes"));
	is_not_noted(asker_respond_fields(s.asker, &fields));
	assert_int_equal(rest_metric(s.agent, "spop_unusable_total",
				     "cause=\"argument\""),
			 1);
	close_stage(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(counts_are_those_of_the_moment),
		AGENT_TEST(rule_that_exposes_nothing),
		AGENT_TEST(id_that_does_not_execute),
		AGENT_TEST(stream_gives_its_prefill_unit_back_once),
		AGENT_TEST(other_answers_keep_it_to_their_end),
		AGENT_TEST(pair_asks_again),
		AGENT_TEST(leg_holds_one_unit),
		AGENT_TEST(unusable_one_is_not_noted),
	};

	return cmocka_run_group_tests_name("response", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked and what is answered: the arguments of admission-request and
 * the variables of its ACK (interface 2), refusals by reason (contract 5).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

static const char unnamed_rule[] =
	"{\"serviceArguments\":{\"externalIP\":\"10.0.0.2\",\"port\":8001,"
	"\"protocol\":\"tcp\",\"mode\":4,\"sse_mode\":true,"
	"\"fc_mode\":\"enforce\",\"fc_max_outstanding\":2},"
	"\"endpoints\":[{\"endpointIP\":\"10.1.0.2\",\"targetPort\":9001,"
	"\"weight\":1}]}";

static void
put_unnamed_rule(const struct agent *agent)
{
	assert_int_equal(rest_call(agent, "POST /netlox/v1/config/loadbalancer",
				   unnamed_rule, NULL),
			 200);
}

/* A question to that rule, by the address that the client came to. */
static void
fields_of_address(struct fields *fields, const char *id)
{
	struct spop_value vip = { .type = SPOP_IPV4, .ipv4 = { 10, 0, 0, 2 } };

	fields_usual(fields, id);
	fields_drop(fields, "pool");
	fields_set(fields, "vip", vip);
	fields_set(fields, "vport", spop_value_int(8001));
}

static void
is_bypass(const struct reply *reply)
{
	assert_int_equal(reply->set, REPLY_VERDICT);
	assert_string_equal(reply->verdict, "bypass");
}

static void
is_admission(const struct reply *reply)
{
	assert_true(reply->set & REPLY_VERDICT);
	assert_string_equal(reply->verdict, "admit");
}

/* A refusal with all that the client is told, but the JSON. */
static void
is_refusal(const struct reply *reply, int status, const char *error,
	   int retry_after)
{
	assert_int_equal(reply->set, REPLY_OF_REFUSE);
	assert_string_equal(reply->verdict, "refuse");
	assert_int_equal(reply->status, status);
	assert_string_equal(reply->error, error);
	assert_int_equal(reply->retry_after, retry_after);
}

static void
has_counts(const struct reply *reply, int inflight, int queued, int limit)
{
	assert_int_equal(reply->inflight, inflight);
	assert_int_equal(reply->queued, queued);
	assert_int_equal(reply->limit, limit);
}

static void
admission_sets_these_and_no_others(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 2 });
	reply = asker_decide(asker, "one");
	assert_int_equal(reply.set, REPLY_OF_ADMIT);
	assert_string_equal(reply.verdict, "admit");
	assert_string_equal(reply.server, "10.1.0.1:9000");
	assert_string_equal(reply.backend, "chat");
	assert_int_equal(strspn(reply.permit, "0123456789abcdef-"),
			 strlen(reply.permit));
	assert_true(strlen(reply.permit) > 17);
	assert_false(reply.close);
	asker_close(&asker);
	agent_stop(&agent);
}

/* A rule without a name is found by its address, and has the usual backend. */
static void
address_finds_the_rule(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct spop_value mapped = {
		.type = SPOP_IPV6, .ipv6 = { [10] = 0xff, 0xff, 10, 0, 0, 2 }
	};
	struct fields fields;
	struct reply reply;

	(void)state;
	put_unnamed_rule(agent);
	fields_of_address(&fields, "one");
	reply = asker_decide_fields(asker, &fields);
	is_admission(&reply);
	assert_string_equal(reply.server, "10.1.0.2:9001");

	fields_set(&fields, "id", spop_value_string("two"));
	fields_set(&fields, "vip", mapped);
	reply = asker_decide_fields(asker, &fields);
	is_admission(&reply);

	fields_set(&fields, "id", spop_value_string("three"));
	fields_set(&fields, "vport", spop_value_int(8002));
	reply = asker_decide_fields(asker, &fields);
	is_bypass(&reply);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 265, 269, 270, 274, 277. */
static void
over_the_ceiling_is_429(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	reply = asker_decide(asker, "one");
	is_admission(&reply);
	reply = asker_decide(asker, "two");
	is_refusal(&reply, 429, "admission_capacity", 1);
	has_counts(&reply, 1, 0, 1);
	assert_false(reply.close);
	assert_string_equal(reply.body,
			    "{\"error\":\"admission_capacity\","
			    "\"retry_after\":1,\"jitter_hint_ms\":250}");

	/* Row 176: an answer ends a body that still comes. */
	fields_usual(&fields, "three");
	fields_set(&fields, "chunked", spop_value_bool(true));
	reply = asker_decide_fields(asker, &fields);
	is_refusal(&reply, 429, "admission_capacity", 1);
	assert_true(reply.close);

	fields_usual(&fields, "four");
	fields_set(&fields, "body_size", spop_value_int(101));
	reply = asker_decide_fields(asker, &fields);
	assert_true(reply.close);
	assert_int_equal(rest_decisions(agent, "capacity_shed"), 3);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Row 271: the limit is the one that was in the way. */
static void
endpoint_ceiling_is_named(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 8,
						  .endpoint_ceiling = 1 });
	asker_decide(asker, "one");
	reply = asker_decide(asker, "two");
	is_refusal(&reply, 429, "admission_capacity", 1);
	has_counts(&reply, 1, 0, 1);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 163, 267, 272; row 177: HTTP/2 never waits. */
static void
full_queue_is_429(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 1,
						  .wait_ms = 600000 });
	asker_decide(asker, "runs");
	fields_usual(&fields, "http2");
	fields_set(&fields, "http", spop_value_int(2));
	reply = asker_decide_fields(asker, &fields);
	is_refusal(&reply, 429, "admission_capacity", 1);
	has_counts(&reply, 1, 0, 1);

	asker_ask(asker, "waits");
	reply = asker_decide(asker, "too-many");
	is_refusal(&reply, 429, "admission_capacity", 1);
	has_counts(&reply, 1, 1, 1);
	assert_int_equal(rest_decisions(agent, "queue_full"), 1);
	assert_int_equal(rest_decisions(agent, "queued"), 1);
	asker_close(&asker);
	agent_stop(&agent);
}

/* HAProxy's line could not bring such a one back (interface 3). */
static void
id_is_one_word(void **state)
{
	static const char *const no_ids[] = { "-",    "a b",  " a",
					      "a\nb", "a\tb", "a\x7f" };
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	for (size_t i = 0; i < ARRAY_LEN(no_ids); i++) {
		struct reply reply = asker_decide(asker, no_ids[i]);

		is_bypass(&reply);
	}
	assert_int_equal(
		rest_metric(agent, "spop_unusable_total", "cause=\"id\""),
		ARRAY_LEN(no_ids));
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 275, 280; interface 6.8. */
static void
waiting_too_long_is_504(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	static const char begin[] = "{\"error\":\"admission_queue_timeout\","
				    "\"retry_after\":1,\"queued_ms\":";
	unsigned long queued_ms;
	struct reply reply;
	char *end;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){
				     .ceiling = 1, .depth = 4, .wait_ms = 50 });
	asker_decide(asker, "runs");
	reply = asker_decide(asker, "waits");
	is_refusal(&reply, 504, "admission_queue_timeout", 1);
	has_counts(&reply, 1, 0, 1);
	assert_true(reply.close);
	assert_memory_equal(reply.body, begin, strlen(begin));
	queued_ms = strtoul(reply.body + strlen(begin), &end, 10);
	assert_string_equal(end, "}");
	assert_true(queued_ms >= 50);
	assert_int_equal(rest_decisions(agent, "queue_timeout"), 1);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 276, 278. */
static void
nobody_to_serve_is_503(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct reply reply;

	(void)state;
	rest_put_rule(agent,
		      &(struct rest_rule){ .ceiling = 3, .nobody = true });
	reply = asker_decide(asker, "one");
	is_refusal(&reply, 503, "admission_no_capacity", 1);
	has_counts(&reply, 0, 0, 3);
	assert_true(reply.close);
	assert_string_equal(
		reply.body,
		"{\"error\":\"admission_no_capacity\",\"retry_after\":1,"
		"\"message\":\"no healthy endpoint has capacity\"}");
	asker_close(&asker);
	agent_stop(&agent);
}

/* Rows 268, 281: its rule goes while it waits. */
static void
drained_waiter_is_503(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct reply reply;
	uint64_t waits;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1,
						  .depth = 4,
						  .wait_ms = 600000 });
	asker_decide(asker, "runs");
	waits = asker_ask(asker, "waits");
	asker_expects_nothing(asker);
	rest_delete_rule(agent);
	reply = asker_reply(asker, waits);
	is_refusal(&reply, 503, "admission_drained", 5);
	assert_true(reply.close);
	assert_non_null(strstr(reply.body, "\"error\":\"admission_drained\","
					   "\"retry_after\":5,\"queued_ms\":"));
	asker_close(&asker);
	agent_stop(&agent);
}

static void
what_is_not_gated_is_bypassed(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = { { "method", "GET" },
		     { "path", "/v1/models" },
		     { "pool", "nobody's" } };
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fields fields;

		fields_usual(&fields, "one");
		fields_set(&fields, rows[i].name,
			   spop_value_string(rows[i].value));
		reply = asker_decide_fields(asker, &fields);
		is_bypass(&reply);
	}
	/* Interface 6.1: without a rule it is not counted. */
	assert_int_equal(rest_decisions(agent, "bypass_non_inference"), 2);

	rest_put_rule(agent, &(struct rest_rule){ .mode = "off" });
	reply = asker_decide(asker, "one");
	is_bypass(&reply);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 0);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
observing_admits_all(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	char id[ID_BYTES];

	(void)state;
	rest_put_rule(agent,
		      &(struct rest_rule){ .mode = "observe", .ceiling = 1 });
	for (int i = 0; i < 3; i++) {
		struct reply reply;

		id_make(id, "id", i);
		reply = asker_decide(asker, id);
		assert_int_equal(reply.set, REPLY_OF_ADMIT);
		is_admission(&reply);
	}
	assert_int_equal(rest_decisions(agent, "observe_would_shed"), 2);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 3);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Interface 6.2: the same permit, and one unit. */
static void
retry_of_an_executing_one_gets_its_answer_again(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *first = asker_open(agent);
	struct asker *second = asker_open(agent);
	struct reply reply, again;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	reply = asker_decide(first, "one");
	asker_close(&first);
	again = asker_decide(second, "one");
	assert_int_equal(again.set, REPLY_OF_ADMIT);
	assert_string_equal(again.permit, reply.permit);
	assert_string_equal(again.server, reply.server);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	assert_int_equal(rest_decisions(agent, "admitted"), 1);
	asker_close(&second);
	agent_stop(&agent);
}

static void
unknown_arguments_mean_nothing(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	fields_usual(&fields, "one");
	fields_set(&fields, "weather", spop_value_string("fine"));
	fields_set(&fields, "", spop_value_int(-1));
	fields_set(&fields, "ID", spop_value_bool(false));
	reply = asker_decide_fields(asker, &fields);
	is_admission(&reply);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Each optional argument as NULL is as if it were absent. */
static void
null_is_absent(void **state)
{
	static const char *const optional[] = {
		"vip",     "vport", "host",     "http",
		"tenant",  "model", "body_len", "body_size",
		"chunked", "role",  "src",      "waited_ms"
	};
	static const char *const required[] = { "id", "method", "path" };
	struct spop_value null = { .type = SPOP_NULL };
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	fields_usual(&fields, "one");
	for (size_t i = 0; i < ARRAY_LEN(optional); i++)
		fields_set(&fields, optional[i], null);
	reply = asker_decide_fields(asker, &fields);
	is_admission(&reply);

	for (size_t i = 0; i < ARRAY_LEN(required); i++) {
		fields_usual(&fields, "two");
		fields_set(&fields, required[i], null);
		reply = asker_decide_fields(asker, &fields);
		is_bypass(&reply);
	}
	asker_close(&asker);
	agent_stop(&agent);
}

static void
id_may_have_128_bytes(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	int lines = line_open_udp(agent);
	struct reply reply;
	char id[130];

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	memset(id, 'x', sizeof(id));
	id[129] = '\0';
	reply = asker_decide(asker, id);
	is_bypass(&reply);
	reply = asker_decide(asker, "");
	is_bypass(&reply);
	assert_int_equal(
		rest_metric(agent, "spop_unusable_total", "cause=\"id\""), 2);

	id[128] = '\0';
	reply = asker_decide(asker, id);
	is_admission(&reply);
	line_end(lines, id, reply.permit);
	asker_catch_up(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 0);
	close(lines);
	asker_close(&asker);
	agent_stop(&agent);
}

static void
wrong_types_are_bypassed(void **state)
{
	static const char *const texts[] = { "id",   "pool",  "host", "method",
					     "path", "model", "role" };
	static const char *const others[] = { "vip",       "vport",
					      "http",      "body_len",
					      "body_size", "chunked",
					      "waited_ms" };
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;
	struct reply reply;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 100 });
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		fields_usual(&fields, "one");
		fields_set(&fields, texts[i], spop_value_int(7));
		reply = asker_decide_fields(asker, &fields);
		is_bypass(&reply);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		fields_usual(&fields, "two");
		fields_set(&fields, others[i], spop_value_string("7"));
		reply = asker_decide_fields(asker, &fields);
		is_bypass(&reply);
	}
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 0);
	asker_close(&asker);
	agent_stop(&agent);
}

/* HAProxy waits for nothing, not even for the answer to nonsense. */
static void
other_messages_are_answered_not_noted(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;
	struct reply reply;
	uint64_t stream;

	(void)state;
	fields_usual(&fields, "one");
	stream = asker_put(asker, "nonsense", &fields);
	asker_flush(asker);
	reply = asker_reply(asker, stream);
	assert_int_equal(reply.set, REPLY_NOTED);
	assert_false(reply.noted);

	/* HAProxy 3.1 to 3.3 may send a NOTIFY without any message. */
	asker_begin(asker);
	stream = asker_end(asker);
	asker_flush(asker);
	reply = asker_reply(asker, stream);
	assert_int_equal(reply.set, REPLY_NOTED);
	assert_false(reply.noted);
	assert_int_equal(
		rest_metric(agent, "spop_unusable_total", "cause=\"message\""),
		2);
	asker_close(&asker);
	agent_stop(&agent);
}

/* The other message of interface 2, and the probe of the configuration. */
static void
response_is_noted(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields = { .count = 0 };
	struct reply reply;
	uint64_t stream;

	(void)state;
	fields_set(&fields, "id", spop_value_string("one"));
	fields_set(&fields, "status", spop_value_int(200));
	stream = asker_put(asker, "admission-response", &fields);
	asker_flush(asker);
	reply = asker_reply(asker, stream);
	assert_true(reply.set & REPLY_NOTED);
	assert_true(reply.noted);
	asker_close(&asker);
	agent_stop(&agent);
}

/* One NOTIFY is one question, whatever else stands in it. */
static void
several_messages_get_one_answer(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields, second;
	struct reply reply;
	uint64_t stream;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 9 });
	fields_usual(&fields, "one");
	fields_usual(&second, "two");
	asker_begin(asker);
	asker_add(asker, "nonsense", &second);
	asker_add(asker, "admission-request", &fields);
	asker_add(asker, "admission-request", &second);
	stream = asker_end(asker);
	asker_flush(asker);
	reply = asker_reply(asker, stream);
	is_admission(&reply);
	asker_expects_nothing(asker);
	assert_int_equal(rest_metric(agent, "inflight", "role=\"service\""), 1);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Logged once a kind, with a count of what was not. */
static void
each_kind_of_unusable_is_logged_once(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);
	struct fields fields;

	(void)state;
	fields_usual(&fields, "one");
	fields_set(&fields, "http", spop_value_string("one"));
	for (int i = 0; i < 50; i++) {
		asker_catch_up(asker);
		asker_decide(asker, "");
		asker_decide_fields(asker, &fields);
	}
	assert_true(agent_logs(agent, "cause=message"));
	assert_true(agent_logs(agent, "cause=id"));
	assert_true(agent_logs(agent, "cause=argument"));
	asker_close(&asker);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(admission_sets_these_and_no_others),
		AGENT_TEST(address_finds_the_rule),
		AGENT_TEST(over_the_ceiling_is_429),
		AGENT_TEST(endpoint_ceiling_is_named),
		AGENT_TEST(full_queue_is_429),
		AGENT_TEST(waiting_too_long_is_504),
		AGENT_TEST(nobody_to_serve_is_503),
		AGENT_TEST(drained_waiter_is_503),
		AGENT_TEST(what_is_not_gated_is_bypassed),
		AGENT_TEST(observing_admits_all),
		AGENT_TEST(retry_of_an_executing_one_gets_its_answer_again),
		AGENT_TEST(unknown_arguments_mean_nothing),
		AGENT_TEST(null_is_absent),
		AGENT_TEST(id_may_have_128_bytes),
		AGENT_TEST(id_is_one_word),
		AGENT_TEST(wrong_types_are_bypassed),
		AGENT_TEST(other_messages_are_answered_not_noted),
		AGENT_TEST(response_is_noted),
		AGENT_TEST(several_messages_get_one_answer),
		AGENT_TEST(each_kind_of_unusable_is_logged_once),
	};

	return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}

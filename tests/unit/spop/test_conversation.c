/* SPDX-License-Identifier: Apache-2.0 */
/* Both halves of the library talk to each other. */
#include "spop/spop.h"

#include "tests/unit/spop/frames.h"

struct talk {
	struct spop_session agent, client;
	struct frames to_agent, to_client;
	struct spop_event event; /* the last one */
};

static void
talk_init(struct talk *t)
{
	spop_session_init(&t->agent, SPOP_AGENT);
	spop_session_init(&t->client, SPOP_CLIENT);
	frames_init(&t->to_agent);
	frames_init(&t->to_client);
}

static void
agent_hears(struct talk *t, enum spop_event_type type)
{
	assert_true(frames_feed(&t->to_agent, &t->agent, &t->event) > 0);
	assert_int_equal(t->event.type, type);
}

static void
client_hears(struct talk *t, enum spop_event_type type)
{
	assert_true(frames_feed(&t->to_client, &t->client, &t->event) > 0);
	assert_int_equal(t->event.type, type);
}

static void
greet(struct talk *t, uint32_t max_frame_size, unsigned capabilities)
{
	const struct spop_hello hello = {
		.max_frame_size = max_frame_size,
		.capabilities = capabilities,
		.engine_id = spop_text_of("engine"),
	};

	assert_true(spop_session_hello_client(&t->client, &t->to_agent.w,
					      &hello) > 0);
	agent_hears(t, SPOP_EVENT_HELLO);
	assert_true(spop_session_hello_agent(&t->agent, &t->to_client.w) > 0);
	client_hears(t, SPOP_EVENT_HELLO);
}

static void
each_pair_of_sizes_and_capabilities_agrees(void **state)
{
	static const uint32_t sizes[] = { SPOP_FRAME_SIZE_MIN, 16380, 65532,
					  SPOP_FRAME_SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (unsigned bits = 0; bits < 8; bits++) {
			struct talk t;

			talk_init(&t);
			greet(&t, sizes[i], bits);
			assert_true(spop_session_is_open(&t.agent));
			assert_true(spop_session_is_open(&t.client));
			assert_int_equal(spop_session_limit(&t.agent),
					 sizes[i]);
			assert_int_equal(spop_session_limit(&t.client),
					 sizes[i]);
			assert_int_equal(t.event.hello.capabilities,
					 bits & SPOP_CAPABILITY_PIPELINING);
		}
}

static void
each_learns_that_the_other_gathers(void **state)
{
	uint8_t one[8], two[8];
	struct talk t;

	(void)state;
	talk_init(&t);
	spop_session_gather(&t.agent, one, sizeof(one));
	spop_session_gather(&t.client, two, sizeof(two));
	greet(&t, 1000, 0);
	assert_int_equal(t.event.hello.capabilities,
			 SPOP_CAPABILITY_FRAGMENTATION);
	assert_int_equal(t.agent.capabilities, SPOP_CAPABILITY_FRAGMENTATION);
}

static void
ask(struct talk *t, uint64_t stream_id, int64_t number)
{
	spop_session_notify(&t->client, &t->to_agent.w, stream_id, 1);
	spop_message_begin(&t->to_agent.w, "question");
	spop_argument_put(&t->to_agent.w, "number", spop_value_int(number));
	assert_true(spop_frame_end(&t->to_agent.w) > 0);
}

/* Twice the number is the answer. */
static void
answer(struct talk *t)
{
	struct spop_messages list = { .rest = t->event.payload };
	struct spop_message message;
	struct spop_pair argument;
	int64_t number;

	assert_true(spop_message_next(&list, &message) > 0);
	assert_true(spop_text_is(message.name, "question"));
	assert_true(spop_argument_next(&list, &argument) > 0);
	assert_true(spop_value_to_int(&argument.value, &number));

	spop_session_ack(&t->agent, &t->to_client.w, t->event.stream_id,
			 t->event.frame_id);
	spop_action_set_var(&t->to_client.w, SPOP_SCOPE_TRANSACTION, "twice",
			    spop_value_int(2 * number));
	assert_true(spop_frame_end(&t->to_client.w) > 0);
}

static void
client_reads(struct talk *t, uint64_t stream_id, int64_t number)
{
	struct spop_action action;

	client_hears(t, SPOP_EVENT_ACK);
	assert_int_equal(t->event.stream_id, stream_id);
	assert_int_equal(t->event.frame_id, 1);
	assert_true(spop_action_next(&t->event.payload, &action) > 0);
	assert_true(spop_text_is(action.name, "twice"));
	assert_int_equal(action.value.number, number);
	assert_int_equal(spop_action_next(&t->event.payload, &action), 0);
}

static void
questions_are_answered_in_any_order(void **state)
{
	struct talk t;
	struct spop_event first;

	(void)state;
	talk_init(&t);
	greet(&t, 1000, SPOP_CAPABILITY_PIPELINING);

	/* The first is kept in mind by its ids; the second goes ahead. */
	ask(&t, 1, 10);
	ask(&t, 3, -5);
	agent_hears(&t, SPOP_EVENT_NOTIFY);
	first = t.event;
	agent_hears(&t, SPOP_EVENT_NOTIFY);
	answer(&t);
	spop_session_ack(&t.agent, &t.to_client.w, first.stream_id,
			 first.frame_id);
	spop_action_set_var(&t.to_client.w, SPOP_SCOPE_TRANSACTION, "twice",
			    spop_value_int(20));
	assert_true(spop_frame_end(&t.to_client.w) > 0);
	client_reads(&t, 3, -10);
	client_reads(&t, 1, 20);
}

static void
the_client_takes_its_leave(void **state)
{
	struct talk t;

	(void)state;
	talk_init(&t);
	greet(&t, 1000, 0);
	assert_true(spop_session_disconnect(&t.client, &t.to_agent.w,
					    SPOP_STATUS_TIMEOUT, NULL) > 0);
	agent_hears(&t, SPOP_EVENT_DISCONNECT);
	assert_int_equal(t.event.disconnect.status, SPOP_STATUS_TIMEOUT);

	/* Answers that were on their way are passed over. */
	frames_add(&t.to_client, SPOP_FRAME_ACK, SPOP_FRAME_FIN, 1, "");
	client_hears(&t, SPOP_EVENT_IGNORED);
	assert_true(spop_session_disconnect(&t.agent, &t.to_client.w,
					    SPOP_STATUS_NORMAL, NULL) > 0);
	client_hears(&t, SPOP_EVENT_DISCONNECT);
	assert_int_equal(t.event.disconnect.status, SPOP_STATUS_NORMAL);
}

static void
the_client_can_refuse_the_agent(void **state)
{
	struct spop_hello hello = { .max_frame_size = 1000 };
	struct spop_pair items[] = {
		{ spop_text_of("version"), spop_value_string("2.0") },
		{ spop_text_of("max-frame-size"), spop_value_int(1001) },
		{ spop_text_of("capabilities"), spop_value_string("") },
	};
	struct talk t;

	(void)state;
	talk_init(&t);
	frames_control(&t.to_client, SPOP_FRAME_AGENT_HELLO, items, 3);
	assert_int_equal(frames_feed(&t.to_client, &t.client, &t.event),
			 SPOP_EUNEXPECTED);
	assert_true(spop_session_hello_client(&t.client, &t.to_agent.w,
					      &hello) > 0);
	assert_int_equal(frames_feed(&t.to_client, &t.client, &t.event),
			 SPOP_ESIZE);

	frames_init(&t.to_client);
	items[1].value = spop_value_int(255);
	frames_control(&t.to_client, SPOP_FRAME_AGENT_HELLO, items, 3);
	assert_int_equal(frames_feed(&t.to_client, &t.client, &t.event),
			 SPOP_ESIZE);

	/* A smaller one is the agent's right. */
	frames_init(&t.to_client);
	items[1].value = spop_value_int(256);
	frames_control(&t.to_client, SPOP_FRAME_AGENT_HELLO, items, 3);
	client_hears(&t, SPOP_EVENT_HELLO);
	assert_int_equal(spop_session_limit(&t.client), 256);
}

static void
a_health_check_goes_both_ways(void **state)
{
	const struct spop_hello hello = { .max_frame_size = 1000,
					  .healthcheck = true };
	struct talk t;

	(void)state;
	talk_init(&t);
	assert_true(spop_session_hello_client(&t.client, &t.to_agent.w,
					      &hello) > 0);
	agent_hears(&t, SPOP_EVENT_HELLO);
	assert_true(t.event.hello.healthcheck);
	assert_true(spop_session_hello_agent(&t.agent, &t.to_client.w) > 0);
	client_hears(&t, SPOP_EVENT_HELLO);
	assert_int_equal(t.event.hello.capabilities, 0);
}

static void
an_answer_may_come_in_parts_or_be_cut_off(void **state)
{
	uint8_t gathered[16];
	struct talk t;

	(void)state;
	talk_init(&t);
	spop_session_gather(&t.client, gathered, sizeof(gathered));
	greet(&t, 1000, 0);
	frames_add(&t.to_client, SPOP_FRAME_ACK, 0, 5, "\2\2\1");
	client_hears(&t, SPOP_EVENT_FRAGMENT);
	frames_add(&t.to_client, SPOP_FRAME_UNSET, SPOP_FRAME_FIN, 5, "\1v");
	client_hears(&t, SPOP_EVENT_ACK);
	assert_int_equal(t.event.payload.len, 5);
	assert_false(t.event.aborted);

	frames_add(&t.to_client, SPOP_FRAME_ACK,
		   SPOP_FRAME_FIN | SPOP_FRAME_ABORT, 6, "");
	client_hears(&t, SPOP_EVENT_ACK);
	assert_true(t.event.aborted);
}

/* A frame of each kind, and every kind of role that may not hear it. */
static void
no_role_hears_its_own_voice(void **state)
{
	struct talk t;

	(void)state;
	talk_init(&t);
	greet(&t, 1000, 0);
	for (uint8_t type = 1; type <= 3; type++) {
		uint8_t of_agent = (uint8_t)(type + 100);

		frames_init(&t.to_client);
		frames_add(&t.to_client, type, SPOP_FRAME_FIN, 0, "");
		assert_int_equal(frames_feed(&t.to_client, &t.client, &t.event),
				 SPOP_EUNEXPECTED);
		frames_init(&t.to_agent);
		frames_add(&t.to_agent, of_agent, SPOP_FRAME_FIN, 0, "");
		assert_int_equal(frames_feed(&t.to_agent, &t.agent, &t.event),
				 SPOP_EUNEXPECTED);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pair_of_sizes_and_capabilities_agrees),
		cmocka_unit_test(each_learns_that_the_other_gathers),
		cmocka_unit_test(questions_are_answered_in_any_order),
		cmocka_unit_test(the_client_takes_its_leave),
		cmocka_unit_test(the_client_can_refuse_the_agent),
		cmocka_unit_test(a_health_check_goes_both_ways),
		cmocka_unit_test(an_answer_may_come_in_parts_or_be_cut_off),
		cmocka_unit_test(no_role_hears_its_own_voice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What HAProxy's checks see is what the status of a rule says. */
#include "agent/io/api_rule_id.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/address_text.h"
#include "agent/io/api.h"
#include "agent/io/rules_json.h"
#include "tests/cmocka.h"

static const char *
no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct gate *
new_gate(void)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;

	settings_env_read(&env, no_environment);
	return gate_new(&options, &env, 0);
}

/* A rule of two endpoints, in its mode and with that id. */
static void
put(struct gate *gate, const char *id, int mode, usec_t now)
{
	json_t *body = json_pack(
		"{s:{s:s, s:i, s:s, s:s, s:i, s:b}, s:[{s:s, s:i}, {s:s, "
		"s:i}]}",
		"serviceArguments", "externalIP", "192.0.2.10", "port", 8080,
		"protocol", "tcp", "id", id, "mode", mode, "sse_mode", 1,
		"endpoints", "endpointIP", "198.51.100.11", "targetPort", 8000,
		"endpointIP", "198.51.100.12", "targetPort", 8000);
	struct fault fault;

	assert_true(rules_put(gate, body, now, &fault));
	json_decref(body);
}

/* One server of HAProxy, by the last byte of its address. */
static void
show(struct gate *gate, const char *ip, bool up)
{
	struct server_look look = {
		.backend = text_of("pool"),
		.server = text_of("server"),
		.port = 8000,
		.up = up,
	};

	assert_true(address_from_text(text_of(ip), &look.address));
	gate_look_server(gate, &look);
}

static void
look(struct gate *gate, bool first_up, bool second_up, usec_t now)
{
	gate_look_begin(gate, now);
	show(gate, "198.51.100.11", first_up);
	show(gate, "198.51.100.12", second_up);
	(void)gate_look_end(gate, true, now);
}

static void
expect(struct gate *gate, const char *operating_status, usec_t now)
{
	const struct api_options options = { .gate = gate };
	struct api_answer answer = { 0 };
	struct api_call call = {
		.options = &options,
		.part = { { text_of("id"), text_of("one") } },
		.part_count = 1,
		.now = now,
	};
	json_t *status;

	api_rule_id_status(&call, &answer);
	assert_int_equal(answer.status, 200);
	status = json_loads(answer.body, 0, NULL);
	assert_string_equal(
		json_string_value(json_object_get(status, "operatingStatus")),
		operating_status);
	json_decref(status);
	free(answer.body);
}

static void
checks_are_told(void **state)
{
	struct gate *gate = new_gate();
	usec_t now = USEC_PER_SEC;

	(void)state;
	put(gate, "one", 4, now);
	expect(gate, "NO_MONITOR", now);
	look(gate, true, true, now);
	expect(gate, "ONLINE", now);
	look(gate, true, false, now);
	expect(gate, "DEGRADED", now);
	look(gate, false, false, now);
	expect(gate, "OFFLINE", now);
	look(gate, true, true, now);
	expect(gate, "ONLINE", now);
	gate_free(&gate);
}

/* While the next look is under way, the last one still tells. */
static void
what_was_seen_is_trusted_for_a_while(void **state)
{
	struct gate *gate = new_gate();
	usec_t now = USEC_PER_SEC;

	(void)state;
	put(gate, "one", 4, now);
	look(gate, true, true, now);
	gate_look_begin(gate, now);
	expect(gate, "ONLINE", now + GATE_LOOK_TRUST - 1);
	expect(gate, "NO_MONITOR", now + GATE_LOOK_TRUST);
	gate_free(&gate);
}

static void
nobody_looks_at_what_is_not_gated(void **state)
{
	struct gate *gate = new_gate();
	usec_t now = USEC_PER_SEC;

	(void)state;
	put(gate, "one", 0, now);
	look(gate, true, true, now);
	expect(gate, "NO_MONITOR", now);
	gate_free(&gate);
}

/* When it was written is told in wall time; here, when it was so at all. */
static void
a_write_that_changes_something_is_noted(void **state)
{
	struct gate *gate = new_gate();
	const struct service *s;

	(void)state;
	put(gate, "one", 4, 1);
	s = TAILQ_FIRST(&gate->rules.services);
	assert_int_equal(s->changed, 1);
	put(gate, "one", 4, 2);
	assert_int_equal(s->changed, 1);
	put(gate, "two", 4, 3);
	assert_int_equal(s->changed, 3);
	gate_free(&gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_are_told),
		cmocka_unit_test(what_was_seen_is_trusted_for_a_while),
		cmocka_unit_test(nobody_looks_at_what_is_not_gated),
		cmocka_unit_test(a_write_that_changes_something_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/rule_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/members_json.h"
#include "agent/io/rules_json.h"
#include "tests/cmocka.h"

#define BUFFER_KIB 1024
#define BODY_MAX 8192

#define ARGUMENTS                                                              \
	"\"externalIP\":\"192.0.2.10\",\"port\":8080,\"protocol\":\"tcp\""
#define AI ARGUMENTS ",\"mode\":4,\"sse_mode\":true"
#define ENDPOINTS                                                              \
	"[{\"endpointIP\":\"198.51.100.11\",\"targetPort\":8000,"              \
	"\"weight\":1},"                                                       \
	"{\"endpointIP\":\"198.51.100.12\",\"targetPort\":8000,\"weight\":1}]"

static const char *
no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct gate *
gate_with(settings_lookup lookup)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;
	struct gate *gate;

	settings_env_read(&env, lookup);
	gate = gate_new(&options, &env, 0);
	assert_non_null(gate);
	return gate;
}

static int
setup(void **state)
{
	*state = gate_with(no_environment);
	return 0;
}

static int
teardown(void **state)
{
	struct gate *gate = *state;

	gate_free(&gate);
	return 0;
}

static bool
put_text(struct gate *gate, const char *text, struct fault *fault)
{
	json_t *body = json_loads(text, 0, NULL);
	bool taken;

	assert_non_null(body);
	taken = rules_put(gate, body, 0, fault);
	json_decref(body);
	return taken;
}

/* A rule with these service arguments and two endpoints. */
static bool
put(struct gate *gate, const char *arguments, struct fault *fault)
{
	char body[BODY_MAX];

	snprintf(body, sizeof(body),
		 "{\"serviceArguments\":{%s},\"endpoints\":%s}", arguments,
		 ENDPOINTS);
	return put_text(gate, body, fault);
}

static void
accept(struct gate *gate, const char *arguments)
{
	struct fault fault = { .text = "" };
	bool taken = put(gate, arguments, &fault);

	assert_string_equal(fault.text, "");
	assert_true(taken);
}

static void
refuse(struct gate *gate, const char *arguments, unsigned status,
       const char *text)
{
	struct fault fault;

	assert_false(put(gate, arguments, &fault));
	assert_string_equal(fault.text, text);
	assert_int_equal(fault.status, status);
}

/* The one rule there is, as GET shows it; the caller frees it. */
static json_t *
shown(const struct gate *gate)
{
	json_t *list = rules_list(gate, BUFFER_KIB);
	json_t *entry = json_array_get(json_object_get(list, "lbAttr"), 0);

	assert_int_equal(json_array_size(json_object_get(list, "lbAttr")), 1);
	json_incref(entry);
	json_decref(list);
	return entry;
}

static const json_t *
member(const json_t *entry, const char *name)
{
	return json_object_get(json_object_get(entry, "serviceArguments"),
			       name);
}

static json_int_t
number(const json_t *entry, const char *name)
{
	assert_true(json_is_integer(member(entry, name)));
	return json_integer_value(member(entry, name));
}

static const json_t *
effective(const json_t *entry, const char *name)
{
	return json_object_get(member(entry, "fc_effective"), name);
}

static const char *
source(const json_t *entry, const char *name)
{
	return json_string_value(
		json_object_get(effective(entry, "source"), name));
}

static const struct pool *
only_pool(const struct gate *gate)
{
	return TAILQ_FIRST(&gate->pools);
}

static const struct settings *
declared(const struct gate *gate)
{
	return &TAILQ_FIRST(&gate->rules.services)->rule->declared;
}

/* Rows 82 to 87 and 69: the example of the specification. */
static void
example_reads_back(void **state)
{
	struct gate *gate = *state;
	json_t *entry;

	accept(gate, AI ",\"fc_mode\":\"enforce\",\"fc_max_outstanding\":16,"
			"\"fc_ep_max_inflight\":8,\"fc_max_queue_depth\":32,"
			"\"fc_max_queue_wait_ms\":5000");
	entry = shown(gate);
	assert_int_equal(number(entry, "port"), 8080);
	assert_int_equal(number(entry, "fc_max_outstanding"), 16);
	assert_int_equal(json_array_size(json_object_get(entry, "endpoints")),
			 2);

	assert_string_equal(json_string_value(effective(entry, "mode")),
			    "enforce");
	assert_int_equal(json_integer_value(effective(entry, "queue_depth")),
			 32);
	assert_int_equal(
		json_integer_value(effective(entry, "queue_memory_bound_mib")),
		32);
	assert_int_equal(
		json_integer_value(effective(entry, "telemetry_stale_ms")),
		30000);
	assert_int_equal(json_integer_value(
				 effective(entry, "effective_max_outstanding")),
			 16);
	assert_true(json_is_integer(effective(entry, "inflight")));
	assert_true(json_is_integer(effective(entry, "queued")));
	assert_true(json_is_integer(effective(entry, "warming_endpoints")));
	assert_true(json_is_integer(effective(entry, "tenants_active")));
	assert_string_equal(json_string_value(effective(entry, "adapt_state")),
			    "off");
	assert_string_equal(json_string_value(effective(entry, "adapt_reason")),
			    "none");
	assert_string_equal(source(entry, "queue_wait_ms"), "rule");
	assert_string_equal(source(entry, "telemetry_stale_ms"), "default");
	json_decref(entry);
}

/* 33 waiters of half a MiB each, in whole MiB. */
static void
memory_bound_follows_the_request_buffer(void **state)
{
	struct gate *gate = *state;
	json_t *entry;

	accept(gate, AI ",\"fc_max_queue_depth\":33,"
			"\"fc_max_queue_wait_ms\":1");
	entry = rule_json_write(TAILQ_FIRST(&gate->rules.services)->rule,
				only_pool(gate), BUFFER_KIB / 2);
	assert_int_equal(
		json_integer_value(effective(entry, "queue_memory_bound_mib")),
		16);
	json_decref(entry);
}

/* Row 66: each setting is in force by its name, and has a source. */
static void
each_setting_is_effective(void **state)
{
	struct gate *gate = *state;
	json_t *entry;

	accept(gate, AI);
	entry = shown(gate);
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		const json_t *value = effective(entry, def->name);

		if (def->kind == SETTING_NUMBER)
			assert_true(json_is_integer(value));
		else
			assert_true(json_is_string(value));
		assert_string_equal(source(entry, def->name), "default");
		assert_null(member(entry, def->rule_name));
	}
	assert_int_equal(json_object_size(effective(entry, "source")),
			 SETTING_COUNT);
	json_decref(entry);
}

static void
format_setting(char *text, size_t size, const struct setting *def,
	       const char *value)
{
	/* A depth is taken with a window only. */
	const char *window = def - settings_table == SETTING_ID_queue_depth
				     ? ",\"fc_max_queue_wait_ms\":1"
				     : "";

	snprintf(text, size, AI "%s,\"%s\":%s", window, def->rule_name, value);
}

static void
try_number(struct gate *gate, const struct setting *def, long long value)
{
	char arguments[512], digits[32], sentence[FAULT_TEXT_MAX];

	snprintf(digits, sizeof(digits), "%lld", value);
	format_setting(arguments, sizeof(arguments), def, digits);
	if (value >= 0 && value <= def->rule_max) {
		accept(gate, arguments);
		assert_int_equal(setting_get(declared(gate), def), value);
		return;
	}
	snprintf(sentence, sizeof(sentence), "%s must be within 0..%u",
		 def->rule_name, def->rule_max);
	refuse(gate, arguments, 400, sentence);
}

static void
try_words(struct gate *gate, const struct setting *def)
{
	const char *const *words = setting_words(def->kind);
	char arguments[512], quoted[32];

	for (uint32_t i = 0; words[i] != NULL; i++) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", words[i]);
		format_setting(arguments, sizeof(arguments), def, quoted);
		accept(gate, arguments);
		assert_int_equal(setting_get(declared(gate), def), i);
	}
}

static void
try_wrong(struct gate *gate, const struct setting *def, const char *value,
	  unsigned status, const char *sentence)
{
	uint32_t before = setting_get(declared(gate), def);
	char arguments[512];
	struct fault fault;

	format_setting(arguments, sizeof(arguments), def, value);
	assert_false(put(gate, arguments, &fault));
	assert_int_equal(fault.status, status);
	assert_int_equal(fault.code < 600, status != 422);
	assert_non_null(strstr(fault.text, def->rule_name));
	assert_non_null(strstr(fault.text, sentence));
	assert_int_equal(setting_get(declared(gate), def), before);
}

/* Rows 95 and 116 to 125, for every setting there is or will be. */
static void
each_setting_keeps_its_bounds(void **state)
{
	struct gate *gate = *state;

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];

		accept(gate, AI ",\"fc_max_queue_depth\":0");
		try_wrong(gate, def, "null", 400, "must not be null");
		try_wrong(gate, def, "true", 422, "must be of type");
		try_wrong(gate, def, "1.5", 422, "must be of type");
		try_wrong(gate, def, "[1]", 422, "must be of type");
		if (def->kind != SETTING_NUMBER) {
			try_words(gate, def);
			try_wrong(gate, def, "\"yes\"", 422,
				  "in body should be one of [");
			try_wrong(gate, def, "1", 422,
				  "must be of type string");
			continue;
		}
		try_wrong(gate, def, "\"1\"", 422, "must be of type integer");
		try_number(gate, def, def->rule_max);
		try_number(gate, def, (long long)def->rule_max + 1);
		try_number(gate, def, -1);
		try_number(gate, def, 1LL << 32);
		try_number(gate, def, 0);
	}
}

/* Row 125 and interface 6.21: a schema fault has its own code. */
static void
schema_faults_have_no_result(void **state)
{
	struct gate *gate = *state;
	struct fault fault;
	json_t *body;

	assert_false(put(gate, AI ",\"fc_mode\":\"yes\"", &fault));
	body = fault_json(&fault);
	assert_int_equal(json_integer_value(json_object_get(body, "code")),
			 606);
	assert_string_equal(json_string_value(json_object_get(body, "message")),
			    "fc_mode in body should be one of "
			    "[inherit off observe enforce]");
	assert_null(json_object_get(body, "result"));
	json_decref(body);
}

/* Row 70: nothing is read back that was not declared. */
static void
undeclared_is_absent(void **state)
{
	struct gate *gate = *state;
	json_t *entry;

	accept(gate, AI ",\"fc_max_outstanding\":0,\"fc_mode\":\"inherit\","
			"\"fc_ep_max_inflight\":5");
	entry = shown(gate);
	assert_null(member(entry, "fc_max_outstanding"));
	assert_null(member(entry, "fc_mode"));
	assert_null(member(entry, "fc_max_queue_depth"));
	assert_int_equal(number(entry, "fc_ep_max_inflight"), 5);
	json_decref(entry);
}

/* Rows 92 to 94. */
static void
omitted_keeps_and_zero_resets(void **state)
{
	struct gate *gate = *state;

	accept(gate, AI ",\"fc_mode\":\"enforce\",\"fc_max_outstanding\":16,"
			"\"fc_ep_max_inflight\":8");
	accept(gate, AI ",\"fc_max_outstanding\":24");
	assert_int_equal(declared(gate)->mode, MODE_ENFORCE);
	assert_int_equal(declared(gate)->max_outstanding, 24);
	assert_int_equal(declared(gate)->ep_max_inflight, 8);

	accept(gate, AI ",\"fc_max_outstanding\":0,\"fc_mode\":\"inherit\"");
	assert_int_equal(declared(gate)->mode, MODE_INHERIT);
	assert_int_equal(declared(gate)->max_outstanding, 0);
	assert_int_equal(declared(gate)->ep_max_inflight, 8);
}

/* Rows 110 to 115. */
static void
depth_needs_a_window(void **state)
{
	static const char sentence[] =
		"fc_max_queue_wait_ms must be greater than 0 when "
		"fc_max_queue_depth is set";
	struct gate *gate = *state;

	refuse(gate, AI ",\"fc_max_queue_depth\":4", 400, sentence);
	assert_int_equal(gate->rules.len, 0);
	accept(gate, AI ",\"fc_max_queue_wait_ms\":1000");
	accept(gate, AI ",\"fc_max_queue_depth\":4");
	accept(gate, AI ",\"fc_max_queue_depth\":8");
	assert_int_equal(declared(gate)->queue_wait_ms, 1000);

	refuse(gate, AI ",\"fc_max_queue_wait_ms\":0", 400, sentence);
	assert_int_equal(declared(gate)->queue_wait_ms, 1000);
	assert_int_equal(declared(gate)->queue_depth, 8);
	accept(gate, AI ",\"fc_max_queue_depth\":0");
	assert_int_equal(declared(gate)->queue_depth, 0);
}

static const char *
environment(const char *name)
{
	if (strcmp(name, "LLB_FC_MAX_OUTSTANDING") == 0)
		return "8";
	if (strcmp(name, "LLB_FC_MAX_QUEUE_WAIT_MS") == 0)
		return "700";
	return strcmp(name, "LLB_FC_EXPOSE_HEADERS") == 0 ? "on" : NULL;
}

/* Rows 65, 67, 68, 79, 113 and 132. */
static void
each_value_names_its_source(void **state)
{
	struct gate *gate = gate_with(environment);
	json_t *entry;

	(void)state;
	accept(gate, AI ",\"fc_max_outstanding\":0,\"fc_mode\":\"observe\"");
	entry = shown(gate);
	assert_int_equal(
		json_integer_value(effective(entry, "max_outstanding")), 8);
	assert_string_equal(source(entry, "max_outstanding"), "env");
	assert_string_equal(source(entry, "mode"), "rule");
	assert_string_equal(source(entry, "warmup_ms"), "default");
	assert_string_equal(
		json_string_value(effective(entry, "expose_headers")), "on");
	json_decref(entry);

	accept(gate, AI ",\"fc_expose_headers\":\"off\"");
	entry = shown(gate);
	assert_string_equal(
		json_string_value(effective(entry, "expose_headers")), "off");
	assert_string_equal(source(entry, "expose_headers"), "rule");
	json_decref(entry);

	refuse(gate, AI ",\"fc_max_queue_depth\":4", 400,
	       "fc_max_queue_wait_ms must be greater than 0 when "
	       "fc_max_queue_depth is set");
	accept(gate, AI);
	accept(gate, ARGUMENTS ",\"mode\":4,\"api_key_auth\":\"jwt\","
			       "\"sockMapMode\":\"both\","
			       "\"fc_expose_headers\":\"inherit\"");
	gate_free(&gate);
}

/* Row 88. */
static void
effective_is_ignored_on_input(void **state)
{
	struct gate *gate = *state;
	json_t *entry;

	accept(gate, AI ",\"fc_effective\":{\"max_outstanding\":99},"
			"\"FC_Effective\":1,\"fc_unheard_of\":true");
	entry = shown(gate);
	assert_int_equal(
		json_integer_value(effective(entry, "max_outstanding")), 0);
	assert_null(member(entry, "FC_Effective"));
	assert_null(member(entry, "fc_unheard_of"));
	json_decref(entry);
}

static bool
is_gated(struct gate *gate, const char *arguments)
{
	json_t *entry;
	bool gated;

	accept(gate, arguments);
	entry = shown(gate);
	gated = member(entry, "fc_effective") != NULL;
	json_decref(entry);
	return gated;
}

/* Rows 1, 3 to 8 and 89. */
static void
only_ai_services_have_effective_values(void **state)
{
	struct gate *gate = *state;

	assert_true(is_gated(gate, AI));
	assert_true(is_gated(gate, ARGUMENTS ",\"mode\":4,\"api_key_auth\":"
					     "\"required\""));
	assert_true(is_gated(gate, ARGUMENTS ",\"mode\":4,\"api_key_auth\":"
					     "\"jwt\""));
	assert_true(is_gated(gate, ARGUMENTS ",\"mode\":4,\"api_key_auth\":"
					     "\"apikey-or-jwt\""));
	assert_false(is_gated(gate, ARGUMENTS ",\"mode\":4,\"api_key_auth\":"
					      "\"disabled\""));
	assert_false(is_gated(gate, ARGUMENTS ",\"mode\":4,\"api_key_auth\":"
					      "\"\""));
	assert_false(is_gated(gate, ARGUMENTS ",\"mode\":4,"
					      "\"fc_mode\":\"enforce\""));
}

static void
only_a_full_proxy_is_an_ai_service(void **state)
{
	assert_false(is_gated(*state, ARGUMENTS ",\"mode\":1,"
						"\"sse_mode\":true"));
}

/* Rows 2 and 8. */
static void
disaggregation_needs_mode_and_roles(void **state)
{
	struct gate *gate = *state;
	struct fault fault;

	assert_false(put(gate,
			 ARGUMENTS ",\"mode\":1,"
				   "\"pd_disagg_mode\":true",
			 &fault));
	assert_int_equal(fault.status, 400);
	assert_false(put(gate,
			 ARGUMENTS ",\"mode\":4,"
				   "\"pd_disagg_mode\":true",
			 &fault));
	assert_int_equal(fault.status, 400);

	assert_true(put_text(gate,
			     "{\"serviceArguments\":{" ARGUMENTS
			     ",\"mode\":4,\"pd_disagg_mode\":true},"
			     "\"endpoints\":[{\"endpointIP\":\"::1\","
			     "\"targetPort\":1,\"weight\":1,\"ep_role\":1},"
			     "{\"endpointIP\":\"::1\",\"targetPort\":2,"
			     "\"weight\":1,\"ep_role\":2}]}",
			     &fault));
	assert_true(only_pool(gate)->disaggregated);
}

/* Rows 128 to 131 and 133. */
static void
exposed_headers_need_relayed_answers(void **state)
{
#define JWT ARGUMENTS ",\"mode\":4,\"api_key_auth\":\"jwt\""
	static const char sentence[] =
		"fc_expose_headers on is invalid with a sockMapMode of both "
		"or response";
	struct gate *gate = *state;

	refuse(gate,
	       JWT ",\"fc_expose_headers\":\"on\","
		   "\"sockMapMode\":\"both\"",
	       400, sentence);
	refuse(gate,
	       JWT ",\"fc_expose_headers\":\"on\","
		   "\"sockMapMode\":\"response\"",
	       400, sentence);
	accept(gate, JWT ",\"fc_expose_headers\":\"on\","
			 "\"sockMapMode\":\"request\"");
	accept(gate, JWT ",\"fc_expose_headers\":\"off\","
			 "\"sockMapMode\":\"both\"");
	refuse(gate,
	       JWT ",\"fc_expose_headers\":\"on\","
		   "\"sockMapMode\":\"both\"",
	       400, sentence);
	assert_int_equal(declared(gate)->expose_headers, SWITCH_OFF);

	refuse(gate, AI ",\"sockMapMode\":\"request\"", 400,
	       "sockMapMode is invalid with sse_mode or pd_disagg_mode");
	accept(gate, AI ",\"sockMapMode\":\"off\"");
#undef JWT
}

/* Rows 91, 105 and 145. */
static void
settings_change_in_place(void **state)
{
	struct gate *gate = *state;
	const struct pool *pool;

	accept(gate, AI ",\"fc_max_outstanding\":16");
	pool = only_pool(gate);
	accept(gate, AI ",\"fc_max_outstanding\":24");
	assert_ptr_equal(only_pool(gate), pool);
	assert_int_equal(pool_ceiling(pool), 24);
	accept(gate, AI);
	assert_ptr_equal(only_pool(gate), pool);
	assert_int_equal(pool_ceiling(pool), 24);
}

static bool
same_service(const char *one, const char *other)
{
	struct fault fault;
	struct rule_draft a, b;
	json_t *body = json_loads(one, 0, NULL);
	bool same;

	assert_true(rule_json_read(&a, body, &fault));
	json_decref(body);
	body = json_loads(other, 0, NULL);
	assert_true(rule_json_read(&b, body, &fault));
	json_decref(body);
	same = rule_same_service(a.rule, b.rule);
	rule_free(&a.rule);
	rule_free(&b.rule);
	return same;
}

#define BODY(arguments, more)                                                  \
	"{\"serviceArguments\":{" arguments "},\"endpoints\":" ENDPOINTS more  \
	"}"

/* Rows 106 and 109: all that is no setting must repeat, spelling apart. */
static void
anything_else_is_another_service(void **state)
{
	(void)state;
	assert_true(same_service(BODY(AI, ""),
				 BODY(AI ",\"fc_mode\":\"off\"", "")));
	assert_true(same_service(BODY(AI, ""),
				 BODY(AI ",\"BGP\":false,\"Monitor\":null,"
					 "\"sel\":0,\"host\":\"\"",
				      ",\"secondaryIPs\":null,"
				      "\"allowedSources\":[]")));
	assert_true(same_service(BODY(AI ",\"BGP\":true", ""),
				 BODY("\"bgp\":true," AI, "")));

	assert_false(same_service(BODY(AI, ""),
				  BODY(AI ",\"inactiveTimeOut\":60", "")));
	assert_false(
		same_service(BODY(AI, ""), BODY(ARGUMENTS ",\"mode\":4", "")));
	assert_false(
		same_service(BODY(AI, ""), BODY(AI ",\"kvSomething\":0", "")));
	assert_false(same_service(
		BODY(AI, ""),
		BODY(AI, ",\"allowedSources\":[{\"prefix\":\"10.0.0.0/8\"}]")));
}

/* Row 142: what the usual command line client sends. */
static void
client_made_body_is_taken(void **state)
{
	struct gate *gate = *state;
	struct fault fault;
	json_t *entry, *endpoint;

	assert_true(put_text(
		gate,
		"{\"serviceArguments\":{" AI ",\"BGP\":false,\"Monitor\":true,"
		"\"sel\":0,\"inactiveTimeOut\":0,\"block\":0,\"host\":\"\","
		"\"proxyprotocolv2\":false,\"egress\":false},"
		"\"secondaryIPs\":null,\"allowedSources\":null,"
		"\"endpoints\":[{\"endpointIP\":\"198.51.100.11\","
		"\"targetPort\":8000,\"weight\":1,\"state\":\"\","
		"\"counter\":\"\"}]}",
		&fault));
	entry = shown(gate);
	assert_true(json_is_true(member(entry, "monitor")));
	assert_null(member(entry, "Monitor"));
	endpoint = json_array_get(json_object_get(entry, "endpoints"), 0);
	assert_null(json_object_get(endpoint, "state"));
	assert_null(json_object_get(endpoint, "counter"));
	json_decref(entry);
}

/* What is read back can be put again and changes nothing. */
static void
shown_rule_is_the_rule(void **state)
{
	struct gate *gate = *state;
	const struct pool *pool;
	struct fault fault;
	json_t *entry;

	accept(gate, AI ",\"fc_max_outstanding\":16,\"extra\":{\"b\":[null,"
			"1.5],\"a\":\"\\u00e9\"},\"name\":\"chat\"");
	pool = only_pool(gate);
	entry = shown(gate);
	assert_non_null(member(entry, "extra"));
	assert_true(rules_put(gate, entry, 0, &fault));
	assert_ptr_equal(only_pool(gate), pool);
	json_decref(entry);
}

/* Row 127, and what else a rule cannot do without. */
static void
missing_members_are_named(void **state)
{
	static const struct {
		const char *body;
		unsigned status;
		const char *text;
	} cases[] = {
		{ "{}", 400, "serviceArguments is required" },
		{ "{\"serviceArguments\":null}", 400,
		  "serviceArguments is required" },
		{ "{\"serviceArguments\":1}", 422,
		  "serviceArguments in body must be of type object" },
		{ "{\"serviceArguments\":{" AI "}}", 400,
		  "endpoints is required" },
		{ "{\"serviceArguments\":{" AI "},\"endpoints\":null}", 400,
		  "endpoints is required" },
		{ "{\"serviceArguments\":{" AI "},\"endpoints\":[]}", 400,
		  "endpoints is required" },
		{ "{\"serviceArguments\":{" AI "},\"endpoints\":{}}", 422,
		  "endpoints in body must be of type array" },
		{ "{\"serviceArguments\":{" AI "},\"endpoints\":[1]}", 422,
		  "endpoints in body must be of type array of objects" },
		{ BODY("\"port\":1,\"protocol\":\"tcp\"", ""), 400,
		  "externalIP is required" },
		{ BODY("\"externalIP\":\"\",\"port\":1,\"protocol\":\"tcp\"",
		       ""),
		  400, "externalIP is required" },
		{ BODY("\"externalIP\":\"1.2.3\",\"port\":1,"
		       "\"protocol\":\"tcp\"",
		       ""),
		  400, "externalIP must be an IP address" },
		{ BODY("\"externalIP\":\"::1\",\"protocol\":\"tcp\"", ""), 400,
		  "port is required" },
		{ BODY("\"externalIP\":\"::1\",\"port\":0,"
		       "\"protocol\":\"tcp\"",
		       ""),
		  400, "port must be within 1..65535" },
		{ BODY("\"externalIP\":\"::1\",\"port\":1", ""), 400,
		  "protocol is required" },
		{ BODY("\"externalIP\":\"::1\",\"port\":1,"
		       "\"protocol\":\"http\"",
		       ""),
		  422,
		  "protocol in body should be one of [tcp udp sctp icmp]" },
		{ BODY(AI ",\"host\":7", ""), 422,
		  "host in body must be of type string" },
		{ BODY(AI ",\"name\":\"a\\nb\"", ""), 400,
		  "name must not hold control characters" },
		{ BODY(ARGUMENTS ",\"mode\":6", ""), 400,
		  "mode must be within 0..5" },
		{ BODY(AI ",\"oper\":1", ""), 400,
		  "oper is invalid: POST the whole rule" },
		{ "[]", 422, "rule in body must be of type object" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fault fault;

		assert_false(put_text(*state, cases[i].body, &fault));
		assert_string_equal(fault.text, cases[i].text);
		assert_int_equal(fault.status, cases[i].status);
	}
}

static bool
put_endpoints(struct gate *gate, const char *endpoints, struct fault *fault)
{
	char body[BODY_MAX * 2];

	snprintf(body, sizeof(body),
		 "{\"serviceArguments\":{" AI "},\"endpoints\":[%s]}",
		 endpoints);
	return put_text(gate, body, fault);
}

static void
wrong_endpoints_are_refused(void **state)
{
#define ONE "{\"endpointIP\":\"::1\",\"targetPort\":1}"
	static const char *const cases[][2] = {
		{ ONE "," ONE,
		  "endpoints must not repeat an endpointIP and targetPort" },
		{ "{\"targetPort\":1}", "endpointIP is required" },
		{ "{\"endpointIP\":\"host\",\"targetPort\":1}",
		  "endpointIP must be an IP address" },
		{ "{\"endpointIP\":\"::1\",\"targetPort\":0}",
		  "targetPort must be within 1..65535" },
		{ "{\"endpointIP\":\"::1\",\"targetPort\":1,\"ep_role\":3}",
		  "ep_role must be within 0..2" },
		{ "{\"endpointIP\":\"::1\",\"targetPort\":1,\"weight\":-1}",
		  "weight must be within 0..65535" },
	};
#undef ONE

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fault fault;

		assert_false(put_endpoints(*state, cases[i][0], &fault));
		assert_string_equal(fault.text, cases[i][1]);
		assert_int_equal(fault.status, 400);
	}
}

static void
endpoints_are_bounded(void **state)
{
	struct gate *gate = *state;
	struct fault fault;
	char list[BODY_MAX];
	size_t len = 0;

	for (unsigned i = 1; i <= RULE_ENDPOINTS_MAX; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len,
					"%s{\"endpointIP\":\"::1\","
					"\"targetPort\":%u}",
					i == 1 ? "" : ",", i);
	assert_true(put_endpoints(gate, list, &fault));
	snprintf(list + len, sizeof(list) - len,
		 ",{\"endpointIP\":\"::2\",\"targetPort\":1}");
	assert_false(put_endpoints(gate, list, &fault));
	assert_string_equal(fault.text, "endpoints must be at most 128");
}

/* Contract 1.1: an existing rule goes when its endpoints do. */
static void
empty_list_of_endpoints_deletes(void **state)
{
	struct gate *gate = *state;
	struct fault fault;

	accept(gate, AI);
	assert_false(put_text(gate, "{\"serviceArguments\":{" AI "}}", &fault));
	assert_int_equal(gate->rules.len, 1);
	assert_true(put_endpoints(gate, "", &fault));
	assert_int_equal(gate->rules.len, 0);
}

/* Contract 1.1: what a rule is at heart stays until it is deleted. */
static void
replace_keeps_the_kind_of_service(void **state)
{
	struct gate *gate = *state;
	struct rule *before;

	accept(gate, AI ",\"security\":1,\"egress\":true");
	before = TAILQ_FIRST(&gate->rules.services)->rule;
	refuse(gate, AI ",\"security\":2,\"egress\":true", 409,
	       "security cannot be changed by a replace");
	refuse(gate, AI ",\"egress\":true", 409,
	       "security cannot be changed by a replace");
	refuse(gate, AI ",\"security\":1", 409,
	       "egress cannot be changed by a replace");
	refuse(gate, ARGUMENTS ",\"security\":1,\"egress\":true", 409,
	       "mode 4 cannot be turned on or off by a replace");
	assert_ptr_equal(TAILQ_FIRST(&gate->rules.services)->rule, before);
	accept(gate, AI ",\"security\":1,\"egress\":true,\"sel\":2");

	accept(gate, ARGUMENTS ",\"host\":\"plain\"");
	refuse(gate, AI ",\"host\":\"plain\"", 409,
	       "mode 4 cannot be turned on or off by a replace");
	accept(gate, ARGUMENTS ",\"host\":\"plain\",\"mode\":2");
}

static void
long_strings_are_refused(void **state)
{
	char text[MEMBER_STRING_MAX + 256];
	char name[MEMBER_STRING_MAX + 2];

	memset(name, 'a', sizeof(name));
	name[MEMBER_STRING_MAX + 1] = '\0';
	snprintf(text, sizeof(text), AI ",\"model_name\":\"%s\"", name);
	refuse(*state, text, 400, "model_name must be at most 1024 bytes");
	name[MEMBER_STRING_MAX] = '\0';
	snprintf(text, sizeof(text), AI ",\"model_name\":\"%s\"", name);
	accept(*state, text);
}

/* The host is part of the key in either case. */
static void
host_has_no_case(void **state)
{
	struct gate *gate = *state;

	accept(gate, AI ",\"host\":\"LLM.example\"");
	accept(gate, AI ",\"host\":\"llm.example\"");
	assert_int_equal(gate->rules.len, 1);
	accept(gate, AI);
	assert_int_equal(gate->rules.len, 2);
}

static size_t
load(struct gate *gate, const char *text)
{
	char path[] = "/tmp/rules-XXXXXX";
	int fd = mkstemp(path);
	size_t refused;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	refused = rules_load_file(gate, path, 0);
	unlink(path);
	return refused;
}

/* Interface 1, --rules. */
static void
rules_load_from_each_form(void **state)
{
	struct gate *gate = *state;
	json_t *list;
	char *text;

	assert_int_equal(load(gate, BODY(AI, "")), 0);
	assert_int_equal(load(gate, "[" BODY(AI, "") "," BODY(
					    AI ",\"host\":\"a\"", "") "]"),
			 0);
	assert_int_equal(gate->rules.len, 2);

	list = rules_list(gate, BUFFER_KIB);
	text = json_dumps(list, 0);
	json_decref(list);
	assert_int_equal(load(gate, text), 0);
	assert_int_equal(gate->rules.len, 2);
	free(text);

	assert_int_equal(load(gate, "[]"), 0);
	assert_int_equal(load(gate, "{\"lbAttr\":[]}"), 0);
}

static void
wrong_rules_are_counted_and_others_taken(void **state)
{
	struct gate *gate = *state;

	assert_int_equal(load(gate, "[1," BODY(AI, "") ",{}]"), 2);
	assert_int_equal(gate->rules.len, 1);
	assert_int_equal(load(gate, "{"), 1);
	assert_int_equal(load(gate, ""), 1);
	assert_int_equal(load(gate, "{}"), 1);
	assert_int_equal(rules_load_file(gate, "/nowhere", 0), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(example_reads_back),
		TEST(memory_bound_follows_the_request_buffer),
		TEST(each_setting_is_effective),
		TEST(each_setting_keeps_its_bounds),
		TEST(schema_faults_have_no_result),
		TEST(undeclared_is_absent),
		TEST(omitted_keeps_and_zero_resets),
		TEST(depth_needs_a_window),
		cmocka_unit_test(each_value_names_its_source),
		TEST(effective_is_ignored_on_input),
		TEST(only_ai_services_have_effective_values),
		TEST(only_a_full_proxy_is_an_ai_service),
		TEST(disaggregation_needs_mode_and_roles),
		TEST(exposed_headers_need_relayed_answers),
		TEST(settings_change_in_place),
		cmocka_unit_test(anything_else_is_another_service),
		TEST(client_made_body_is_taken),
		TEST(shown_rule_is_the_rule),
		TEST(missing_members_are_named),
		TEST(wrong_endpoints_are_refused),
		TEST(endpoints_are_bounded),
		TEST(empty_list_of_endpoints_deletes),
		TEST(replace_keeps_the_kind_of_service),
		TEST(long_strings_are_refused),
		TEST(host_has_no_case),
		TEST(rules_load_from_each_form),
		TEST(wrong_rules_are_counted_and_others_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

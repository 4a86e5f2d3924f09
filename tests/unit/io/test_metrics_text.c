/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/metrics_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/rules_json.h"
#include "tests/cmocka.h"

#define BODY_MAX 1024
#define LINE_MAX 512
#define POOLS_MANY 1000

static const char *
no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static int
setup(void **state)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;

	settings_env_read(&env, no_environment);
	*state = gate_new(&options, &env, 0);
	return *state == NULL;
}

static int
teardown(void **state)
{
	struct gate *gate = *state;

	gate_free(&gate);
	return 0;
}

/* A rule of one endpoint; more are further service arguments. */
static void
put(struct gate *gate, unsigned port, const char *more)
{
	char text[BODY_MAX];
	struct fault fault;
	json_t *body;

	snprintf(text, sizeof(text),
		 "{\"serviceArguments\":{\"externalIP\":\"192.0.2.10\","
		 "\"port\":%u,\"protocol\":\"tcp\",\"mode\":4%s},"
		 "\"endpoints\":[{\"endpointIP\":\"198.51.100.11\","
		 "\"targetPort\":8000,\"weight\":1}]}",
		 port, more);
	body = json_loads(text, 0, NULL);
	assert_true(rules_put(gate, body, 0, &fault));
	json_decref(body);
}

static void
put_gated(struct gate *gate, unsigned port)
{
	put(gate, port,
	    ",\"sse_mode\":true,\"fc_mode\":\"enforce\","
	    "\"fc_max_outstanding\":16,\"fc_ep_max_inflight\":8,"
	    "\"fc_max_queue_depth\":32,\"fc_max_queue_wait_ms\":5000");
}

static struct pool *
only_pool(struct gate *gate)
{
	return TAILQ_FIRST(&gate->pools);
}

static char *
scrape(const struct gate *gate)
{
	size_t len;
	char *text = metrics_text(gate, &len);

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	assert_int_equal(text[len - 1], '\n');
	return text;
}

static size_t
count(const char *text, const char *what)
{
	size_t found = 0;

	for (const char *at = strstr(text, what); at != NULL;
	     at = strstr(at + 1, what))
		found++;
	return found;
}

/* Whether a line of the text is exactly this one. */
static bool
has(const char *text, const char *line)
{
	char whole[LINE_MAX];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	return strstr(text, whole) != NULL;
}

#define POOL "service=\"192.0.2.10:8080\",pool=\"-\""

/* Row 332, for every family there is or will be. */
static void
every_family_is_explained(void **state)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	char *text = scrape(*state);
	const char *at = text;

	for (size_t i = 0; i < METRIC_COUNT; i++) {
		const struct metric_row *row = &metrics_table[i];
		char lines[LINE_MAX];

		snprintf(lines, sizeof(lines), "# HELP %s %s\n# TYPE %s %s\n",
			 row->family, row->help, row->family, types[row->type]);
		at = strstr(at, lines);
		assert_non_null(at);
		assert_int_equal(count(text, lines), 1);
	}
	free(text);
}

/* Rows 325 to 327 and 334, for every label there is or will be. */
static void
every_value_of_a_label_is_there(void **state)
{
	struct gate *gate = *state;
	char *text;

	put_gated(gate, 8080);
	text = scrape(gate);
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		const struct metric_row *row = &metrics_table[i];
		const struct metric_label_row *label =
			metric_label_row(row->label);
		const char *labels = row->scope == METRIC_POOL ? POOL : "";

		if (row->type == METRIC_HISTOGRAM || label->name == NULL)
			continue;
		for (size_t v = 0; v < label->count; v++) {
			char line[LINE_MAX];

			snprintf(line, sizeof(line), "\n%s{%s%s%s=\"%s\"} ",
				 row->family, labels,
				 labels[0] == '\0' ? "" : ",", label->name,
				 label->values[v]);
			assert_int_equal(count(text, line), 1);
		}
	}
	free(text);
}

static void
values_are_live(void **state)
{
	struct gate *gate = *state;
	char *text;

	put_gated(gate, 8080);
	only_pool(gate)->decisions[REASON_QUEUED] = 7;
	gate->metrics.value[METRIC_spop_acks][0] = UINT64_MAX;
	gate->metrics.value[METRIC_log_lines][LINE_LATE] = 3;

	text = scrape(gate);
#define FAMILY "loxilb_ai_admission_"
	assert_true(has(text, FAMILY "mode{" POOL "} 2"));
	assert_true(has(text, FAMILY "queued{" POOL "} 0"));
	assert_true(has(text, FAMILY "effective_limit{" POOL "} 16"));
	assert_true(has(text, FAMILY "limit{" POOL ",role=\"service\"} 16"));
	assert_true(has(text, FAMILY "limit{" POOL ",role=\"normal\"} 8"));
	assert_true(has(text, FAMILY "limit{" POOL ",role=\"queue\"} 32"));
	assert_true(has(text, FAMILY "inflight{" POOL ",role=\"decode\"} 0"));
	assert_true(has(text, FAMILY "decisions_total{" POOL
				     ",reason=\"queued\"} 7"));
	assert_true(has(text, FAMILY "decisions_total{" POOL
				     ",reason=\"tenant_share\"} 0"));
	assert_true(has(text, FAMILY "anomalies_total{kind=\"underflow\"} 0"));
	assert_true(has(text, FAMILY "log_lines_total{result=\"late\"} 3"));
	assert_true(has(text, FAMILY "spop_acks_total 18446744073709551615"));
	free(text);
}

/* Rows 328 and 329. */
static void
pools_are_named_by_their_key(void **state)
{
	struct gate *gate = *state;
	char *text;

	put(gate, 8080,
	    ",\"sse_mode\":true,\"host\":\"llm.example\","
	    "\"path_prefix\":\"/\",\"path_match_mode\":\"prefix\","
	    "\"model_name\":\"a \\\"b\\\\\"");
	text = scrape(gate);
	assert_true(has(text, FAMILY "queued{service=\"192.0.2.10:8080\","
				     "pool=\"llm.example___a__b_\"} 0"));
	free(text);
}

static void
label_values_are_escaped(void **state)
{
	struct gate *gate = *state;
	char *text;

	put_gated(gate, 8080);
	snprintf(only_pool(gate)->label, POOL_LABEL_MAX, "a\"b\\c\nd\n");
	text = scrape(gate);
	assert_true(has(text, FAMILY "queued{service=\"192.0.2.10:8080\","
				     "pool=\"a\\\"b\\\\c\\nd\\n\"} 0"));
	free(text);
}

/* Rows 330 and 1 to 8. */
static void
every_ai_rule_has_series_and_no_other(void **state)
{
	struct gate *gate = *state;
	char *text;

	put_gated(gate, 8080);
	put(gate, 8081, ",\"sse_mode\":true");
	put(gate, 8082, "");
	text = scrape(gate);
	assert_int_equal(count(text, "\n" FAMILY "mode{"), 2);
	assert_true(has(text, FAMILY
			"mode{service=\"192.0.2.10:8081\",pool=\"-\"} 0"));
	assert_int_equal(count(text, ":8082"), 0);
	free(text);
}

/* Row 331, also while one of its requests still executes. */
static void
deleted_pool_has_no_series(void **state)
{
	struct gate *gate = *state;
	const struct ask ask = {
		.id = text_of("a"),
		.query = { .port = 8080,
			   .vip = { ADDRESS_V4, { 192, 0, 2, 10 } },
			   .path = text_of("/v1/completions") },
		.method = text_of("POST"),
		.http = 1,
	};
	struct answer answer;
	char *text;

	put_gated(gate, 8080);
	assert_int_equal(gate_ask(gate, &ask, 1, &answer), VERDICT_ADMIT);
	text = scrape(gate);
	assert_true(has(text, FAMILY "inflight{" POOL ",role=\"service\"} 1"));
	free(text);

	gate_delete(gate, TAILQ_FIRST(&gate->rules.services), 2);
	text = scrape(gate);
	assert_int_equal(count(text, "service=\""), 0);
	free(text);
}

/* Row 333. */
static void
histogram_is_cumulative(void **state)
{
#define WAIT FAMILY "queue_wait_seconds"
	static const char *const lines[] = {
		WAIT "_bucket{" POOL ",le=\"0.01\"} 1",
		WAIT "_bucket{" POOL ",le=\"0.05\"} 1",
		WAIT "_bucket{" POOL ",le=\"0.1\"} 2",
		WAIT "_bucket{" POOL ",le=\"0.25\"} 2",
		WAIT "_bucket{" POOL ",le=\"0.5\"} 2",
		WAIT "_bucket{" POOL ",le=\"1\"} 3",
		WAIT "_bucket{" POOL ",le=\"2.5\"} 3",
		WAIT "_bucket{" POOL ",le=\"5\"} 3",
		WAIT "_bucket{" POOL ",le=\"+Inf\"} 4",
		WAIT "_sum{" POOL "} 11.060001",
		WAIT "_count{" POOL "} 4",
	};
	struct gate *gate = *state;
	struct histogram *waits;
	char *text;

	put_gated(gate, 8080);
	waits = &only_pool(gate)->waits;
	histogram_add(waits, 10 * USEC_PER_MSEC);
	histogram_add(waits, 50 * USEC_PER_MSEC + 1);
	histogram_add(waits, 1 * USEC_PER_SEC);
	histogram_add(waits, 10 * USEC_PER_SEC);

	text = scrape(gate);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_true(has(text, lines[i]));
	free(text);

	*waits = (struct histogram){ .count = 1, .sum = 20 * USEC_PER_SEC };
	text = scrape(gate);
	assert_true(has(text, WAIT "_sum{" POOL "} 20"));
	free(text);
}

static void
many_pools_are_one_text(void **state)
{
	struct gate *gate = *state;
	char *text;

	for (unsigned i = 0; i < POOLS_MANY; i++)
		put_gated(gate, 1000 + i);
	text = scrape(gate);
	assert_int_equal(count(text, "\n" FAMILY "mode{"), POOLS_MANY);
	assert_int_equal(count(text, "\n" FAMILY "decisions_total{"),
			 (size_t)POOLS_MANY * REASON_COUNT);
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_family_is_explained),
		TEST(every_value_of_a_label_is_there),
		TEST(values_are_live),
		TEST(pools_are_named_by_their_key),
		TEST(label_values_are_escaped),
		TEST(every_ai_rule_has_series_and_no_other),
		TEST(deleted_pool_has_no_series),
		TEST(histogram_is_cumulative),
		TEST(many_pools_are_one_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

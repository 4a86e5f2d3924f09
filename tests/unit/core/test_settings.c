/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/settings.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

static struct settings_env
env_of(const char *words)
{
	struct settings_env env;

	kit_env(&env, words);
	return env;
}

static struct settings_effective
resolve(const struct settings *declared, const char *env)
{
	struct settings_env read = env_of(env);
	struct settings_effective out;

	settings_resolve(&out, declared, &read);
	return out;
}

/* In force under that environment where the rule declares nothing. */
static struct settings_effective
under(const char *env)
{
	return resolve(&(struct settings){ 0 }, env);
}

/* "NAME=value" of a row's own variable. */
static struct settings_env
env_with(const char *name, const char *value)
{
	char words[128];

	snprintf(words, sizeof(words), "%s=%s", name, value);
	return env_of(words);
}

static void
assert_env(const char *name, const char *value, size_t id, uint32_t expected)
{
	struct settings_env env = env_with(name, value);

	assert_true(env.declared[id]);
	assert_int_equal(setting_get(&env.value, &settings_table[id]),
			 expected);
}

static void
assert_unset(const char *name, const char *value, size_t id)
{
	assert_false(env_with(name, value).declared[id]);
}

/* ---- the table ---- */

/* Row 66: these, and our own behind them (interface 6.20). */
static void
the_rows_are_the_thirteen_of_the_contract_and_ours(void **state)
{
	static const char *const names[] = {
		"mode",
		"max_outstanding",
		"ep_max_inflight",
		"prefill_max_inflight",
		"decode_max_inflight",
		"queue_depth",
		"queue_wait_ms",
		"telemetry_stale_ms",
		"adaptive",
		"warmup_ms",
		"ttft_target_ms",
		"tenant_max_share_pct",
		"expose_headers",
		"tenant_borrow",
	};

	(void)state;
	assert_int_equal(SETTING_COUNT, ARRAY_LEN(names));
	for (size_t i = 0; i < SETTING_COUNT; i++)
		assert_string_equal(settings_table[i].name, names[i]);
}

/* Holds for every row, present and future. */
static void
each_row_is_sane(void **state)
{
	struct settings s = { 0 };

	(void)state;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];

		assert_true(def->help[0] != '\0');
		assert_int_equal(strncmp(def->rule_name, "fc_", 3), 0);
		assert_int_equal(strncmp(def->env, "LLB_FC_", 7), 0);
		assert_ptr_equal(setting_find(text_of(def->rule_name)), def);
		assert_true(def->fallback <= def->rule_max);
		assert_true(def->rule_max <= def->env_max);

		setting_set(&s, def, (uint32_t)i + 1);
	}
	for (size_t i = 0; i < SETTING_COUNT; i++)
		assert_int_equal(setting_get(&s, &settings_table[i]), i + 1);
	assert_null(setting_find(text_of("fc_")));
	assert_null(setting_find(text_of("mode")));
	assert_null(setting_find(text_of("")));
}

/* Contract 1.3. */
static void
a_rule_may_declare_what_the_contract_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		uint32_t max = 3600000;

		if (def->kind == SETTING_MODE)
			max = MODE_ENFORCE;
		else if (def->kind == SETTING_SWITCH)
			max = SWITCH_ON;
		else if (def->kind == SETTING_FOLLOW)
			max = FOLLOW_SAMPLE;
		else if (i == SETTING_ID_queue_depth)
			max = 65536;
		else if (i == SETTING_ID_tenant_max_share_pct)
			max = 100;
		else if (strcmp(def->unit, "requests") == 0)
			max = 100000;
		assert_int_equal(def->rule_max, max);
	}
}

static void
words_stand_at_their_numbers(void **state)
{
	const char *const *modes = setting_words(SETTING_MODE);
	const char *const *switches = setting_words(SETTING_SWITCH);

	(void)state;
	assert_null(setting_words(SETTING_NUMBER));
	assert_string_equal(modes[MODE_INHERIT], "inherit");
	assert_string_equal(modes[MODE_OFF], "off");
	assert_string_equal(modes[MODE_OBSERVE], "observe");
	assert_string_equal(modes[MODE_ENFORCE], "enforce");
	assert_null(modes[MODE_ENFORCE + 1]);
	assert_string_equal(switches[SWITCH_INHERIT], "inherit");
	assert_string_equal(switches[SWITCH_OFF], "off");
	assert_string_equal(switches[SWITCH_ON], "on");
	assert_null(switches[SWITCH_ON + 1]);
	assert_string_equal(source_name(SOURCE_RULE), "rule");
	assert_string_equal(source_name(SOURCE_ENV), "env");
	assert_string_equal(source_name(SOURCE_DEFAULT), "default");
}

/* ---- the environment ---- */

/* Rows 65, 73, 74; for every row, present and future. */
static void
each_row_is_read_from_its_variable(void **state)
{
	(void)state;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		const char *const *words = setting_words(def->kind);

		assert_unset("LLB_FC_OTHER", "1", i);
		if (words == NULL)
			assert_env(def->env, "17", i, 17);
		else
			for (uint32_t w = 1; words[w] != NULL; w++)
				assert_env(def->env, words[w], i, w);
		assert_unset(def->env, "17x", i);
		assert_unset(def->env, "inherit", i);
	}
}

/* Row 73. */
static void
what_is_no_plain_number_is_as_if_unset(void **state)
{
	static const char *const wrong[] = {
		"x",    "-1",  "+1",        "1.5",
		"0x10", "1e3", "100000001", "99999999999999999999"
	};

	(void)state;
	for (size_t i = 0; i < SETTING_COUNT; i++)
		for (size_t j = 0; j < ARRAY_LEN(wrong); j++)
			assert_unset(settings_table[i].env, wrong[j], i);
	assert_unset("LLB_FC_MAX_OUTSTANDING", "", SETTING_ID_max_outstanding);
	assert_int_equal(under("LLB_FC_MAX_OUTSTANDING=x")
				 .source[SETTING_ID_max_outstanding],
			 SOURCE_DEFAULT);
}

/* Row 74, but for the one row whose 0 means nothing. */
static void
an_explicit_zero_is_declared(void **state)
{
	(void)state;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (settings_table[i].kind != SETTING_NUMBER)
			continue;
		if (i == SETTING_ID_telemetry_stale_ms)
			assert_unset(settings_table[i].env, "0", i);
		else
			assert_env(settings_table[i].env, "0", i, 0);
	}
	assert_int_equal(under("LLB_FC_MAX_OUTSTANDING=0")
				 .source[SETTING_ID_max_outstanding],
			 SOURCE_ENV);
}

/* Rows 75, 76, interface 6.16, contract 3. */
static void
beyond_the_maximum_most_are_held_to_it(void **state)
{
	(void)state;
	assert_env("LLB_FC_MAX_QUEUE_DEPTH", "65537", SETTING_ID_queue_depth,
		   65536);
	assert_env("LLB_FC_MAX_QUEUE_WAIT_MS", "3600001",
		   SETTING_ID_queue_wait_ms, 3600000);
	assert_env("LLB_FC_WARMUP_MS", "100000000", SETTING_ID_warmup_ms,
		   3600000);
	assert_env("LLB_FC_TTFT_TARGET_MS", "3600001",
		   SETTING_ID_ttft_target_ms, 3600000);
	assert_env("LLB_FC_MAX_OUTSTANDING", "100001",
		   SETTING_ID_max_outstanding, 100001);
	assert_env("LLB_FC_EP_MAX_INFLIGHT", "100000000",
		   SETTING_ID_ep_max_inflight, 100000000);
}

/* Row 77, contract 3. */
static void
beyond_the_maximum_some_are_not_said(void **state)
{
	(void)state;
	assert_env("LLB_FC_TENANT_MAX_SHARE_PCT", "100",
		   SETTING_ID_tenant_max_share_pct, 100);
	assert_unset("LLB_FC_TENANT_MAX_SHARE_PCT", "101",
		     SETTING_ID_tenant_max_share_pct);
	assert_env("LLB_FC_TELEMETRY_STALE_MS", "3600000",
		   SETTING_ID_telemetry_stale_ms, 3600000);
	assert_unset("LLB_FC_TELEMETRY_STALE_MS", "3600001",
		     SETTING_ID_telemetry_stale_ms);
	assert_int_equal(
		under("LLB_FC_TELEMETRY_STALE_MS=0").value.telemetry_stale_ms,
		30000);
}

/* Rows 34, 78. */
static void
words_are_read_in_any_case(void **state)
{
	(void)state;
	assert_env("LLB_FC_MODE", "EnForCe", SETTING_ID_mode, MODE_ENFORCE);
	assert_env("LLB_FC_MODE", "OBSERVE", SETTING_ID_mode, MODE_OBSERVE);
	assert_env("LLB_FC_ADAPTIVE", "ON", SETTING_ID_adaptive, SWITCH_ON);
	assert_env("LLB_FC_EXPOSE_HEADERS", "Off", SETTING_ID_expose_headers,
		   SWITCH_OFF);
	assert_unset("LLB_FC_MODE", "enforced", SETTING_ID_mode);
	assert_unset("LLB_FC_ADAPTIVE", "yes", SETTING_ID_adaptive);
	assert_unset("LLB_FC_ADAPTIVE", "1", SETTING_ID_adaptive);
}

/* Rows 71, 72. */
static void
the_prefill_ceiling_has_a_second_variable(void **state)
{
	const enum setting_id id = SETTING_ID_prefill_max_inflight;
	struct settings_effective e = under("LLB_PD_MAX_INFLIGHT_PER_EP=3");

	(void)state;
	assert_int_equal(e.value.prefill_max_inflight, 3);
	assert_int_equal(e.source[id], SOURCE_ENV);
	e = under("LLB_PD_MAX_INFLIGHT_PER_EP=3 LLB_FC_PREFILL_MAX_INFLIGHT=5");
	assert_int_equal(e.value.prefill_max_inflight, 5);
	/* An explicit 0 is said; what cannot be read is not. */
	e = under("LLB_PD_MAX_INFLIGHT_PER_EP=3 LLB_FC_PREFILL_MAX_INFLIGHT=0");
	assert_int_equal(e.value.prefill_max_inflight, 0);
	assert_int_equal(e.source[id], SOURCE_ENV);
	e = under("LLB_PD_MAX_INFLIGHT_PER_EP=3 LLB_FC_PREFILL_MAX_INFLIGHT=x");
	assert_int_equal(e.value.prefill_max_inflight, 3);
	/* It is of no other row. */
	assert_int_equal(e.source[SETTING_ID_decode_max_inflight],
			 SOURCE_DEFAULT);
}

/* ---- what is in force ---- */

/* Rows 65, 67, 68; for every row, present and future. */
static void
rule_wins_over_environment_over_default(void **state)
{
	(void)state;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		const char *const *words = setting_words(def->kind);
		struct settings_env env =
			env_with(def->env, words == NULL ? "2" : words[2]);
		struct settings_env none = env_of("");
		struct settings declared = { 0 };
		struct settings_effective e;

		settings_resolve(&e, &declared, &none);
		assert_int_equal(setting_get(&e.value, def), def->fallback);
		assert_int_equal(e.source[i], SOURCE_DEFAULT);

		settings_resolve(&e, &declared, &env);
		assert_int_equal(setting_get(&e.value, def), 2);
		assert_int_equal(e.source[i], SOURCE_ENV);

		setting_set(&declared, def, 1);
		settings_resolve(&e, &declared, &env);
		assert_int_equal(setting_get(&e.value, def), 1);
		assert_int_equal(e.source[i], SOURCE_RULE);
	}
}

/* Rows 33, 170 and contract 1.3. */
static void
where_nobody_says_anything_the_gate_is_off(void **state)
{
	struct settings_effective e = under("");

	(void)state;
	assert_int_equal(e.value.mode, MODE_OFF);
	assert_int_equal(e.value.adaptive, SWITCH_OFF);
	assert_int_equal(e.value.expose_headers, SWITCH_OFF);
	assert_int_equal(e.value.queue_depth, 0);
	assert_int_equal(e.value.queue_wait_ms, 0);
	assert_int_equal(e.value.telemetry_stale_ms, 30000);
}

/* Rows 35, 79. */
static void
a_rule_may_switch_off_what_the_environment_switched_on(void **state)
{
	struct settings declared = { .mode = MODE_OFF,
				     .adaptive = SWITCH_OFF,
				     .expose_headers = SWITCH_OFF };
	struct settings_effective e =
		resolve(&declared, "LLB_FC_MODE=enforce LLB_FC_ADAPTIVE=on "
				   "LLB_FC_EXPOSE_HEADERS=on");

	(void)state;
	assert_int_equal(e.value.mode, MODE_OFF);
	assert_int_equal(e.source[SETTING_ID_mode], SOURCE_RULE);
	assert_int_equal(e.value.adaptive, SWITCH_OFF);
	assert_int_equal(e.source[SETTING_ID_adaptive], SOURCE_RULE);
	assert_int_equal(e.value.expose_headers, SWITCH_OFF);
	assert_int_equal(e.source[SETTING_ID_expose_headers], SOURCE_RULE);
}

/* Row 170. */
static void
a_depth_without_a_window_waits_five_seconds(void **state)
{
	struct settings_effective e = under("LLB_FC_MAX_QUEUE_DEPTH=4");

	(void)state;
	assert_int_equal(e.value.queue_wait_ms, 5000);
	assert_int_equal(e.source[SETTING_ID_queue_wait_ms], SOURCE_DEFAULT);
	e = under("LLB_FC_MAX_QUEUE_DEPTH=4 LLB_FC_MAX_QUEUE_WAIT_MS=0");
	assert_int_equal(e.value.queue_wait_ms, 5000);
	assert_int_equal(e.source[SETTING_ID_queue_wait_ms], SOURCE_DEFAULT);
	e = under("LLB_FC_MAX_QUEUE_DEPTH=4 LLB_FC_MAX_QUEUE_WAIT_MS=70");
	assert_int_equal(e.value.queue_wait_ms, 70);
	assert_int_equal(e.source[SETTING_ID_queue_wait_ms], SOURCE_ENV);
	/* Without a depth there is nothing to wait for. */
	e = under("LLB_FC_MAX_QUEUE_DEPTH=0");
	assert_int_equal(e.value.queue_wait_ms, 0);
}

/* Row 171. */
static void
a_window_on_the_rule_wins_over_the_filled_in_one(void **state)
{
	struct settings declared = { .queue_depth = 2, .queue_wait_ms = 100 };
	struct settings_effective e =
		resolve(&declared, "LLB_FC_MAX_QUEUE_DEPTH=4");

	(void)state;
	assert_int_equal(e.value.queue_depth, 2);
	assert_int_equal(e.value.queue_wait_ms, 100);
	assert_int_equal(e.source[SETTING_ID_queue_wait_ms], SOURCE_RULE);
}

/* Rows 110, 113, 114; A17, A18. */
static void
a_depth_on_a_rule_needs_a_window_on_the_rule(void **state)
{
	(void)state;
	assert_null(settings_check(&(struct settings){ 0 }));
	assert_non_null(settings_check(&(struct settings){ .queue_depth = 4 }));
	assert_null(settings_check(&(struct settings){ .queue_wait_ms = 9 }));
	assert_null(settings_check(
		&(struct settings){ .queue_depth = 4, .queue_wait_ms = 9 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_rows_are_the_thirteen_of_the_contract_and_ours),
		cmocka_unit_test(each_row_is_sane),
		cmocka_unit_test(a_rule_may_declare_what_the_contract_says),
		cmocka_unit_test(words_stand_at_their_numbers),
		cmocka_unit_test(each_row_is_read_from_its_variable),
		cmocka_unit_test(what_is_no_plain_number_is_as_if_unset),
		cmocka_unit_test(an_explicit_zero_is_declared),
		cmocka_unit_test(beyond_the_maximum_most_are_held_to_it),
		cmocka_unit_test(beyond_the_maximum_some_are_not_said),
		cmocka_unit_test(words_are_read_in_any_case),
		cmocka_unit_test(the_prefill_ceiling_has_a_second_variable),
		cmocka_unit_test(rule_wins_over_environment_over_default),
		cmocka_unit_test(where_nobody_says_anything_the_gate_is_off),
		cmocka_unit_test(
			a_rule_may_switch_off_what_the_environment_switched_on),
		cmocka_unit_test(a_depth_without_a_window_waits_five_seconds),
		cmocka_unit_test(
			a_window_on_the_rule_wins_over_the_filled_in_one),
		cmocka_unit_test(a_depth_on_a_rule_needs_a_window_on_the_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

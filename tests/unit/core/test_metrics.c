/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/metrics.h"

#include <string.h>

#include "tests/cmocka.h"

/* Holds for every row, present and future. */
static void
each_family_is_complete_and_named_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		const struct metric_row *row = &metrics_table[i];
		const char *end = row->family + strlen(row->family);

		assert_true(row->help[0] != '\0');
		assert_int_equal(strncmp(row->family, "loxilb_", 7), 0);
		/* Prometheus' rule: a counter ends in _total, else nothing. */
		assert_int_equal(strcmp(end - 6, "_total") == 0,
				 row->type == METRIC_COUNTER);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(row->family,
						metrics_table[j].family);
	}
}

static void
each_label_has_as_many_values_as_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		const struct metric_label_row *row =
			metric_label_row(metrics_table[i].label);

		assert_in_range(row->count, 1, METRIC_VALUES_MAX);
		assert_int_equal(row->name == NULL,
				 metrics_table[i].label == LABEL_NONE);
		for (size_t j = 0; j < row->count; j++)
			assert_non_null(row->values[j]);
		if (row->count < METRIC_VALUES_MAX)
			assert_null(row->values[row->count]);
	}
}

/* An enum and its words stand in two places: they must agree. */
static void
words_stand_at_their_numbers(void **state)
{
	static const struct {
		enum metric_label label;
		size_t value;
		const char *word;
	} cases[] = {
		{ LABEL_ROLE, METRIC_ROLE_SERVICE, "service" },
		{ LABEL_ROLE, METRIC_ROLE_NORMAL, "normal" },
		{ LABEL_ROLE, METRIC_ROLE_PREFILL, "prefill" },
		{ LABEL_ROLE, METRIC_ROLE_DECODE, "decode" },
		{ LABEL_LIMIT, METRIC_ROLE_SERVICE, "service" },
		{ LABEL_LIMIT, METRIC_ROLE_DECODE, "decode" },
		{ LABEL_LIMIT, METRIC_ROLE_QUEUE, "queue" },
		{ LABEL_ANOMALY, ANOMALY_UNDERFLOW, "underflow" },
		{ LABEL_ANOMALY, ANOMALY_UNKNOWN_PERMIT, "unknown_permit" },
		{ LABEL_ANOMALY, ANOMALY_TENANT_TABLE_FULL,
		  "tenant_table_full" },
		{ LABEL_LINE, LINE_RELEASED, "released" },
		{ LABEL_LINE, LINE_CANCELLED, "cancelled" },
		{ LABEL_LINE, LINE_EARLY, "early" },
		{ LABEL_LINE, LINE_NOTED, "noted" },
		{ LABEL_LINE, LINE_LATE, "late" },
		{ LABEL_LINE, LINE_UNKNOWN, "unknown" },
		{ LABEL_LINE, LINE_OTHER, "other" },
		{ LABEL_UNUSABLE, UNUSABLE_MESSAGE, "message" },
		{ LABEL_UNUSABLE, UNUSABLE_ARGUMENT, "argument" },
		{ LABEL_LOOK, LOOK_OK, "ok" },
		{ LABEL_LOOK, LOOK_UNPARSEABLE, "unparseable" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(metric_label_row(cases[i].label)
					    ->values[cases[i].value],
				    cases[i].word);
}

/* Contract 4.9. */
static void
a_bound_belongs_to_its_bucket(void **state)
{
	static const unsigned bounds_ms[HISTOGRAM_BUCKETS] = { 10,   50,  100,
							       250,  500, 1000,
							       2500, 5000 };
	struct histogram h = { 0 };

	(void)state;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		assert_int_equal(histogram_bounds[i],
				 bounds_ms[i] * USEC_PER_MSEC);
		histogram_add(&h, histogram_bounds[i]);
		histogram_add(&h, histogram_bounds[i] + 1);
	}
	assert_int_equal(h.bucket[0], 1);
	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++)
		assert_int_equal(h.bucket[i], 2);
	assert_int_equal(h.bucket[HISTOGRAM_BUCKETS], 1);
	assert_int_equal(h.count, 16);
	assert_int_equal(h.sum, 18820 * USEC_PER_MSEC + 8);
}

static void
counting_moves_one_value_of_one_family(void **state)
{
	struct metrics m = { 0 };

	(void)state;
	metrics_count(&m, METRIC_log_lines, LINE_LATE);
	metrics_count(&m, METRIC_log_lines, LINE_LATE);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		for (size_t j = 0; j < METRIC_VALUES_MAX; j++)
			assert_int_equal(m.value[i][j],
					 i == METRIC_log_lines && j == LINE_LATE
						 ? 2
						 : 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_family_is_complete_and_named_once),
		cmocka_unit_test(each_label_has_as_many_values_as_it_says),
		cmocka_unit_test(words_stand_at_their_numbers),
		cmocka_unit_test(a_bound_belongs_to_its_bucket),
		cmocka_unit_test(counting_moves_one_value_of_one_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

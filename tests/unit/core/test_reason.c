/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/reason.h"

#include <string.h>

#include "agent/core/base.h"
#include "agent/core/metrics.h"
#include "tests/cmocka.h"

/* Holds for every row, present and future. */
static void
a_refusal_has_all_that_a_client_sees(void **state)
{
	(void)state;
	for (size_t i = 0; i < REASON_COUNT; i++) {
		const struct reason_row *row = &reason_table[i];

		assert_non_null(row->label);
		if (row->status == 0) {
			assert_null(row->error);
			assert_int_equal(row->body, BODY_NOTHING);
			continue;
		}
		assert_non_null(row->error);
		assert_int_not_equal(row->body, BODY_NOTHING);
		assert_int_equal(row->message != NULL,
				 row->body == BODY_MESSAGE);
	}
}

/* Rows 277 to 281, A25. */
static void
only_a_429_keeps_the_connection(void **state)
{
	(void)state;
	for (size_t i = 0; i < REASON_COUNT; i++)
		if (reason_table[i].status != 0)
			assert_int_equal(reason_table[i].keep,
					 reason_table[i].status == 429);
}

/* The table of contract 5. */
static void
each_refusal_says_what_the_contract_says(void **state)
{
	static const struct {
		enum reason reason;
		unsigned status;
		const char *error;
		enum retry_rule retry;
		enum body_kind body;
	} cases[] = {
		{ REASON_CAPACITY_SHED, 429, "admission_capacity", RETRY_ONE,
		  BODY_JITTER },
		{ REASON_QUEUE_FULL, 429, "admission_capacity", RETRY_MEAN,
		  BODY_JITTER },
		{ REASON_TENANT_SHARE, 429, "admission_tenant_share", RETRY_ONE,
		  BODY_JITTER },
		{ REASON_NO_HEALTHY_CAPACITY, 503, "admission_no_capacity",
		  RETRY_ONE, BODY_MESSAGE },
		{ REASON_DRAINING, 503, "gateway_draining", RETRY_FIVE,
		  BODY_MESSAGE },
		{ REASON_QUEUE_TIMEOUT, 504, "admission_queue_timeout",
		  RETRY_MEAN, BODY_QUEUED },
		{ REASON_DRAINED, 503, "admission_drained", RETRY_FIVE,
		  BODY_QUEUED },
		{ REASON_CANCELLED, 503, "admission_drained", RETRY_FIVE,
		  BODY_QUEUED },
	};
	size_t refusals = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct reason_row *row = &reason_table[cases[i].reason];

		assert_int_equal(row->status, cases[i].status);
		assert_string_equal(row->error, cases[i].error);
		assert_int_equal(row->retry, cases[i].retry);
		assert_int_equal(row->body, cases[i].body);
	}
	for (size_t i = 0; i < REASON_COUNT; i++)
		refusals += reason_table[i].status != 0;
	assert_int_equal(refusals, ARRAY_LEN(cases));
	assert_int_equal(REASON_JITTER_HINT_MS, 250);
}

/* Contract 7: all values of the label, in its order. */
static void
labels_are_those_of_the_decisions_counter(void **state)
{
	static const char *const expected[] = {
		"admitted",
		"capacity_shed",
		"no_healthy_capacity",
		"observe_would_shed",
		"bypass_non_inference",
		"queued",
		"queue_full",
		"queue_timeout",
		"cancelled",
		"drained",
		"observe_would_queue",
		"draining",
		"tenant_share",
	};
	const struct metric_label_row *row = metric_label_row(LABEL_REASON);

	(void)state;
	assert_int_equal(REASON_COUNT, ARRAY_LEN(expected));
	assert_int_equal(row->count, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		assert_string_equal(reason_table[i].label, expected[i]);
		assert_string_equal(row->values[i], expected[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_has_all_that_a_client_sees),
		cmocka_unit_test(only_a_429_keeps_the_connection),
		cmocka_unit_test(each_refusal_says_what_the_contract_says),
		cmocka_unit_test(labels_are_those_of_the_decisions_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

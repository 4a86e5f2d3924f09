/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of HAProxy's log does (interface 3, 6.4, 6.19). */
#include "agent/core/gate.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/core/desk.h"

static struct answer last;

static struct desk *
with_one(const char *rule)
{
	struct desk *d = desk_open("");

	desk_put(d, rule);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
	return d;
}

static uint64_t
lines(const struct desk *d, enum line_result result)
{
	return d->gate->metrics.value[METRIC_log_lines][result];
}

static uint64_t
anomalies(const struct desk *d, enum anomaly kind)
{
	return d->gate->metrics.value[METRIC_anomalies][kind];
}

/* Rows 22, 27, 30. */
static void
the_first_line_releases_and_only_it(void **state)
{
	struct desk *d = with_one("mode=enforce max_outstanding=2");

	(void)state;
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_ADMIT);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(desk_end(d, "a"), LINE_LATE);
	assert_int_equal(desk_end(d, "a"), LINE_LATE);
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(lines(d, LINE_RELEASED), 1);
	assert_int_equal(lines(d, LINE_LATE), 2);
	assert_int_equal(anomalies(d, ANOMALY_UNDERFLOW), 0);
	assert_int_equal(anomalies(d, ANOMALY_UNKNOWN_PERMIT), 0);
	desk_close(&d);
}

/* Interface 6.4. */
static void
the_id_is_the_key_whatever_the_permit_says(void **state)
{
	static const char *const lines_of_a[] = {
		"a permit=none verdict=none",
		"a permit=hello verdict=admit",
		"a permit=ffffffffffffffff-9 verdict=refuse",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines_of_a); i++) {
		struct desk *d = with_one("mode=enforce");

		assert_int_equal(desk_end(d, lines_of_a[i]), LINE_RELEASED);
		assert_int_equal(desk_pool(d, "")->units, 0);
		assert_int_equal(anomalies(d, ANOMALY_UNKNOWN_PERMIT), 0);
		desk_close(&d);
	}
}

/* Interface 6.19. */
static void
a_permit_given_by_an_agent_is_late_and_any_other_unknown(void **state)
{
	static const struct {
		const char *line;
		enum line_result result;
	} cases[] = {
		/* Given so far: 1. */
		{ "x permit=0000000000000abc-1", LINE_LATE },
		{ "x permit=0000000000000abc-2", LINE_UNKNOWN },
		{ "x permit=0000000000000abd-2", LINE_LATE },
		{ "x permit=0000000000000abc-0", LINE_UNKNOWN },
		{ "x permit=0000000000000ABC-1", LINE_UNKNOWN },
		{ "x permit=1", LINE_UNKNOWN },
		{ "x permit=", LINE_EARLY },
	};
	struct desk *d = with_one("mode=enforce");
	uint64_t unknown = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(desk_end(d, cases[i].line), cases[i].result);
		unknown += cases[i].result == LINE_UNKNOWN;
		assert_int_equal(anomalies(d, ANOMALY_UNKNOWN_PERMIT), unknown);
	}
	assert_int_equal(desk_pool(d, "")->units, 1);
	desk_close(&d);
}

static void
a_line_of_who_held_nothing_is_noted(void **state)
{
	struct desk *d = with_one("mode=enforce max_outstanding=1");

	(void)state;
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_REFUSE);
	assert_int_equal(desk_end(d, "b"), LINE_NOTED);
	assert_int_equal(desk_ask(d, "c method=GET", &last), VERDICT_BYPASS);
	assert_int_equal(desk_end(d, "c"), LINE_NOTED);
	/* It is not remembered as an end that came early. */
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_ADMIT);
	desk_close(&d);
}

static void
an_id_that_nobody_could_have_is_noted(void **state)
{
	struct desk *d = with_one("mode=enforce");
	char id[REQUEST_ID_MAX + 1];
	struct ending ending = { .id = { id, sizeof(id) } };

	(void)state;
	memset(id, 'x', sizeof(id));
	assert_int_equal(gate_end(d->gate, &ending, d->now), LINE_NOTED);
	ending.id = text_of("");
	assert_int_equal(gate_end(d->gate, &ending, d->now), LINE_NOTED);
	ending.id = (struct text){ id, REQUEST_ID_MAX };
	assert_int_equal(gate_end(d->gate, &ending, d->now), LINE_EARLY);
	desk_close(&d);
}

static void
an_early_line_counts_for_ten_seconds(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1");
	assert_int_equal(desk_end(d, "a"), LINE_EARLY);
	assert_int_equal(desk_end(d, "a"), LINE_LATE);
	assert_true(gate_wakeup(d->gate) == DESK_START + 10 * USEC_PER_SEC);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_BYPASS);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_BYPASS);
	desk_at(d, 9999);
	gate_tick(d->gate, d->now);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_BYPASS);
	desk_at(d, 10000);
	gate_tick(d->gate, d->now);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
	assert_true(gate_wakeup(d->gate) == USEC_NEVER);
	desk_close(&d);
}

static void
a_flood_of_early_lines_is_bounded(void **state)
{
	struct desk *d = desk_open("");
	char id[32];

	(void)state;
	desk_put(d, "mode=enforce");
	for (unsigned i = 0; i < 70000; i++) {
		struct ending ending = { .id = { id, 0 } };

		ending.id.len = (size_t)snprintf(id, sizeof(id), "e%u", i);
		assert_int_equal(gate_end(d->gate, &ending, d->now),
				 LINE_EARLY);
	}
	assert_int_equal(desk_ask(d, "e69999", &last), VERDICT_BYPASS);
	/* The oldest are forgotten first. */
	assert_int_equal(desk_ask(d, "e0", &last), VERDICT_ADMIT);
	desk_close(&d);
}

/* The line of a waiter ends its newest question, whatever was asked before. */
static void
a_line_ends_the_newest_question_of_a_waiter(void **state)
{
	struct desk *d = with_one("mode=enforce max_outstanding=1 "
				  "queue_depth=2 queue_wait_ms=5000");

	(void)state;
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_WAIT);
	assert_int_equal(desk_ask(d, "b as=b2 peer=1", &last), VERDICT_WAIT);
	assert_int_equal(desk_end(d, "b verdict=none"), LINE_CANCELLED);
	assert_string_equal(desk_next(d, &last), "b");
	assert_int_equal(last.verdict, VERDICT_REFUSE);
	assert_string_equal(desk_next(d, &last), "b2");
	assert_int_equal(last.verdict, VERDICT_REFUSE);
	assert_int_equal(last.reason, REASON_CANCELLED);
	assert_null(desk_next(d, &last));
	assert_int_equal(desk_pool(d, "")->decisions[REASON_CANCELLED], 1);
	desk_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_line_releases_and_only_it),
		cmocka_unit_test(the_id_is_the_key_whatever_the_permit_says),
		cmocka_unit_test(
			a_permit_given_by_an_agent_is_late_and_any_other_unknown),
		cmocka_unit_test(a_line_of_who_held_nothing_is_noted),
		cmocka_unit_test(an_id_that_nobody_could_have_is_noted),
		cmocka_unit_test(an_early_line_counts_for_ten_seconds),
		cmocka_unit_test(a_flood_of_early_lines_is_bounded),
		cmocka_unit_test(a_line_ends_the_newest_question_of_a_waiter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

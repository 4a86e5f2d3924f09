/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/adaptive.h"

#include "tests/cmocka.h"

static const struct adapt_evidence clear = { .fresh = true };
static const struct adapt_evidence queued = { .fresh = true, .queued = true };
static const struct adapt_evidence late = { .fresh = true, .late = true };
static const struct adapt_evidence both = { true, true, true };
static const struct adapt_evidence nothing = { .fresh = false };

static struct adaptive
adapting(uint32_t ceiling)
{
	struct adaptive a = { .state = ADAPT_OFF };

	adaptive_configure(&a, true, ceiling);
	return a;
}

static void
assert_is(const struct adaptive *a, uint32_t ceiling, enum adapt_state state,
	  enum adapt_reason reason)
{
	assert_int_equal(a->ceiling, ceiling);
	assert_int_equal(a->state, state);
	assert_int_equal(a->reason, reason);
}

/* Rows 188, 203. */
static void
it_starts_open_unless_there_is_no_ceiling(void **state)
{
	struct adaptive a = adapting(10);

	(void)state;
	assert_is(&a, 10, ADAPT_OPEN, ADAPT_NONE);
	a = adapting(0);
	assert_is(&a, 0, ADAPT_OFF, ADAPT_NONE);
	assert_false(adaptive_step(&a, &queued));
	assert_is(&a, 0, ADAPT_OFF, ADAPT_NONE);
}

/* Rows 190, 192, 219. */
static void
waiting_engines_take_a_fifth_each_step(void **state)
{
	static const uint32_t steps[] = { 8, 6, 4, 3, 2, 2, 2 };
	struct adaptive a = adapting(10);

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_false(adaptive_step(&a, &queued));
		assert_is(&a, steps[i], ADAPT_TIGHTENED, ADAPT_QUEUED);
	}
	assert_int_equal(a.moves[ADAPT_DOWN], 5);
	assert_int_equal(a.moves[ADAPT_UP], 0);
}

/* Row 191, interface 6.15. */
static void
the_floor_is_a_quarter_and_at_least_one(void **state)
{
	static const uint32_t floors[][2] = {
		{ 10, 2 }, { 8, 2 }, { 3, 1 }, { 100, 25 }, { 4, 1 }, { 7, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(floors) / sizeof(floors[0]); i++) {
		struct adaptive a = adapting(floors[i][0]);

		for (int n = 0; n < 50; n++)
			adaptive_step(&a, &queued);
		assert_is(&a, floors[i][1], ADAPT_TIGHTENED, ADAPT_QUEUED);
	}
}

static void
a_ceiling_of_one_stays_open(void **state)
{
	struct adaptive a = adapting(1);

	(void)state;
	adaptive_step(&a, &queued);
	assert_is(&a, 1, ADAPT_OPEN, ADAPT_QUEUED);
	assert_int_equal(a.moves[ADAPT_DOWN], 0);
}

/* Rows 195, 196. */
static void
late_tokens_tighten_too_and_a_queue_says_more(void **state)
{
	struct adaptive a = adapting(10);

	(void)state;
	adaptive_step(&a, &late);
	assert_is(&a, 8, ADAPT_TIGHTENED, ADAPT_TTFT);
	adaptive_step(&a, &both);
	assert_is(&a, 6, ADAPT_TIGHTENED, ADAPT_QUEUED);
}

/* Rows 197, 199, 202, 219. */
static void
clear_evidence_gives_one_back_each_step(void **state)
{
	struct adaptive a = adapting(10);

	(void)state;
	for (int i = 0; i < 5; i++)
		adaptive_step(&a, &queued);
	for (uint32_t ceiling = 3; ceiling < 10; ceiling++) {
		assert_true(adaptive_step(&a, &clear));
		assert_is(&a, ceiling, ADAPT_TIGHTENED, ADAPT_CLEAR);
	}
	assert_true(adaptive_step(&a, &clear));
	assert_is(&a, 10, ADAPT_OPEN, ADAPT_CLEAR);
	assert_false(adaptive_step(&a, &clear));
	assert_is(&a, 10, ADAPT_OPEN, ADAPT_CLEAR);
	assert_int_equal(a.moves[ADAPT_UP], 8);
}

/* Rows 200, 201. */
static void
without_evidence_it_holds(void **state)
{
	struct adaptive a = adapting(10);

	(void)state;
	adaptive_step(&a, &nothing);
	assert_is(&a, 10, ADAPT_OPEN, ADAPT_NONE);
	adaptive_step(&a, &queued);
	for (int i = 0; i < 100; i++) {
		assert_false(adaptive_step(&a, &nothing));
		assert_is(&a, 8, ADAPT_FROZEN, ADAPT_STALE);
	}
	adaptive_step(&a, &queued);
	assert_is(&a, 6, ADAPT_TIGHTENED, ADAPT_QUEUED);
}

/* Row 204. */
static void
switched_off_it_is_what_is_configured(void **state)
{
	struct adaptive a = adapting(10);

	(void)state;
	adaptive_step(&a, &queued);
	adaptive_configure(&a, false, 10);
	assert_is(&a, 10, ADAPT_OFF, ADAPT_NONE);
}

/* Rows 205, 206. */
static void
a_new_configuration_keeps_what_is_tightened(void **state)
{
	struct adaptive a = adapting(10);

	(void)state;
	adaptive_configure(&a, true, 4);
	assert_is(&a, 4, ADAPT_OPEN, ADAPT_NONE);
	adaptive_configure(&a, true, 10);
	assert_is(&a, 10, ADAPT_OPEN, ADAPT_NONE);
	adaptive_step(&a, &queued);
	adaptive_configure(&a, true, 100);
	assert_is(&a, 8, ADAPT_TIGHTENED, ADAPT_QUEUED);
	/* Below its floor now, it does not rise on bad news. */
	assert_false(adaptive_step(&a, &queued));
	assert_is(&a, 8, ADAPT_TIGHTENED, ADAPT_QUEUED);
	assert_true(adaptive_step(&a, &clear));
	assert_int_equal(a.ceiling, 9);
	adaptive_configure(&a, true, 5);
	assert_int_equal(a.ceiling, 5);
	assert_int_equal(a.state, ADAPT_OPEN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_starts_open_unless_there_is_no_ceiling),
		cmocka_unit_test(waiting_engines_take_a_fifth_each_step),
		cmocka_unit_test(the_floor_is_a_quarter_and_at_least_one),
		cmocka_unit_test(a_ceiling_of_one_stays_open),
		cmocka_unit_test(late_tokens_tighten_too_and_a_queue_says_more),
		cmocka_unit_test(clear_evidence_gives_one_back_each_step),
		cmocka_unit_test(without_evidence_it_holds),
		cmocka_unit_test(switched_off_it_is_what_is_configured),
		cmocka_unit_test(a_new_configuration_keeps_what_is_tightened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

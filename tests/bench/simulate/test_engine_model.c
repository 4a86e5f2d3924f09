/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/engine_model.h"

#include <string.h>

#include "tests/cmocka.h"

/* As a clock of usec_t, rounded up; the model computes in fractions. */
static void
assert_near(usec_t at, double expected)
{
	assert_true((double)at >= expected);
	assert_true((double)at <= expected + 2);
}

static void
begin(struct engine_model *e, size_t count, unsigned prompt, unsigned output)
{
	for (size_t i = 0; i < count; i++)
		engine_model_begin(e, i, prompt, output);
}

/* When the next mark is reached; takes all that are reached then. */
static usec_t
reach(struct engine_model *e, size_t marks, enum milestone milestone)
{
	usec_t at = engine_model_next(e);
	struct mark mark;

	engine_model_pass(e, at);
	for (size_t i = 0; i < marks; i++) {
		assert_true(engine_model_take(e, &mark));
		assert_int_equal(mark.milestone, milestone);
	}
	assert_false(engine_model_take(e, &mark));
	return at;
}

static void
eight_run_at_full_speed(void **state)
{
	struct engine_model e;

	(void)state;
	engine_model_init(&e, 1000);
	assert_int_equal(engine_model_next(&e), USEC_NEVER);
	begin(&e, 8, 1000, 10);
	assert_near(reach(&e, 8, FIRST_TOKEN), 1000 + 200e3);
	assert_int_equal(e.running, 8);
	assert_near(reach(&e, 8, LAST_TOKEN), 1000 + 200e3 + 200e3);
	assert_int_equal(e.running, 0);
	assert_int_equal(engine_model_next(&e), USEC_NEVER);
	engine_model_fini(&e);
}

/* By more than their number: 16 take 2.48 times as long. */
static void
more_get_slower_together(void **state)
{
	struct engine_model e;

	(void)state;
	engine_model_init(&e, 0);
	begin(&e, 9, 1000, 0);
	assert_near(engine_model_next(&e), 200e3 * 9 / 8 * 1.03);
	begin(&e, 7, 1000, 0);
	assert_near(engine_model_next(&e), 200e3 * 16 / 8 * 1.24);
	engine_model_fini(&e);
}

/* Half of it alone, and the rest with fifteen that began meanwhile. */
static void
who_comes_slows_down_who_runs(void **state)
{
	struct engine_model e;
	struct mark mark;

	(void)state;
	engine_model_init(&e, 0);
	begin(&e, 1, 1000, 100);
	engine_model_pass(&e, 100000);
	assert_false(engine_model_take(&e, &mark));
	begin(&e, 15, 9000, 1);
	assert_near(reach(&e, 1, FIRST_TOKEN), 100e3 + 100e3 * 2.48);
	engine_model_fini(&e);
}

/* And who leaves speeds up who stays. */
static void
who_ends_makes_room(void **state)
{
	struct engine_model e;
	double half = 200e3 * 2.48;
	struct mark mark;

	(void)state;
	engine_model_init(&e, 0);
	begin(&e, 8, 1000, 0);
	begin(&e, 8, 2000, 0);
	engine_model_pass(&e, engine_model_next(&e));
	for (size_t i = 0; i < 16; i++)
		assert_true(engine_model_take(&e, &mark));
	assert_int_equal(e.running, 8);
	assert_near(engine_model_next(&e), half + 200e3);
	engine_model_fini(&e);
}

static void
twelve_are_a_batch_and_the_rest_wait(void **state)
{
	struct engine_model e;

	(void)state;
	engine_model_init(&e, 0);
	begin(&e, 9, 100, 1);
	assert_int_equal(engine_model_waiting(&e), 0);
	begin(&e, 3, 100, 1);
	assert_int_equal(engine_model_waiting(&e), 0);
	begin(&e, 3, 100, 1);
	assert_int_equal(engine_model_waiting(&e), 3);
	engine_model_fini(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_run_at_full_speed),
		cmocka_unit_test(more_get_slower_together),
		cmocka_unit_test(who_comes_slows_down_who_runs),
		cmocka_unit_test(who_ends_makes_room),
		cmocka_unit_test(twelve_are_a_batch_and_the_rest_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

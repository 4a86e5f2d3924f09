/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of rules does to those who execute and those who wait. */
#include "agent/core/gate.h"

#include "tests/cmocka.h"
#include "tests/unit/core/desk.h"

#define RULE "mode=enforce max_outstanding=2 queue_depth=4 queue_wait_ms=5000 "
#define OTHER RULE "endpoints=10.0.0.1:8000,10.0.0.9:8000"

static struct answer last;

/* Two execute ("a", "b") and one waits ("c"). */
static struct desk *
busy(void)
{
	struct desk *d = desk_open("");

	assert_int_equal(desk_put(d, RULE), GATE_CREATED);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_ADMIT);
	assert_int_equal(desk_ask(d, "c", &last), VERDICT_WAIT);
	return d;
}

static void
assert_drained(struct desk *d, const char *who)
{
	assert_string_equal(desk_next(d, &last), who);
	assert_int_equal(last.verdict, VERDICT_REFUSE);
	assert_int_equal(last.reason, REASON_DRAINED);
}

static uint64_t
anomalies(const struct desk *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < METRIC_VALUES_MAX; i++)
		sum += d->gate->metrics.value[METRIC_anomalies][i];
	return sum;
}

/* Row 145, interface 6.22. */
static void
the_same_rule_again_changes_nothing(void **state)
{
	struct desk *d = busy();
	struct pool *p = desk_pool(d, "");

	(void)state;
	assert_int_equal(desk_put(d, RULE), GATE_UNCHANGED);
	assert_ptr_equal(desk_pool(d, ""), p);
	assert_null(desk_next(d, &last));
	assert_int_equal(p->units, 2);
	assert_int_equal(p->queue.len, 1);
	desk_close(&d);
}

static void
a_dropped_plan_changes_nothing(void **state)
{
	static const char *const puts[] = { RULE, RULE "warmup_ms=1", OTHER,
					    RULE "host=other" };
	struct desk *d = busy();
	struct pool *p = desk_pool(d, "");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(puts); i++) {
		struct gate_plan plan;

		assert_true(gate_plan_put(&plan, d->gate, kit_rule(puts[i])));
		gate_plan_drop(&plan);
		assert_int_equal(d->gate->rules.len, 1);
		assert_ptr_equal(desk_pool(d, ""), p);
		assert_int_equal(p->effective.value.warmup_ms, 0);
		assert_int_equal(p->queue.len, 1);
	}
	assert_null(desk_next(d, &last));
	desk_close(&d);
}

/* Rows 91, 104, 105. */
static void
settings_change_in_place(void **state)
{
	struct desk *d = busy();
	struct pool *p = desk_pool(d, "");

	(void)state;
	assert_int_equal(desk_put(d, "mode=enforce max_outstanding=1 "
				     "queue_depth=4 queue_wait_ms=5000"),
			 GATE_CHANGED);
	assert_ptr_equal(desk_pool(d, ""), p);
	assert_int_equal(p->units, 2);
	assert_int_equal(p->queue.len, 1);
	assert_int_equal(p->decisions[REASON_ADMITTED], 2);
	/* Down to the new ceiling nobody is woken. */
	desk_end(d, "a");
	assert_null(desk_next(d, &last));
	desk_end(d, "b");
	assert_string_equal(desk_next(d, &last), "c");
	desk_close(&d);
}

/* Rows 106 to 108. */
static void
more_than_settings_starts_the_pool_anew(void **state)
{
	struct desk *d = busy();
	struct pool *p;

	(void)state;
	assert_int_equal(desk_put(d, OTHER), GATE_RECREATED);
	assert_drained(d, "c");
	p = desk_pool(d, "");
	assert_int_equal(p->units, 0);
	assert_int_equal(p->queue.len, 0);
	for (size_t i = 0; i < REASON_COUNT; i++)
		assert_int_equal(p->decisions[i], 0);
	assert_int_equal(desk_ask(d, "x", &last), VERDICT_ADMIT);

	/* Late releases move the counts of nobody else. */
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(p->units, 1);
	assert_false(TAILQ_EMPTY(&d->gate->retired));
	assert_int_equal(desk_end(d, "b"), LINE_RELEASED);
	assert_int_equal(p->units, 1);
	/* With its last unit the old pool is gone. */
	assert_true(TAILQ_EMPTY(&d->gate->retired));
	assert_int_equal(anomalies(d), 0);
	desk_close(&d);
}

/* A request of the old pool is answered again as it was. */
static void
asked_again_after_a_recreation_it_keeps_its_unit(void **state)
{
	struct desk *d = busy();

	(void)state;
	desk_put(d, OTHER);
	assert_drained(d, "c");
	assert_int_equal(desk_ask(d, "a as=a2", &last), VERDICT_ADMIT);
	assert_int_equal(last.permit, 1);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_pool(d, "")->units, 0);
	desk_close(&d);
}

/* Rows 138 to 140. */
static void
a_deleted_rule_ends_who_waits_and_spares_who_runs(void **state)
{
	struct desk *d = busy();

	(void)state;
	desk_delete(d, "");
	assert_drained(d, "c");
	assert_null(desk_next(d, &last));
	assert_int_equal(desk_ask(d, "x", &last), VERDICT_BYPASS);
	assert_int_equal(desk_put(d, RULE), GATE_CREATED);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_end(d, "b"), LINE_RELEASED);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_true(TAILQ_EMPTY(&d->gate->retired));
	assert_int_equal(anomalies(d), 0);
	desk_close(&d);
}

static void
a_rule_may_become_an_ai_service_and_cease_to_be_one(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	assert_int_equal(desk_put(d, "plain mode=enforce"), GATE_CREATED);
	assert_null(desk_pool(d, ""));
	assert_int_equal(desk_put(d, "plain mode=observe"), GATE_CHANGED);
	assert_int_equal(desk_put(d, "sse mode=enforce max_outstanding=1 "
				     "queue_depth=1 queue_wait_ms=5000"),
			 GATE_RECREATED);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_WAIT);
	assert_int_equal(desk_put(d, "plain mode=enforce"), GATE_RECREATED);
	assert_drained(d, "b");
	assert_null(desk_pool(d, ""));
	assert_true(TAILQ_EMPTY(&d->gate->pools));
	assert_int_equal(desk_ask(d, "c", &last), VERDICT_BYPASS);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	desk_close(&d);
}

/* What HAProxy said of an endpoint is not forgotten with its pool. */
static void
a_recreated_pool_knows_which_endpoints_are_down(void **state)
{
	struct desk *d = busy();

	(void)state;
	desk_look(d, "10.0.0.1:8000=down,2,gpu1");
	desk_put(d, OTHER);
	assert_drained(d, "c");
	assert_int_equal(desk_ask(d, "x", &last), VERDICT_ADMIT);
	assert_string_equal(last.server, "10.0.0.9:8000");
	desk_look(d, "10.0.0.1:8000=up,2");
	assert_int_equal(desk_ask(d, "y", &last), VERDICT_ADMIT);
	assert_string_equal(last.server, "gpu1");
	desk_close(&d);
}

/* Row 38: as many series as pools. */
static void
pools_whose_labels_are_alike_are_told_apart(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "model=org/m");
	desk_put(d, "model=org_m");
	desk_put(d, "model=org:m");
	desk_put(d, "port=81 model=org_m");
	assert_string_equal(desk_pool(d, "model=org/m")->label, "org_m");
	assert_string_equal(desk_pool(d, "port=81 model=org_m")->label,
			    "org_m");
	assert_false(pool_same_labels(desk_pool(d, "model=org/m"),
				      desk_pool(d, "model=org_m")));
	assert_false(pool_same_labels(desk_pool(d, "model=org_m"),
				      desk_pool(d, "model=org:m")));
	desk_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_rule_again_changes_nothing),
		cmocka_unit_test(a_dropped_plan_changes_nothing),
		cmocka_unit_test(settings_change_in_place),
		cmocka_unit_test(more_than_settings_starts_the_pool_anew),
		cmocka_unit_test(
			asked_again_after_a_recreation_it_keeps_its_unit),
		cmocka_unit_test(
			a_deleted_rule_ends_who_waits_and_spares_who_runs),
		cmocka_unit_test(
			a_rule_may_become_an_ai_service_and_cease_to_be_one),
		cmocka_unit_test(
			a_recreated_pool_knows_which_endpoints_are_down),
		cmocka_unit_test(pools_whose_labels_are_alike_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

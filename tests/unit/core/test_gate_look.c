/* SPDX-License-Identifier: Apache-2.0 */
/* What HAProxy says of its servers, and the units that nobody returns. */
#include "agent/core/gate.h"

#include "tests/cmocka.h"
#include "tests/unit/core/desk.h"

#define QUEUE "queue_depth=4 queue_wait_ms=60000 "
#define TWO "endpoints=10.0.0.1:8000,10.0.0.2:8000 "

static struct answer last;

static void
ask(struct desk *d, const char *question, enum verdict verdict)
{
	assert_int_equal(desk_ask(d, question, &last), verdict);
}

static void
assert_woken(struct desk *d, const char *who)
{
	assert_string_equal(desk_next(d, &last), who);
	assert_int_equal(last.verdict, VERDICT_ADMIT);
}

static void
three_looks(struct desk *d, const char *look, size_t given_back)
{
	for (int i = 1; i <= 3; i++) {
		d->now += USEC_PER_SEC;
		assert_int_equal(desk_look(d, look), i < 3 ? 0 : given_back);
	}
}

/* Rows 61, 62. */
static void
an_endpoint_is_up_as_haproxy_says(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce " QUEUE TWO);
	desk_look(d, "10.0.0.1:8000=down 10.0.0.2:8000=up");
	ask(d, "a", VERDICT_ADMIT);
	assert_string_equal(last.server, "10.0.0.2:8000");
	desk_look(d, "10.0.0.2:8000=down,1");
	ask(d, "b", VERDICT_REFUSE);
	assert_int_equal(last.reason, REASON_NO_HEALTHY_CAPACITY);
	/* Up at one of two HAProxys is up. */
	desk_look(d, "10.0.0.1:8000=down 10.0.0.1:8000=up 10.0.0.1:8000=down");
	ask(d, "c", VERDICT_ADMIT);
	assert_string_equal(last.server, "10.0.0.1:8000");
	/* No server of it, no news. */
	desk_look(d, "10.0.0.7:8000=down 10.0.0.1:8001=down");
	ask(d, "e", VERDICT_ADMIT);
	desk_close(&d);
}

static void
an_incomplete_look_still_tells_who_is_down(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce");
	desk_look(d, "incomplete 10.0.0.1:8000=down");
	ask(d, "a", VERDICT_REFUSE);
	desk_close(&d);
}

static void
waiters_run_on_an_endpoint_that_comes_back(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce ep_max_inflight=1 " QUEUE TWO);
	desk_look(d, "10.0.0.2:8000=down");
	ask(d, "a", VERDICT_ADMIT);
	ask(d, "b", VERDICT_WAIT);
	ask(d, "c", VERDICT_WAIT);
	assert_null(desk_next(d, &last));
	desk_look(d, "10.0.0.2:8000=up");
	assert_woken(d, "b");
	assert_string_equal(last.server, "10.0.0.2:8000");
	assert_null(desk_next(d, &last));
	desk_close(&d);
}

static void
waiters_are_refused_when_the_last_endpoint_goes(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce ep_max_inflight=1 " QUEUE);
	ask(d, "a", VERDICT_ADMIT);
	ask(d, "b", VERDICT_WAIT);
	desk_look(d, "10.0.0.1:8000=down,1");
	assert_string_equal(desk_next(d, &last), "b");
	assert_int_equal(last.reason, REASON_NO_HEALTHY_CAPACITY);
	assert_int_equal(desk_pool(d, "")->queue.len, 0);
	desk_close(&d);
}

/* Interface 5. */
static void
servers_are_known_by_address_and_called_by_name(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce name=llm");
	desk_put(d, "port=8081 mode=enforce");
	desk_look(d, "backend=llm 10.0.0.1:8000=up,0,gpu1 "
		     "backend=pool 10.0.0.1:8000=up,0,other");
	ask(d, "a", VERDICT_ADMIT);
	assert_string_equal(last.server, "gpu1");
	assert_string_equal(last.backend, "llm");
	/* The default backend is that of rules without a name. */
	ask(d, "b port=8081", VERDICT_ADMIT);
	assert_string_equal(last.server, "other");
	assert_null(last.backend);
	desk_look(d, "backend=elsewhere 10.0.0.1:8000=down,0,x");
	ask(d, "c", VERDICT_ADMIT);
	assert_string_equal(last.server, "gpu1");
	desk_close(&d);
}

/* A rule may also be called as the default backend is. */
static void
the_default_backend_may_have_a_rule_of_its_name(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce name=pool");
	desk_put(d, "port=8081 mode=enforce");
	desk_look(d, "backend=pool 10.0.0.1:8000=down");
	ask(d, "a", VERDICT_REFUSE);
	ask(d, "b port=8081", VERDICT_REFUSE);
	desk_close(&d);
}

/* ---- design choice 2 ---- */

static void
the_oldest_units_without_a_session_are_given_back(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=3 " QUEUE);
	ask(d, "a", VERDICT_ADMIT);
	d->now++;
	ask(d, "b", VERDICT_ADMIT);
	d->now++;
	ask(d, "c", VERDICT_ADMIT);
	ask(d, "w1", VERDICT_WAIT);
	ask(d, "w2", VERDICT_WAIT);
	ask(d, "w3", VERDICT_WAIT);
	three_looks(d, "10.0.0.1:8000=up,1", 2);
	assert_woken(d, "w1");
	assert_woken(d, "w2");
	assert_null(desk_next(d, &last));
	assert_int_equal(desk_pool(d, "")->reclaimed, 2);
	assert_int_equal(desk_pool(d, "")->units, 3);
	/* a and b are gone, c is not. */
	assert_int_equal(desk_end(d, "a"), LINE_LATE);
	assert_int_equal(desk_end(d, "b"), LINE_LATE);
	assert_int_equal(desk_pool(d, "")->units, 3);
	assert_int_equal(desk_end(d, "c"), LINE_RELEASED);
	assert_woken(d, "w3");
	desk_close(&d);
}

static void
incomplete_looks_give_nothing_back(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce");
	ask(d, "a", VERDICT_ADMIT);
	three_looks(d, "incomplete 10.0.0.1:8000=up,0", 0);
	three_looks(d, "incomplete 10.0.0.1:8000=up,0", 0);
	/* A look at other servers says nothing of this one. */
	three_looks(d, "10.0.0.2:8000=up,0", 0);
	assert_int_equal(desk_pool(d, "")->units, 1);
	desk_close(&d);
}

static void
sessions_of_all_haproxys_count(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce");
	ask(d, "a", VERDICT_ADMIT);
	ask(d, "b", VERDICT_ADMIT);
	three_looks(d, "10.0.0.1:8000=up,1 10.0.0.1:8000=up,1", 0);
	three_looks(d, "10.0.0.1:8000=up,1 10.0.0.1:8000=up,0", 1);
	desk_close(&d);
}

/* However many a HAProxy claims: sums stay at the most there is. */
static void
sessions_beyond_counting_are_many(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce " TWO);
	ask(d, "a", VERDICT_ADMIT);
	ask(d, "b", VERDICT_ADMIT);
	three_looks(d,
		    "10.0.0.1:8000=up,4294967295 10.0.0.1:8000=up,4294967295 "
		    "10.0.0.2:8000=up,4294967295 10.0.0.2:8000=up,4294967295",
		    0);
	/* Two servers whose sessions are as many as one more than can be. */
	three_looks(d,
		    "10.0.0.1:8000=up,4294967295 10.0.0.1:8000=up,1 "
		    "10.0.0.2:8000=up,1",
		    0);
	assert_int_equal(desk_pool(d, "")->units, 2);
	desk_close(&d);
}

/* What is too much on two endpoints still speaks for the third. */
static void
spare_sessions_beyond_counting_are_many(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce "
		    "endpoints=10.0.0.1:8000,10.0.0.2:8000,10.0.0.3:8000");
	desk_look(d, "10.0.0.2:8000=down 10.0.0.3:8000=down");
	ask(d, "a", VERDICT_ADMIT);
	three_looks(d,
		    "10.0.0.1:8000=up,0 10.0.0.2:8000=up,4294967295 "
		    "10.0.0.3:8000=up,1",
		    0);
	assert_int_equal(desk_pool(d, "")->units, 1);
	desk_close(&d);
}

/* Two units of two endpoints, the pool gone with the second. */
static void
units_of_a_retired_pool_are_given_back_too(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce name=llm " TWO);
	ask(d, "a", VERDICT_ADMIT);
	ask(d, "b", VERDICT_ADMIT);
	desk_delete(d, "");
	assert_false(TAILQ_EMPTY(&d->gate->retired));
	three_looks(d, "backend=other 10.0.0.1:8000=up 10.0.0.2:8000=up", 0);
	three_looks(d, "backend=llm 10.0.0.1:8000=up 10.0.0.2:8000=up", 2);
	assert_true(TAILQ_EMPTY(&d->gate->retired));
	assert_int_equal(desk_end(d, "a"), LINE_LATE);
	desk_close(&d);
}

/* A rule without a name is of the default backend, also once it is gone. */
static void
units_of_a_retired_pool_without_a_name_are_given_back_too(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce");
	ask(d, "a", VERDICT_ADMIT);
	desk_put(d, "mode=enforce credential");
	three_looks(d, "10.0.0.1:8000=up,1", 0);
	three_looks(d, "10.0.0.1:8000=up,0", 1);
	assert_true(TAILQ_EMPTY(&d->gate->retired));
	desk_close(&d);
}

/* Woken and reclaimed before its answer was taken: it has no unit any more. */
static void
a_unit_given_back_before_its_answer_is_not_answered_with(void **state)
{
	struct gate_options options = { .epoch = 1,
					.hash_key = { 1, 2 },
					.unit_max_age = 10 * USEC_PER_SEC,
					.backend = "pool" };
	struct desk *d = desk_open_with(&options, "");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1 " QUEUE);
	ask(d, "a", VERDICT_ADMIT);
	ask(d, "b", VERDICT_WAIT);
	ask(d, "c", VERDICT_WAIT);
	desk_at(d, 10000);
	gate_tick(d->gate, d->now);
	desk_at(d, 20000);
	gate_tick(d->gate, d->now);
	assert_string_equal(desk_next(d, &last), "b");
	assert_int_equal(last.verdict, VERDICT_REFUSE);
	assert_woken(d, "c");
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(desk_pool(d, "")->reclaimed, 2);
	desk_close(&d);
}

/* Without a runtime API. */
static void
a_unit_is_given_back_at_its_age(void **state)
{
	struct gate_options options = { .epoch = 1,
					.hash_key = { 1, 2 },
					.unit_max_age = 7200 * USEC_PER_SEC,
					.backend = "pool" };
	struct desk *d = desk_open_with(&options, "");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=2");
	ask(d, "a", VERDICT_ADMIT);
	desk_at(d, 1000);
	ask(d, "b", VERDICT_ADMIT);
	assert_true(gate_wakeup(d->gate) == DESK_START + 7200 * USEC_PER_SEC);
	desk_at(d, 7199999);
	gate_tick(d->gate, d->now);
	assert_int_equal(desk_pool(d, "")->units, 2);
	desk_at(d, 7200000);
	gate_tick(d->gate, d->now);
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(desk_pool(d, "")->reclaimed, 1);
	assert_int_equal(desk_end(d, "a"), LINE_LATE);
	assert_int_equal(desk_end(d, "b"), LINE_RELEASED);
	desk_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_endpoint_is_up_as_haproxy_says),
		cmocka_unit_test(an_incomplete_look_still_tells_who_is_down),
		cmocka_unit_test(waiters_run_on_an_endpoint_that_comes_back),
		cmocka_unit_test(
			waiters_are_refused_when_the_last_endpoint_goes),
		cmocka_unit_test(
			servers_are_known_by_address_and_called_by_name),
		cmocka_unit_test(
			the_default_backend_may_have_a_rule_of_its_name),
		cmocka_unit_test(
			the_oldest_units_without_a_session_are_given_back),
		cmocka_unit_test(incomplete_looks_give_nothing_back),
		cmocka_unit_test(sessions_of_all_haproxys_count),
		cmocka_unit_test(sessions_beyond_counting_are_many),
		cmocka_unit_test(spare_sessions_beyond_counting_are_many),
		cmocka_unit_test(units_of_a_retired_pool_are_given_back_too),
		cmocka_unit_test(
			units_of_a_retired_pool_without_a_name_are_given_back_too),
		cmocka_unit_test(
			a_unit_given_back_before_its_answer_is_not_answered_with),
		cmocka_unit_test(a_unit_is_given_back_at_its_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder of a decision. The tests are numbered like the steps of gate.c;
 * each fails when its step is taken out.
 */
#include "agent/core/gate.h"

#include <stdio.h>

#include "agent/core/reason.h"
#include "tests/cmocka.h"
#include "tests/unit/core/desk.h"

#define QUEUE "queue_depth=2 queue_wait_ms=5000 "

static struct answer last;

static enum verdict
ask(struct desk *d, const char *question)
{
	return desk_ask(d, question, &last);
}

static void
assert_admitted(struct desk *d, const char *question)
{
	assert_int_equal(ask(d, question), VERDICT_ADMIT);
	assert_int_equal(last.reason, REASON_ADMITTED);
	assert_true(last.permit != 0);
}

static void
assert_refused(struct desk *d, const char *question, enum reason reason)
{
	assert_int_equal(ask(d, question), VERDICT_REFUSE);
	assert_int_equal(last.reason, reason);
}

static uint64_t
decisions(struct desk *d, enum reason reason)
{
	return desk_pool(d, "")->decisions[reason];
}

static uint64_t
all_decisions(struct desk *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < REASON_COUNT; i++)
		sum += decisions(d, (enum reason)i);
	return sum;
}

/* Rows 6, 8, 16, 36; interface 6.1. */
static void
step_0_what_is_not_gated_passes_uncounted(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	assert_int_equal(ask(d, "a"), VERDICT_BYPASS);
	desk_put(d, "plain mode=enforce max_outstanding=1");
	assert_int_equal(ask(d, "b"), VERDICT_BYPASS);
	assert_int_equal(ask(d, "c"), VERDICT_BYPASS);
	desk_put(d, "mode=off max_outstanding=1");
	assert_int_equal(ask(d, "d"), VERDICT_BYPASS);
	assert_int_equal(ask(d, "e"), VERDICT_BYPASS);
	assert_int_equal(ask(d, "f method=GET"), VERDICT_BYPASS);
	assert_int_equal(all_decisions(d), 0);
	assert_int_equal(desk_pool(d, "")->units, 0);
	desk_close(&d);
}

/* Rows 13 to 15, 17, 318. */
static void
step_1_what_is_no_inference_call_passes_counted(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1");
	assert_admitted(d, "a");
	assert_int_equal(ask(d, "b method=GET path=/v1/models"),
			 VERDICT_BYPASS);
	assert_int_equal(decisions(d, REASON_BYPASS), 1);
	assert_int_equal(desk_pool(d, "")->units, 1);
	desk_put(d, "mode=observe max_outstanding=1");
	assert_int_equal(ask(d, "c path=/health"), VERDICT_BYPASS);
	assert_int_equal(decisions(d, REASON_BYPASS), 2);
	/* Also while the gate closes. */
	desk_put(d, "mode=enforce max_outstanding=1");
	gate_drain(d->gate, d->now);
	assert_int_equal(ask(d, "d method=GET path=/v1/models"),
			 VERDICT_BYPASS);
	desk_close(&d);
}

/* Rows 279, 312, 315, 316. */
static void
step_2_a_closing_gate_refuses_where_it_enforces(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=9");
	desk_put(d, "port=8081 mode=observe");
	desk_put(d, "port=8082 mode=off");
	gate_drain(d->gate, d->now);
	assert_refused(d, "a", REASON_DRAINING);
	assert_true(last.close);
	assert_int_equal(last.retry_after, 5);
	assert_int_equal(last.limit, 9);
	assert_int_equal(decisions(d, REASON_DRAINING), 1);
	assert_admitted(d, "b port=8081");
	assert_int_equal(ask(d, "c port=8082"), VERDICT_BYPASS);
	desk_close(&d);
}

/* Interface 3. */
static void
step_3_a_client_that_is_gone_takes_no_unit(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1");
	assert_int_equal(desk_end(d, "a"), LINE_EARLY);
	assert_int_equal(ask(d, "a"), VERDICT_BYPASS);
	assert_int_equal(all_decisions(d), 0);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_admitted(d, "b");
	desk_close(&d);
}

/* Rows 154, 155: even where a unit is free for the newcomer. */
static void
step_5_a_newcomer_stands_behind_who_waits(void **state)
{
	struct desk *d = desk_open("");
	struct pool *p;

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1 " QUEUE);
	p = desk_pool(d, "");
	assert_admitted(d, "a");
	assert_int_equal(ask(d, "b"), VERDICT_WAIT);
	/* Room that nobody was told of. */
	p->adaptive.ceiling = 5;
	assert_int_equal(ask(d, "c"), VERDICT_WAIT);
	assert_refused(d, "d http=2", REASON_CAPACITY_SHED);
	assert_int_equal(last.limit, 5);
	assert_refused(d, "e", REASON_QUEUE_FULL);
	assert_int_equal(p->units, 1);
	assert_int_equal(p->queue.len, 2);
	desk_close(&d);
}

/* Rows 46, 47, 165, 265, 270, 272. */
static void
step_6_the_service_ceiling_makes_wait_or_refuses(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=2");
	assert_admitted(d, "a");
	assert_admitted(d, "b");
	assert_refused(d, "c", REASON_CAPACITY_SHED);
	assert_int_equal(last.retry_after, 1);
	assert_int_equal(last.inflight, 2);
	assert_int_equal(last.queued, 0);
	assert_int_equal(last.limit, 2);
	assert_false(last.close);

	desk_put(d, "mode=enforce max_outstanding=2 " QUEUE);
	assert_int_equal(ask(d, "d"), VERDICT_WAIT);
	assert_int_equal(ask(d, "e"), VERDICT_WAIT);
	assert_refused(d, "f", REASON_QUEUE_FULL);
	assert_int_equal(last.queued, 2);
	assert_int_equal(last.limit, 2);
	assert_int_equal(decisions(d, REASON_ADMITTED), 2);
	assert_int_equal(decisions(d, REASON_QUEUED), 2);
	assert_int_equal(decisions(d, REASON_CAPACITY_SHED), 1);
	assert_int_equal(decisions(d, REASON_QUEUE_FULL), 1);
	desk_close(&d);
}

/* Rows 61, 62, 278; contract 4.4. */
static void
step_7_without_an_endpoint_nobody_waits(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=2 " QUEUE);
	desk_look(d, "10.0.0.1:8000=down");
	assert_refused(d, "a", REASON_NO_HEALTHY_CAPACITY);
	assert_true(last.close);
	assert_int_equal(last.retry_after, 1);
	assert_int_equal(last.limit, 2);
	assert_int_equal(decisions(d, REASON_QUEUED), 0);
	assert_int_equal(decisions(d, REASON_ADMITTED), 0);
	assert_int_equal(desk_pool(d, "")->units, 0);
	desk_close(&d);
}

/* Rows 63, 64, 271. */
static void
step_8_full_endpoints_make_wait_or_refuse(void **state)
{
	struct desk *d = desk_open("");
	static const char queue[] = "mode=enforce max_outstanding=9 "
				    "ep_max_inflight=1 " QUEUE;

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=9 ep_max_inflight=1");
	assert_admitted(d, "a");
	assert_refused(d, "b", REASON_CAPACITY_SHED);
	assert_int_equal(last.limit, 1);
	assert_int_equal(last.inflight, 1);
	assert_int_equal(decisions(d, REASON_NO_HEALTHY_CAPACITY), 0);
	desk_put(d, queue);
	assert_int_equal(ask(d, "c"), VERDICT_WAIT);
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(decisions(d, REASON_ADMITTED), 1);
	desk_close(&d);
}

/* Rows 18, 64; interface 2. */
static void
step_9_takes_one_unit_and_names_the_endpoint(void **state)
{
	struct desk *d = desk_open("");
	struct pool *p;

	(void)state;
	desk_put(d,
		 "mode=enforce name=llm endpoints=10.0.0.1:8000,[fd00::2]:1");
	p = desk_pool(d, "");
	assert_admitted(d, "a");
	assert_string_equal(last.server, "10.0.0.1:8000");
	assert_string_equal(last.backend, "llm");
	assert_int_equal(last.permit, 1);
	assert_false(last.close);
	assert_admitted(d, "b");
	assert_string_equal(last.server, "fd00::2:1");
	assert_int_equal(last.permit, 2);
	assert_int_equal(p->units, 2);
	assert_int_equal(p->endpoints[0].units, 1);
	assert_int_equal(p->endpoints[1].units, 1);
	assert_int_equal(decisions(d, REASON_ADMITTED), 2);
	assert_int_equal(all_decisions(d), 2);
	desk_close(&d);
}

/* Rows 39, 40, 42, 43; contract 4.11. */
static void
observe_counts_each_ceiling_and_admits(void **state)
{
	struct desk *d = desk_open("");
	char id[16];

	(void)state;
	desk_put(d, "mode=observe max_outstanding=8 ep_max_inflight=5 "
		    "endpoints=10.0.0.1:8000,10.0.0.2:8000");
	for (int i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		assert_admitted(d, id);
		assert_non_null(last.server);
	}
	/* The service from the 9th, the endpoints from the 11th. */
	assert_int_equal(decisions(d, REASON_OBSERVE_WOULD_SHED), 4 + 2);
	assert_int_equal(decisions(d, REASON_ADMITTED), 12);
	assert_int_equal(all_decisions(d), 18);
	assert_int_equal(desk_pool(d, "")->units, 12);
	desk_close(&d);
}

/* Row 41. */
static void
observe_with_a_depth_would_queue_and_parks_nobody(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=observe max_outstanding=1 ep_max_inflight=1 " QUEUE);
	assert_admitted(d, "a");
	assert_admitted(d, "b");
	assert_int_equal(decisions(d, REASON_OBSERVE_WOULD_QUEUE), 2);
	assert_int_equal(decisions(d, REASON_OBSERVE_WOULD_SHED), 0);
	assert_int_equal(desk_pool(d, "")->queue.len, 0);
	desk_close(&d);
}

/* Interface 6.13. */
static void
observe_without_an_endpoint_lets_haproxy_choose(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=observe " QUEUE);
	desk_look(d, "10.0.0.1:8000=down");
	assert_admitted(d, "a");
	assert_null(last.server);
	assert_int_equal(decisions(d, REASON_OBSERVE_WOULD_SHED), 1);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_pool(d, "")->units, 0);
	desk_close(&d);
}

/* Rows 277, 176; interface 6.7. */
static void
only_a_buffered_429_keeps_the_connection(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1");
	assert_admitted(d, "a streamed");
	assert_false(last.close);
	assert_refused(d, "b", REASON_CAPACITY_SHED);
	assert_false(last.close);
	assert_refused(d, "c streamed", REASON_CAPACITY_SHED);
	assert_true(last.close);
	assert_refused(d, "d http=2", REASON_CAPACITY_SHED);
	assert_false(last.close);
	desk_close(&d);
}

/* Rows 177, 178; interface 6.3, 6.12. */
static void
streams_and_legs_never_wait(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1 " QUEUE);
	desk_put(d, "port=8081 pd mode=enforce max_outstanding=1 " QUEUE
		    "endpoints=10.0.0.1:1@prefill,10.0.0.2:1@decode");
	assert_admitted(d, "a");
	assert_refused(d, "b http=2", REASON_CAPACITY_SHED);
	assert_refused(d, "c http=3", REASON_CAPACITY_SHED);
	assert_refused(d, "e leg=decode", REASON_CAPACITY_SHED);
	assert_int_equal(ask(d, "f http=1"), VERDICT_WAIT);
	assert_int_equal(ask(d, "g http=0"), VERDICT_WAIT);
	assert_admitted(d, "h port=8081");
	assert_refused(d, "i port=8081", REASON_CAPACITY_SHED);
	desk_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_0_what_is_not_gated_passes_uncounted),
		cmocka_unit_test(
			step_1_what_is_no_inference_call_passes_counted),
		cmocka_unit_test(
			step_2_a_closing_gate_refuses_where_it_enforces),
		cmocka_unit_test(step_3_a_client_that_is_gone_takes_no_unit),
		cmocka_unit_test(step_5_a_newcomer_stands_behind_who_waits),
		cmocka_unit_test(
			step_6_the_service_ceiling_makes_wait_or_refuses),
		cmocka_unit_test(step_7_without_an_endpoint_nobody_waits),
		cmocka_unit_test(step_8_full_endpoints_make_wait_or_refuse),
		cmocka_unit_test(step_9_takes_one_unit_and_names_the_endpoint),
		cmocka_unit_test(observe_counts_each_ceiling_and_admits),
		cmocka_unit_test(
			observe_with_a_depth_would_queue_and_parks_nobody),
		cmocka_unit_test(
			observe_without_an_endpoint_lets_haproxy_choose),
		cmocka_unit_test(only_a_buffered_429_keeps_the_connection),
		cmocka_unit_test(streams_and_legs_never_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

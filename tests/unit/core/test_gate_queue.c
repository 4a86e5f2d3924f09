/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits: in which order, until when, and what ends it. */
#include "agent/core/gate.h"

#include <stdio.h>

#include "tests/cmocka.h"
#include "tests/unit/core/desk.h"

#define ONE "mode=enforce max_outstanding=1 queue_depth=8 queue_wait_ms=5000"

static struct answer last;

/* One executes ("a") and the rest wait. */
static struct desk *
busy(const char *rule, int waiters)
{
	struct desk *d = desk_open("");
	char id[16];

	desk_put(d, rule);
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
	for (int i = 1; i <= waiters; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		assert_int_equal(desk_ask(d, id, &last), VERDICT_WAIT);
	}
	return d;
}

static void
assert_next(struct desk *d, const char *who, enum verdict verdict,
	    enum reason reason)
{
	const char *label = desk_next(d, &last);

	assert_non_null(label);
	assert_string_equal(label, who);
	assert_int_equal(last.verdict, verdict);
	assert_int_equal(last.reason, reason);
}

static void
assert_admits(struct desk *d, const char *who)
{
	assert_next(d, who, VERDICT_ADMIT, REASON_ADMITTED);
}

static void
assert_no_more(struct desk *d)
{
	assert_null(desk_next(d, &last));
}

static uint32_t
queued(struct desk *d)
{
	return desk_pool(d, "")->queue.len;
}

static uint64_t
decisions(struct desk *d, enum reason reason)
{
	return desk_pool(d, "")->decisions[reason];
}

/* Rows 152, 153, 184. */
static void
each_release_wakes_one_and_the_oldest(void **state)
{
	struct desk *d = busy(ONE, 3);

	(void)state;
	assert_no_more(d);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_admits(d, "w1");
	assert_string_equal(last.server, "10.0.0.1:8000");
	assert_no_more(d);
	assert_int_equal(queued(d), 2);
	assert_int_equal(desk_end(d, "w1"), LINE_RELEASED);
	assert_admits(d, "w2");
	assert_no_more(d);
	assert_int_equal(decisions(d, REASON_ADMITTED), 3);
	desk_close(&d);
}

/* Rows 160, 162, A35. */
static void
a_waiter_that_leaves_frees_its_place(void **state)
{
	struct desk *d = busy(ONE, 3);

	(void)state;
	assert_int_equal(desk_end(d, "w2"), LINE_CANCELLED);
	assert_next(d, "w2", VERDICT_REFUSE, REASON_CANCELLED);
	assert_no_more(d);
	assert_int_equal(queued(d), 2);
	assert_int_equal(decisions(d, REASON_CANCELLED), 1);
	assert_int_equal(desk_end(d, "w1"), LINE_CANCELLED);
	assert_next(d, "w1", VERDICT_REFUSE, REASON_CANCELLED);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_admits(d, "w3");
	/* Executing, its end is a release. */
	assert_int_equal(desk_end(d, "w3"), LINE_RELEASED);
	assert_int_equal(decisions(d, REASON_CANCELLED), 2);
	desk_close(&d);
}

/* Row 160: woken, and gone before its answer was sent. */
static void
the_turn_of_a_woken_client_that_went_passes_on(void **state)
{
	struct desk *d = busy(ONE, 2);

	(void)state;
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_end(d, "w1"), LINE_RELEASED);
	/* Its question has an answer all the same, that nobody reads. */
	assert_next(d, "w1", VERDICT_REFUSE, REASON_CANCELLED);
	assert_admits(d, "w2");
	assert_no_more(d);
	assert_int_equal(desk_pool(d, "")->units, 1);
	desk_close(&d);
}

/* Rows 166 to 169, 275, 280. */
static void
who_waited_out_is_refused_on_time(void **state)
{
	struct desk *d = busy(ONE, 2);

	(void)state;
	desk_at(d, 4999);
	gate_tick(d->gate, d->now);
	assert_no_more(d);
	assert_true(gate_wakeup(d->gate) >= DESK_START + 5000 * USEC_PER_MSEC);
	assert_true(gate_wakeup(d->gate) <= DESK_START + 5008 * USEC_PER_MSEC);
	d->now = gate_wakeup(d->gate);
	gate_tick(d->gate, d->now);
	assert_next(d, "w1", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	assert_in_range(last.queued_ms, 5000, 5008);
	assert_true(last.close);
	assert_int_equal(last.limit, 1);
	assert_int_equal(last.retry_after, 1);
	assert_next(d, "w2", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	assert_int_equal(desk_pool(d, "")->waits.count, 0);
	assert_true(gate_wakeup(d->gate) == USEC_NEVER);
	desk_close(&d);
}

/* Row 172, interface 6.25. */
static void
a_new_window_binds_newcomers_only(void **state)
{
	struct desk *d = busy(ONE, 1);

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1 queue_depth=8 "
		    "queue_wait_ms=100");
	assert_int_equal(desk_ask(d, "w2", &last), VERDICT_WAIT);
	desk_at(d, 100);
	gate_tick(d->gate, d->now);
	assert_next(d, "w2", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	assert_no_more(d);
	desk_at(d, 5000);
	gate_tick(d->gate, d->now);
	assert_next(d, "w1", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	desk_close(&d);
}

/* Row 173. */
static void
a_smaller_depth_binds_newcomers_only(void **state)
{
	struct desk *d = busy(ONE, 4);

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1 queue_depth=2 "
		    "queue_wait_ms=5000");
	assert_no_more(d);
	assert_int_equal(queued(d), 4);
	assert_int_equal(desk_ask(d, "n", &last), VERDICT_REFUSE);
	assert_int_equal(last.reason, REASON_QUEUE_FULL);
	assert_int_equal(last.queued, 4);
	desk_end(d, "a");
	assert_admits(d, "w1");
	assert_int_equal(queued(d), 3);
	desk_close(&d);
}

/* Rows 98 to 100. */
static void
a_raise_wakes_the_oldest_one_per_freed_unit(void **state)
{
	struct desk *d = busy(ONE, 4);

	(void)state;
	assert_int_equal(desk_put(d, "mode=enforce max_outstanding=3 "
				     "queue_depth=8 queue_wait_ms=5000"),
			 GATE_CHANGED);
	assert_admits(d, "w1");
	assert_admits(d, "w2");
	assert_no_more(d);
	assert_int_equal(queued(d), 2);
	desk_close(&d);
}

/* Rows 101, 102. */
static void
without_a_ceiling_or_enforcement_all_run(void **state)
{
	static const char *const rules[] = {
		"mode=enforce queue_depth=8 queue_wait_ms=5000",
		"mode=observe max_outstanding=1 queue_depth=8 "
		"queue_wait_ms=5000",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct desk *d = busy(ONE, 3);

		desk_put(d, rules[i]);
		assert_admits(d, "w1");
		assert_admits(d, "w2");
		assert_admits(d, "w3");
		assert_no_more(d);
		assert_int_equal(desk_pool(d, "")->units, 4);
		desk_close(&d);
	}
}

/* Row 101: off takes no units. */
static void
switched_off_all_pass_without_a_unit(void **state)
{
	struct desk *d = busy(ONE, 2);

	(void)state;
	desk_put(d, "mode=off queue_depth=8 queue_wait_ms=5000");
	assert_next(d, "w1", VERDICT_BYPASS, REASON_ADMITTED);
	assert_next(d, "w2", VERDICT_BYPASS, REASON_ADMITTED);
	assert_no_more(d);
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(desk_end(d, "w1"), LINE_NOTED);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	desk_close(&d);
}

/* ---- asked again: interface 6.2 ---- */

static void
an_executing_request_is_answered_again_with_its_unit(void **state)
{
	struct desk *d = busy(ONE, 0);

	(void)state;
	assert_int_equal(desk_ask(d, "a as=again peer=1", &last),
			 VERDICT_ADMIT);
	assert_int_equal(last.permit, 1);
	assert_string_equal(last.server, "10.0.0.1:8000");
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(decisions(d, REASON_ADMITTED), 1);
	/* The connection that it was first asked on means nothing now. */
	desk_lose(d, 0);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_int_equal(desk_pool(d, "")->units, 0);
	desk_close(&d);
}

static void
a_waiting_request_keeps_its_place_and_deadline(void **state)
{
	struct desk *d = busy(ONE, 3);

	(void)state;
	desk_at(d, 1000);
	assert_int_equal(desk_ask(d, "w2 as=w2b peer=1", &last), VERDICT_WAIT);
	/* The older question has its one answer. */
	assert_next(d, "w2", VERDICT_REFUSE, REASON_CANCELLED);
	assert_no_more(d);
	assert_int_equal(queued(d), 3);
	assert_int_equal(decisions(d, REASON_QUEUED), 3);
	assert_int_equal(decisions(d, REASON_CANCELLED), 0);
	desk_end(d, "a");
	assert_admits(d, "w1");
	desk_end(d, "w1");
	assert_admits(d, "w2b");
	assert_int_equal(desk_pool(d, "")->waits.sum, 2000 * USEC_PER_MSEC);
	assert_int_equal(desk_ask(d, "w3 as=w3b", &last), VERDICT_WAIT);
	assert_next(d, "w3", VERDICT_REFUSE, REASON_CANCELLED);
	desk_at(d, 5000);
	gate_tick(d->gate, d->now);
	assert_next(d, "w3b", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	assert_int_equal(last.queued_ms, 5000);
	desk_close(&d);
}

/* Row 175. */
static void
asked_again_with_a_streamed_body_it_closes(void **state)
{
	struct desk *d = busy(ONE, 1);

	(void)state;
	assert_int_equal(desk_ask(d, "w1 as=w1b streamed", &last),
			 VERDICT_WAIT);
	assert_next(d, "w1", VERDICT_REFUSE, REASON_CANCELLED);
	desk_end(d, "a");
	assert_admits(d, "w1b");
	assert_true(last.close);
	desk_close(&d);
}

/* Row 175: it waited for a turn that the agent before this one did not give. */
static void
who_waited_elsewhere_with_a_streamed_body_closes(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=3");
	assert_int_equal(desk_ask(d, "a streamed waited_ms=1", &last),
			 VERDICT_ADMIT);
	assert_true(last.close);
	assert_int_equal(desk_ask(d, "b waited_ms=1", &last), VERDICT_ADMIT);
	assert_false(last.close);
	assert_int_equal(desk_ask(d, "c streamed", &last), VERDICT_ADMIT);
	assert_false(last.close);
	desk_close(&d);
}

static void
the_gate_knows_whether_anybody_waits(void **state)
{
	struct desk *d = busy(ONE, 0);

	(void)state;
	assert_false(gate_has_waiters(d->gate));
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_WAIT);
	assert_true(gate_has_waiters(d->gate));
	desk_end(d, "a");
	assert_admits(d, "b");
	assert_false(gate_has_waiters(d->gate));
	assert_int_equal(desk_ask(d, "c peer=1", &last), VERDICT_WAIT);
	desk_lose(d, 1);
	assert_false(gate_has_waiters(d->gate));
	desk_close(&d);
}

/* Row 158: a restarted agent is told how long it has been. */
static void
who_waited_elsewhere_keeps_that_deadline(void **state)
{
	struct desk *d = busy(ONE, 0);

	(void)state;
	assert_int_equal(desk_ask(d, "b waited_ms=4900", &last), VERDICT_WAIT);
	assert_int_equal(desk_ask(d, "c waited_ms=7000", &last), VERDICT_WAIT);
	gate_tick(d->gate, d->now);
	assert_next(d, "c", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	assert_int_equal(last.queued_ms, 7000);
	desk_at(d, 99);
	gate_tick(d->gate, d->now);
	assert_no_more(d);
	desk_at(d, 100);
	gate_tick(d->gate, d->now);
	assert_next(d, "b", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	desk_close(&d);
}

/* A wait longer than the machine is up, and then some. */
static void
an_absurd_wait_is_a_wait(void **state)
{
	struct desk *d = busy(ONE, 0);

	(void)state;
	assert_int_equal(desk_ask(d, "b waited_ms=999999999999", &last),
			 VERDICT_WAIT);
	gate_tick(d->gate, d->now);
	assert_next(d, "b", VERDICT_REFUSE, REASON_QUEUE_TIMEOUT);
	assert_int_equal(last.queued_ms, 86400000);
	desk_close(&d);
}

/* ---- interface 6.5 ---- */

static void
a_lost_connection_takes_its_waiters_and_no_unit(void **state)
{
	struct desk *d = busy(ONE, 1);

	(void)state;
	assert_int_equal(desk_ask(d, "x peer=1", &last), VERDICT_WAIT);
	assert_int_equal(desk_ask(d, "y peer=2", &last), VERDICT_WAIT);
	assert_int_equal(desk_ask(d, "z peer=1", &last), VERDICT_WAIT);
	desk_lose(d, 1);
	assert_no_more(d);
	assert_int_equal(queued(d), 2);
	assert_int_equal(decisions(d, REASON_CANCELLED), 2);
	desk_lose(d, 0);
	assert_int_equal(queued(d), 1);
	assert_int_equal(desk_pool(d, "")->units, 1);
	desk_end(d, "a");
	assert_admits(d, "y");
	desk_close(&d);
}

/* Woken, asked anew or gone, and the answer not yet taken. */
static void
a_connection_lost_with_answers_due_gets_none(void **state)
{
	struct desk *d = busy(ONE, 3);

	(void)state;
	assert_int_equal(desk_ask(d, "w2 as=w2b peer=1", &last), VERDICT_WAIT);
	desk_end(d, "w3");
	desk_end(d, "a");
	/* w1 runs, w2's older question and w3 are refused: all due. */
	desk_lose(d, 0);
	assert_no_more(d);
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(decisions(d, REASON_CANCELLED), 1);
	/* Its unit comes back with its line. */
	assert_int_equal(desk_end(d, "w1"), LINE_RELEASED);
	assert_admits(d, "w2b");
	desk_close(&d);
}

/* ---- row 108, 138, 313 ---- */

static void
a_closing_gate_ends_who_waits(void **state)
{
	struct desk *d = busy(ONE, 2);

	(void)state;
	desk_at(d, 1500);
	gate_drain(d->gate, d->now);
	assert_next(d, "w1", VERDICT_REFUSE, REASON_DRAINED);
	assert_int_equal(last.queued_ms, 1500);
	assert_int_equal(last.retry_after, 5);
	assert_int_equal(last.limit, 1);
	assert_true(last.close);
	assert_next(d, "w2", VERDICT_REFUSE, REASON_DRAINED);
	assert_int_equal(decisions(d, REASON_DRAINED), 2);
	/* Executing ones finish. */
	assert_int_equal(desk_pool(d, "")->units, 1);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	desk_close(&d);
}

/* Rows 266, 267, 183. */
static void
the_wait_of_those_who_ran_is_what_clients_are_told(void **state)
{
	struct desk *d = busy("mode=enforce max_outstanding=1 queue_depth=1 "
			      "queue_wait_ms=60000",
			      1);

	(void)state;
	assert_int_equal(desk_ask(d, "x", &last), VERDICT_REFUSE);
	assert_int_equal(last.retry_after, 1);
	desk_at(d, 7001);
	desk_end(d, "a");
	assert_admits(d, "w1");
	assert_int_equal(desk_ask(d, "y", &last), VERDICT_WAIT);
	assert_int_equal(desk_ask(d, "z", &last), VERDICT_REFUSE);
	assert_int_equal(last.reason, REASON_QUEUE_FULL);
	assert_int_equal(last.retry_after, 8);
	assert_int_equal(desk_pool(d, "")->waits.count, 1);
	desk_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_release_wakes_one_and_the_oldest),
		cmocka_unit_test(a_waiter_that_leaves_frees_its_place),
		cmocka_unit_test(
			the_turn_of_a_woken_client_that_went_passes_on),
		cmocka_unit_test(who_waited_out_is_refused_on_time),
		cmocka_unit_test(a_new_window_binds_newcomers_only),
		cmocka_unit_test(a_smaller_depth_binds_newcomers_only),
		cmocka_unit_test(a_raise_wakes_the_oldest_one_per_freed_unit),
		cmocka_unit_test(without_a_ceiling_or_enforcement_all_run),
		cmocka_unit_test(switched_off_all_pass_without_a_unit),
		cmocka_unit_test(
			an_executing_request_is_answered_again_with_its_unit),
		cmocka_unit_test(
			a_waiting_request_keeps_its_place_and_deadline),
		cmocka_unit_test(asked_again_with_a_streamed_body_it_closes),
		cmocka_unit_test(
			who_waited_elsewhere_with_a_streamed_body_closes),
		cmocka_unit_test(the_gate_knows_whether_anybody_waits),
		cmocka_unit_test(who_waited_elsewhere_keeps_that_deadline),
		cmocka_unit_test(an_absurd_wait_is_a_wait),
		cmocka_unit_test(
			a_lost_connection_takes_its_waiters_and_no_unit),
		cmocka_unit_test(a_connection_lost_with_answers_due_gets_none),
		cmocka_unit_test(a_closing_gate_ends_who_waits),
		cmocka_unit_test(
			the_wait_of_those_who_ran_is_what_clients_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

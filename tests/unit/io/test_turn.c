/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/turn.h"

#include <errno.h>
#include <event2/event.h>

#include "tests/cmocka.h"

/* What happened, in order: f(irst), e(vent), l(ast). */
struct trace {
	struct turn *turn;
	struct event *other; /* made active by the first event; may be NULL */
	char steps[32];
	size_t count;
	usec_t times[32];
};

static void
add(struct trace *t, char step, usec_t now)
{
	assert_true(t->count + 1 < sizeof(t->steps));
	t->times[t->count] = now;
	t->steps[t->count++] = step;
}

static void
on_first(void *arg, usec_t now)
{
	add(arg, 'f', now);
}

static void
on_last(void *arg, usec_t now)
{
	struct trace *t = arg;

	/* What the end of a turn does belongs to the turn. */
	assert_int_equal(turn_enter(t->turn), now);
	add(t, 'l', now);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct trace *t = arg;

	(void)fd;
	(void)what;
	add(t, 'e', turn_enter(t->turn));
	assert_int_equal(turn_enter(t->turn), t->times[t->count - 1]);
	if (t->other != NULL)
		event_active(t->other, EV_TIMEOUT, 0);
	t->other = NULL;
}

static void
turn_is_first_then_events_then_last(void **state)
{
	struct event_base *base = event_base_new();
	struct trace t = { .turn = turn_open(base) };
	struct event *a = event_new(base, -1, 0, on_event, &t);
	struct event *b = event_new(base, -1, 0, on_event, &t);

	(void)state;
	assert_non_null(t.turn);
	turn_first(t.turn, on_first, &t);
	turn_last(t.turn, on_last, &t);

	event_active(a, EV_TIMEOUT, 0);
	event_active(b, EV_TIMEOUT, 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_string_equal(t.steps, "feel");
	for (size_t i = 1; i < t.count; i++)
		assert_int_equal(t.times[i], t.times[0]);

	/* The next turn has a time of its own, which is not earlier. */
	event_active(a, EV_TIMEOUT, 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_string_equal(t.steps, "feelfel");
	assert_true(t.times[4] >= t.times[0]);

	event_free(a);
	event_free(b);
	turn_close(&t.turn);
	assert_null(t.turn);
	event_base_free(base);
}

/* An event that comes up at the end is of a turn of its own. */
static void
late_event_begins_another_turn(void **state)
{
	struct event_base *base = event_base_new();
	struct trace t = { .turn = turn_open(base) };
	struct event *a = event_new(base, -1, 0, on_event, &t);
	struct event *b = event_new(base, -1, 0, on_event, &t);

	(void)state;
	turn_first(t.turn, on_first, &t);
	turn_last(t.turn, on_last, &t);
	/* a enters, and then makes b active: behind the end of the turn. */
	t.other = b;
	event_active(a, EV_TIMEOUT, 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_string_equal(t.steps, "felfel");

	event_free(a);
	event_free(b);
	turn_close(&t.turn);
	event_base_free(base);
}

static void
hooks_may_be_missing(void **state)
{
	struct event_base *base = event_base_new();
	struct trace t = { .turn = turn_open(base) };
	struct event *a = event_new(base, -1, 0, on_event, &t);

	(void)state;
	event_active(a, EV_TIMEOUT, 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_string_equal(t.steps, "e");
	event_free(a);
	turn_close(&t.turn);
	turn_close(&t.turn);
	event_base_free(base);
}

static void
find_nothing(void *arg, usec_t now)
{
	(void)arg;
	(void)now;
	errno = EAGAIN;
}

/* A callback can enter before it says what went wrong. */
static void
errno_stays(void **state)
{
	struct event_base *base = event_base_new();
	struct turn *turn = turn_open(base);

	(void)state;
	turn_first(turn, find_nothing, NULL);
	errno = EMFILE;
	turn_enter(turn);
	assert_int_equal(errno, EMFILE);
	turn_close(&turn);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turn_is_first_then_events_then_last),
		cmocka_unit_test(late_event_begins_another_turn),
		cmocka_unit_test(hooks_may_be_missing),
		cmocka_unit_test(errno_stays),
	};

	return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/wheel.h"

#include <stdlib.h>

#include "tests/cmocka.h"

#define ROUND (WHEEL_SLOTS * WHEEL_SLOT_USEC)

static void
nothing_set_never_wakes(void **state)
{
	static struct wheel w;

	(void)state;
	wheel_init(&w, 12345);
	assert_true(wheel_wakeup(&w) == USEC_NEVER);
	assert_null(wheel_expired(&w, 12345));
	assert_null(wheel_expired(&w, 100 * ROUND));
	assert_true(wheel_wakeup(&w) == USEC_NEVER);
}

static void
nothing_expires_early(void **state)
{
	static struct wheel w;
	struct wheel_node n = { 0 };

	(void)state;
	wheel_init(&w, 0);
	wheel_set(&w, &n, 1000001);
	assert_null(wheel_expired(&w, 1000000));
	assert_true(n.set);
	assert_ptr_equal(wheel_expired(&w, 1000001), &n);
	assert_false(n.set);
	assert_null(wheel_expired(&w, 1000001));
}

static void
the_wakeup_is_late_by_a_slot_at_most(void **state)
{
	static const usec_t deadlines[] = {
		0,       1,         7999,  8000,      8001,
		1000000, ROUND - 1, ROUND, ROUND + 1, 3600 * USEC_PER_SEC,
	};
	static struct wheel w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(deadlines); i++) {
		struct wheel_node n = { 0 };

		wheel_init(&w, 0);
		wheel_set(&w, &n, deadlines[i]);
		assert_true(wheel_wakeup(&w) >= deadlines[i]);
		assert_true(wheel_wakeup(&w) <= deadlines[i] + WHEEL_SLOT_USEC);
		assert_ptr_equal(wheel_expired(&w, wheel_wakeup(&w)), &n);
	}
}

static void
a_deadline_gone_by_expires_at_the_next_call(void **state)
{
	static struct wheel w;
	struct wheel_node n = { 0 };

	(void)state;
	wheel_init(&w, 0);
	assert_null(wheel_expired(&w, 5 * ROUND + 12345));
	wheel_set(&w, &n, 17);
	assert_ptr_equal(wheel_expired(&w, 5 * ROUND + 12345), &n);
}

static void
who_asks_at_each_wakeup_gets_there_in_time(void **state)
{
	static struct wheel w;
	struct wheel_node n = { 0 };
	const usec_t deadline = 40 * ROUND + 4321;
	unsigned calls = 0;
	usec_t now = 0;

	(void)state;
	wheel_init(&w, 0);
	wheel_set(&w, &n, deadline);
	/* It is in the way once a round, and may wake us each time. */
	while (wheel_expired(&w, now) == NULL) {
		assert_true(now < deadline);
		assert_true(wheel_wakeup(&w) > now);
		now = wheel_wakeup(&w);
		assert_true(++calls < 200);
	}
	assert_true(now >= deadline && now <= deadline + WHEEL_SLOT_USEC);
}

static void
a_long_pause_loses_nobody(void **state)
{
	static struct wheel w;
	struct wheel_node nodes[64] = { 0 };
	size_t found = 0;

	(void)state;
	wheel_init(&w, 0);
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		wheel_set(&w, &nodes[i], i * ROUND / 7);
	while (wheel_expired(&w, 1000 * ROUND) != NULL)
		found++;
	assert_int_equal(found, ARRAY_LEN(nodes));
	assert_true(wheel_wakeup(&w) == USEC_NEVER);
	/* Nor does it take long: no more than a round is looked through. */
	wheel_set(&w, &nodes[0], 1001 * ROUND);
	assert_ptr_equal(wheel_expired(&w, UINT64_MAX / 2), &nodes[0]);
}

static void
a_dropped_node_does_not_expire(void **state)
{
	static struct wheel w;
	struct wheel_node a = { 0 }, b = { 0 };

	(void)state;
	wheel_init(&w, 0);
	wheel_drop(&w, &a);
	wheel_set(&w, &a, 100);
	wheel_set(&w, &b, 100);
	wheel_drop(&w, &a);
	assert_ptr_equal(wheel_expired(&w, 100), &b);
	assert_null(wheel_expired(&w, ROUND));
	wheel_set(&w, &a, 2 * ROUND);
	assert_null(wheel_expired(&w, 2 * ROUND - 1));
	assert_ptr_equal(wheel_expired(&w, 2 * ROUND), &a);
}

/* ---- against a list that is searched from end to end ---- */

#define NODES 200
#define STEPS 100000

static uint64_t seed = 1;

static uint64_t
pick(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Mostly of the next seconds, some of the next hour, a few gone by. */
static usec_t
any_deadline(usec_t now)
{
	switch (pick(8)) {
	case 0:
		return now - pick(now / 2 + 1);
	case 1:
		return now + pick(3600 * USEC_PER_SEC);
	default:
		return now + pick(20 * USEC_PER_SEC);
	}
}

static usec_t
any_pause(void)
{
	switch (pick(16)) {
	case 0:
		return pick(100 * USEC_PER_SEC);
	case 1:
		return 0;
	default:
		return pick(100 * USEC_PER_MSEC);
	}
}

static usec_t
earliest(const struct wheel_node *nodes)
{
	usec_t at = USEC_NEVER;

	for (size_t i = 0; i < NODES; i++)
		if (nodes[i].set && nodes[i].deadline < at)
			at = nodes[i].deadline;
	return at;
}

static void
random_use_agrees_with_a_naive_list(void **state)
{
	static struct wheel w;
	static struct wheel_node nodes[NODES];
	usec_t now = 123456789;

	(void)state;
	wheel_init(&w, now);
	for (size_t step = 0; step < STEPS; step++) {
		struct wheel_node *n = &nodes[pick(NODES)];
		usec_t due;

		if (n->set)
			wheel_drop(&w, n);
		else
			wheel_set(&w, n, any_deadline(now));

		/* Late by a slot at most, from whatever it looks at. */
		due = earliest(nodes);
		if (due == USEC_NEVER)
			assert_true(wheel_wakeup(&w) == USEC_NEVER);
		else if (due > now)
			assert_true(wheel_wakeup(&w) <= due + WHEEL_SLOT_USEC);

		if (pick(3) != 0)
			continue;
		now += any_pause();
		while ((n = wheel_expired(&w, now)) != NULL)
			assert_true(!n->set && n->deadline <= now);
		assert_true(earliest(nodes) > now);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_set_never_wakes),
		cmocka_unit_test(nothing_expires_early),
		cmocka_unit_test(the_wakeup_is_late_by_a_slot_at_most),
		cmocka_unit_test(a_deadline_gone_by_expires_at_the_next_call),
		cmocka_unit_test(who_asks_at_each_wakeup_gets_there_in_time),
		cmocka_unit_test(a_long_pause_loses_nobody),
		cmocka_unit_test(a_dropped_node_does_not_expire),
		cmocka_unit_test(random_use_agrees_with_a_naive_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

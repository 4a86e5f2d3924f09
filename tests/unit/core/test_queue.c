/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/queue.h"

#include <stdlib.h>

#include "agent/core/request.h"
#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

/* Row 152. */
static void
first_come_is_first(void **state)
{
	struct queue q;
	struct tenants all;
	struct request a = { .tenant = &all.last }, b = { .tenant = &all.last },
		       c = { .tenant = &all.last };

	(void)state;
	queue_init(&q);
	tenants_init(&all);
	assert_null(queue_head(&q));
	queue_join(&q, &a);
	queue_join(&q, &b);
	queue_join(&q, &c);
	assert_int_equal(q.len, 3);
	assert_ptr_equal(queue_head(&q), &a);
	queue_leave(&q, &a);
	assert_ptr_equal(queue_head(&q), &b);
	queue_leave(&q, &c);
	assert_ptr_equal(queue_head(&q), &b);
	queue_leave(&q, &b);
	assert_null(queue_head(&q));
	queue_fini(&q);
}

/* Rows 163, 165, 173: the depth is looked at by who comes, no one else. */
static void
room_ends_at_the_depth(void **state)
{
	struct queue q;
	struct tenants all;
	struct request a = { .tenant = &all.last }, b = { .tenant = &all.last };

	(void)state;
	queue_init(&q);
	tenants_init(&all);
	assert_false(queue_has_room(&q, 0));
	assert_true(queue_has_room(&q, 1));
	queue_join(&q, &a);
	assert_false(queue_has_room(&q, 1));
	assert_true(queue_has_room(&q, 2));
	queue_join(&q, &b);
	assert_false(queue_has_room(&q, 1));
	queue_leave(&q, &a);
	queue_leave(&q, &b);
	queue_fini(&q);
}

/* Row 156. */
static void
who_takes_a_place_has_that_place(void **state)
{
	struct queue q;
	struct tenants all;
	struct request a = { .tenant = &all.last }, b = { .tenant = &all.last },
		       c = { .tenant = &all.last }, d = { .tenant = &all.last },
		       e = { .tenant = &all.last };

	(void)state;
	queue_init(&q);
	tenants_init(&all);
	queue_join(&q, &a);
	queue_join(&q, &b);
	queue_join(&q, &c);
	queue_replace(&b, &d);
	queue_replace(&a, &e);
	assert_int_equal(q.len, 3);
	assert_ptr_equal(queue_head(&q), &e);
	queue_leave(&q, &e);
	assert_ptr_equal(queue_head(&q), &d);
	queue_leave(&q, &d);
	assert_ptr_equal(queue_head(&q), &c);
	queue_leave(&q, &c);
	queue_fini(&q);
}

/* Rows 251 to 253. */
static void
who_is_over_its_share_is_passed_and_keeps_its_place(void **state)
{
	struct queue q;
	struct tenants t;
	struct tenant *x = &t.slot[0], *y = &t.slot[1];
	struct request a = { .tenant = x }, b = { .tenant = y },
		       c = { .tenant = x };

	(void)state;
	queue_init(&q);
	tenants_init(&t);
	queue_set_bound(&q, 2);
	queue_join(&q, &a);
	queue_join(&q, &b);
	queue_join(&q, &c);
	assert_ptr_equal(queue_head(&q), &a);
	assert_null(queue_borrower(&q));

	x->units = 2;
	queue_review(&q, x);
	assert_ptr_equal(queue_head(&q), &b);
	assert_ptr_equal(queue_borrower(&q), &a);
	assert_ptr_equal(queue_oldest(&q), &a);
	queue_leave(&q, &b);
	assert_null(queue_head(&q));
	assert_ptr_equal(queue_oldest(&q), &a);

	x->units = 1;
	queue_review(&q, x);
	assert_ptr_equal(queue_head(&q), &a);
	queue_set_bound(&q, 1);
	assert_null(queue_head(&q));
	queue_set_bound(&q, TENANT_UNBOUNDED);
	assert_ptr_equal(queue_head(&q), &a);
	queue_leave(&q, &a);
	assert_ptr_equal(queue_head(&q), &c);
	queue_leave(&q, &c);
	queue_fini(&q);
}

/* ---- the queue against a naive one ---- */

#define STEPS 60000
#define WAITERS 300

struct lot {
	struct request *request;
	bool waiting;
	uint64_t turn;
};

struct naive {
	struct queue q;
	struct tenants t;
	uint32_t bound;
	struct lot lot[WAITERS];
	uint64_t turns;
};

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static unsigned
pick(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 11) % below);
}

static struct tenant *
any_tenant(struct naive *n)
{
	unsigned i = pick(TENANTS_MAX + 1);

	return i < TENANTS_MAX ? &n->t.slot[i] : &n->t.last;
}

enum who { UNDER, OVER, ALL };

/* Who is over its share comes before those who hold more than it. */
static bool
is_before(const struct lot *a, const struct lot *b, enum who who)
{
	uint32_t units = a->request->tenant->units;
	uint32_t others = b->request->tenant->units;

	if (who == OVER && units != others)
		return units < others;
	return a->turn < b->turn;
}

/* Looks at everybody. */
static struct lot *
find_first(struct naive *n, enum who who)
{
	struct lot *found = NULL;

	for (size_t i = 0; i < WAITERS; i++) {
		struct lot *lot = &n->lot[i];
		bool over;

		if (!lot->waiting ||
		    (found != NULL && !is_before(lot, found, who)))
			continue;
		over = lot->request->tenant->units >= n->bound;
		if (who == ALL || over == (who == OVER))
			found = lot;
	}
	return found;
}

static void
join(struct naive *n, struct lot *lot)
{
	lot->request->tenant = any_tenant(n);
	lot->waiting = true;
	lot->turn = n->turns++;
	queue_join(&n->q, lot->request);
}

static void
leave(struct naive *n, struct lot *lot)
{
	lot->waiting = false;
	queue_leave(&n->q, lot->request);
}

static void
replace(struct naive *n, struct lot *older)
{
	struct lot *newer = &n->lot[pick(WAITERS)];

	if (newer->waiting)
		return;
	queue_replace(older->request, newer->request);
	older->waiting = false;
	newer->waiting = true;
	newer->turn = older->turn;
}

static void
change_units(struct naive *n)
{
	struct tenant *tenant = any_tenant(n);

	tenant->units = pick(5);
	queue_review(&n->q, tenant);
}

static void
change_bound(struct naive *n)
{
	n->bound = 1 + pick(5);
	queue_set_bound(&n->q, n->bound);
}

/* All leave, and come back in turn with other tenants. */
static void
regroup(struct naive *n)
{
	struct lot *line[WAITERS];
	size_t len = 0;
	struct lot *lot;

	while ((lot = find_first(n, ALL)) != NULL) {
		leave(n, lot);
		line[len++] = lot;
	}
	for (size_t i = 0; i < len; i++) {
		line[i]->request->tenant = any_tenant(n);
		line[i]->waiting = true;
		queue_rejoin(&n->q, line[i]->request);
	}
}

static void
empty(struct naive *n)
{
	for (size_t i = 0; i < WAITERS; i++)
		if (n->lot[i].waiting)
			leave(n, &n->lot[i]);
}

static void
do_anything(struct naive *n)
{
	struct lot *lot = &n->lot[pick(WAITERS)];

	if (pick(500) == 0)
		regroup(n);
	else if (pick(100) == 0)
		change_bound(n);
	else if (pick(3) == 0)
		change_units(n);
	else if (!lot->waiting)
		join(n, lot);
	else if (pick(8) > 0)
		leave(n, lot);
	else
		replace(n, lot);
}

static void
assert_same(const struct request *r, const struct lot *lot)
{
	assert_ptr_equal(r, lot == NULL ? NULL : lot->request);
}

static void
compare(struct naive *n)
{
	uint32_t waiting = 0;

	for (size_t i = 0; i < WAITERS; i++)
		waiting += n->lot[i].waiting;
	assert_int_equal(n->q.len, waiting);
	assert_same(queue_head(&n->q), find_first(n, UNDER));
	assert_same(queue_borrower(&n->q), find_first(n, OVER));
	assert_same(queue_oldest(&n->q), find_first(n, ALL));
}

/* With all 65 tenants, and now and then with next to none. */
static void
the_next_one_is_who_a_look_at_all_finds(void **state)
{
	struct naive *n = calloc(1, sizeof(*n));

	(void)state;
	assert_non_null(n);
	queue_init(&n->q);
	tenants_init(&n->t);
	for (size_t i = 0; i < WAITERS; i++)
		n->lot[i].request = kit_request();
	change_bound(n);
	for (unsigned step = 0; step < STEPS; step++) {
		do_anything(n);
		compare(n);
		if (step % 5000 == 0)
			empty(n);
	}
	empty(n);
	queue_fini(&n->q);
	for (size_t i = 0; i < WAITERS; i++)
		free(n->lot[i].request);
	free(n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_come_is_first),
		cmocka_unit_test(room_ends_at_the_depth),
		cmocka_unit_test(who_takes_a_place_has_that_place),
		cmocka_unit_test(
			who_is_over_its_share_is_passed_and_keeps_its_place),
		cmocka_unit_test(the_next_one_is_who_a_look_at_all_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

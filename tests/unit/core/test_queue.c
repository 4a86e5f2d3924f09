/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/queue.h"

#include "agent/core/request.h"
#include "tests/cmocka.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_come_is_first),
		cmocka_unit_test(room_ends_at_the_depth),
		cmocka_unit_test(who_takes_a_place_has_that_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/tenant.h"

#include "tests/cmocka.h"

/* One share that holds: a tenant may have one unit of a hundred. */
static struct tenants *
shared(void)
{
	static struct tenants t;

	tenants_init(&t);
	tenants_bound(&t, 1, 100, 0);
	assert_true(t.active);
	return &t;
}

/* Rows 238 to 241. */
static void
a_share_is_rounded_up_and_at_least_one(void **state)
{
	static const struct {
		uint32_t percent, ceiling, depth;
		uint32_t units, waiting;
	} rows[] = {
		{ 25, 8, 16, 2, 4 },
		{ 30, 10, 0, 3, 1 },
		{ 10, 3, 1, 1, 1 },
		{ 1, 1, 1, 1, 1 },
		{ 1, 100, 101, 1, 2 },
		{ 99, 100, 1, 99, 1 },
		{ 99, 3, 65536, 3, 64881 },
		{ 50, 7, 5, 4, 3 },
		{ 99, UINT32_MAX, UINT32_MAX, 4252017623, 4252017623 },
	};
	struct tenants t;

	(void)state;
	tenants_init(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		tenants_bound(&t, rows[i].percent, rows[i].ceiling,
			      rows[i].depth);
		assert_true(t.active);
		assert_int_equal(t.unit_bound, rows[i].units);
		assert_int_equal(t.queue_bound, rows[i].waiting);
	}
}

/* Rows 242, 255. */
static void
zero_all_and_a_share_of_nothing_bound_nobody(void **state)
{
	static const struct {
		uint32_t percent, ceiling;
	} rows[] = { { 0, 8 }, { 100, 8 }, { 25, 0 } };
	struct tenants t;

	(void)state;
	tenants_init(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		t.active = true;
		tenants_bound(&t, rows[i].percent, rows[i].ceiling, 16);
		assert_false(t.active);
		assert_int_equal(t.unit_bound, TENANT_UNBOUNDED);
		assert_int_equal(t.queue_bound, TENANT_UNBOUNDED);
	}
}

static void
without_a_share_all_are_one(void **state)
{
	struct tenants t;

	(void)state;
	tenants_init(&t);
	assert_ptr_equal(tenants_slot(&t, 1), &t.last);
	t.last.units = 3;
	assert_ptr_equal(tenants_slot(&t, 2), &t.last);
	assert_int_equal(tenants_active(&t), 0);
}

static void
a_tenant_has_one_slot_while_it_holds_anything(void **state)
{
	struct tenants *t = shared();
	struct tenant *a, *b;

	(void)state;
	a = tenants_slot(t, 1);
	assert_ptr_equal(tenants_slot(t, 2), a);
	a = tenants_slot(t, 1);
	a->units = 1;
	b = tenants_slot(t, 2);
	assert_ptr_not_equal(b, a);
	b->waiting = 1;
	assert_ptr_equal(tenants_slot(t, 1), a);
	assert_ptr_equal(tenants_slot(t, 2), b);
	assert_int_equal(tenants_active(t), 2);

	/* A free one before it is not in its way. */
	a->units = 0;
	assert_ptr_equal(tenants_slot(t, 2), b);
	assert_ptr_equal(tenants_slot(t, 1), a);
	assert_int_equal(tenants_active(t), 1);
	/* Nor is what a free one was before. */
	assert_ptr_equal(tenants_slot(t, 3), a);
	a->waiting = 1;
	assert_ptr_not_equal(tenants_slot(t, 1), a);
}

/* Rows 256, 258, 259; contract A27. */
static void
beyond_64_the_last_slot_is_shared(void **state)
{
	struct tenants *t = shared();

	(void)state;
	for (uint64_t key = 0; key < TENANTS_MAX; key++) {
		struct tenant *tenant = tenants_slot(t, key);

		assert_ptr_not_equal(tenant, &t->last);
		tenant->units = 1;
	}
	assert_int_equal(tenants_active(t), 64);
	assert_ptr_equal(tenants_slot(t, 64), &t->last);
	t->last.units = 1;
	assert_ptr_equal(tenants_slot(t, 65), &t->last);
	t->last.waiting = 1;
	assert_int_equal(tenants_active(t), 65);

	assert_ptr_not_equal(tenants_slot(t, 63), &t->last);
	tenants_slot(t, 17)->units = 0;
	assert_int_equal(tenants_active(t), 64);
	assert_ptr_not_equal(tenants_slot(t, 65), &t->last);
}

static void
who_holds_the_bound_is_over(void **state)
{
	struct tenant tenant = { .units = 2 };

	(void)state;
	assert_false(tenant_is_over(&tenant, 3));
	assert_true(tenant_is_over(&tenant, 2));
	assert_true(tenant_is_over(&tenant, 1));
	assert_false(tenant_is_over(&tenant, TENANT_UNBOUNDED));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_is_rounded_up_and_at_least_one),
		cmocka_unit_test(zero_all_and_a_share_of_nothing_bound_nobody),
		cmocka_unit_test(without_a_share_all_are_one),
		cmocka_unit_test(a_tenant_has_one_slot_while_it_holds_anything),
		cmocka_unit_test(beyond_64_the_last_slot_is_shared),
		cmocka_unit_test(who_holds_the_bound_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/request.h"
#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

static char ip_v4[] = "10.0.0.1";
static char ip_v6[] = "2001:db8:1111:2222:3333:4444:5555:6666";

static struct endpoint
made(char *ip, uint32_t weight)
{
	struct rule_endpoint declared = { .ip = ip,
					  .address = { ADDRESS_V4,
						       { 10, 0, 0, 1 } },
					  .port = 8000,
					  .weight = weight,
					  .role = ROLE_DECODE };
	struct endpoint e;

	endpoint_init(&e, &declared);
	/* A copy of an empty list points into what it was copied from. */
	return e;
}

/* Interface 5 and 6.26. */
static void
a_new_one_is_up_and_named_by_its_address(void **state)
{
	struct endpoint e = made(ip_v4, 0);

	(void)state;
	assert_true(e.up);
	assert_true(endpoint_is_eligible(&e));
	assert_int_equal(e.weight, 1);
	assert_int_equal(e.role, ROLE_DECODE);
	assert_string_equal(e.server, "10.0.0.1:8000");
	e = made(ip_v6, 7);
	assert_int_equal(e.weight, 7);
	assert_string_equal(e.server,
			    "2001:db8:1111:2222:3333:4444:5555:6666:8000");
}

static void
a_name_too_long_or_empty_is_not_taken(void **state)
{
	struct endpoint e = made(ip_v4, 1);
	char name[ENDPOINT_SERVER_MAX + 1];

	(void)state;
	memset(name, 's', sizeof(name));
	endpoint_name(&e, (struct text){ name, ENDPOINT_SERVER_MAX });
	endpoint_name(&e, text_of(""));
	assert_string_equal(e.server, "10.0.0.1:8000");
	endpoint_name(&e, (struct text){ name, ENDPOINT_SERVER_MAX - 1 });
	assert_int_equal(strlen(e.server), ENDPOINT_SERVER_MAX - 1);
	endpoint_name(&e, text_of("gpu1"));
	assert_string_equal(e.server, "gpu1");
}

static void
room_ends_at_the_ceiling_and_zero_is_none(void **state)
{
	struct endpoint e = made(ip_v4, 1);

	(void)state;
	e.units = 4;
	assert_true(endpoint_has_room(&e, 0));
	assert_true(endpoint_has_room(&e, 5));
	assert_false(endpoint_has_room(&e, 4));
	assert_false(endpoint_has_room(&e, 3));
}

static void
lighter_is_fewer_units_for_the_weight(void **state)
{
	struct endpoint a = made(ip_v4, 3), b = made(ip_v4, 1);

	(void)state;
	assert_false(endpoint_is_lighter(&a, &b));
	b.units = 1;
	assert_true(endpoint_is_lighter(&a, &b));
	a.units = 2;
	assert_true(endpoint_is_lighter(&a, &b));
	a.units = 3;
	assert_false(endpoint_is_lighter(&a, &b));
	assert_false(endpoint_is_lighter(&b, &a));
	a.units = 4;
	assert_true(endpoint_is_lighter(&b, &a));
	/* Products beyond 32 bits. */
	a = made(ip_v4, UINT32_MAX);
	b = made(ip_v4, UINT32_MAX - 1);
	a.units = b.units = UINT32_MAX;
	assert_true(endpoint_is_lighter(&a, &b));
	assert_false(endpoint_is_lighter(&b, &a));
}

/* ---- looks ---- */

#define UNITS 4

/* One with UNITS units, admitted at 100, 200, 300… */
static void
fill(struct endpoint *e)
{
	struct rule_endpoint declared = { .ip = ip_v4, .port = 8000 };

	endpoint_init(e, &declared);
	for (size_t i = 1; i <= UNITS; i++) {
		struct request *r = kit_request();

		r->admitted = 100 * i;
		TAILQ_INSERT_TAIL(&e->executing, r, executing);
		e->units++;
	}
}

static void
take_oldest(struct endpoint *e)
{
	struct request *r = TAILQ_FIRST(&e->executing);

	TAILQ_REMOVE(&e->executing, r, executing);
	e->units--;
	free(r);
}

static void
empty(struct endpoint *e)
{
	while (e->units > 0)
		take_oldest(e);
}

static void
three_looks_in_a_row_make_a_unit_lost(void **state)
{
	struct endpoint e;

	(void)state;
	fill(&e);
	assert_int_equal(endpoint_look(&e, 2, 1000), 0);
	assert_int_equal(endpoint_look(&e, 2, 2000), 0);
	assert_int_equal(endpoint_look(&e, 2, 3000), 2);
	empty(&e);
}

static void
the_fewest_of_the_three_are_lost(void **state)
{
	struct endpoint e;

	(void)state;
	fill(&e);
	assert_int_equal(endpoint_look(&e, 0, 1000), 0);
	assert_int_equal(endpoint_look(&e, 3, 2000), 0);
	assert_int_equal(endpoint_look(&e, 1, 3000), 1);
	empty(&e);
}

static void
one_look_with_all_sessions_starts_anew(void **state)
{
	struct endpoint e;

	(void)state;
	fill(&e);
	assert_int_equal(endpoint_look(&e, 2, 1000), 0);
	assert_int_equal(endpoint_look(&e, 2, 2000), 0);
	/* More sessions than units is no harm: others use it too. */
	assert_int_equal(endpoint_look(&e, 9, 3000), 0);
	assert_int_equal(endpoint_look(&e, 2, 4000), 0);
	assert_int_equal(endpoint_look(&e, 2, 5000), 0);
	assert_int_equal(endpoint_look(&e, 2, 6000), 2);
	empty(&e);
}

static void
only_units_there_since_the_first_look_are_lost(void **state)
{
	struct endpoint e;

	(void)state;
	fill(&e);
	/* The last two came after it. */
	assert_int_equal(endpoint_look(&e, 0, 250), 0);
	assert_int_equal(endpoint_look(&e, 0, 1000), 0);
	assert_int_equal(endpoint_look(&e, 0, 2000), 2);
	empty(&e);

	fill(&e);
	assert_int_equal(endpoint_look(&e, 0, 99), 0);
	assert_int_equal(endpoint_look(&e, 0, 1000), 0);
	assert_int_equal(endpoint_look(&e, 0, 2000), 0);
	empty(&e);
}

static void
looks_that_found_a_lost_unit_do_not_find_it_again(void **state)
{
	struct endpoint e;

	(void)state;
	fill(&e);
	assert_int_equal(endpoint_look(&e, 3, 1000), 0);
	assert_int_equal(endpoint_look(&e, 3, 2000), 0);
	assert_int_equal(endpoint_look(&e, 3, 3000), 1);
	take_oldest(&e);
	/* A session that closes before its line is read, once. */
	assert_int_equal(endpoint_look(&e, 2, 4000), 0);
	assert_int_equal(endpoint_look(&e, 3, 5000), 0);
	empty(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_one_is_up_and_named_by_its_address),
		cmocka_unit_test(a_name_too_long_or_empty_is_not_taken),
		cmocka_unit_test(room_ends_at_the_ceiling_and_zero_is_none),
		cmocka_unit_test(lighter_is_fewer_units_for_the_weight),
		cmocka_unit_test(three_looks_in_a_row_make_a_unit_lost),
		cmocka_unit_test(the_fewest_of_the_three_are_lost),
		cmocka_unit_test(one_look_with_all_sessions_starts_anew),
		cmocka_unit_test(
			only_units_there_since_the_first_look_are_lost),
		cmocka_unit_test(
			looks_that_found_a_lost_unit_do_not_find_it_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

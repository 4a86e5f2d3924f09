/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/address.h"

#include "tests/cmocka.h"

static void
addresses_of_two_families_differ(void **state)
{
	struct address a = { ADDRESS_V4, { 10, 0, 0, 1 } };
	struct address b = { ADDRESS_V6, { 10, 0, 0, 1 } };

	(void)state;
	assert_false(address_equals(&a, &b));
}

static void
four_bytes_count_of_v4_and_sixteen_of_v6(void **state)
{
	struct address a = { ADDRESS_V4, { 10, 0, 0, 1, 99 } };
	struct address b = { ADDRESS_V4, { 10, 0, 0, 1 } };
	struct address c = { ADDRESS_V4, { 10, 0, 0, 2 } };
	struct address d = { ADDRESS_V6, { 0xfd, [15] = 1 } };
	struct address e = { ADDRESS_V6, { 0xfd, [15] = 2 } };

	(void)state;
	assert_true(address_equals(&a, &b));
	assert_false(address_equals(&b, &c));
	assert_false(address_equals(&d, &e));
	e.bytes[15] = 1;
	assert_true(address_equals(&d, &e));
}

static void
zero_is_any_in_either_family_and_none_is_not(void **state)
{
	struct address v4 = { ADDRESS_V4, { 0, 0, 0, 0, 7 } };
	struct address v6 = { ADDRESS_V6, { 0 } };
	struct address none = { ADDRESS_NONE, { 0 } };

	(void)state;
	assert_true(address_is_any(&v4));
	assert_true(address_is_any(&v6));
	assert_false(address_is_any(&none));
	v4.bytes[3] = 1;
	v6.bytes[15] = 1;
	assert_false(address_is_any(&v4));
	assert_false(address_is_any(&v6));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_of_two_families_differ),
		cmocka_unit_test(four_bytes_count_of_v4_and_sixteen_of_v6),
		cmocka_unit_test(zero_is_any_in_either_family_and_none_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

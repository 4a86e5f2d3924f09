/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/index.h"

#include <stdlib.h>

#include "tests/cmocka.h"

/* The first of the published vectors of SipHash-1-3, key and bytes 0, 1, 2… */
static void
the_hash_is_siphash_1_3(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} vectors[] = {
		{ 0, UINT64_C(0xabac0158050fc4dc) },
		{ 1, UINT64_C(0xc9f49bf37d57ca93) },
		{ 7, UINT64_C(0xd3927d989bb11140) },
		{ 8, UINT64_C(0x369095118d299a8e) },
		{ 9, UINT64_C(0x25a48eb36c063de4) },
		{ 15, UINT64_C(0xd320d86d2a519956) },
		{ 16, UINT64_C(0xcc4fdd1a7d908b66) },
		{ 63, UINT64_C(0x9d199062b7bbb3a8) },
	};
	const uint64_t key[2] = { UINT64_C(0x0706050403020100),
				  UINT64_C(0x0f0e0d0c0b0a0908) };
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
		assert_true(index_hash(bytes, vectors[i].len, key) ==
			    vectors[i].hash);
}

static void
another_key_is_another_hash(void **state)
{
	const uint64_t a[2] = { 1, 2 }, b[2] = { 1, 3 }, c[2] = { 2, 2 };

	(void)state;
	assert_true(index_hash("id", 2, a) != index_hash("id", 2, b));
	assert_true(index_hash("id", 2, a) != index_hash("id", 2, c));
	assert_true(index_hash("id", 2, a) != index_hash("ie", 2, a));
	assert_true(index_hash("id", 2, a) != index_hash("id\0", 3, a));
}

static void
nodes_of_one_hash_are_all_found(void **state)
{
	struct index index;
	struct index_node a, b, c;
	struct index_node *found;

	(void)state;
	assert_true(index_init(&index));
	assert_null(index_first(&index, 7));
	index_add(&index, &a, 7);
	/* Of the same bucket and another hash. */
	index_add(&index, &c, 7 + UINT64_C(0x100000000));
	index_add(&index, &b, 7);

	found = index_first(&index, 7);
	assert_true(found == &a || found == &b);
	assert_ptr_equal(index_next(found), found == &a ? &b : &a);
	assert_null(index_next(index_next(found)));

	index_remove(&index, &a);
	assert_ptr_equal(index_first(&index, 7), &b);
	assert_null(index_next(&b));
	index_remove(&index, &b);
	assert_null(index_first(&index, 7));
	index_remove(&index, &c);
	index_fini(&index);
}

#define MANY 100000

static void
many_nodes_are_found_while_it_grows_and_empties(void **state)
{
	struct index_node *nodes = calloc(MANY, sizeof(*nodes));
	const uint64_t key[2] = { 3, 4 };
	struct index index;

	(void)state;
	assert_non_null(nodes);
	assert_true(index_init(&index));
	for (size_t i = 0; i < MANY; i++)
		index_add(&index, &nodes[i], index_hash(&i, sizeof(i), key));
	assert_int_equal(index.len, MANY);
	/* As many buckets as nodes, or a chain would grow with their number. */
	assert_true(index.mask + 1 >= MANY);

	for (size_t i = 0; i < MANY; i += 2)
		index_remove(&index, &nodes[i]);
	for (size_t i = 0; i < MANY; i++) {
		uint64_t hash = index_hash(&i, sizeof(i), key);

		assert_ptr_equal(index_first(&index, hash),
				 i % 2 == 0 ? NULL : &nodes[i]);
	}
	for (size_t i = 1; i < MANY; i += 2)
		index_remove(&index, &nodes[i]);
	assert_int_equal(index.len, 0);
	index_fini(&index);
	free(nodes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_siphash_1_3),
		cmocka_unit_test(another_key_is_another_hash),
		cmocka_unit_test(nodes_of_one_hash_are_all_found),
		cmocka_unit_test(
			many_nodes_are_found_while_it_grows_and_empties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

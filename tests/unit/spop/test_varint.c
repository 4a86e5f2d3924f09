/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/varint.h"

#include <string.h>

#include "spop/error.h"
#include "tests/cmocka.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Both sides of each edge, as bytes that the table in SPOE.txt 3.1 implies. */
static const struct edge {
	uint64_t value;
	size_t len;
	uint8_t bytes[SPOP_VARINT_MAX];
} edges[] = {
	{ 0, 1, { 0 } },
	{ 1, 1, { 1 } },
	{ 239, 1, { 239 } },
	{ 240, 2, { 240, 0 } },
	{ 255, 2, { 255, 0 } },
	{ 256, 2, { 240, 1 } },
	{ 2287, 2, { 255, 127 } },
	{ 2288, 3, { 240, 128, 0 } },
	{ 264431, 3, { 255, 255, 127 } },
	{ 264432, 4, { 240, 128, 128, 0 } },
	{ 33818863, 4, { 255, 255, 255, 127 } },
	{ 33818864, 5, { 240, 128, 128, 128, 0 } },
	{ 4328786159, 5, { 255, 255, 255, 255, 127 } },
	{ 4328786160, 6, { 240, 128, 128, 128, 128, 0 } },
	{ UINT64_MAX, 10, { 255, 240, 254, 254, 254, 254, 254, 254, 254, 14 } },
};

static void
each_edge_encodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
		uint8_t buf[SPOP_VARINT_MAX];

		assert_int_equal(spop_varint_encode(buf, edges[i].value),
				 edges[i].len);
		assert_memory_equal(buf, edges[i].bytes, edges[i].len);
	}
}

static void
each_edge_decodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
		uint64_t value = 77;

		assert_int_equal(spop_varint_decode(edges[i].bytes,
						    SPOP_VARINT_MAX, &value),
				 edges[i].len);
		assert_int_equal(value, edges[i].value);
	}
}

static void
each_shorter_prefix_is_incomplete(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++)
		for (size_t len = 0; len < edges[i].len; len++) {
			uint64_t value = 77;

			assert_int_equal(
				spop_varint_decode(edges[i].bytes, len, &value),
				0);
			assert_int_equal(value, 77);
		}
}

static void
each_power_of_two_survives(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++)
		for (uint64_t near = 0; near < 3; near++) {
			uint64_t value = ((uint64_t)1 << bit) + near - 1;
			uint8_t buf[SPOP_VARINT_MAX];
			size_t len = spop_varint_encode(buf, value);
			uint64_t back = ~value;

			assert_in_range(len, 1, SPOP_VARINT_MAX);
			assert_int_equal(spop_varint_decode(buf, len, &back),
					 len);
			assert_int_equal(back, value);
		}
}

static void
more_than_64_bits_are_refused(void **state)
{
	static const uint8_t one_more[] = { 240, 241, 254, 254, 254,
					    254, 254, 254, 254, 14 };
	uint8_t ones[16];
	uint64_t value = 77;

	(void)state;
	memset(ones, 255, sizeof(ones));
	assert_int_equal(spop_varint_decode(ones, sizeof(ones), &value),
			 SPOP_EINVAL);
	assert_int_equal(spop_varint_decode(one_more, sizeof(one_more), &value),
			 SPOP_EINVAL);
	assert_int_equal(value, 77);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_edge_encodes),
		cmocka_unit_test(each_edge_decodes),
		cmocka_unit_test(each_shorter_prefix_is_incomplete),
		cmocka_unit_test(each_power_of_two_survives),
		cmocka_unit_test(more_than_64_bits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/value.h"

#include <string.h>

#include "spop/error.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT(string)                                                           \
	{                                                                      \
		.at = (string), .len = sizeof(string) - 1                      \
	}

/* -1 in 64 bits, as a varint, behind a type. */
#define MINUS_ONE 255, 240, 254, 254, 254, 254, 254, 254, 254, 14

/* Every type, and both ends of its range, in the bytes of the wire. */
static const struct row {
	struct spop_value value;
	size_t len;
	uint8_t bytes[24];
} rows[] = {
	{ { .type = SPOP_NULL }, 1, { 0 } },
	{ { .type = SPOP_BOOL, .boolean = false }, 1, { 0x01 } },
	{ { .type = SPOP_BOOL, .boolean = true }, 1, { 0x11 } },
	{ { .type = SPOP_INT32, .number = 0 }, 2, { 2, 0 } },
	{ { .type = SPOP_INT32, .number = -1 }, 11, { 2, MINUS_ONE } },
	{ { .type = SPOP_INT32, .number = INT32_MAX },
	  6,
	  { 2, 255, 240, 254, 254, 62 } },
	{ { .type = SPOP_INT32, .number = INT32_MIN },
	  11,
	  { 2, 240, 241, 254, 254, 190, 254, 254, 254, 254, 14 } },
	{ { .type = SPOP_UINT32, .natural = 240 }, 3, { 3, 240, 0 } },
	{ { .type = SPOP_UINT32, .natural = UINT32_MAX },
	  6,
	  { 3, 255, 240, 254, 254, 126 } },
	{ { .type = SPOP_INT64, .number = 16380 }, 4, { 4, 252, 240, 6 } },
	{ { .type = SPOP_INT64, .number = -1 }, 11, { 4, MINUS_ONE } },
	{ { .type = SPOP_INT64, .number = INT64_MIN },
	  11,
	  { 4, 240, 241, 254, 254, 254, 254, 254, 254, 254, 6 } },
	{ { .type = SPOP_UINT64, .natural = INT64_MAX },
	  11,
	  { 5, 255, 240, 254, 254, 254, 254, 254, 254, 254, 6 } },
	{ { .type = SPOP_UINT64, .natural = UINT64_MAX },
	  11,
	  { 5, MINUS_ONE } },
	{ { .type = SPOP_IPV4, .ipv4 = { 192, 0, 2, 1 } },
	  5,
	  { 6, 192, 0, 2, 1 } },
	{ { .type = SPOP_IPV6,
	    .ipv6 = { 0x20, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } },
	  17,
	  { 7, 0x20, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } },
	{ { .type = SPOP_STRING, .text = TEXT("") }, 2, { 8, 0 } },
	{ { .type = SPOP_STRING, .text = TEXT("admit") },
	  7,
	  { 8, 5, 'a', 'd', 'm', 'i', 't' } },
	{ { .type = SPOP_BINARY, .text = TEXT("\0\xff") },
	  4,
	  { 9, 2, 0, 255 } },
};

static void
assert_value(const struct spop_value *a, const struct spop_value *b)
{
	assert_int_equal(a->type, b->type);
	switch (a->type) {
	case SPOP_NULL:
		break;
	case SPOP_BOOL:
		assert_int_equal(a->boolean, b->boolean);
		break;
	case SPOP_INT32:
	case SPOP_INT64:
		assert_true(a->number == b->number);
		break;
	case SPOP_UINT32:
	case SPOP_UINT64:
		assert_true(a->natural == b->natural);
		break;
	case SPOP_IPV4:
		assert_memory_equal(a->ipv4, b->ipv4, 4);
		break;
	case SPOP_IPV6:
		assert_memory_equal(a->ipv6, b->ipv6, 16);
		break;
	case SPOP_STRING:
	case SPOP_BINARY:
		assert_int_equal(a->text.len, b->text.len);
		assert_memory_equal(a->text.at, b->text.at, a->text.len);
		break;
	}
}

static void
each_type_encodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[sizeof(rows[i].bytes)];
		struct spop_writer w;

		spop_writer_init(&w, buf, rows[i].len);
		spop_value_encode(&w, &rows[i].value);
		assert_int_equal(w.error, 0);
		assert_int_equal(w.len, rows[i].len);
		assert_memory_equal(buf, rows[i].bytes, rows[i].len);
	}
}

static void
each_type_decodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct spop_value value;

		assert_int_equal(spop_value_decode(rows[i].bytes,
						   sizeof(rows[i].bytes),
						   &value),
				 rows[i].len);
		assert_value(&value, &rows[i].value);
	}
}

static void
each_shorter_prefix_is_incomplete(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t len = 0; len < rows[i].len; len++) {
			struct spop_value value = spop_value_int(77);

			assert_int_equal(
				spop_value_decode(rows[i].bytes, len, &value),
				0);
			assert_int_equal(value.type, SPOP_INT64);
			assert_int_equal(value.number, 77);
		}
}

static void
each_smaller_buffer_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t cap = 0; cap < rows[i].len; cap++) {
			uint8_t buf[sizeof(rows[i].bytes)];
			struct spop_writer w;

			spop_writer_init(&w, buf, cap);
			spop_value_encode(&w, &rows[i].value);
			assert_int_equal(w.error, SPOP_ENOSPACE);
		}
}

static void
an_unknown_type_is_refused(void **state)
{
	(void)state;
	for (uint8_t type = 10; type < 16; type++) {
		uint8_t buf[20] = { type };
		struct spop_value value = spop_value_int(77);

		assert_int_equal(spop_value_decode(buf, sizeof(buf), &value),
				 SPOP_EINVAL);
		assert_int_equal(value.number, 77);
	}
}

static void
other_flags_mean_nothing(void **state)
{
	static const uint8_t falsity[] = { 0xe1 }, text[] = { 0xf8, 1, 'x' };
	struct spop_value value;

	(void)state;
	assert_int_equal(spop_value_decode(falsity, 1, &value), 1);
	assert_false(value.boolean);
	assert_int_equal(spop_value_decode(text, sizeof(text), &value), 3);
	assert_true(spop_text_is(value.text, "x"));
}

static void
a_number_beyond_its_type_is_refused(void **state)
{
	/* 2^32, one below INT32_MIN, and the latter's distant relation */
	static const struct {
		uint8_t type;
		uint64_t raw;
	} bad[] = {
		{ SPOP_UINT32, (uint64_t)UINT32_MAX + 1 },
		{ SPOP_UINT32, UINT64_MAX },
		{ SPOP_INT32, (uint64_t)UINT32_MAX + 1 },
		{ SPOP_INT32, (uint64_t)INT32_MIN - 1 },
		{ SPOP_INT32, (uint64_t)INT64_MAX },
		{ SPOP_INT32, (uint64_t)INT64_MIN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t buf[16];
		struct spop_writer w;
		struct spop_value value = spop_value_int(77);

		spop_writer_init(&w, buf, sizeof(buf));
		spop_writer_put_byte(&w, bad[i].type);
		spop_writer_put_varint(&w, bad[i].raw);
		assert_int_equal(spop_value_decode(buf, w.len, &value),
				 SPOP_EINVAL);
		assert_int_equal(value.number, 77);
	}
}

static void
a_negative_int32_may_come_in_32_bits(void **state)
{
	uint8_t buf[16];
	struct spop_writer w;
	struct spop_value value;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_writer_put_byte(&w, SPOP_INT32);
	spop_writer_put_varint(&w, UINT32_MAX);
	assert_int_equal(spop_value_decode(buf, w.len, &value), w.len);
	assert_int_equal(value.number, -1);
}

static void
any_integer_is_an_int_if_it_fits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct spop_value *value = &rows[i].value;
		bool integer =
			value->type >= SPOP_INT32 && value->type <= SPOP_UINT64;
		int64_t number = 77;

		if (value->type == SPOP_UINT64)
			integer = value->natural <= INT64_MAX;
		assert_int_equal(spop_value_to_int(value, &number), integer);
		if (integer)
			assert_true(number == value->number);
		else
			assert_int_equal(number, 77);
	}
}

static void
only_a_bool_is_a_bool(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct spop_value *value = &rows[i].value;
		bool boolean;

		assert_int_equal(spop_value_to_bool(value, &boolean),
				 value->type == SPOP_BOOL);
		if (value->type == SPOP_BOOL)
			assert_int_equal(boolean, value->boolean);
	}
}

static void
string_and_binary_are_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct spop_value *value = &rows[i].value;
		struct spop_text text;
		bool is_text = value->type >= SPOP_STRING;

		assert_int_equal(spop_value_to_text(value, &text), is_text);
		if (is_text)
			assert_ptr_equal(text.at, value->text.at);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_encodes),
		cmocka_unit_test(each_type_decodes),
		cmocka_unit_test(each_shorter_prefix_is_incomplete),
		cmocka_unit_test(each_smaller_buffer_is_refused),
		cmocka_unit_test(an_unknown_type_is_refused),
		cmocka_unit_test(other_flags_mean_nothing),
		cmocka_unit_test(a_number_beyond_its_type_is_refused),
		cmocka_unit_test(a_negative_int32_may_come_in_32_bits),
		cmocka_unit_test(any_integer_is_an_int_if_it_fits),
		cmocka_unit_test(only_a_bool_is_a_bool),
		cmocka_unit_test(string_and_binary_are_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

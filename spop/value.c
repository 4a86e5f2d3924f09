/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/value.h"

#include <assert.h>
#include <string.h>

#include "spop/error.h"
#include "spop/varint.h"
#include "spop/writer.h"

/* The first byte: the type below, flags above, of which one has a meaning. */
#define TYPE_MASK 0x0fU
#define FLAG_TRUE 0x10U

/* False when the type cannot hold it. */
static bool
store_number(struct spop_value *value, uint64_t raw)
{
	value->natural = raw;
	if (value->type == SPOP_UINT64)
		return true;
	if (value->type == SPOP_UINT32)
		return raw <= UINT32_MAX;

	value->number = (int64_t)raw;
	if (value->type == SPOP_INT64)
		return true;
	if (raw <= UINT32_MAX)
		value->number = (int32_t)raw;
	return value->number >= INT32_MIN && value->number <= INT32_MAX;
}

static int
decode_number(const uint8_t *buf, size_t len, struct spop_value *value)
{
	uint64_t raw;
	int used = spop_varint_decode(buf + 1, len - 1, &raw);

	if (used <= 0)
		return used;
	return store_number(value, raw) ? 1 + used : SPOP_EINVAL;
}

static int
decode_address(const uint8_t *buf, size_t len, uint8_t *address, size_t size)
{
	if (len - 1 < size)
		return 0;
	memcpy(address, buf + 1, size);
	return 1 + (int)size;
}

static int
decode_text(const uint8_t *buf, size_t len, struct spop_value *value)
{
	int used = spop_text_decode(buf + 1, len - 1, &value->text);

	return used <= 0 ? used : 1 + used;
}

/* As spop_value_decode(), of a type set and a buf not empty. */
static int
decode(const uint8_t *buf, size_t len, struct spop_value *value)
{
	switch (value->type) {
	case SPOP_NULL:
		return 1;
	case SPOP_BOOL:
		value->boolean = (buf[0] & FLAG_TRUE) != 0;
		return 1;
	case SPOP_INT32:
	case SPOP_UINT32:
	case SPOP_INT64:
	case SPOP_UINT64:
		return decode_number(buf, len, value);
	case SPOP_IPV4:
		return decode_address(buf, len, value->ipv4, 4);
	case SPOP_IPV6:
		return decode_address(buf, len, value->ipv6, 16);
	case SPOP_STRING:
	case SPOP_BINARY:
		return decode_text(buf, len, value);
	}
	return SPOP_EINVAL;
}

int
spop_value_decode(const uint8_t *buf, size_t len, struct spop_value *value)
{
	struct spop_value v = { 0 };
	int used;

	if (len == 0)
		return 0;
	v.type = (enum spop_type)(buf[0] & TYPE_MASK);
	used = decode(buf, len, &v);
	if (used > 0)
		*value = v;
	return used;
}

void
spop_value_encode(struct spop_writer *w, const struct spop_value *value)
{
	unsigned first = value->type;

	if (value->type == SPOP_BOOL && value->boolean)
		first |= FLAG_TRUE;
	spop_writer_put_byte(w, (uint8_t)first);

	switch (value->type) {
	case SPOP_NULL:
	case SPOP_BOOL:
		break;
	case SPOP_INT32:
		assert(value->number >= INT32_MIN);
		assert(value->number <= INT32_MAX);
		/* fall through */
	case SPOP_INT64:
		spop_writer_put_varint(w, (uint64_t)value->number);
		break;
	case SPOP_UINT32:
		assert(value->natural <= UINT32_MAX);
		/* fall through */
	case SPOP_UINT64:
		spop_writer_put_varint(w, value->natural);
		break;
	case SPOP_IPV4:
		spop_writer_put(w, value->ipv4, sizeof(value->ipv4));
		break;
	case SPOP_IPV6:
		spop_writer_put(w, value->ipv6, sizeof(value->ipv6));
		break;
	case SPOP_STRING:
	case SPOP_BINARY:
		spop_text_encode(w, value->text);
		break;
	}
}

struct spop_value
spop_value_bool(bool boolean)
{
	return (struct spop_value){ .type = SPOP_BOOL, .boolean = boolean };
}

struct spop_value
spop_value_int(int64_t number)
{
	return (struct spop_value){ .type = SPOP_INT64, .number = number };
}

struct spop_value
spop_value_string(const char *string)
{
	return spop_value_text(spop_text_of(string));
}

struct spop_value
spop_value_text(struct spop_text text)
{
	return (struct spop_value){ .type = SPOP_STRING, .text = text };
}

bool
spop_value_to_bool(const struct spop_value *value, bool *boolean)
{
	if (value->type != SPOP_BOOL)
		return false;
	*boolean = value->boolean;
	return true;
}

bool
spop_value_to_int(const struct spop_value *value, int64_t *number)
{
	bool is_signed = value->type == SPOP_INT32 || value->type == SPOP_INT64;

	if (!is_signed && value->type != SPOP_UINT32 &&
	    value->type != SPOP_UINT64)
		return false;
	if (!is_signed && value->natural > INT64_MAX)
		return false;
	*number = is_signed ? value->number : (int64_t)value->natural;
	return true;
}

bool
spop_value_to_text(const struct spop_value *value, struct spop_text *text)
{
	if (value->type != SPOP_STRING && value->type != SPOP_BINARY)
		return false;
	*text = value->text;
	return true;
}

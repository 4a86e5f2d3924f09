/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/varint.h"

#include "spop/error.h"

/* A first byte from here on has its low four bits in it and more behind. */
#define LONG 240U
#define MORE 128U

int
spop_varint_decode(const uint8_t *buf, size_t len, uint64_t *value)
{
	unsigned shift = 4;
	uint64_t sum;
	size_t i = 0;

	if (len == 0)
		return 0;
	sum = buf[0];
	if (sum < LONG) {
		*value = sum;
		return 1;
	}

	/*
	 * Each byte counts whole, its top bit too: the encoder took that off
	 * before it shifted. At the tenth byte only four bits have room, so
	 * one that announces more is refused and the loop ends.
	 */
	do {
		if (++i == len)
			return 0;
		if (buf[i] > (UINT64_MAX - sum) >> shift)
			return SPOP_EINVAL;
		sum += (uint64_t)buf[i] << shift;
		shift += 7;
	} while (buf[i] >= MORE);

	*value = sum;
	return (int)i + 1;
}

size_t
spop_varint_encode(uint8_t *buf, uint64_t value)
{
	size_t len = 0;

	if (value < LONG) {
		buf[0] = (uint8_t)value;
		return 1;
	}

	buf[len++] = (uint8_t)(value | LONG);
	value = (value - LONG) >> 4;
	while (value >= MORE) {
		buf[len++] = (uint8_t)(value | MORE);
		value = (value - MORE) >> 7;
	}
	buf[len++] = (uint8_t)value;
	return len;
}

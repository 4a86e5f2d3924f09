/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_VARINT_H
#define SPOP_VARINT_H

/*
 * Integers of variable length (SPOE.txt 3.1): one byte below 240, then seven
 * more bits with each further byte, the lowest first.
 */

#include <stddef.h>
#include <stdint.h>

#include "spop/api.h"

#define SPOP_VARINT_MAX 10 /* bytes that the longest one takes */

/*
 * Reads one from buf. Returns how many bytes it took, 0 when buf ends before
 * it does, or SPOP_EINVAL when 64 bits cannot hold it. Sets *value only on
 * success.
 */
SPOP_CHECKED int spop_varint_decode(const uint8_t *buf, size_t len,
				    uint64_t *value);

/* Writes one to buf, which has room for SPOP_VARINT_MAX; returns its length. */
SPOP_API size_t spop_varint_encode(uint8_t *buf, uint64_t value);

#endif

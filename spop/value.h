/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_VALUE_H
#define SPOP_VALUE_H

/* Typed data (SPOE.txt 3.1). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spop/api.h"
#include "spop/view.h"

/* The numbers are those of the wire. */
enum spop_type {
	SPOP_NULL = 0,
	SPOP_BOOL = 1,
	SPOP_INT32 = 2,
	SPOP_UINT32 = 3,
	SPOP_INT64 = 4,
	SPOP_UINT64 = 5,
	SPOP_IPV4 = 6,
	SPOP_IPV6 = 7,
	SPOP_STRING = 8,
	SPOP_BINARY = 9,
};

struct spop_value {
	enum spop_type type;
	union {
		bool boolean;
		int64_t number;   /* INT32, INT64 */
		uint64_t natural; /* UINT32, UINT64 */
		uint8_t ipv4[4];  /* network order, as the next */
		uint8_t ipv6[16];
		struct spop_text text; /* STRING, BINARY */
	};
};

/*
 * Reads one from buf. Returns how many bytes it took, 0 when buf ends before
 * it does, or SPOP_EINVAL for a type nobody knows or a number that its type
 * cannot hold. Sets *value only on success; its text is a view into buf. An
 * INT32 below zero is taken in 32 or in 64 bits of two's complement and written
 * in 64, which is what HAProxy reads.
 */
SPOP_CHECKED int spop_value_decode(const uint8_t *buf, size_t len,
				   struct spop_value *value);

/* A number beyond its 32-bit type is the caller's bug. */
SPOP_API void spop_value_encode(struct spop_writer *w,
				const struct spop_value *value);

/* The four that an agent needs; make others with an initialiser. */
SPOP_API struct spop_value spop_value_bool(bool boolean);
SPOP_API struct spop_value spop_value_int(int64_t number); /* INT64 */
SPOP_API struct spop_value spop_value_string(const char *string);
SPOP_API struct spop_value spop_value_text(struct spop_text text);

/*
 * The value in the caller's terms. False, and nothing set, when it is of
 * another kind: any of the four integers is an int when it fits, and both
 * STRING and BINARY are a text.
 */
SPOP_CHECKED bool spop_value_to_bool(const struct spop_value *value,
				     bool *boolean);
SPOP_CHECKED bool spop_value_to_int(const struct spop_value *value,
				    int64_t *number);
SPOP_CHECKED bool spop_value_to_text(const struct spop_value *value,
				     struct spop_text *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_VALUE_AGAIN_H
#define TESTS_FUZZ_VALUE_AGAIN_H

/*
 * A value may come in more than one form, but we write one only: what was
 * read, written and read again is written to the same bytes.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "spop/spop.h"

static inline size_t
value_write(const struct spop_value *value, uint8_t *buf, size_t cap)
{
	struct spop_writer w;

	spop_writer_init(&w, buf, cap);
	spop_value_encode(&w, value);
	assert(w.error == 0);
	return w.len;
}

static inline void
value_again(const struct spop_value *value)
{
	bool has_text = value->type >= SPOP_STRING;
	size_t cap = 32 + (has_text ? value->text.len : 0), len;
	uint8_t *one = malloc(cap), *two = malloc(cap);
	struct spop_value read;
	int used;

	assert(one != NULL && two != NULL);
	len = value_write(value, one, cap);
	used = spop_value_decode(one, len, &read);
	assert(used == (int)len);
	assert(read.type == value->type);
	assert(value_write(&read, two, cap) == len);
	assert(memcmp(one, two, len) == 0);
	free(one);
	free(two);
}

#endif

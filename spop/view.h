/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_VIEW_H
#define SPOP_VIEW_H

/*
 * Views of memory that somebody else owns. What a decoder hands out points
 * into the bytes it was given, and lives as long as these stay in place.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spop/api.h"

struct spop_writer;

struct spop_bytes {
	const uint8_t *at; /* borrowed */
	size_t len;
};

/* Characters, not terminated. An absent text and an empty one are the same. */
struct spop_text {
	const char *at; /* borrowed */
	size_t len;
};

/* A view of a terminated string; NULL gives the empty text. */
SPOP_API struct spop_text spop_text_of(const char *string);

/* Whether it is the terminated string. */
SPOP_API bool spop_text_is(struct spop_text text, const char *string);

/*
 * A STRING without a type: its length, then its bytes. Returns how many bytes
 * it took, 0 when buf ends before it does, or an enum spop_error.
 */
SPOP_CHECKED int spop_text_decode(const uint8_t *buf, size_t len,
				  struct spop_text *text);

SPOP_API void spop_text_encode(struct spop_writer *w, struct spop_text text);

#endif

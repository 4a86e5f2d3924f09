/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_WISH_H
#define TESTS_ENGINE_WISH_H

/* How a request wants to be answered: the rows of wish.def. */

#include <stddef.h>

#include "agent/core/base.h"

struct http_request;

struct wishes {
#define WISH(field, header, help) uint32_t field;
#include "tests/engine/wish.def"
#undef WISH
};

struct wish {
	const char *header;
	const char *help;
	size_t offset;
};

extern const struct wish wish_table[];
extern const size_t wish_count;

/* Sets what the request's headers say; the rest stays as it is. */
void wishes_read(struct wishes *w, const struct http_request *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/wish.h"

#include <stdlib.h>
#include <string.h>

#include "tests/engine/http_request.h"

/* clang-format off */
const struct wish wish_table[] = {
#define WISH(field, header, help)                                              \
	{ header, help, offsetof(struct wishes, field) },
#include "tests/engine/wish.def"
#undef WISH
};
/* clang-format on */

const size_t wish_count = ARRAY_LEN(wish_table);

static uint32_t
number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	return end == text ? 1 : (uint32_t)value;
}

void
wishes_read(struct wishes *w, const struct http_request *r)
{
	for (size_t i = 0; i < wish_count; i++) {
		const char *text = http_request_header(r, wish_table[i].header);
		uint32_t value = text != NULL ? number(text) : 0;

		if (text != NULL)
			memcpy((char *)w + wish_table[i].offset, &value,
			       sizeof(value));
	}
}

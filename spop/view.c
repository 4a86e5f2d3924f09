/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/view.h"

#include <limits.h>
#include <string.h>

#include "spop/error.h"
#include "spop/varint.h"
#include "spop/writer.h"

struct spop_text
spop_text_of(const char *string)
{
	if (string == NULL)
		return (struct spop_text){ 0 };
	return (struct spop_text){ string, strlen(string) };
}

bool
spop_text_is(struct spop_text text, const char *string)
{
	size_t len = strlen(string);

	return text.len == len &&
	       (len == 0 || memcmp(text.at, string, len) == 0);
}

int
spop_text_decode(const uint8_t *buf, size_t len, struct spop_text *text)
{
	uint64_t bytes;
	int used = spop_varint_decode(buf, len, &bytes);

	if (used <= 0)
		return used;
	if (bytes > (uint64_t)(INT_MAX - SPOP_VARINT_MAX))
		return SPOP_EINVAL;
	if (bytes > len - (size_t)used)
		return 0;

	text->at = (const char *)buf + used;
	text->len = (size_t)bytes;
	return used + (int)bytes;
}

void
spop_text_encode(struct spop_writer *w, struct spop_text text)
{
	spop_writer_put_varint(w, text.len);
	spop_writer_put(w, text.at, text.len);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/writer.h"

#include <string.h>

#include "spop/error.h"
#include "spop/varint.h"

void
spop_writer_init(struct spop_writer *w, uint8_t *buf, size_t cap)
{
	*w = (struct spop_writer){ .buf = buf, .cap = cap, .limit = SIZE_MAX };
}

void
spop_writer_put(struct spop_writer *w, const void *bytes, size_t len)
{
	if (w->error != 0 || len == 0)
		return;

	/* A larger buffer is no cure for the first, so it goes first. */
	if (len > w->limit - w->len) {
		w->error = SPOP_ETOOBIG;
		return;
	}
	if (len > w->cap - w->len) {
		w->error = SPOP_ENOSPACE;
		return;
	}
	memcpy(w->buf + w->len, bytes, len);
	w->len += len;
}

void
spop_writer_put_byte(struct spop_writer *w, uint8_t byte)
{
	spop_writer_put(w, &byte, 1);
}

void
spop_writer_put_varint(struct spop_writer *w, uint64_t value)
{
	uint8_t bytes[SPOP_VARINT_MAX];

	spop_writer_put(w, bytes, spop_varint_encode(bytes, value));
}

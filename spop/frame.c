/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/frame.h"

#include <assert.h>

#include "spop/error.h"
#include "spop/varint.h"
#include "spop/writer.h"

#define FLAGS_AT 1 /* behind the type */
#define IDS_AT 5

static uint32_t
load32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static void
store32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
}

int
spop_frame_measure(const uint8_t *buf, size_t len, uint32_t max)
{
	uint32_t size;

	assert(max <= SPOP_FRAME_SIZE_MAX);
	if (len < SPOP_FRAME_PREFIX)
		return 0;

	size = load32(buf);
	if (size > max)
		return SPOP_ETOOBIG;
	if (size < SPOP_FRAME_BARE)
		return SPOP_EINVAL;
	return SPOP_FRAME_PREFIX + (int)size;
}

int
spop_frame_decode(const uint8_t *buf, size_t len, uint32_t max,
		  struct spop_frame *frame)
{
	int total = spop_frame_measure(buf, len, max);
	struct spop_frame f;
	const uint8_t *at, *end;
	int used;

	if (total <= 0)
		return total;
	if (len < (size_t)total)
		return 0;

	at = buf + SPOP_FRAME_PREFIX;
	end = buf + total;
	f.type = at[0];
	f.flags = load32(at + FLAGS_AT);
	at += IDS_AT;

	used = spop_varint_decode(at, (size_t)(end - at), &f.stream_id);
	if (used <= 0)
		return SPOP_EINVAL;
	at += used;
	used = spop_varint_decode(at, (size_t)(end - at), &f.frame_id);
	if (used <= 0)
		return SPOP_EINVAL;
	at += used;

	f.payload = (struct spop_bytes){ at, (size_t)(end - at) };
	*frame = f;
	return total;
}

static bool
is_open(const struct spop_writer *w)
{
	return w->limit != SIZE_MAX;
}

void
spop_frame_begin(struct spop_writer *w, const struct spop_frame *frame,
		 uint32_t max)
{
	uint8_t word[4] = { 0 };

	assert(!is_open(w));
	assert(max <= SPOP_FRAME_SIZE_MAX);
	w->start = w->len;
	w->limit = w->len + SPOP_FRAME_PREFIX + max;
	w->count = 0;

	spop_writer_put(w, word, SPOP_FRAME_PREFIX);
	spop_writer_put_byte(w, frame->type);
	store32(word, frame->flags);
	spop_writer_put(w, word, sizeof(word));
	spop_writer_put_varint(w, frame->stream_id);
	spop_writer_put_varint(w, frame->frame_id);
	spop_writer_put(w, frame->payload.at, frame->payload.len);
}

int
spop_frame_end(struct spop_writer *w)
{
	int error = w->error;
	size_t total = w->len - w->start;

	assert(is_open(w));
	w->limit = SIZE_MAX;
	w->error = 0;
	if (error != 0) {
		w->len = w->start;
		return error;
	}
	store32(w->buf + w->start, (uint32_t)(total - SPOP_FRAME_PREFIX));
	return (int)total;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A frame has one form: what is decoded is encoded to the same bytes. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spop/spop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
encode_again(const struct spop_frame *frame, const uint8_t *data, size_t total)
{
	uint8_t *buf = malloc(total);
	struct spop_writer w;
	int written;

	assert(buf != NULL);
	spop_writer_init(&w, buf, total);
	spop_frame_begin(&w, frame, (uint32_t)total - SPOP_FRAME_PREFIX);
	written = spop_frame_end(&w);
	assert(written == (int)total);
	assert(memcmp(buf, data, total) == 0);

	spop_writer_init(&w, buf, total - 1);
	spop_frame_begin(&w, frame, SPOP_FRAME_SIZE_MAX);
	written = spop_frame_end(&w);
	assert(written == SPOP_ENOSPACE);
	free(buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spop_frame frame;
	size_t at = 0;
	int used;

	do {
		used = spop_frame_decode(data + at, size - at,
					 SPOP_FRAME_SIZE_MAX, &frame);
		assert(used <= 0 || (size_t)used <= size - at);
		if (used > 0) {
			encode_again(&frame, data + at, (size_t)used);
			at += (size_t)used;
		}
	} while (used > 0);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/log_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks one step; false when more bytes are needed. */
static int
step(struct log_frame *frame, struct text *rest)
{
	struct text line;
	size_t used = log_frame_next(frame, *rest, &line);

	assert(used <= rest->len);
	assert(used > 0 || rest->len < LOG_FRAME_MAX);
	assert(line.len <= LOG_LINE_MAX);
	if (line.len > 0) {
		assert(line.at >= rest->at);
		assert(line.at + line.len <= rest->at + used);
		assert(frame->skipped == 0);
	}
	rest->at += used;
	rest->len -= used;
	return used > 0;
}

/*
 * The first byte says how the others come in: in pieces of that size, kept
 * in a buffer as a receiver keeps them.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log_frame frame = { 0 };
	struct text rest;
	size_t end, piece;

	if (size == 0)
		return 0;
	piece = (size_t)data[0] * 64 + 1;
	rest = (struct text){ (const char *)data + 1, 0 };
	for (end = 1; end < size; end += piece) {
		if (piece > size - end)
			piece = size - end;
		rest.len += piece;
		while (step(&frame, &rest))
			;
	}
	return 0;
}

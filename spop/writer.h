/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_WRITER_H
#define SPOP_WRITER_H

/*
 * Where frames are written: a buffer of the caller's, one frame behind the
 * other. What does not fit is never cut: the first put that fails makes all
 * later ones of the frame do nothing, and spop_frame_end() says why and takes
 * the whole frame back. So one check, at the end, is enough.
 *
 * The caller sends buf[0] to buf[len - 1] and sets len to 0 to start again.
 */

#include <stddef.h>
#include <stdint.h>

#include "spop/api.h"

struct spop_writer {
	uint8_t *buf; /* borrowed for as long as the writer is used */
	size_t cap;
	size_t len; /* bytes written, those of an open frame included */

	/* of the open frame; not for the caller */
	size_t start; /* where its length is */
	size_t limit; /* what len must not exceed for the frame's sake */
	size_t count; /* where the argument count of the open message is */
	int error;    /* 0, or why the frame cannot be ended */
};

SPOP_API void spop_writer_init(struct spop_writer *w, uint8_t *buf, size_t cap);

/* Copies len bytes; bytes may be NULL when len is 0. */
SPOP_API void spop_writer_put(struct spop_writer *w, const void *bytes,
			      size_t len);

SPOP_API void spop_writer_put_byte(struct spop_writer *w, uint8_t byte);

SPOP_API void spop_writer_put_varint(struct spop_writer *w, uint64_t value);

#endif

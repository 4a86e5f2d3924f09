/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_FRAME_H
#define SPOP_FRAME_H

/*
 * Frames (SPOE.txt 3.2): a length of four bytes, then type, flags, the two
 * ids and a payload. "Size of a frame" means what that length says: all that
 * follows it, but not the four bytes themselves.
 */

#include <stddef.h>
#include <stdint.h>

#include "spop/api.h"
#include "spop/view.h"

#define SPOP_FRAME_PREFIX 4 /* bytes of the length */
#define SPOP_FRAME_BARE 7   /* size of the smallest: no payload, short ids */

/* Between these must lie what a peer announces as its max-frame-size. */
#define SPOP_FRAME_SIZE_MIN 256U /* set by SPOE.txt 3.2 */
#define SPOP_FRAME_SIZE_MAX (16U << 20)

enum spop_frame_type {
	SPOP_FRAME_UNSET = 0, /* all fragments but the first */
	SPOP_FRAME_HAPROXY_HELLO = 1,
	SPOP_FRAME_HAPROXY_DISCONNECT = 2,
	SPOP_FRAME_NOTIFY = 3,
	SPOP_FRAME_AGENT_HELLO = 101,
	SPOP_FRAME_AGENT_DISCONNECT = 102,
	SPOP_FRAME_ACK = 103,
};

#define SPOP_FRAME_FIN 1U   /* the last fragment, or the only one */
#define SPOP_FRAME_ABORT 2U /* the payload is given up; FIN is set too */

struct spop_frame {
	uint8_t type;   /* enum spop_frame_type, or one we do not know */
	uint32_t flags; /* reserved ones included */
	uint64_t stream_id;
	uint64_t frame_id;
	struct spop_bytes payload;
};

/*
 * How many bytes the frame at buf takes, its length included. 0 while len is
 * below SPOP_FRAME_PREFIX. SPOP_ETOOBIG when its size exceeds max, SPOP_EINVAL
 * when it is below SPOP_FRAME_BARE: neither needs to be waited for.
 */
SPOP_CHECKED int spop_frame_measure(const uint8_t *buf, size_t len,
				    uint32_t max);

/*
 * Reads the frame at buf, of at most max bytes. Returns what
 * spop_frame_measure() does, but 0 until the whole of it is there. Sets *frame
 * only on success; its payload is a view into buf.
 */
SPOP_CHECKED int spop_frame_decode(const uint8_t *buf, size_t len, uint32_t max,
				   struct spop_frame *frame);

/*
 * Opens a frame of at most max bytes, and writes all of *frame, its payload
 * too. No other may be open. What is put in the writer from here on is part
 * of it.
 */
SPOP_API void spop_frame_begin(struct spop_writer *w,
			       const struct spop_frame *frame, uint32_t max);

/*
 * Closes the frame and returns how many bytes it took, its length included.
 * Or takes it back, so that a smaller one can be tried, and returns
 * SPOP_ENOSPACE when the buffer was too small for it, SPOP_ETOOBIG when it
 * exceeded its limit, or SPOP_ECOUNT.
 */
SPOP_CHECKED int spop_frame_end(struct spop_writer *w);

#endif

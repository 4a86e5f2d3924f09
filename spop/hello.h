/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_HELLO_H
#define SPOP_HELLO_H

/*
 * What the two say to each other first and last: the payloads of HELLO
 * (SPOE.txt 3.2.4, 3.2.5) and DISCONNECT (3.2.8, 3.2.9). Frames that the
 * session reads and writes; a program rarely calls these functions itself.
 *
 * Items may come in any order, unknown ones are skipped, and of one that
 * comes twice the last counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "spop/api.h"
#include "spop/view.h"

#define SPOP_VERSION "2.0" /* the one we speak */

/* The largest HELLO that is taken, since nothing is agreed on before it. */
#define SPOP_HELLO_SIZE_MAX 4096U

/* SPOE.txt 3.2.1 */
#define SPOP_CAPABILITY_FRAGMENTATION 1U
#define SPOP_CAPABILITY_PIPELINING 2U
#define SPOP_CAPABILITY_ASYNC 4U

struct spop_hello {
	uint32_t max_frame_size;
	unsigned
		capabilities; /* SPOP_CAPABILITY_*; unknown ones are left out */

	/* of a HAPROXY-HELLO only */
	bool healthcheck;
	struct spop_text engine_id; /* empty when there is none */
};

struct spop_disconnect {
	uint32_t status; /* enum spop_status, or one of the peer's own */
	struct spop_text message;
};

/*
 * All four return 0, or an enum spop_error and then leave the output as it
 * was. A HELLO must have SPOP_VERSION among the versions it supports, or as
 * its version, and a max-frame-size between the two SPOP_FRAME_SIZE_*.
 */
SPOP_CHECKED int spop_hello_decode_haproxy(struct spop_bytes payload,
					   struct spop_hello *hello);
SPOP_CHECKED int spop_hello_decode_agent(struct spop_bytes payload,
					 struct spop_hello *hello);
SPOP_CHECKED int spop_disconnect_decode(struct spop_bytes payload,
					struct spop_disconnect *disconnect);

SPOP_API void spop_hello_encode_haproxy(struct spop_writer *w,
					const struct spop_hello *hello);
SPOP_API void spop_hello_encode_agent(struct spop_writer *w,
				      const struct spop_hello *hello);
SPOP_API void spop_disconnect_encode(struct spop_writer *w,
				     const struct spop_disconnect *disconnect);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_WIRE_H
#define TESTS_INTEGRATION_WIRE_H

/* A TCP connection to the daemon, and the SPOP frames that come over it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spop/spop.h"
#include "tests/integration/patience.h"

struct wire {
	int fd;
	bool ended;   /* the peer has closed, or reset */
	bool reset;   /* it was a reset */
	uint8_t *buf; /* owned */
	size_t used;  /* of len, by frames handed out before */
	size_t len;
	size_t cap;
};

/* Connects to 127.0.0.1, or to a path. */
struct wire *wire_open(unsigned port);
struct wire *wire_open_unix(const char *path);

/* As wire_open(), but the system keeps little of what is not read. */
struct wire *wire_open_narrow(unsigned port);

void wire_close(struct wire **wire);

/* As wire_close(), but the peer sees a reset. */
void wire_reset(struct wire **wire);

/* Sends all of it; false when the peer does not take it. */
bool wire_send(struct wire *wire, const void *bytes, size_t len);

/* Reads what has come; false when nothing did in time, or it has ended. */
bool wire_fill(struct wire *wire, usec_t deadline);

/*
 * The next frame, in views that live until the next call. False when none
 * comes in time.
 */
bool wire_frame(struct wire *wire, struct spop_frame *frame, usec_t deadline);

/* Whether the peer closes within the usual patience, and sends no more. */
bool wire_ends(struct wire *wire);

#endif

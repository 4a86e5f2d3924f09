/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_EVENT_H
#define SPOP_EVENT_H

/* What a session makes of a frame, and what is due after it. */

#include <stdbool.h>
#include <stdint.h>

#include "spop/hello.h"
#include "spop/view.h"

enum spop_event_type {
	SPOP_EVENT_HELLO,      /* agent: write the hello now */
	SPOP_EVENT_NOTIFY,     /* agent: a question, complete */
	SPOP_EVENT_ACK,        /* client: an answer, complete */
	SPOP_EVENT_FRAGMENT,   /* part of one; there is nothing to do */
	SPOP_EVENT_ABORT,      /* the peer gave up what it sent in part */
	SPOP_EVENT_DISCONNECT, /* agent: write a DISCONNECT, then close */
	SPOP_EVENT_IGNORED,    /* a frame that means nothing now */
};

/* Views in it point into the bytes fed or into the gathering buffer. */
struct spop_event {
	enum spop_event_type type;
	bool aborted; /* ACK: the agent stopped reading a fragmented NOTIFY */
	uint64_t stream_id; /* NOTIFY, ACK, FRAGMENT and ABORT; else 0 */
	uint64_t frame_id;
	union {
		/*
		 * HELLO: what the peer said, but capabilities are those in
		 * use: pipelining and async when both have them,
		 * fragmentation when the peer takes fragments.
		 */
		struct spop_hello hello;
		struct spop_bytes payload; /* NOTIFY: messages, ACK: actions */
		struct spop_disconnect disconnect;
	};
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_SESSION_H
#define SPOP_SESSION_H

/*
 * One connection, seen from one of its ends: the bytes that come in become
 * events, and frames that are due are written to the caller's buffer. It owns
 * no memory and holds no view, so the caller may move its input as it likes
 * between two calls.
 *
 *	agent:  feed -> HELLO,  write hello;   feed -> NOTIFY,  write ack; ...
 *	client: write hello, feed -> HELLO;    write notify,  feed -> ACK; ...
 *
 * Whatever feed refuses, the answer is the same: write a DISCONNECT with
 * spop_status_of() the error, send it and close.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spop/api.h"
#include "spop/error.h"
#include "spop/event.h"
#include "spop/hello.h"
#include "spop/writer.h"

enum spop_role { SPOP_AGENT, SPOP_CLIENT /* plays HAProxy */ };

enum spop_state {
	SPOP_STATE_NEW,     /* HAPROXY-HELLO is due */
	SPOP_STATE_GREETED, /* AGENT-HELLO is due */
	SPOP_STATE_OPEN,
	SPOP_STATE_LEAVING, /* we sent DISCONNECT */
	SPOP_STATE_CLOSED,  /* the peer sent DISCONNECT */
};

/* Embed one in each connection; only its functions touch the fields. */
struct spop_session {
	uint8_t role;
	uint8_t state;
	uint8_t capabilities;    /* of ours before HELLO, then of both */
	bool gathering;          /* some fragments came, the last did not */
	uint32_t max_frame_size; /* ours before HELLO, then the agreed one */
	uint32_t gather_cap;
	uint32_t gathered; /* bytes */
	uint8_t *gather;   /* borrowed for life; NULL refuses fragments */
	uint64_t stream_id;
	uint64_t frame_id; /* the two of the frame that is gathered */
};

/*
 * Starts a session that takes no fragments. An agent announces pipelining when
 * the peer does, never async, and takes the max-frame-size of the peer as it
 * is. A client announces what it is given when it writes its hello.
 */
SPOP_API void spop_session_init(struct spop_session *s, enum spop_role role);

/*
 * Lets the session put fragments together in buf, and announce that; a
 * payload of more than cap bytes is then SPOP_ETOOBIG. Before the hello only.
 * buf is borrowed for as long as the session is used.
 */
SPOP_API void spop_session_gather(struct spop_session *s, uint8_t *buf,
				  uint32_t cap);

/*
 * Reads one frame from the head of buf. Returns how many bytes it took and
 * sets *event; 0 when the frame is not complete, or an enum spop_error, and
 * then neither the session nor *event is changed. A frame beyond the limit is
 * refused once its length is there.
 */
SPOP_CHECKED int spop_session_feed(struct spop_session *s, const uint8_t *buf,
				   size_t len, struct spop_event *event);

/*
 * The largest frame that the peer may send now: a buffer of this many bytes
 * and SPOP_FRAME_PREFIX is never too small.
 */
SPOP_API uint32_t spop_session_limit(const struct spop_session *s);

SPOP_API bool spop_session_is_open(const struct spop_session *s);

/*
 * Write a whole frame. Return its bytes, or SPOP_ENOSPACE or SPOP_ETOOBIG, and
 * then nothing is written and the state is as before.
 */

/* In answer to SPOP_EVENT_HELLO. */
SPOP_CHECKED int spop_session_hello_agent(struct spop_session *s,
					  struct spop_writer *w);

/*
 * Once, before all else. The capability of fragmentation is not taken from
 * *hello, it is announced if spop_session_gather() was called.
 */
SPOP_CHECKED int spop_session_hello_client(struct spop_session *s,
					   struct spop_writer *w,
					   const struct spop_hello *hello);

/*
 * At any time, once; message NULL stands for spop_status_text(). After it the
 * session ignores all but the DISCONNECT of the peer.
 */
SPOP_CHECKED int spop_session_disconnect(struct spop_session *s,
					 struct spop_writer *w, uint32_t status,
					 const char *message);

/*
 * Open a frame, to be filled (spop/action.h, spop/message.h) and then closed
 * with spop_frame_end(). The session must be open. An ACK answers the NOTIFY
 * of these ids.
 */
SPOP_API void spop_session_ack(const struct spop_session *s,
			       struct spop_writer *w, uint64_t stream_id,
			       uint64_t frame_id);
SPOP_API void spop_session_notify(const struct spop_session *s,
				  struct spop_writer *w, uint64_t stream_id,
				  uint64_t frame_id);

#endif

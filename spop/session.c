/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/session.h"

#include <assert.h>
#include <string.h>

#include "spop/frame.h"

#define MAY(state) (1U << (state))

/* Where each state may go. */
static const unsigned next[] = {
	[SPOP_STATE_NEW] = MAY(SPOP_STATE_GREETED) | MAY(SPOP_STATE_LEAVING) |
			   MAY(SPOP_STATE_CLOSED),
	[SPOP_STATE_GREETED] = MAY(SPOP_STATE_OPEN) | MAY(SPOP_STATE_LEAVING) |
			       MAY(SPOP_STATE_CLOSED),
	[SPOP_STATE_OPEN] = MAY(SPOP_STATE_LEAVING) | MAY(SPOP_STATE_CLOSED),
	[SPOP_STATE_LEAVING] = MAY(SPOP_STATE_CLOSED),
	[SPOP_STATE_CLOSED] = 0,
};

/* The frames that each role writes; the other one reads them. */
static const struct vocabulary {
	uint8_t hello, disconnect, payload;
} spoken[] = {
	[SPOP_AGENT] = { SPOP_FRAME_AGENT_HELLO, SPOP_FRAME_AGENT_DISCONNECT,
			 SPOP_FRAME_ACK },
	[SPOP_CLIENT] = { SPOP_FRAME_HAPROXY_HELLO,
			  SPOP_FRAME_HAPROXY_DISCONNECT, SPOP_FRAME_NOTIFY },
};

static void
enter(struct spop_session *s, enum spop_state to)
{
	assert(next[s->state] & MAY(to));
	s->state = (uint8_t)to;
}

static const struct vocabulary *
peers(const struct spop_session *s)
{
	return &spoken[s->role == SPOP_AGENT ? SPOP_CLIENT : SPOP_AGENT];
}

void
spop_session_init(struct spop_session *s, enum spop_role role)
{
	*s = (struct spop_session){
		.role = (uint8_t)role,
		.state = SPOP_STATE_NEW,
		.capabilities = SPOP_CAPABILITY_PIPELINING,
		.max_frame_size = SPOP_HELLO_SIZE_MAX,
	};
}

void
spop_session_gather(struct spop_session *s, uint8_t *buf, uint32_t cap)
{
	assert(s->state == SPOP_STATE_NEW);
	s->gather = buf;
	s->gather_cap = cap;
}

uint32_t
spop_session_limit(const struct spop_session *s)
{
	return s->max_frame_size;
}

bool
spop_session_is_open(const struct spop_session *s)
{
	return s->state == SPOP_STATE_OPEN;
}

/* HELLO and DISCONNECT come in one piece and belong to no stream. */
static int
check_control(const struct spop_frame *frame)
{
	if ((frame->flags & SPOP_FRAME_FIN) == 0)
		return SPOP_EFRAGMENT;
	if (frame->stream_id != 0 || frame->frame_id != 0)
		return SPOP_EINVAL;
	return 0;
}

static int
read_disconnect(struct spop_session *s, const struct spop_frame *frame,
		struct spop_event *event)
{
	int rc = check_control(frame);

	if (rc == 0)
		rc = spop_disconnect_decode(frame->payload, &event->disconnect);
	if (rc != 0)
		return rc;
	event->type = SPOP_EVENT_DISCONNECT;
	enter(s, SPOP_STATE_CLOSED);
	return 0;
}

/* What both sides can do; fragmentation is the one-sided exception. */
static unsigned
agree(unsigned ours, unsigned theirs)
{
	unsigned common = ours & theirs & ~SPOP_CAPABILITY_FRAGMENTATION;

	return common | (theirs & SPOP_CAPABILITY_FRAGMENTATION);
}

static int
read_hello_haproxy(struct spop_session *s, const struct spop_frame *frame,
		   struct spop_hello *hello)
{
	int rc = spop_hello_decode_haproxy(frame->payload, hello);

	if (rc != 0)
		return rc;
	/* Its ids are 0, so its head is as small as can be. */
	if (SPOP_FRAME_BARE + frame->payload.len > hello->max_frame_size)
		return SPOP_ETOOBIG;
	enter(s, SPOP_STATE_GREETED);
	return 0;
}

static int
read_hello_agent(struct spop_session *s, const struct spop_frame *frame,
		 struct spop_hello *hello)
{
	int rc = spop_hello_decode_agent(frame->payload, hello);

	if (rc != 0)
		return rc;
	if (hello->max_frame_size > s->max_frame_size)
		return SPOP_ESIZE;
	enter(s, SPOP_STATE_OPEN);
	return 0;
}

static int
read_hello(struct spop_session *s, const struct spop_frame *frame,
	   struct spop_event *event)
{
	struct spop_hello *hello = &event->hello;
	int rc = check_control(frame);

	if (rc != 0)
		return rc;
	rc = s->role == SPOP_AGENT ? read_hello_haproxy(s, frame, hello)
				   : read_hello_agent(s, frame, hello);
	if (rc != 0)
		return rc;

	hello->capabilities = agree(s->capabilities, hello->capabilities);
	s->capabilities = (uint8_t)hello->capabilities;
	s->max_frame_size = hello->max_frame_size;
	event->type = SPOP_EVENT_HELLO;
	return 0;
}

static int
deliver(const struct spop_session *s, const struct spop_frame *frame,
	struct spop_bytes payload, struct spop_event *event)
{
	event->type =
		s->role == SPOP_AGENT ? SPOP_EVENT_NOTIFY : SPOP_EVENT_ACK;
	event->stream_id = frame->stream_id;
	event->frame_id = frame->frame_id;
	event->payload = payload;
	event->aborted = s->role == SPOP_CLIENT &&
			 (frame->flags & SPOP_FRAME_ABORT) != 0;
	return 0;
}

/* Adds to what is gathered, and delivers it when this was the last of it. */
static int
gather(struct spop_session *s, const struct spop_frame *frame,
       struct spop_event *event)
{
	struct spop_bytes part = frame->payload;

	if (part.len > s->gather_cap - s->gathered)
		return SPOP_ETOOBIG;
	if (part.len > 0)
		memcpy(s->gather + s->gathered, part.at, part.len);
	s->gathered += (uint32_t)part.len;

	s->gathering = (frame->flags & SPOP_FRAME_FIN) == 0;
	if (!s->gathering)
		return deliver(s, frame,
			       (struct spop_bytes){ s->gather, s->gathered },
			       event);

	event->type = SPOP_EVENT_FRAGMENT;
	event->stream_id = frame->stream_id;
	event->frame_id = frame->frame_id;
	return 0;
}

/* A NOTIFY or ACK, whole or the first part of one. */
static int
read_first(struct spop_session *s, const struct spop_frame *frame,
	   struct spop_event *event)
{
	if (s->gathering)
		return SPOP_EINTERLACED;
	if ((frame->flags & SPOP_FRAME_FIN) != 0)
		return deliver(s, frame, frame->payload, event);
	if ((frame->flags & SPOP_FRAME_ABORT) != 0)
		return SPOP_EINVAL;
	if (s->gather == NULL)
		return SPOP_EFRAGMENT;

	s->stream_id = frame->stream_id;
	s->frame_id = frame->frame_id;
	s->gathered = 0;
	return gather(s, frame, event);
}

static int
read_fragment(struct spop_session *s, const struct spop_frame *frame,
	      struct spop_event *event)
{
	if (s->gather == NULL)
		return SPOP_EFRAGMENT;
	if (!s->gathering || frame->stream_id != s->stream_id ||
	    frame->frame_id != s->frame_id)
		return SPOP_ENOFRAME;
	if ((frame->flags & SPOP_FRAME_ABORT) == 0)
		return gather(s, frame, event);
	if ((frame->flags & SPOP_FRAME_FIN) == 0)
		return SPOP_EINVAL;

	s->gathering = false;
	event->type = SPOP_EVENT_ABORT;
	event->stream_id = frame->stream_id;
	event->frame_id = frame->frame_id;
	return 0;
}

static bool
is_known(uint8_t type)
{
	return type <= SPOP_FRAME_NOTIFY ||
	       (type >= SPOP_FRAME_AGENT_HELLO && type <= SPOP_FRAME_ACK);
}

/* Unknown frames may be skipped (SPOE.txt 3.2.2), but none may come first. */
static int
on_handshake(struct spop_session *s, const struct spop_frame *frame,
	     struct spop_event *event)
{
	enum spop_state due =
		s->role == SPOP_AGENT ? SPOP_STATE_NEW : SPOP_STATE_GREETED;

	if (frame->type == peers(s)->disconnect)
		return read_disconnect(s, frame, event);
	if (frame->type == peers(s)->hello && s->state == due)
		return read_hello(s, frame, event);
	return SPOP_EUNEXPECTED;
}

static int
on_open(struct spop_session *s, const struct spop_frame *frame,
	struct spop_event *event)
{
	if (frame->type == peers(s)->payload)
		return read_first(s, frame, event);
	if (frame->type == SPOP_FRAME_UNSET)
		return read_fragment(s, frame, event);
	if (frame->type == peers(s)->disconnect)
		return read_disconnect(s, frame, event);
	if (is_known(frame->type))
		return SPOP_EUNEXPECTED;
	event->type = SPOP_EVENT_IGNORED;
	return 0;
}

static int
on_leaving(struct spop_session *s, const struct spop_frame *frame,
	   struct spop_event *event)
{
	if (frame->type == peers(s)->disconnect)
		return read_disconnect(s, frame, event);
	event->type = SPOP_EVENT_IGNORED;
	return 0;
}

static int
dispatch(struct spop_session *s, const struct spop_frame *frame,
	 struct spop_event *event)
{
	switch ((enum spop_state)s->state) {
	case SPOP_STATE_NEW:
	case SPOP_STATE_GREETED:
		return on_handshake(s, frame, event);
	case SPOP_STATE_OPEN:
		return on_open(s, frame, event);
	case SPOP_STATE_LEAVING:
		return on_leaving(s, frame, event);
	case SPOP_STATE_CLOSED:
		break;
	}
	return SPOP_EUNEXPECTED;
}

int
spop_session_feed(struct spop_session *s, const uint8_t *buf, size_t len,
		  struct spop_event *event)
{
	struct spop_session after = *s;
	struct spop_event e = { 0 };
	struct spop_frame frame;
	int used = spop_frame_decode(buf, len, spop_session_limit(s), &frame);
	int rc;

	if (used <= 0)
		return used;

	/* Works on copies, so that a frame that is refused changes nothing. */
	rc = dispatch(&after, &frame, &e);
	if (rc != 0)
		return rc;
	*s = after;
	*event = e;
	return used;
}

/* Opens a whole frame of a type of ours. */
static void
begin(struct spop_writer *w, uint8_t type, uint64_t stream_id,
      uint64_t frame_id, uint32_t max)
{
	struct spop_frame frame = {
		.type = type,
		.flags = SPOP_FRAME_FIN,
		.stream_id = stream_id,
		.frame_id = frame_id,
	};

	spop_frame_begin(w, &frame, max);
}

static unsigned
announced(const struct spop_session *s, unsigned capabilities)
{
	capabilities &= ~SPOP_CAPABILITY_FRAGMENTATION;
	if (s->gather != NULL)
		capabilities |= SPOP_CAPABILITY_FRAGMENTATION;
	return capabilities;
}

int
spop_session_hello_agent(struct spop_session *s, struct spop_writer *w)
{
	struct spop_hello hello = {
		.max_frame_size = s->max_frame_size,
		.capabilities = announced(s, s->capabilities),
	};
	int total;

	assert(s->role == SPOP_AGENT);
	begin(w, SPOP_FRAME_AGENT_HELLO, 0, 0, s->max_frame_size);
	spop_hello_encode_agent(w, &hello);
	total = spop_frame_end(w);
	if (total > 0)
		enter(s, SPOP_STATE_OPEN);
	return total;
}

int
spop_session_hello_client(struct spop_session *s, struct spop_writer *w,
			  const struct spop_hello *hello)
{
	struct spop_hello ours = *hello;
	int total;

	assert(s->role == SPOP_CLIENT);
	assert(hello->max_frame_size >= SPOP_FRAME_SIZE_MIN);
	ours.capabilities = announced(s, hello->capabilities);
	begin(w, SPOP_FRAME_HAPROXY_HELLO, 0, 0, ours.max_frame_size);
	spop_hello_encode_haproxy(w, &ours);
	total = spop_frame_end(w);
	if (total <= 0)
		return total;

	enter(s, SPOP_STATE_GREETED);
	s->capabilities = (uint8_t)ours.capabilities;
	s->max_frame_size = ours.max_frame_size;
	return total;
}

int
spop_session_disconnect(struct spop_session *s, struct spop_writer *w,
			uint32_t status, const char *message)
{
	struct spop_disconnect disconnect = {
		.status = status,
		.message = spop_text_of(message),
	};
	/* Who has not told its limit takes the smallest that there can be. */
	uint32_t max = s->state == SPOP_STATE_NEW ? SPOP_FRAME_SIZE_MIN
						  : s->max_frame_size;
	int total;

	if (message == NULL)
		disconnect.message = spop_text_of(spop_status_text(status));
	begin(w, spoken[s->role].disconnect, 0, 0, max);
	spop_disconnect_encode(w, &disconnect);
	total = spop_frame_end(w);
	if (total > 0 && s->state != SPOP_STATE_CLOSED)
		enter(s, SPOP_STATE_LEAVING);
	return total;
}

void
spop_session_ack(const struct spop_session *s, struct spop_writer *w,
		 uint64_t stream_id, uint64_t frame_id)
{
	assert(s->role == SPOP_AGENT);
	assert(spop_session_is_open(s));
	begin(w, SPOP_FRAME_ACK, stream_id, frame_id, s->max_frame_size);
}

void
spop_session_notify(const struct spop_session *s, struct spop_writer *w,
		    uint64_t stream_id, uint64_t frame_id)
{
	assert(s->role == SPOP_CLIENT);
	assert(spop_session_is_open(s));
	begin(w, SPOP_FRAME_NOTIFY, stream_id, frame_id, s->max_frame_size);
}

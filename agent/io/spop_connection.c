/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/spop_connection.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/admission_message.h"
#include "agent/io/loop.h"
#include "agent/io/spop_server.h"
#include "agent/io/turn.h"

/* What is read at a time, besides the rest of a frame. */
#define INPUT_BYTES ((size_t)64 * 1024)

/* What is sent at a time; no frame of ours is larger than a part of it. */
#define OUTPUT_BYTES ((size_t)64 * 1024)
#define FRAME_BYTES ((size_t)8 * 1024)

/* What the head of a larger frame gets at first. */
#define HEAD_BYTES ((size_t)16 * 1024)

/* What a peer has under way at its end is read as often, and no more. */
#define LAST_READS 16

/* ---- closing ---- */

static void
drop_unsent(struct spop_connection *c)
{
	if (c->unsent == NULL)
		return;
	evbuffer_free(c->unsent);
	c->unsent = NULL;
	event_free(c->writable);
	c->writable = NULL;
	c->hub->busy--;
}

/* Every end of a connection comes through here. */
static void
bury(struct spop_connection *c, const char *reason)
{
	struct spop_hub *hub = c->hub;

	if (c->fd < 0)
		return;
	log_debug("spop: connection closed fd=%d reason=\"%s\"", c->fd, reason);
	gate_peer_lost(hub->gate, &c->peer);
	if (c->greeted)
		gate_peer_gone(hub->gate);
	if (hub->writing == c) {
		hub->writing = NULL;
		hub->writer.len = 0;
	}
	drop_unsent(c);
	event_free(c->readable);
	c->readable = NULL;
	free(c->head);
	c->head = NULL;
	close(c->fd);
	c->fd = -1;
	LIST_REMOVE(c, link);
	LIST_INSERT_HEAD(&hub->graveyard, c, link);
	metrics_add(&hub->gate->metrics, METRIC_spop_connections, 0, -1);
}

/* An end that the peer is to blame for. */
static void
refuse(struct spop_connection *c, const char *reason)
{
	struct spop_hub *hub = c->hub;

	metrics_count(&hub->gate->metrics, METRIC_spop_refused, 0);
	if (log_limit(&hub->refused, turn_enter(hub->turn)))
		log_warnx("spop: connection refused fd=%d reason=\"%s\" "
			  "skipped=%lu",
			  c->fd, reason, hub->refused.skipped);
	bury(c, reason);
}

/* ---- sending ---- */

static void on_writable(evutil_socket_t fd, short what, void *arg);

static bool
make_unsent(struct spop_connection *c)
{
	struct evbuffer *unsent = evbuffer_new();
	struct event *writable = event_new(
		c->hub->base, c->fd, EV_WRITE | EV_PERSIST, on_writable, c);

	if (unsent == NULL || writable == NULL ||
	    event_add(writable, NULL) != 0) {
		if (unsent != NULL)
			evbuffer_free(unsent);
		free_event(writable);
		return false;
	}
	c->unsent = unsent;
	c->writable = writable;
	c->hub->busy++;
	return true;
}

/* Keeps what the socket does not take now. */
static bool
keep_unsent(struct spop_connection *c, const uint8_t *bytes, size_t len)
{
	if (c->unsent == NULL && !make_unsent(c))
		return false;
	return evbuffer_add(c->unsent, bytes, len) == 0;
}

static void
send_bytes(struct spop_connection *c, const uint8_t *bytes, size_t len)
{
	ssize_t sent = 0;

	if (c->unsent == NULL) {
		sent = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			bury(c, strerror(errno));
			return;
		}
	}
	if (sent < 0)
		sent = 0;
	if ((size_t)sent == len)
		return;
	if (!keep_unsent(c, bytes + sent, len - (size_t)sent))
		refuse(c, "no memory for its answers");
	else if (evbuffer_get_length(c->unsent) > SPOP_SERVER_UNREAD_MAX)
		refuse(c, "does not read its answers");
}

static void
flush(struct spop_hub *hub)
{
	struct spop_connection *c = hub->writing;
	size_t len = hub->writer.len;

	hub->writing = NULL;
	hub->writer.len = 0;
	if (c != NULL && len > 0)
		send_bytes(c, hub->writer.buf, len);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct spop_connection *c = arg;

	(void)what;
	turn_enter(c->hub->turn);
	if (evbuffer_write(c->unsent, fd) < 0 && errno != EAGAIN &&
	    errno != EINTR)
		bury(c, strerror(errno));
	else if (evbuffer_get_length(c->unsent) == 0)
		drop_unsent(c);
}

/*
 * The writer, with room for one frame to this connection; NULL when the
 * connection ended over what was written before.
 */
static struct spop_writer *
writer_to(struct spop_connection *c)
{
	struct spop_hub *hub = c->hub;

	if (hub->writing != c ||
	    hub->writer.cap - hub->writer.len < FRAME_BYTES)
		flush(hub);
	if (c->fd < 0)
		return NULL;
	hub->writing = c;
	return &hub->writer;
}

/* Unread bytes would turn what was sent last into a reset. */
static void
end_stream(struct spop_connection *c)
{
	int left = LAST_READS;

	shutdown(c->fd, SHUT_WR);
	while (left > 0 &&
	       recv(c->fd, c->hub->input, INPUT_BYTES, MSG_DONTWAIT) > 0)
		left--;
}

/* The last that is sent; writes over what the hub has read. */
static void
say_goodbye(struct spop_connection *c, enum spop_status status)
{
	struct spop_writer *w = writer_to(c);

	if (w == NULL)
		return;
	/* What was written before goes out even where this has no room. */
	(void)!spop_session_disconnect(&c->session, w, status, NULL);
	flush(c->hub);
	if (c->fd >= 0)
		end_stream(c);
}

/* Tells the peer what it did, and ends it. */
static void
fail(struct spop_connection *c, int error)
{
	say_goodbye(c, spop_status_of(error));
	if (c->fd >= 0)
		refuse(c, spop_strerror(error));
}

/* ---- questions ---- */

static void
sent_ack(struct spop_connection *c, int rc)
{
	if (rc < 0)
		fail(c, rc);
	else
		metrics_count(&c->hub->gate->metrics, METRIC_spop_acks, 0);
}

void
spop_connection_answer(struct spop_connection *c, const struct asker *to,
		       const struct answer *answer)
{
	struct spop_writer *w = writer_to(c);

	if (w == NULL)
		return;
	sent_ack(c, admission_message_answer(&c->session, w, to, answer,
					     c->hub->gate->options.epoch));
}

static void
count_unusable(struct spop_hub *hub, enum unusable why, usec_t now)
{
	struct log_limit *limit = &hub->unusable[why];

	metrics_count(&hub->gate->metrics, METRIC_spop_unusable, why);
	if (log_limit(limit, now))
		log_warnx("spop: message not usable cause=%s skipped=%lu",
			  metric_label_row(LABEL_UNUSABLE)->values[why],
			  limit->skipped);
}

static void
answer_note(struct spop_connection *c, const struct asker *to,
	    const struct question *q)
{
	struct spop_writer *w = writer_to(c);

	if (w != NULL)
		sent_ack(c, admission_message_note(&c->session, w, to, q));
}

static void
answer_request(struct spop_connection *c, const struct asker *to,
	       struct ask *ask, usec_t now)
{
	struct answer answer;

	ask->asker = *to;
	if (gate_ask(c->hub->gate, ask, now, &answer) != VERDICT_WAIT)
		spop_connection_answer(c, to, &answer);
}

static void
answer_response(struct spop_connection *c, const struct asker *to,
		const struct response *response, usec_t now)
{
	struct spop_writer *w = writer_to(c);
	struct exposure exposure;

	if (w == NULL)
		return;
	gate_respond(c->hub->gate, response, now, &exposure);
	sent_ack(c, admission_message_expose(&c->session, w, to, &exposure));
}

static void
on_notify(struct spop_connection *c, const struct spop_event *event, usec_t now)
{
	struct asker to = { &c->peer, event->stream_id, event->frame_id };
	struct question q;
	int rc = admission_message_read(event->payload, &q);

	metrics_count(&c->hub->gate->metrics, METRIC_spop_notifies, 0);
	if (rc < 0) {
		fail(c, rc);
		return;
	}
	if (!q.usable)
		count_unusable(c->hub, q.why, now);
	if (!q.usable)
		answer_note(c, &to, &q);
	else if (q.about == ABOUT_REQUEST)
		answer_request(c, &to, &q.ask, now);
	else
		answer_response(c, &to, &q.response, now);
}

static void
on_hello(struct spop_connection *c, const struct spop_event *event)
{
	struct spop_writer *w = writer_to(c);
	int rc;

	if (w == NULL)
		return;
	rc = spop_session_hello_agent(&c->session, w);
	if (rc < 0) {
		fail(c, rc);
		return;
	}
	c->greeted = true;
	gate_peer_greeted(c->hub->gate, turn_enter(c->hub->turn));
	log_debug("spop: hello fd=%d max_frame_size=%u healthcheck=%d", c->fd,
		  spop_session_limit(&c->session), event->hello.healthcheck);
	/* It has greeted, so it may be silent for as long as it likes. */
	event_remove_timer(c->readable);
}

static void
on_event(struct spop_connection *c, const struct spop_event *event, usec_t now)
{
	switch (event->type) {
	case SPOP_EVENT_HELLO:
		on_hello(c, event);
		break;
	case SPOP_EVENT_NOTIFY:
		on_notify(c, event, now);
		break;
	case SPOP_EVENT_DISCONNECT:
		say_goodbye(c, SPOP_STATUS_NORMAL);
		bury(c, "peer said goodbye");
		break;
	case SPOP_EVENT_ACK:
	case SPOP_EVENT_FRAGMENT:
	case SPOP_EVENT_ABORT:
	case SPOP_EVENT_IGNORED:
		break;
	}
}

/* ---- reading ---- */

/* The size of a frame that begins so, or of its length as yet. */
static size_t
goal_of(const struct spop_connection *c, const uint8_t *head, size_t len)
{
	int size =
		spop_frame_measure(head, len, spop_session_limit(&c->session));

	return size > 0 ? (size_t)size : SPOP_FRAME_PREFIX;
}

/*
 * Room for more of a frame than the len bytes that are there: by what came of
 * it, for what was announced costs its peer nothing.
 */
static void
grow_head(struct spop_connection *c, size_t goal, size_t len)
{
	size_t cap = 2 * len < HEAD_BYTES ? HEAD_BYTES : 2 * len;
	uint8_t *head;

	if (cap > goal)
		cap = goal;
	head = realloc(c->head, cap);
	if (head == NULL) {
		refuse(c, "no memory for its frame");
		return;
	}
	c->head = head;
	c->head_cap = cap;
}

/* Keeps the head of a frame until the rest of it comes. */
static void
keep_head(struct spop_connection *c, const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return;
	grow_head(c, goal_of(c, bytes, len), len);
	if (c->head == NULL)
		return;
	memcpy(c->head, bytes, len);
	c->head_len = len;
}

static void
forget_head(struct spop_connection *c)
{
	c->head = NULL;
	c->head_len = 0;
	c->head_cap = 0;
}

/* Deals with the frame whose head was kept, once it is whole. */
static void
take_head(struct spop_connection *c, usec_t now)
{
	uint8_t *head = c->head;
	struct spop_event event;
	int rc = spop_session_feed(&c->session, head, c->head_len, &event);

	if (rc < 0) {
		fail(c, rc);
	} else if (rc == 0) {
		if (c->head_len == c->head_cap)
			grow_head(c, goal_of(c, head, c->head_len),
				  c->head_len);
	} else {
		/* The event views it, whatever becomes of the connection. */
		forget_head(c);
		on_event(c, &event, now);
		free(head);
	}
}

static void
consume(struct spop_connection *c, size_t len, usec_t now)
{
	const uint8_t *input = c->hub->input;
	struct spop_event event;
	size_t used = 0;

	while (c->fd >= 0 && used < len) {
		int rc = spop_session_feed(&c->session, input + used,
					   len - used, &event);

		if (rc == 0)
			break;
		if (rc < 0) {
			fail(c, rc);
			return;
		}
		used += (size_t)rc;
		on_event(c, &event, now);
	}
	if (c->fd >= 0)
		keep_head(c, input + used, len - used);
}

/* First more of a frame whose head is kept, to where that is. */
static ssize_t
read_parts(struct spop_connection *c, size_t room)
{
	struct iovec parts[] = {
		{ c->head + c->head_len, room },
		{ c->hub->input, INPUT_BYTES },
	};
	bool to_its_end = c->head_len >= SPOP_FRAME_PREFIX &&
			  c->head_cap == goal_of(c, c->head, c->head_len);

	return readv(c->fd, parts, to_its_end ? 2 : 1);
}

static void
receive(struct spop_connection *c, usec_t now)
{
	size_t kept = c->head_cap - c->head_len;
	ssize_t n = kept > 0 ? read_parts(c, kept)
			     : read(c->fd, c->hub->input, INPUT_BYTES);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		bury(c, n == 0 ? "peer closed" : strerror(errno));
		return;
	}
	if (kept > (size_t)n)
		kept = (size_t)n;
	c->head_len += kept;
	if (kept > 0)
		take_head(c, now);
	if (c->fd >= 0 && (size_t)n > kept)
		consume(c, (size_t)n - kept, now);
}

/* A part of a greeting does not buy more time for the rest of it. */
static bool
wait_for_greeting(struct spop_connection *c, usec_t now)
{
	usec_t left = c->greet_by > now ? c->greet_by - now : 0;
	struct timeval patience = { (time_t)(left / USEC_PER_SEC),
				    (suseconds_t)(left % USEC_PER_SEC) };

	return event_add(c->readable, &patience) == 0;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct spop_connection *c = arg;
	usec_t now = turn_enter(c->hub->turn);

	(void)fd;
	(void)what;
	/* Also when its time is over: after a stall its greeting lies there. */
	receive(c, now);
	if (c->fd < 0 || spop_session_is_open(&c->session))
		return;
	if (now >= c->greet_by)
		refuse(c, "does not greet");
	else if (!wait_for_greeting(c, now))
		refuse(c, "no memory for its timer");
}

/* ---- lifecycle ---- */

void
spop_connection_open(struct spop_hub *hub, int fd)
{
	usec_t now = turn_enter(hub->turn);
	struct spop_connection *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->hub = hub;
	c->fd = fd;
	c->greet_by = now + SPOP_SERVER_HELLO_SECONDS * USEC_PER_SEC;
	c->readable =
		event_new(hub->base, fd, EV_READ | EV_PERSIST, on_readable, c);
	if (c->readable == NULL || !wait_for_greeting(c, now)) {
		free_event(c->readable);
		close(fd);
		free(c);
		return;
	}
	spop_session_init(&c->session, SPOP_AGENT);
	LIST_INIT(&c->peer.waiters);
	LIST_INSERT_HEAD(&hub->open, c, link);
	metrics_count(&hub->gate->metrics, METRIC_spop_connections, 0);
}

struct spop_connection *
spop_connection_of(struct peer *peer)
{
	return CONTAINER_OF(peer, struct spop_connection, peer);
}

bool
spop_hub_init(struct spop_hub *hub, struct event_base *base, struct turn *turn,
	      struct gate *gate)
{
	uint8_t *output = malloc(OUTPUT_BYTES);

	*hub = (struct spop_hub){ .base = base, .turn = turn, .gate = gate };
	LIST_INIT(&hub->open);
	LIST_INIT(&hub->graveyard);
	hub->input = malloc(INPUT_BYTES);
	if (output == NULL || hub->input == NULL) {
		free(output);
		free(hub->input);
		return false;
	}
	spop_writer_init(&hub->writer, output, OUTPUT_BYTES);
	return true;
}

void
spop_hub_settle(struct spop_hub *hub)
{
	struct spop_connection *c;

	flush(hub);
	while ((c = LIST_FIRST(&hub->graveyard)) != NULL) {
		LIST_REMOVE(c, link);
		free(c);
	}
}

void
spop_hub_fini(struct spop_hub *hub)
{
	struct spop_connection *c;

	while ((c = LIST_FIRST(&hub->open)) != NULL) {
		say_goodbye(c, SPOP_STATUS_NORMAL);
		bury(c, "shutting down");
	}
	spop_hub_settle(hub);
	free(hub->input);
	free(hub->writer.buf);
}

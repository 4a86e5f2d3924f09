/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/log_receiver.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/core/log_frame.h"
#include "agent/core/log_line.h"
#include "agent/io/listen_text.h"
#include "agent/io/listener.h"
#include "agent/io/log.h"
#include "agent/io/loop.h"
#include "agent/io/turn.h"

/* Datagrams that one system call fetches, and such calls in one turn. */
#define BATCH 64
#define BATCHES_PER_TURN 16

/* What is asked for; without privileges the system gives what it allows. */
#define RECEIVE_BYTES (64 << 20)

/* Below it a burst of a few thousand lines is lost; worth a warning. */
#define RECEIVE_BYTES_LOW (1 << 20)

/* One for each ring of each HAProxy and some more. */
#define CONNECTIONS_MAX 64
#define CONNECTION_BYTES 65536

/* A stream that had no line in so many bytes is none of HAProxy's. */
#define GARBAGE_MAX (1 << 20)

/* How long datagrams may lie where nobody waits; 256 fit the least buffer. */
#define REST_USEC 2000

/* Until a port that is free for TCP is free for UDP too. */
#define PORT_TRIES 16

struct control {
	_Alignas(struct cmsghdr) char bytes[CMSG_SPACE(sizeof(uint32_t))];
};

struct batch {
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct control control[BATCH];
	char bytes[BATCH][LOG_FRAME_MAX];
};

struct connection {
	LIST_ENTRY(connection) link;
	struct log_receiver *receiver; /* borrowed */
	int fd;
	struct event *readable; /* owned */
	struct log_frame frame;
	size_t len;
	char bytes[CONNECTION_BYTES];
};

LIST_HEAD(connections, connection);

struct log_receiver {
	struct event_base *base; /* borrowed */
	struct turn *turn;       /* borrowed */
	struct gate *gate;       /* borrowed */
	char address[LISTEN_TEXT_MAX];

	int datagrams;
	struct event *datagram; /* owned; not pending while at rest */
	struct event *rested;   /* owned; pending while at rest */
	bool may_rest;          /* a unix socket holds ten lines only */
	bool hurry;
	struct batch *batch;     /* owned */
	uint32_t overflow;       /* the kernel's count of what it dropped */
	struct log_limit losses; /* warnings of each kind */
	struct log_limit failures;

	int stream;                /* -1: none, or the listener's */
	struct listener *listener; /* owned; NULL for a unix socket */
	struct connections connections;
	size_t connection_count;
	struct log_limit refusals;
};

/* ---- lines ---- */

static void
note_loss(struct log_receiver *r, uint64_t lines, const char *by, usec_t now)
{
	metrics_add(&r->gate->metrics, METRIC_log_lines_dropped, 0,
		    (int64_t)lines);
	if (log_limit(&r->losses, now))
		log_warnx(
			"log: lines were dropped count=%llu by=%s skipped=%lu",
			(unsigned long long)lines, by, r->losses.skipped);
}

static void
take_line(struct log_receiver *r, struct text line, usec_t now)
{
	struct log_line found;
	unsigned long long lost;

	if (log_line_parse(line, &found)) {
		struct ending ending = { .id = found.id,
					 .permit = found.permit,
					 .verdict = found.verdict };

		gate_end(r->gate, &ending, now);
		return;
	}
	metrics_count(&r->gate->metrics, METRIC_log_lines, LINE_OTHER);
	lost = log_line_dropped(line);
	if (lost > 0)
		note_loss(r, lost, "haproxy", now);
}

/* ---- datagrams ---- */

static struct batch *
batch_new(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	for (size_t i = 0; b != NULL && i < BATCH; i++) {
		b->parts[i].iov_base = b->bytes[i];
		b->parts[i].iov_len = sizeof(b->bytes[i]);
		b->messages[i].msg_hdr.msg_iov = &b->parts[i];
		b->messages[i].msg_hdr.msg_iovlen = 1;
		b->messages[i].msg_hdr.msg_control = &b->control[i];
	}
	return b;
}

/* The kernel counts from the socket's beginning, and says so by datagram. */
static void
note_overflow(struct log_receiver *r, struct msghdr *message, usec_t now)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	uint32_t overflow;

	if (c == NULL || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SO_RXQ_OVFL)
		return;
	memcpy(&overflow, CMSG_DATA(c), sizeof(overflow));
	if (overflow != r->overflow)
		note_loss(r, overflow - r->overflow, "kernel", now);
	r->overflow = overflow;
}

/* Cut, it could end right behind what a client wrote. */
static void
take_datagram(struct log_receiver *r, size_t i, usec_t now)
{
	struct mmsghdr *message = &r->batch->messages[i];
	struct text line = { r->batch->bytes[i], message->msg_len };

	note_overflow(r, &message->msg_hdr, now);
	if (message->msg_hdr.msg_flags & MSG_TRUNC)
		metrics_count(&r->gate->metrics, METRIC_log_lines, LINE_OTHER);
	else
		take_line(r, log_line_trim(line), now);
}

/* False when nothing more is there. */
static bool
drain_batch(struct log_receiver *r, usec_t now)
{
	struct mmsghdr *messages = r->batch->messages;
	int count;

	for (size_t i = 0; i < BATCH; i++)
		messages[i].msg_hdr.msg_controllen =
			sizeof(r->batch->control[i]);
	count = recvmmsg(r->datagrams, messages, BATCH, MSG_DONTWAIT, NULL);
	if (count < 0 && errno != EAGAIN && errno != EINTR &&
	    log_limit(&r->failures, now))
		log_warn("log: cannot receive skipped=%lu",
			 r->failures.skipped);
	for (int i = 0; i < count; i++)
		take_datagram(r, (size_t)i, now);
	return count == BATCH;
}

static void
drain(void *arg, usec_t now)
{
	int left = BATCHES_PER_TURN;

	while (left > 0 && drain_batch(arg, now))
		left--;
}

static void
on_datagram(evutil_socket_t fd, short what, void *arg)
{
	struct timeval rest = { .tv_usec = REST_USEC };
	struct log_receiver *r = arg;

	(void)fd;
	(void)what;
	/* Drains, unless this turn has done so before. */
	turn_enter(r->turn);
	if (r->hurry || !r->may_rest || evtimer_add(r->rested, &rest) != 0)
		return;
	event_del(r->datagram);
}

static void
on_rested(evutil_socket_t fd, short what, void *arg)
{
	struct log_receiver *r = arg;

	(void)fd;
	(void)what;
	event_add(r->datagram, NULL);
}

void
log_receiver_hurry(struct log_receiver *receiver, bool hurry)
{
	receiver->hurry = hurry;
	if (!hurry || !evtimer_pending(receiver->rested, NULL))
		return;
	evtimer_del(receiver->rested);
	event_add(receiver->datagram, NULL);
}

/* ---- connections ---- */

static void
close_connection(struct connection *c)
{
	LIST_REMOVE(c, link);
	c->receiver->connection_count--;
	event_free(c->readable);
	close(c->fd);
	free(c);
}

static void
take_lines(struct connection *c, usec_t now)
{
	struct text rest = { c->bytes, c->len };
	struct text line;
	size_t used;

	while ((used = log_frame_next(&c->frame, rest, &line)) > 0) {
		rest.at += used;
		rest.len -= used;
		if (line.len > 0)
			take_line(c->receiver, line, now);
	}
	memmove(c->bytes, rest.at, rest.len);
	c->len = rest.len;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;
	usec_t now = turn_enter(c->receiver->turn);
	ssize_t n = recv(fd, c->bytes + c->len, sizeof(c->bytes) - c->len, 0);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		log_debug("log: connection closed fd=%d reason=\"%s\"", fd,
			  n == 0 ? "by its peer" : strerror(errno));
		close_connection(c);
		return;
	}
	c->len += (size_t)n;
	take_lines(c, now);
	if (c->frame.skipped > GARBAGE_MAX) {
		log_warnx("log: connection closed fd=%d "
			  "reason=\"no line in %zu bytes\"",
			  fd, c->frame.skipped);
		close_connection(c);
	}
}

static bool
add_connection(struct log_receiver *r, int fd)
{
	struct connection *c;

	if (r->connection_count >= CONNECTIONS_MAX)
		return false;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return false;
	c->receiver = r;
	c->fd = fd;
	c->readable =
		event_new(r->base, fd, EV_READ | EV_PERSIST, on_readable, c);
	if (c->readable == NULL || event_add(c->readable, NULL) != 0) {
		free_event(c->readable);
		free(c);
		return false;
	}
	LIST_INSERT_HEAD(&r->connections, c, link);
	r->connection_count++;
	return true;
}

static void
on_accepted(void *arg, int fd, struct sockaddr *from, socklen_t len)
{
	struct log_receiver *r = arg;

	(void)from;
	(void)len;
	if (add_connection(r, fd))
		return;
	close(fd);
	if (log_limit(&r->refusals, turn_enter(r->turn)))
		log_warnx("log: connection refused open=%zu skipped=%lu",
			  r->connection_count, r->refusals.skipped);
}

/* ---- opening and closing ---- */

static void
enlarge_buffer(int fd)
{
	int bytes = RECEIVE_BYTES;
	socklen_t len = sizeof(bytes);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, len) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, len);
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) != 0)
		return;
	if (bytes < RECEIVE_BYTES_LOW)
		log_warnx("log: receive buffer is small bytes=%d "
			  "raise=net.core.rmem_max",
			  bytes);
	else
		log_info("log: receive buffer bytes=%d", bytes);
}

/* Both sockets on one port, or neither. */
static bool
bind_pair(struct log_receiver *r, struct listen_address *address,
	  const char **step)
{
	r->stream = listen_open(address, SOCK_STREAM, step);
	if (r->stream < 0)
		return false;
	*step = "getsockname";
	if (listen_bound(r->stream, address))
		r->datagrams = listen_open(address, SOCK_DGRAM, step);
	if (r->datagrams >= 0)
		return true;
	close(r->stream);
	r->stream = -1;
	return false;
}

static bool
bind_sockets(struct log_receiver *r, const struct listen_address *address,
	     const char **step)
{
	struct listen_address bound = *address;
	int tries = 1;

	if (listen_address_is_unix(address)) {
		r->datagrams = listen_open(address, SOCK_DGRAM, step);
		listen_address_format(address, r->address);
		return r->datagrams >= 0;
	}
	if (listen_address_port(address) == 0)
		tries = PORT_TRIES;
	while (!bind_pair(r, &bound, step)) {
		if (--tries == 0 || errno != EADDRINUSE)
			return false;
		bound = *address;
	}
	listen_address_format(&bound, r->address);
	return true;
}

/* False without memory. */
static bool
watch_datagrams(struct log_receiver *r)
{
	int on = 1;

	enlarge_buffer(r->datagrams);
	setsockopt(r->datagrams, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	r->batch = batch_new();
	r->datagram = event_new(r->base, r->datagrams, EV_READ | EV_PERSIST,
				on_datagram, r);
	r->rested = evtimer_new(r->base, on_rested, r);
	r->may_rest = r->stream >= 0;
	return r->batch != NULL && r->datagram != NULL && r->rested != NULL &&
	       event_add(r->datagram, NULL) == 0;
}

/* False without memory. */
static bool
watch_stream(struct log_receiver *r)
{
	const struct listener_user user = { "log", on_accepted, r,
					    .spare = false };

	if (r->stream < 0)
		return true;
	r->listener = listener_open(r->base, r->turn, r->stream, &user);
	if (r->listener == NULL)
		return false;
	r->stream = -1;
	return true;
}

struct log_receiver *
log_receiver_open(struct event_base *base, struct turn *turn, struct gate *gate,
		  const struct listen_address *address, const char **step)
{
	struct log_receiver *r = calloc(1, sizeof(*r));

	*step = "memory";
	if (r == NULL)
		return NULL;
	r->base = base;
	r->turn = turn;
	r->gate = gate;
	r->datagrams = -1;
	r->stream = -1;
	LIST_INIT(&r->connections);
	if (!bind_sockets(r, address, step)) {
		free(r);
		return NULL;
	}
	if (!watch_datagrams(r) || !watch_stream(r)) {
		log_receiver_close(&r);
		*step = "memory";
		errno = ENOMEM;
		return NULL;
	}
	turn_first(turn, drain, r);
	return r;
}

void
log_receiver_close(struct log_receiver **receiver)
{
	struct log_receiver *r = *receiver;
	struct connection *next;

	if (r == NULL)
		return;
	turn_first(r->turn, NULL, NULL);
	for (struct connection *c = LIST_FIRST(&r->connections); c != NULL;
	     c = next) {
		next = LIST_NEXT(c, link);
		close_connection(c);
	}
	listener_close(&r->listener);
	free_event(r->datagram);
	free_event(r->rested);
	listen_close(r->stream);
	listen_close(r->datagrams);
	free(r->batch);
	free(r);
	*receiver = NULL;
}

const char *
log_receiver_address(const struct log_receiver *receiver)
{
	return receiver->address;
}

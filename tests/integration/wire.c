/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define CHUNK_BYTES 65536

static struct wire *
make(int family)
{
	struct wire *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(w->fd >= 0);
	return w;
}

static void
set_option(const struct wire *w, int level, int option, int value)
{
	assert_int_equal(
		setsockopt(w->fd, level, option, &value, sizeof(value)), 0);
}

struct wire *
wire_open_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct wire *w = make(AF_UNIX);

	assert_true(strlen(path) < sizeof(to.sun_path));
	memcpy(to.sun_path, path, strlen(path) + 1);
	assert_int_equal(
		connect(w->fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return w;
}

static void
connect_to(struct wire *w, unsigned port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_int_equal(
		connect(w->fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	set_option(w, IPPROTO_TCP, TCP_NODELAY, 1);
}

struct wire *
wire_open(unsigned port)
{
	struct wire *w = make(AF_INET);

	connect_to(w, port);
	return w;
}

struct wire *
wire_open_narrow(unsigned port)
{
	struct wire *w = make(AF_INET);

	/* Small segments keep the sender's buffer small too. */
	set_option(w, SOL_SOCKET, SO_RCVBUF, 16384);
	set_option(w, IPPROTO_TCP, TCP_MAXSEG, 536);
	connect_to(w, port);
	return w;
}

void
wire_close(struct wire **wire)
{
	if (*wire == NULL)
		return;
	close((*wire)->fd);
	free((*wire)->buf);
	free(*wire);
	*wire = NULL;
}

void
wire_reset(struct wire **wire)
{
	struct linger now = { 1, 0 };

	(void)setsockopt((*wire)->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	wire_close(wire);
}

bool
wire_send(struct wire *wire, const void *bytes, size_t len)
{
	usec_t deadline = patience_end();
	const char *at = bytes;

	while (len > 0) {
		ssize_t n =
			send(wire->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			if (!patience_wait(wire->fd, POLLOUT, deadline))
				return false;
			continue;
		}
		if (n < 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static void
make_room(struct wire *w)
{
	if (w->used > 0) {
		w->len -= w->used;
		memmove(w->buf, w->buf + w->used, w->len);
		w->used = 0;
	}
	if (w->cap - w->len >= CHUNK_BYTES)
		return;
	w->cap = w->len + CHUNK_BYTES;
	w->buf = realloc(w->buf, w->cap);
	assert_non_null(w->buf);
}

bool
wire_fill(struct wire *wire, usec_t deadline)
{
	ssize_t n;

	if (wire->ended || !patience_wait(wire->fd, POLLIN, deadline))
		return false;
	make_room(wire);
	n = recv(wire->fd, wire->buf + wire->len, wire->cap - wire->len,
		 MSG_DONTWAIT);
	if (n <= 0) {
		wire->ended = true;
		wire->reset = n < 0;
		return false;
	}
	wire->len += (size_t)n;
	return true;
}

bool
wire_frame(struct wire *wire, struct spop_frame *frame, usec_t deadline)
{
	for (;;) {
		int rc = 0;

		if (wire->len > wire->used)
			rc = spop_frame_decode(wire->buf + wire->used,
					       wire->len - wire->used,
					       SPOP_FRAME_SIZE_MAX, frame);
		if (rc < 0)
			fail_msg("the daemon sent: %s", spop_strerror(rc));
		if (rc > 0) {
			wire->used += (size_t)rc;
			return true;
		}
		if (!wire_fill(wire, deadline))
			return false;
	}
}

bool
wire_ends(struct wire *wire)
{
	usec_t deadline = patience_end();
	struct spop_frame frame;

	return !wire_frame(wire, &frame, deadline) && wire->ended;
}

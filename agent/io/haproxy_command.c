/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_command.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/io/listen_text.h"

#define PATIENCE_SECONDS 2
#define ANSWER_MAX ((size_t)64 << 10)

int
haproxy_connect(const struct listen_address *address)
{
	const struct sockaddr *at = (const struct sockaddr *)&address->at;
	int fd = socket(address->at.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0 || connect(fd, at, address->len) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

void
haproxy_command_init(struct haproxy_command *c, struct event_base *base,
		     const struct listen_address *address, haproxy_said said,
		     void *arg)
{
	*c = (struct haproxy_command){ base, address, NULL, said, arg };
}

void
haproxy_command_fini(struct haproxy_command *c)
{
	if (c->io != NULL)
		bufferevent_free(c->io);
	c->io = NULL;
}

bool
haproxy_command_is_busy(const struct haproxy_command *c)
{
	return c->io != NULL;
}

static void
tell(struct haproxy_command *c, const char *failed)
{
	struct bufferevent *io = c->io;
	struct evbuffer *in = bufferevent_get_input(io);
	size_t len = evbuffer_get_length(in);
	char *bytes = (char *)evbuffer_pullup(in, -1);

	/* Whoever hears of it may send the next one. */
	c->io = NULL;
	c->said(c->arg, (struct text){ bytes, bytes == NULL ? 0 : len },
		failed);
	bufferevent_free(io);
}

static void
on_answer(struct bufferevent *io, void *arg)
{
	if (evbuffer_get_length(bufferevent_get_input(io)) >= ANSWER_MAX)
		tell(arg, "the answer is too long");
}

static void
on_end(struct bufferevent *io, short what, void *arg)
{
	(void)io;
	if (what & BEV_EVENT_CONNECTED)
		return;
	if (what & BEV_EVENT_TIMEOUT)
		tell(arg, "no answer in time");
	else
		tell(arg, what & BEV_EVENT_EOF ? NULL : strerror(errno));
}

bool
haproxy_command_send(struct haproxy_command *c, const char *line)
{
	const struct timeval patience = { PATIENCE_SECONDS, 0 };
	int fd = haproxy_connect(c->address);

	assert(c->io == NULL);
	if (fd < 0)
		return false;
	c->io = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (c->io == NULL) {
		close(fd);
		return false;
	}
	bufferevent_setcb(c->io, on_answer, NULL, on_end, c);
	bufferevent_set_timeouts(c->io, &patience, &patience);
	bufferevent_enable(c->io, EV_READ | EV_WRITE);
	bufferevent_write(c->io, line, strlen(line));
	return true;
}

bool
haproxy_command_complaint(struct text *answer, struct text *line)
{
	static const char *const well[] = { "", "New server registered.",
					    "Server deleted." };

	while (answer->len > 0) {
		bool fine = false;

		*line = text_cut(answer, '\n');
		for (size_t i = 0; i < ARRAY_LEN(well); i++)
			fine = fine || text_is(*line, well[i]);
		if (!fine)
			return true;
	}
	return false;
}

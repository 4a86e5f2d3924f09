/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_process.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/io/haproxy_command.h"
#include "agent/io/listen_text.h"

/* Keeps the session open after an answer (management guide, 9.3). */
#define ENTER "prompt\n"
#define PROMPT "> "

/* Of all proxies the servers, or their frontends and backends, too. */
#define ASK_SERVERS "show info;show stat -1 4 -1\n"
#define ASK_ALL "show info;show stat -1 7 -1\n"

/* All of it in one piece; without memory for that, nothing. */
static struct text
received(struct evbuffer *input)
{
	size_t len = evbuffer_get_length(input);
	char *bytes = (char *)evbuffer_pullup(input, -1);

	return (struct text){ bytes, bytes == NULL ? 0 : len };
}

static bool
ends_in_prompt(struct evbuffer *input)
{
	size_t len = evbuffer_get_length(input);
	char end[sizeof(PROMPT) - 1];
	struct evbuffer_ptr at;

	if (len < sizeof(end) || evbuffer_ptr_set(input, &at, len - sizeof(end),
						  EVBUFFER_PTR_SET) != 0)
		return false;
	evbuffer_copyout_from(input, &at, end, sizeof(end));
	return memcmp(end, PROMPT, sizeof(end)) == 0;
}

static void
on_received(struct bufferevent *io, void *arg)
{
	struct haproxy_process *p = arg;
	struct evbuffer *input = bufferevent_get_input(io);
	size_t len = evbuffer_get_length(input);
	struct haproxy_info info;

	if (p->state == HAPROXY_IDLE)
		evbuffer_drain(input, len);
	if (p->state != HAPROXY_ASKED)
		return;
	if (ends_in_prompt(input) &&
	    haproxy_answer_init(received(input), &info, &p->stat)) {
		/* What is read now could move what stat views. */
		bufferevent_disable(io, EV_READ);
		p->state = HAPROXY_ANSWERED;
		p->events->answered(p, &info);
	} else if (len >= HAPROXY_ANSWER_MAX) {
		p->events->lost(p, "the answer is too long");
	}
}

static void
on_closed(struct bufferevent *io, short what, void *arg)
{
	struct haproxy_process *p = arg;

	(void)io;
	p->events->lost(p, what & BEV_EVENT_EOF ? "connection closed"
						: strerror(errno));
}

struct haproxy_process *
haproxy_process_open(struct event_base *base,
		     const struct listen_address *address,
		     const struct haproxy_process_events *events, void *owner,
		     bool asks_all)
{
	struct haproxy_process *p = calloc(1, sizeof(*p));
	int fd = p == NULL ? -1 : haproxy_connect(address);

	if (fd < 0) {
		free(p);
		return NULL;
	}
	p->owner = owner;
	p->events = events;
	p->asks_all = asks_all;
	p->io = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (p->io == NULL) {
		close(fd);
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	bufferevent_setcb(p->io, on_received, NULL, on_closed, p);
	bufferevent_setwatermark(p->io, EV_READ, 0, HAPROXY_ANSWER_MAX);
	bufferevent_enable(p->io, EV_READ | EV_WRITE);
	bufferevent_write(p->io, ENTER, strlen(ENTER));
	haproxy_process_ask(p);
	return p;
}

void
haproxy_process_close(struct haproxy_process **process)
{
	if (*process == NULL)
		return;
	bufferevent_free((*process)->io);
	free(*process);
	*process = NULL;
}

void
haproxy_process_ask(struct haproxy_process *p)
{
	const char *ask = p->asks_all ? ASK_ALL : ASK_SERVERS;

	assert(p->state == HAPROXY_IDLE);
	bufferevent_write(p->io, ask, strlen(ask));
	p->state = HAPROXY_ASKED;
}

void
haproxy_process_put_away(struct haproxy_process *p)
{
	struct evbuffer *input = bufferevent_get_input(p->io);

	assert(p->state == HAPROXY_ANSWERED);
	evbuffer_drain(input, evbuffer_get_length(input));
	p->stat = (struct haproxy_stat){ .complete = false };
	p->state = HAPROXY_IDLE;
	bufferevent_enable(p->io, EV_READ);
}

bool
haproxy_process_has_begun(const struct haproxy_process *p)
{
	return evbuffer_get_length(bufferevent_get_input(p->io)) > 0;
}

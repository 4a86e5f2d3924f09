/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/io/listen_text.h"
#include "agent/io/loop.h"
#include "agent/io/turn.h"

#define PAUSE_SECONDS 1

static void
on_accept(struct evconnlistener *accepts, evutil_socket_t fd,
	  struct sockaddr *from, int len, void *arg)
{
	struct listener *l = arg;

	(void)accepts;
	turn_enter(l->turn);
	l->user.accepted(l->user.arg, fd, from, (socklen_t)len);
}

void
listener_spare(struct listener *listener)
{
	if (listener->user.spare && listener->spare < 0)
		listener->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
drop_spare(struct listener *l)
{
	if (l->spare >= 0)
		close(l->spare);
	l->spare = -1;
}

/*
 * At once, or somebody else would take it. Whoever waited may have gone
 * meanwhile; then it is held back again.
 */
static bool
accept_with_spare(struct listener *l)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd;

	if (l->spare < 0)
		return false;
	drop_spare(l);
	fd = accept(evconnlistener_get_fd(l->accepts), (struct sockaddr *)&from,
		    &len);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return false;
	if (fd < 0) {
		listener_spare(l);
		return true;
	}
	evutil_make_socket_nonblocking(fd);
	evutil_make_socket_closeonexec(fd);
	l->user.accepted(l->user.arg, fd, (struct sockaddr *)&from, len);
	return true;
}

static void
on_accept_error(struct evconnlistener *accepts, void *arg)
{
	const struct timeval pause = { .tv_sec = PAUSE_SECONDS };
	struct listener *l = arg;
	usec_t now = turn_enter(l->turn);

	if (accept_with_spare(l))
		return;
	if (log_limit(&l->paused, now))
		log_warn("%s: cannot accept, new connections wait skipped=%lu",
			 l->user.who, l->paused.skipped);
	evconnlistener_disable(accepts);
	evtimer_add(l->resume, &pause);
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	if (!l->stopped)
		evconnlistener_enable(l->accepts);
}

struct listener *
listener_open(struct event_base *base, struct turn *turn, int fd,
	      const struct listener_user *user)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->user = *user;
	l->spare = -1;
	listener_spare(l);
	l->turn = turn;
	l->resume = evtimer_new(base, on_resume, l);
	if (l->resume != NULL)
		l->accepts = evconnlistener_new(base, on_accept, l,
						LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (l->accepts == NULL) {
		listener_close(&l);
		return NULL;
	}
	evconnlistener_set_error_cb(l->accepts, on_accept_error);
	return l;
}

void
listener_close(struct listener **listener)
{
	struct listener *l = *listener;
	int fd = -1;

	if (l == NULL)
		return;
	if (l->accepts != NULL) {
		fd = evconnlistener_get_fd(l->accepts);
		evconnlistener_free(l->accepts);
	}
	listen_close(fd);
	drop_spare(l);
	free_event(l->resume);
	free(l);
	*listener = NULL;
}

void
listener_stop(struct listener *listener, bool stop)
{
	listener->stopped = stop;
	if (stop)
		evconnlistener_disable(listener->accepts);
	else if (!evtimer_pending(listener->resume, NULL))
		evconnlistener_enable(listener->accepts);
}

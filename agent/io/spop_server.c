/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/spop_server.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "agent/core/gate.h"
#include "agent/io/listen_text.h"
#include "agent/io/log.h"
#include "agent/io/spop_connection.h"
#include "agent/io/turn.h"

/* How long nobody is accepted when there are no descriptors left. */
#define PAUSE_SECONDS 1

struct listener {
	SLIST_ENTRY(listener) link;
	struct evconnlistener *accepts; /* owned */
};

struct spop_server {
	struct spop_hub hub;
	SLIST_HEAD(, listener) listeners;
	struct event *resume; /* owned; rings when a pause is over */
	struct log_limit paused;
};

static void
on_accept(struct evconnlistener *accepts, evutil_socket_t fd,
	  struct sockaddr *from, int len, void *arg)
{
	struct spop_server *server = arg;
	int on = 1;

	(void)accepts;
	(void)len;
	turn_enter(server->hub.turn);
	if (from->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	spop_connection_open(&server->hub, fd);
}

static void
pause_listeners(struct spop_server *server, bool pause)
{
	struct listener *l;

	SLIST_FOREACH(l, &server->listeners, link)
	{
		if (pause)
			evconnlistener_disable(l->accepts);
		else
			evconnlistener_enable(l->accepts);
	}
}

static void
on_accept_error(struct evconnlistener *accepts, void *arg)
{
	struct spop_server *server = arg;
	struct timeval pause = { PAUSE_SECONDS, 0 };

	(void)accepts;
	if (log_limit(&server->paused, turn_enter(server->hub.turn)))
		log_warn("spop: cannot accept, new connections wait "
			 "skipped=%lu",
			 server->paused.skipped);
	/* The connection stays in the backlog; to try on would spin. */
	pause_listeners(server, true);
	evtimer_add(server->resume, &pause);
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pause_listeners(arg, false);
}

struct spop_server *
spop_server_open(struct event_base *base, struct turn *turn, struct gate *gate)
{
	struct spop_server *server = calloc(1, sizeof(*server));

	if (server == NULL)
		return NULL;
	SLIST_INIT(&server->listeners);
	server->resume = evtimer_new(base, on_resume, server);
	if (server->resume == NULL ||
	    !spop_hub_init(&server->hub, base, turn, gate)) {
		if (server->resume != NULL)
			event_free(server->resume);
		free(server);
		return NULL;
	}
	return server;
}

bool
spop_server_listen(struct spop_server *server, int listener)
{
	struct listener *l = malloc(sizeof(*l));

	if (l == NULL)
		return false;
	l->accepts = evconnlistener_new(server->hub.base, on_accept, server,
					LEV_OPT_CLOSE_ON_EXEC, 0, listener);
	if (l->accepts == NULL) {
		free(l);
		return false;
	}
	evconnlistener_set_error_cb(l->accepts, on_accept_error);
	SLIST_INSERT_HEAD(&server->listeners, l, link);
	return true;
}

void
spop_server_stop_listening(struct spop_server *server)
{
	struct listener *l;

	evtimer_del(server->resume);
	while ((l = SLIST_FIRST(&server->listeners)) != NULL) {
		int fd = evconnlistener_get_fd(l->accepts);

		SLIST_REMOVE_HEAD(&server->listeners, link);
		evconnlistener_free(l->accepts);
		listen_close(fd);
		free(l);
	}
}

void
spop_server_close(struct spop_server **server)
{
	if (*server == NULL)
		return;
	spop_server_stop_listening(*server);
	spop_hub_fini(&(*server)->hub);
	event_free((*server)->resume);
	free(*server);
	*server = NULL;
}

void
spop_server_deliver(struct spop_server *server)
{
	struct asker to;
	struct answer answer;

	while (gate_next_answer(server->hub.gate, &to, &answer))
		spop_connection_answer(spop_connection_of(to.peer), &to,
				       &answer);
	spop_hub_settle(&server->hub);
}

bool
spop_server_is_busy(const struct spop_server *server)
{
	return server->hub.busy > 0;
}

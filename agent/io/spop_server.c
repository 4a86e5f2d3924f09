/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/spop_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "agent/core/gate.h"
#include "agent/io/listener.h"
#include "agent/io/spop_connection.h"

struct spop_server {
	struct spop_hub hub;
	SLIST_HEAD(, listener) listeners;
};

static void
on_accepted(void *arg, int fd, struct sockaddr *from, socklen_t len)
{
	struct spop_server *server = arg;
	int on = 1;

	(void)len;
	if (from->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	spop_connection_open(&server->hub, fd);
}

struct spop_server *
spop_server_open(struct event_base *base, struct turn *turn, struct gate *gate)
{
	struct spop_server *server = calloc(1, sizeof(*server));

	if (server == NULL)
		return NULL;
	SLIST_INIT(&server->listeners);
	if (!spop_hub_init(&server->hub, base, turn, gate)) {
		free(server);
		return NULL;
	}
	return server;
}

bool
spop_server_listen(struct spop_server *server, int listener)
{
	const struct listener_user user = { "spop", on_accepted, server,
					    .spare = false };
	struct listener *l = listener_open(server->hub.base, server->hub.turn,
					   listener, &user);

	if (l == NULL)
		return false;
	SLIST_INSERT_HEAD(&server->listeners, l, link);
	return true;
}

void
spop_server_stop_listening(struct spop_server *server)
{
	struct listener *l;

	while ((l = SLIST_FIRST(&server->listeners)) != NULL) {
		SLIST_REMOVE_HEAD(&server->listeners, link);
		listener_close(&l);
	}
}

void
spop_server_close(struct spop_server **server)
{
	if (*server == NULL)
		return;
	spop_server_stop_listening(*server);
	spop_hub_fini(&(*server)->hub);
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

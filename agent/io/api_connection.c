/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_connection.h"

#include <assert.h>
#include <event2/event.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "agent/io/loop.h"
#include "agent/io/turn.h"

struct api_connection {
	TAILQ_ENTRY(api_connection) link; /* where in_line */
	struct MHD_Connection *mhd;       /* borrowed */
	usec_t since;                     /* it last got anywhere */
	bool in_line;
	bool cut;
};

static void
leave_line(struct api_connections *c, struct api_connection *connection)
{
	if (!connection->in_line)
		return;
	TAILQ_REMOVE(&c->line, connection, link);
	connection->in_line = false;
}

/* The library sees its end, and closes it. */
static void
cut(struct api_connections *c, struct api_connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

	leave_line(c, connection);
	connection->cut = true;
	if (info != NULL)
		shutdown(info->connect_fd, SHUT_RDWR);
}

/* So that the first in line is not forgotten. */
static void
set_timer(struct api_connections *c, usec_t now)
{
	const struct api_connection *first = TAILQ_FIRST(&c->line);
	struct timeval after = { 0, 0 };
	usec_t left;

	if (first == NULL) {
		event_del(c->late);
		return;
	}
	if (first->since + c->patience > now) {
		left = first->since + c->patience - now;
		after.tv_sec = (time_t)(left / USEC_PER_SEC);
		after.tv_usec = (suseconds_t)(left % USEC_PER_SEC);
	}
	event_add(c->late, &after);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct api_connections *c = arg;
	usec_t now = turn_enter(c->turn);
	struct api_connection *first;

	(void)fd;
	(void)what;
	while ((first = TAILQ_FIRST(&c->line)) != NULL &&
	       now - first->since >= c->patience)
		cut(c, first);
	set_timer(c, now);
}

bool
api_connections_init(struct api_connections *c, struct event_base *base,
		     struct turn *turn, usec_t patience)
{
	c->turn = turn;
	c->patience = patience;
	TAILQ_INIT(&c->line);
	c->late = event_new(base, -1, 0, on_late, c);
	return c->late != NULL;
}

void
api_connections_fini(struct api_connections *c)
{
	assert(c->late == NULL || TAILQ_EMPTY(&c->line));
	free_event(c->late);
	c->late = NULL;
}

struct api_connection *
api_connection_add(struct api_connections *c, struct MHD_Connection *mhd)
{
	struct api_connection *connection = calloc(1, sizeof(*connection));

	if (connection == NULL)
		return NULL;
	connection->mhd = mhd;
	api_connection_touch(c, connection);
	return connection;
}

void
api_connection_remove(struct api_connections *c,
		      struct api_connection *connection)
{
	if (connection == NULL)
		return;
	leave_line(c, connection);
	free(connection);
}

void
api_connection_touch(struct api_connections *c,
		     struct api_connection *connection)
{
	usec_t now = turn_enter(c->turn);

	if (connection == NULL || connection->cut)
		return;
	leave_line(c, connection);
	connection->since = now;
	connection->in_line = true;
	TAILQ_INSERT_TAIL(&c->line, connection, link);
	if (!event_pending(c->late, EV_TIMEOUT, NULL))
		set_timer(c, now);
}

void
api_connection_hold(struct api_connections *c,
		    struct api_connection *connection)
{
	if (connection != NULL)
		leave_line(c, connection);
}

bool
api_connections_evict(struct api_connections *c)
{
	struct api_connection *first = TAILQ_FIRST(&c->line);

	if (first == NULL)
		return false;
	cut(c, first);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_LISTENER_H
#define AGENT_IO_LISTENER_H

/*
 * A listening socket in the loop, which hands over each connection that is
 * made. When descriptors run out it warns and looks away for a second: who
 * connects waits in the backlog, and nothing spins.
 */

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "agent/core/base.h"
#include "agent/io/log.h"

struct event;
struct event_base;
struct evconnlistener;
struct turn;

/* Whom it works for. */
struct listener_user {
	const char *who; /* borrowed; begins its warnings */
	/* Takes the descriptor, which is non-blocking and closed on exec. */
	void (*accepted)(void *arg, int fd, struct sockaddr *from,
			 socklen_t len);
	void *arg; /* borrowed */
	/* One descriptor is held back for it, so that it is there when all
	 * others are taken. */
	bool spare;
};

struct listener {
	SLIST_ENTRY(listener) link; /* for the owner */
	struct listener_user user;
	struct turn *turn;              /* borrowed */
	struct evconnlistener *accepts; /* owned, with its socket */
	struct event *resume;           /* owned; pending during a pause */
	bool stopped;
	int spare; /* -1: there is none, or it is in use */
	struct log_limit paused;
};

/*
 * Accepts on a non-blocking listening socket, which it owns from then on.
 * NULL, and the socket still the caller's, without memory.
 */
MUST_CHECK struct listener *listener_open(struct event_base *base,
					  struct turn *turn, int fd,
					  const struct listener_user *user);

/* Closes the socket too, and removes the path of a unix socket. */
void listener_close(struct listener **listener);

/*
 * Holds a spare descriptor back again, if it is to have one. To be called when
 * connections of it have gone.
 */
void listener_spare(struct listener *listener);

/* Whether newcomers wait in the backlog; at first they do not. */
void listener_stop(struct listener *listener, bool stop);

#endif

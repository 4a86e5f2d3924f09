/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_CONNECTION_H
#define AGENT_IO_API_CONNECTION_H

/*
 * The connections of the API in the order in which they last got anywhere: a
 * request whole, an answer begun or done. Who gets nowhere for too long, one
 * byte at a time or in silence, is cut off, and the first of them makes room
 * where there is none.
 *
 * A connection whose request is whole and waits for us is held: that is not
 * its fault.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "agent/core/base.h"

struct MHD_Connection;
struct api_connection;
struct event;
struct event_base;
struct turn;

TAILQ_HEAD(api_connection_line, api_connection);

struct api_connections {
	struct turn *turn;  /* borrowed */
	struct event *late; /* owned */
	usec_t patience;
	struct api_connection_line
		line; /* owned; the held ones are not in it */
};

MUST_CHECK bool api_connections_init(struct api_connections *c,
				     struct event_base *base, struct turn *turn,
				     usec_t patience);

/* All connections must have gone. */
void api_connections_fini(struct api_connections *c);

/* NULL without memory: then nobody minds it but the library. */
struct api_connection *api_connection_add(struct api_connections *c,
					  struct MHD_Connection *mhd);
void api_connection_remove(struct api_connections *c,
			   struct api_connection *connection);

/* It got somewhere, and has all the time again. connection may be NULL. */
void api_connection_touch(struct api_connections *c,
			  struct api_connection *connection);

/* Until it is touched again, it is left alone. connection may be NULL. */
void api_connection_hold(struct api_connections *c,
			 struct api_connection *connection);

/* Cuts the one off that got nowhere for the longest. False if all are held. */
bool api_connections_evict(struct api_connections *c);

#endif

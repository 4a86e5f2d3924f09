/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_SPOP_CONNECTION_H
#define AGENT_IO_SPOP_CONNECTION_H

/*
 * One SPOP connection of the server, and what all of them share. Known to
 * spop_server only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "agent/core/metrics.h"
#include "agent/core/request.h"
#include "agent/io/log.h"
#include "spop/spop.h"

struct evbuffer;
struct event;
struct event_base;
struct gate;
struct turn;

struct spop_connection {
	LIST_ENTRY(spop_connection) link; /* open, or in the graveyard */
	struct spop_hub *hub;             /* borrowed, outlives it */
	struct spop_session session;
	struct peer peer;
	struct event *readable;  /* owned */
	struct event *writable;  /* owned; NULL unless unsent is not */
	struct evbuffer *unsent; /* owned; NULL while the peer reads */
	uint8_t *head;           /* owned; of a frame that is not whole yet */
	size_t head_len;         /* bytes of it that are there */
	size_t head_cap;         /* bytes of it that there is room for */
	usec_t greet_by;
	int fd; /* -1 once it is closed */
	bool greeted;
};

LIST_HEAD(spop_connections, spop_connection);

struct spop_hub {
	struct event_base *base; /* borrowed, as the next two */
	struct turn *turn;
	struct gate *gate;
	struct spop_connections open;
	struct spop_connections graveyard; /* closed, freed at turn's end */
	size_t busy;                       /* connections with unsent bytes */

	/* Read into here, by one connection at a time. */
	uint8_t *input; /* owned */

	/* Frames on their way to one connection, sent together. */
	struct spop_writer writer;
	struct spop_connection *writing; /* NULL: the writer is empty */

	struct log_limit refused;
	struct log_limit unusable[UNUSABLE_COUNT]; /* by cause */
};

/* False without memory. */
MUST_CHECK bool spop_hub_init(struct spop_hub *hub, struct event_base *base,
			      struct turn *turn, struct gate *gate);

/* Says goodbye on every connection. */
void spop_hub_fini(struct spop_hub *hub);

/* Sends what is written and frees what was closed. */
void spop_hub_settle(struct spop_hub *hub);

/* Takes the descriptor, also when it fails: then it is closed. */
void spop_connection_open(struct spop_hub *hub, int fd);

/* The connection that a peer is part of. */
struct spop_connection *spop_connection_of(struct peer *peer);

/* Writes an answer; sent when the hub settles or turns to another one. */
void spop_connection_answer(struct spop_connection *c, const struct asker *to,
			    const struct answer *answer);

#endif

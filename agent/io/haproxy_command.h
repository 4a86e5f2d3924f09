/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_HAPROXY_COMMAND_H
#define AGENT_IO_HAPROXY_COMMAND_H

/*
 * Commands to the runtime API of a HAProxy, apart from the session that looks
 * at it: a line of them on a connection of its own, and what HAProxy says.
 */

#include <stdbool.h>

#include "agent/core/base.h"
#include "agent/core/text.h"

/* The longest line, its end included. */
#define HAPROXY_COMMAND_MAX 8192

struct bufferevent;
struct event_base;
struct listen_address;

/* A socket that is connected or about to be, or -1 with errno set. */
MUST_CHECK int haproxy_connect(const struct listen_address *address);

/* failed is NULL, or why there is no answer. The text lives for the call. */
typedef void (*haproxy_said)(void *arg, struct text answer, const char *failed);

struct haproxy_command {
	struct event_base *base;              /* borrowed */
	const struct listen_address *address; /* borrowed */
	struct bufferevent *io; /* owned; NULL: none is under way */
	haproxy_said said;
	void *arg;
};

void haproxy_command_init(struct haproxy_command *c, struct event_base *base,
			  const struct listen_address *address,
			  haproxy_said said, void *arg);

/* Breaks one off; said is not called. */
void haproxy_command_fini(struct haproxy_command *c);

bool haproxy_command_is_busy(const struct haproxy_command *c);

/*
 * Sends a line that ends in "\n"; none may be under way. What comes of it is
 * told later, unless it cannot be sent at all: then false.
 */
MUST_CHECK bool haproxy_command_send(struct haproxy_command *c,
				     const char *line);

/*
 * Cuts the next line of an answer that is not empty and not one of those with
 * which HAProxy says that all went well. False where there is none.
 */
bool haproxy_command_complaint(struct text *answer, struct text *line);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_SPOP_SERVER_H
#define AGENT_IO_SPOP_SERVER_H

/*
 * The side that HAProxy's SPOE filter talks to: any number of connections,
 * each with any number of questions under way.
 *
 * A connection costs well under a kilobyte while it holds a question. One
 * that breaks the protocol, does not greet, or does not read its answers is
 * closed with a reason; the others do not notice.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"

struct event_base;
struct gate;
struct spop_server;
struct turn;

/* Bytes of answers that a peer may leave unread before it is dropped. */
#define SPOP_SERVER_UNREAD_MAX ((size_t)1024 * 1024)

/* How long a peer may take to greet. */
#define SPOP_SERVER_HELLO_SECONDS 10

/* NULL without memory; all passed must outlive it. */
MUST_CHECK struct spop_server *spop_server_open(struct event_base *base,
						struct turn *turn,
						struct gate *gate);

/* Says goodbye on every connection and closes them and the listeners. */
void spop_server_close(struct spop_server **server);

/*
 * Serves on a listening socket too, which it owns from then on. False, and the
 * socket still the caller's, without memory.
 */
MUST_CHECK bool spop_server_listen(struct spop_server *server, int listener);

/* Accepts nobody any more. */
void spop_server_stop_listening(struct spop_server *server);

/* Once a turn, at its end: sends what the gate has settled. */
void spop_server_deliver(struct spop_server *server);

/* Whether answers are still on their way out. */
bool spop_server_is_busy(const struct spop_server *server);

#endif

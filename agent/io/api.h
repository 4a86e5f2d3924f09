/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_H
#define AGENT_IO_API_H

/*
 * The REST side (interface 4): rules in and out, metrics, health. HTTP is
 * libmicrohttpd's, without a thread of its own, in our event loop; what is
 * served stands in the table of api_route.c.
 *
 * Connections, their time and their bodies are bounded. Who comes when there is
 * no room takes the place of the one that got nowhere for the longest.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/base.h"

struct api;
struct api_token;
struct disk_writer;
struct event_base;
struct gate;
struct turn;

struct api_options {
	struct gate *gate;             /* borrowed */
	struct turn *turn;             /* borrowed */
	const char *version;           /* borrowed; the program's */
	uint32_t request_buffer_kib;   /* for queue_memory_bound_mib */
	struct disk_writer *disk;      /* borrowed; NULL: rules are not kept */
	const struct api_token *token; /* borrowed, as it is at each call */
	/* Why endpoints are not all servers of HAProxy, or NULL; it is given
	 * problem_arg. NULL where nobody makes them. */
	const char *(*problem)(const void *arg);
	const void *problem_arg; /* borrowed */
	usec_t patience; /* with a client that gets nowhere; 0: our own */
};

/*
 * Serves on a non-blocking listening socket, which it owns from then on. NULL,
 * and the socket still the caller's, when HTTP cannot be started.
 */
MUST_CHECK struct api *api_open(struct event_base *base, int listener,
				const struct api_options *options);

/* Closes the socket and every connection. A write under way goes unanswered. */
void api_close(struct api **api);

/* Whether a call has come that is not answered yet. */
bool api_is_busy(const struct api *api);

/* What GET /readyz says; not ready at first. */
void api_set_ready(struct api *api, bool ready);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_HAPROXY_API_H
#define AGENT_IO_HAPROXY_API_H

/*
 * Looks at every HAProxy's runtime API each second and tells the gate which
 * servers are up and what runs on them. Where HAProxy has fewer sessions on a
 * server than we have units, the gate gives the units back, so a lost log
 * line costs nothing for longer than a few looks.
 *
 * The connection to a process stays open between looks, so a process that a
 * reload has replaced is followed until its last client has left: nobody else
 * can tell what still runs in it.
 *
 * Nothing waits for HAProxy: one that does not answer is left out, with a
 * line in the log, and until it answers no unit is given back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/io/haproxy_valve.h"

struct event_base;
struct gate;
struct haproxy_api;
struct listen_address;
struct turn;

struct haproxy_api_options {
	const struct listen_address *addresses; /* copied */
	size_t count;                           /* at least 1 */
	bool manage; /* endpoints are made servers (haproxy_servers.h) */
	struct haproxy_valve_options valve; /* of all HAProxys together */
};

/*
 * Begins to look at once. NULL without memory; everything passed but options
 * must outlive it.
 */
MUST_CHECK struct haproxy_api *haproxy_api_open(
	struct event_base *base, struct turn *turn, struct gate *gate,
	const struct haproxy_api_options *options);
void haproxy_api_close(struct haproxy_api **api);

/*
 * Why endpoints are not all made servers; NULL where they are, or nobody
 * makes them. The text lives until the next look.
 */
const char *haproxy_api_problem(const struct haproxy_api *api);

#endif

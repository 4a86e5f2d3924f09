/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_HAPROXY_SERVERS_H
#define AGENT_IO_HAPROXY_SERVERS_H

/*
 * Makes the endpoints of the rules servers of a HAProxy (--haproxy-manage).
 *
 * After each look what is there is compared with what should be: an endpoint
 * that its backend has no server for is added, checked and enabled; a server
 * of ours, known by its name, that no rule wants is drained, and deleted once
 * nobody runs on it. So whatever a reload or a restart forgets is mended, and
 * what went half way is gone on with. Servers of the configuration are never
 * touched.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"
#include "agent/core/haproxy_stat.h"
#include "agent/io/haproxy_command.h"
#include "agent/io/log.h"

/* How the names of our servers begin. */
#define HAPROXY_SERVERS_PREFIX "adm_"

#define HAPROXY_SERVERS_FAULT_MAX 160

struct gate;

struct haproxy_servers {
	struct gate *gate; /* borrowed */
	struct haproxy_command command;
	usec_t retry; /* not before, after a fault */
	bool failed;  /* the last try has, and nobody said so yet */
	char fault[HAPROXY_SERVERS_FAULT_MAX]; /* why; "": all is well */
	struct log_limit faults;
};

void haproxy_servers_init(struct haproxy_servers *s, struct gate *gate,
			  struct event_base *base,
			  const struct listen_address *address);
void haproxy_servers_fini(struct haproxy_servers *s);

/* Looks at the rows, and begins with what is to be done. */
void haproxy_servers_look(struct haproxy_servers *s, struct haproxy_stat rows,
			  usec_t now);

#endif

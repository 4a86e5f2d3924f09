/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_HAPROXY_VALVE_H
#define AGENT_IO_HAPROXY_VALVE_H

/*
 * The accept valve (rows 338 to 342): bounds the sessions of HAProxy's public
 * frontends, so that connections beyond wait in the backlog. It never touches
 * the limit of the whole process, which the inner hop shares.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/haproxy_stat.h"
#include "agent/io/haproxy_command.h"

struct gate;

struct haproxy_valve_options {
	uint32_t bound;               /* sessions of clients; 0 is off */
	const char *const *frontends; /* borrowed: which ones are public */
	size_t count; /* 0: those of the shipped configuration */
};

struct haproxy_valve {
	const struct gate *gate; /* borrowed */
	struct haproxy_command command;
	struct haproxy_valve_options options;
	bool at_bound;   /* at the last look */
	bool complained; /* it cannot be set, and that was said */
};

/* What one look has found. */
struct haproxy_valve_look {
	uint64_t contexts; /* sessions of public frontends and of engines */
	bool paused;       /* since this look, not at the one before */
};

/* The part of the i-th of count that share a bound: at least 1, or 0 of 0. */
uint32_t haproxy_valve_part(uint32_t bound, size_t count, size_t i);

void haproxy_valve_init(struct haproxy_valve *v, const struct gate *gate,
			struct event_base *base,
			const struct listen_address *address,
			const struct haproxy_valve_options *options);
void haproxy_valve_fini(struct haproxy_valve *v);

/* Looks at the rows, and sets limits that are other ones. */
void haproxy_valve_look(struct haproxy_valve *v, struct haproxy_stat rows,
			struct haproxy_valve_look *look);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_valve.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/log.h"

/* With the inner hop clients come to the one, without it to the other. */
static const char *const names[] = { "public", "gate" };

/* It is tried again at each look, but said once. */
static void
complain(struct haproxy_valve *v, struct text why)
{
	if (!v->complained)
		log_warnx("haproxy: accept valve cannot be set said=\"%.*s\"",
			  (int)why.len, why.at);
	v->complained = true;
}

static void
on_said(void *arg, struct text answer, const char *failed)
{
	struct haproxy_valve *v = arg;
	struct text line;

	if (failed != NULL)
		complain(v, text_of(failed));
	else if (haproxy_command_complaint(&answer, &line))
		complain(v, line);
}

void
haproxy_valve_init(struct haproxy_valve *v, const struct gate *gate,
		   struct event_base *base,
		   const struct listen_address *address, uint32_t bound)
{
	*v = (struct haproxy_valve){ .gate = gate, .bound = bound };
	haproxy_command_init(&v->command, base, address, on_said, v);
}

void
haproxy_valve_fini(struct haproxy_valve *v)
{
	haproxy_command_fini(&v->command);
}

/* Not the agent's own connections, nor the inner hop's. */
static bool
is_engine(const struct haproxy_valve *v, const struct haproxy_server *row)
{
	return row->kind == HAPROXY_SERVER &&
	       (text_is(row->backend, v->gate->options.backend) ||
		rulebook_named(&v->gate->rules, row->backend) != NULL);
}

static const char *
public_name(struct haproxy_stat rows)
{
	struct haproxy_server row;
	const char *name = NULL;

	while (haproxy_stat_row(&rows, &row)) {
		if (row.kind != HAPROXY_FRONTEND)
			continue;
		if (text_is(row.backend, names[0]))
			return names[0];
		if (text_is(row.backend, names[1]))
			name = names[1];
	}
	return name;
}

static void
set_limit(struct haproxy_valve *v, const char *name)
{
	char line[128];

	if (haproxy_command_is_busy(&v->command))
		return;
	snprintf(line, sizeof(line), "set maxconn frontend %s %u\n", name,
		 v->bound);
	if (!haproxy_command_send(&v->command, line))
		complain(v, text_of("it cannot be reached"));
}

static void
mind_limit(struct haproxy_valve *v, const struct haproxy_server *row,
	   const char *name)
{
	if (row->limit != v->bound)
		set_limit(v, name);
	else
		v->complained = false;
}

void
haproxy_valve_look(struct haproxy_valve *v, struct haproxy_stat rows,
		   struct haproxy_valve_look *look)
{
	const char *name = public_name(rows);
	struct haproxy_server row;
	bool at_bound = false;

	*look = (struct haproxy_valve_look){ .contexts = 0 };
	while (haproxy_stat_row(&rows, &row)) {
		bool is_public = row.kind == HAPROXY_FRONTEND && name != NULL &&
				 text_is(row.backend, name);

		if (is_public || is_engine(v, &row))
			look->contexts += row.sessions;
		if (!is_public)
			continue;
		at_bound = row.sessions >= v->bound;
		mind_limit(v, &row, name);
	}
	look->paused = at_bound && !v->at_bound;
	v->at_bound = at_bound;
}

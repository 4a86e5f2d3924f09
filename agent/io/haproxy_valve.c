/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_valve.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/log.h"

/* With the inner hop clients come to the one, without it to the other. */
static const char *const shipped[] = { "public", "gate" };

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

/* ---- which frontends ---- */

/* Of the shipped configuration the one that clients come to. */
static const char *
shipped_name(struct haproxy_stat rows)
{
	struct haproxy_server row;
	const char *name = NULL;

	while (haproxy_stat_row(&rows, &row)) {
		if (row.kind != HAPROXY_FRONTEND)
			continue;
		if (text_is(row.backend, shipped[0]))
			return shipped[0];
		if (text_is(row.backend, shipped[1]))
			name = shipped[1];
	}
	return name;
}

/* name is that of the shipped configuration, where none was given. */
static bool
is_public(const struct haproxy_valve *v, const struct haproxy_server *row,
	  const char *name)
{
	if (row->kind != HAPROXY_FRONTEND)
		return false;
	for (size_t i = 0; i < v->options.count; i++)
		if (text_is(row->backend, v->options.frontends[i]))
			return true;
	return name != NULL && text_is(row->backend, name);
}

static size_t
count_public(const struct haproxy_valve *v, struct haproxy_stat rows,
	     const char *name)
{
	struct haproxy_server row;
	size_t count = 0;

	while (haproxy_stat_row(&rows, &row))
		count += is_public(v, &row, name);
	return count;
}

/* Not the agent's own connections, nor the inner hop's. */
static bool
is_engine(const struct haproxy_valve *v, const struct haproxy_server *row)
{
	return row->kind == HAPROXY_SERVER &&
	       (text_is(row->backend, v->gate->options.backend) ||
		rulebook_named(&v->gate->rules, row->backend) != NULL);
}

/* ---- their limits ---- */

uint32_t
haproxy_valve_part(uint32_t bound, size_t count, size_t i)
{
	uint32_t part;

	assert(count > 0);
	part = bound / (uint32_t)count + (i < bound % count);
	return bound > 0 && part == 0 ? 1 : part;
}

/* One look at the frontends that share the bound. */
struct judged {
	size_t count, i;
	bool at_bound;
	char line[HAPROXY_COMMAND_MAX]; /* the commands */
};

/* Puts a command behind the others; what has no room comes with a next look. */
static void
put(char line[HAPROXY_COMMAND_MAX], struct text frontend, uint32_t limit)
{
	size_t used = strlen(line), room = HAPROXY_COMMAND_MAX - used;
	int len = snprintf(line + used, room, "set maxconn frontend %.*s %u\n",
			   (int)frontend.len, frontend.at, limit);

	if (len < 0 || (size_t)len >= room)
		line[used] = '\0';
	else if (used > 0)
		line[used - 1] = ';';
}

static void
judge(const struct haproxy_valve *v, const struct haproxy_server *row,
      struct judged *all)
{
	uint32_t part =
		haproxy_valve_part(v->options.bound, all->count, all->i++);

	all->at_bound = all->at_bound || row->sessions >= part;
	if (row->limit != part)
		put(all->line, row->backend, part);
}

static void
set_limits(struct haproxy_valve *v, const char *line)
{
	if (line[0] == '\0') {
		v->complained = false;
		return;
	}
	if (haproxy_command_is_busy(&v->command))
		return;
	if (!v->complained)
		log_info("haproxy: accept valve commands=\"%.*s\"",
			 (int)strlen(line) - 1, line);
	if (!haproxy_command_send(&v->command, line))
		complain(v, text_of("it cannot be reached"));
}

void
haproxy_valve_look(struct haproxy_valve *v, struct haproxy_stat rows,
		   struct haproxy_valve_look *look)
{
	const char *name = v->options.count > 0 ? NULL : shipped_name(rows);
	struct judged all = { .count = count_public(v, rows, name) };
	struct haproxy_server row;

	*look = (struct haproxy_valve_look){ .contexts = 0 };
	while (haproxy_stat_row(&rows, &row)) {
		bool counts = is_public(v, &row, name);

		if (counts)
			judge(v, &row, &all);
		if (counts || is_engine(v, &row))
			look->contexts += row.sessions;
	}
	look->paused = all.at_bound && !v->at_bound;
	v->at_bound = all.at_bound;
	if (all.count > 0)
		set_limits(v, all.line);
	else
		complain(v, text_of("there is no such frontend"));
}

/* ---- beginning and end ---- */

void
haproxy_valve_init(struct haproxy_valve *v, const struct gate *gate,
		   struct event_base *base,
		   const struct listen_address *address,
		   const struct haproxy_valve_options *options)
{
	*v = (struct haproxy_valve){ .gate = gate, .options = *options };
	haproxy_command_init(&v->command, base, address, on_said, v);
}

void
haproxy_valve_fini(struct haproxy_valve *v)
{
	haproxy_command_fini(&v->command);
}

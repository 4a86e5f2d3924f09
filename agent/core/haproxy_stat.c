/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/haproxy_stat.h"

#include <limits.h>
#include <string.h>

#define NO_COLUMN UINT_MAX

static const char *const column_names[HAPROXY_COLUMNS] = {
	[HAPROXY_PXNAME] = "pxname", [HAPROXY_SVNAME] = "svname",
	[HAPROXY_QCUR] = "qcur",     [HAPROXY_SCUR] = "scur",
	[HAPROXY_SLIM] = "slim",     [HAPROXY_STATUS] = "status",
	[HAPROXY_TYPE] = "type",     [HAPROXY_ADDR] = "addr",
};

/* Empty lines and the prompts of an interactive session. */
static void
pass_prompt(struct text *rest)
{
	while (rest->len > 0 && (rest->at[0] == '\n' || rest->at[0] == '>' ||
				 rest->at[0] == ' ')) {
		rest->at++;
		rest->len--;
	}
}

/* ---- show info ---- */

static bool
read_number(struct text value, uint64_t *number)
{
	unsigned long long n;

	if (!text_number(value, UINT64_MAX, &n))
		return false;
	*number = n;
	return true;
}

/* False where a value of ours is no number. */
static bool
read_line(struct haproxy_info *info, struct text line)
{
	struct text name = text_cut(&line, ':');
	uint64_t number;

	if (line.len > 0 && line.at[0] == ' ')
		text_cut(&line, ' ');
	if (text_is(name, "Pid"))
		return read_number(line, &info->pid);
	if (text_is(name, "DroppedLogs"))
		return read_number(line, &info->dropped_logs);
	if (text_is(name, "CurrConns"))
		return read_number(line, &info->connections);
	if (!text_is(name, "Stopping"))
		return true;
	if (!read_number(line, &number))
		return false;
	info->stopping = number != 0;
	return true;
}

bool
haproxy_info_parse(struct text *answer, struct haproxy_info *info)
{
	struct haproxy_info found = { 0 };
	struct text rest = *answer;

	pass_prompt(&rest);
	while (rest.len > 0 && memchr(rest.at, '\n', rest.len) != NULL) {
		struct text line = text_cut(&rest, '\n');

		if (line.len > 0 && !read_line(&found, line))
			return false;
		if (line.len > 0)
			continue;
		if (found.pid == 0)
			return false;
		*answer = rest;
		*info = found;
		return true;
	}
	return false;
}

/* ---- show stat ---- */

/* Where the field at the front ends; the length of rest if it was cut. */
static size_t
field_end(struct text rest)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < rest.len; i++) {
		if (rest.at[i] == '"')
			quoted = !quoted;
		if (!quoted && (rest.at[i] == ',' || rest.at[i] == '\n'))
			break;
	}
	return i;
}

/* Quotes inside stay doubled: no value of ours has any. */
static struct text
unquote(struct text field)
{
	if (field.len >= 2 && field.at[0] == '"')
		return (struct text){ field.at + 1, field.len - 2 };
	return field;
}

/* *last tells whether the row ends here. False when it was cut. */
static bool
take_field(struct text *rest, struct text *field, bool *last)
{
	size_t end = field_end(*rest);

	if (end == rest->len)
		return false;
	*field = unquote((struct text){ rest->at, end });
	*last = rest->at[end] == '\n';
	rest->at += end + 1;
	rest->len -= end + 1;
	return true;
}

static void
name_column(struct haproxy_stat *stat, struct text name, unsigned n)
{
	for (size_t i = 0; i < HAPROXY_COLUMNS; i++)
		if (text_is(name, column_names[i]))
			stat->column[i] = n;
}

static bool
has_every_column(const struct haproxy_stat *stat)
{
	for (size_t i = 0; i < HAPROXY_COLUMNS; i++)
		if (stat->column[i] == NO_COLUMN && i != HAPROXY_SLIM)
			return false;
	return true;
}

bool
haproxy_stat_init(struct haproxy_stat *stat, struct text answer)
{
	struct text name;
	bool last = false;

	*stat = (struct haproxy_stat){ .rest = answer };
	for (size_t i = 0; i < HAPROXY_COLUMNS; i++)
		stat->column[i] = NO_COLUMN;

	pass_prompt(&stat->rest);
	if (stat->rest.len < 2 || memcmp(stat->rest.at, "# ", 2) != 0)
		return false;
	text_cut(&stat->rest, ' ');
	for (unsigned n = 0; !last; n++) {
		if (!take_field(&stat->rest, &name, &last))
			return false;
		name_column(stat, name, n);
	}
	return has_every_column(stat);
}

/* A row that has fewer fields leaves the others empty. */
static bool
take_row(struct haproxy_stat *stat, struct text fields[HAPROXY_COLUMNS])
{
	struct text field;
	bool last = false;

	for (unsigned n = 0; !last; n++) {
		if (!take_field(&stat->rest, &field, &last))
			return false;
		for (size_t i = 0; i < HAPROXY_COLUMNS; i++)
			if (stat->column[i] == n)
				fields[i] = field;
	}
	return true;
}

static bool
begins_with(struct text t, const char *prefix)
{
	size_t len = strlen(prefix);

	return t.len >= len && memcmp(t.at, prefix, len) == 0;
}

static bool
read_count(struct text field, uint32_t max, uint32_t *count)
{
	unsigned long long n;

	if (!text_number(field, max, &n))
		return false;
	*count = (uint32_t)n;
	return true;
}

/* The same, where an empty one is none. */
static bool
read_some(struct text field, uint32_t max, uint32_t *count)
{
	*count = 0;
	return field.len == 0 || read_count(field, max, count);
}

static bool
read_row(struct text fields[HAPROXY_COLUMNS], struct haproxy_server *row)
{
	bool (*read)(struct text field, uint32_t max, uint32_t * count);
	struct text status = fields[HAPROXY_STATUS];
	uint32_t kind, running, queued, limit;

	if (!read_count(fields[HAPROXY_TYPE], HAPROXY_LISTENER, &kind))
		return false;
	/* A frontend has no queue. Half of what fits, so that the sum does. */
	read = kind == HAPROXY_SERVER ? read_count : read_some;
	if (!read(fields[HAPROXY_SCUR], UINT32_MAX / 2, &running) ||
	    !read(fields[HAPROXY_QCUR], UINT32_MAX / 2, &queued) ||
	    !read_some(fields[HAPROXY_SLIM], UINT32_MAX, &limit))
		return false;
	*row = (struct haproxy_server){
		.kind = (enum haproxy_kind)kind,
		.backend = fields[HAPROXY_PXNAME],
		.server = fields[HAPROXY_SVNAME],
		.address = fields[HAPROXY_ADDR],
		.status = status,
		.up = begins_with(status, "UP") ||
		      begins_with(status, "no check"),
		.sessions = running + queued,
		.limit = limit,
	};
	return true;
}

bool
haproxy_stat_row(struct haproxy_stat *stat, struct haproxy_server *row)
{
	struct text fields[HAPROXY_COLUMNS] = { { NULL, 0 } };

	if (stat->rest.len == 0 || stat->rest.at[0] == '\n') {
		stat->complete = stat->rest.len > 0;
		return false;
	}
	return take_row(stat, fields) && read_row(fields, row);
}

bool
haproxy_stat_next(struct haproxy_stat *stat, struct haproxy_server *server)
{
	while (haproxy_stat_row(stat, server))
		if (server->kind == HAPROXY_SERVER)
			return true;
	return false;
}

bool
haproxy_answer_init(struct text answer, struct haproxy_info *info,
		    struct haproxy_stat *stat)
{
	struct haproxy_stat ahead;
	struct haproxy_server server;

	if (!haproxy_info_parse(&answer, info) ||
	    !haproxy_stat_init(stat, answer))
		return false;
	ahead = *stat;
	while (haproxy_stat_next(&ahead, &server))
		;
	return ahead.complete;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_servers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/core/index.h"
#include "agent/io/address_text.h"

/* How long a HAProxy that complained is left alone. */
#define PAUSE (10 * USEC_PER_SEC)

/* HAProxy knows no heavier server. */
#define WEIGHT_MAX 256

#define CHECK "check inter 1s fall 2 rise 1"

/* A row of the look, found by its backend and address. */
struct known {
	struct index_node node;
	struct haproxy_server row;
	struct address address;
	uint16_t port; /* 0: the backend itself */
	bool wanted;
};

/* One look, while it is compared. */
struct look {
	struct known *rows; /* owned */
	size_t count;
	struct index index;
	char line[HAPROXY_COMMAND_MAX]; /* the commands */
	size_t len;
	bool full;
};

/* ---- what there is ---- */

static uint64_t
hash_of(struct text backend, const struct address *address, uint16_t port)
{
	const uint64_t key[2] = { port, 0 };
	uint64_t hash = index_hash(backend.at, backend.len, key);
	const uint64_t next[2] = { hash, 0 };

	return index_hash(address->bytes, sizeof(address->bytes), next);
}

static struct known *
find(const struct look *look, struct text backend,
     const struct address *address, uint16_t port)
{
	struct index_node *node =
		index_first(&look->index, hash_of(backend, address, port));

	for (; node != NULL; node = index_next(node)) {
		struct known *k = CONTAINER_OF(node, struct known, node);

		if (k->port == port && text_equals(k->row.backend, backend) &&
		    address_equals(&k->address, address))
			return k;
	}
	return NULL;
}

static const struct address nowhere = { .family = ADDRESS_NONE };

static bool
has_backend(const struct look *look, struct text backend)
{
	return find(look, backend, &nowhere, 0) != NULL;
}

static void
keep(struct look *look, const struct haproxy_server *row)
{
	struct known *k = &look->rows[look->count];

	*k = (struct known){ .row = *row };
	if (row->kind == HAPROXY_SERVER &&
	    !address_port_from_text(row->address, &k->address, &k->port))
		return;
	if (row->kind != HAPROXY_SERVER && row->kind != HAPROXY_BACKEND)
		return;
	look->count++;
	index_add(&look->index, &k->node,
		  hash_of(row->backend, &k->address, k->port));
}

/* With room for as many that are to be added. */
static bool
read_rows(struct look *look, struct haproxy_stat rows, size_t wanted)
{
	struct haproxy_stat ahead = rows;
	struct haproxy_server row;
	size_t count = 0;

	while (haproxy_stat_row(&ahead, &row))
		count++;
	look->rows = calloc(count + wanted + 1, sizeof(*look->rows));
	if (look->rows == NULL || !index_init(&look->index))
		return false;
	while (haproxy_stat_row(&rows, &row))
		keep(look, &row);
	return true;
}

static void
forget_rows(struct look *look)
{
	for (size_t i = 0; i < look->count; i++)
		index_remove(&look->index, &look->rows[i].node);
	index_fini(&look->index);
	free(look->rows);
}

/* ---- what is to be done ---- */

static void put(struct look *look, const char *format, ...) PRINTF_LIKE(2, 3);

/* Puts the commands for one server behind the others, all of them or none. */
static void
put(struct look *look, const char *format, ...)
{
	size_t room = sizeof(look->line) - 1 - look->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(look->line + look->len, room, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room)
		look->full = true;
	else
		look->len += (size_t)len;
	look->line[look->len] = '\0';
}

/* What the other servers of the backend may have at once; 0 is no limit. */
static uint32_t
usual_limit(const struct look *look, struct text backend)
{
	uint32_t most = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct haproxy_server *row = &look->rows[i].row;

		if (row->kind == HAPROXY_SERVER && row->limit > most &&
		    text_equals(row->backend, backend))
			most = row->limit;
	}
	return most;
}

#define ENABLE "enable health %.*s/%s;enable server %.*s/%s;"
#define NAMED(backend, name)                                                   \
	(int)(backend).len, (backend).at, name, (int)(backend).len,            \
		(backend).at, name

static void
add(struct look *look, struct text backend, const struct endpoint *e)
{
	uint32_t limit = usual_limit(look, backend);
	char name[ENDPOINT_TARGET_MAX + sizeof(HAPROXY_SERVERS_PREFIX)];
	char maxconn[32] = "";

	snprintf(name, sizeof(name), HAPROXY_SERVERS_PREFIX "%s", e->target);
	/* A name has no brackets. */
	for (char *c = name; *c != '\0'; c++)
		if (*c == '[' || *c == ']')
			*c = '_';
	if (limit > 0)
		snprintf(maxconn, sizeof(maxconn), " maxconn %u", limit);
	put(look, "add server %.*s/%s %s " CHECK "%s weight %u;" ENABLE,
	    (int)backend.len, backend.at, name, e->target, maxconn,
	    e->weight < WEIGHT_MAX ? e->weight : WEIGHT_MAX,
	    NAMED(backend, name));
}

static bool
begins_with(struct text t, const char *prefix)
{
	size_t len = strlen(prefix);

	return t.len >= len && memcmp(t.at, prefix, len) == 0;
}

static bool
is_ours(const struct haproxy_server *row)
{
	return row->kind == HAPROXY_SERVER &&
	       begins_with(row->server, HAPROXY_SERVERS_PREFIX);
}

/* A name of HAProxy's as a string, for a command. */
static const char *
name_of(const struct haproxy_server *row, char name[ENDPOINT_SERVER_MAX])
{
	snprintf(name, ENDPOINT_SERVER_MAX, "%.*s", (int)row->server.len,
		 row->server.at);
	return name;
}

/* It was added and then not enabled, or drained and is wanted again. */
static void
mend(struct look *look, const struct haproxy_server *row)
{
	char name[ENDPOINT_SERVER_MAX];

	name_of(row, name);
	if (is_ours(row) && begins_with(row->status, "MAINT"))
		put(look, ENABLE, NAMED(row->backend, name));
	else if (is_ours(row) && begins_with(row->status, "DRAIN"))
		put(look, "set server %.*s/%s state ready;",
		    (int)row->backend.len, row->backend.at, name);
}

static void
retire(struct look *look, const struct haproxy_server *row)
{
	char name[ENDPOINT_SERVER_MAX];

	name_of(row, name);
	if (row->sessions == 0)
		put(look, "set server %.*s/%s state maint;del server %.*s/%s;",
		    NAMED(row->backend, name));
	else if (!begins_with(row->status, "DRAIN"))
		put(look, "set server %.*s/%s state drain;",
		    (int)row->backend.len, row->backend.at, name);
}

/* A rule whose name is no backend is served by the default one. */
static struct text
backend_of(const struct look *look, const struct gate *gate,
	   const struct pool *p)
{
	struct text own = text_of(p->backend);

	if (own.len > 0 && has_backend(look, own))
		return own;
	return text_of(gate->options.backend);
}

/* It will be there, so that another rule does not want it added, too. */
static struct known *
expect(struct look *look, struct text backend, const struct endpoint *e)
{
	struct known *k = &look->rows[look->count++];

	k->row = (struct haproxy_server){ .kind = HAPROXY_SERVER,
					  .backend = backend };
	k->address = e->address;
	k->port = e->port;
	k->wanted = true;
	index_add(&look->index, &k->node,
		  hash_of(backend, &k->address, k->port));
	return k;
}

static void
want_pool(struct look *look, const struct gate *gate, const struct pool *p)
{
	struct text backend = backend_of(look, gate, p);

	for (size_t i = 0; i < p->endpoint_count && !look->full; i++) {
		const struct endpoint *e = &p->endpoints[i];
		struct known *k = find(look, backend, &e->address, e->port);

		if (k == NULL) {
			add(look, backend, e);
			k = expect(look, backend, e);
		}
		if (!k->wanted)
			mend(look, &k->row);
		k->wanted = true;
	}
}

/* Two rules that share a backend and an endpoint want one server. */
static void
compare(struct look *look, const struct gate *gate)
{
	const struct pool *p;

	TAILQ_FOREACH (p, &gate->pools, link)
		want_pool(look, gate, p);
	/* Whom a full line has kept from being wanted must not go. */
	for (size_t i = 0; i < look->count && !look->full; i++)
		if (is_ours(&look->rows[i].row) && !look->rows[i].wanted)
			retire(look, &look->rows[i].row);
}

/* ---- what came of it ---- */

static void
fail(struct haproxy_servers *s, struct text why)
{
	snprintf(s->fault, sizeof(s->fault), "%.*s", (int)why.len, why.at);
	s->failed = true;
}

static void
on_said(void *arg, struct text answer, const char *failed)
{
	struct haproxy_servers *s = arg;
	struct text line;

	s->fault[0] = '\0';
	if (failed != NULL)
		fail(s, text_of(failed));
	else if (haproxy_command_complaint(&answer, &line))
		fail(s, line);
}

static void
complain(struct haproxy_servers *s, usec_t now)
{
	if (!s->failed)
		return;
	s->failed = false;
	s->retry = now + PAUSE;
	if (log_limit(&s->faults, now))
		log_warnx("haproxy: endpoints cannot be made servers "
			  "said=\"%s\" skipped=%lu",
			  s->fault, s->faults.skipped);
}

static void
begin(struct haproxy_servers *s, struct look *look)
{
	/* In the place of the last semicolon. */
	look->line[look->len - 1] = '\n';
	log_debug("haproxy: servers commands=\"%.*s\"", (int)look->len - 1,
		  look->line);
	if (!haproxy_command_send(&s->command, look->line))
		fail(s, text_of("it cannot be reached"));
}

static size_t
endpoints_of(const struct gate *gate)
{
	const struct pool *p;
	size_t n = 0;

	TAILQ_FOREACH (p, &gate->pools, link)
		n += p->endpoint_count;
	return n;
}

void
haproxy_servers_look(struct haproxy_servers *s, struct haproxy_stat rows,
		     usec_t now)
{
	struct look look = { .len = 0 };

	if (haproxy_command_is_busy(&s->command))
		return;
	complain(s, now);
	if (now < s->retry)
		return;
	if (read_rows(&look, rows, endpoints_of(s->gate)))
		compare(&look, s->gate);
	if (look.len > 0)
		begin(s, &look);
	else
		s->fault[0] = '\0';
	if (look.rows != NULL)
		forget_rows(&look);
}

void
haproxy_servers_init(struct haproxy_servers *s, struct gate *gate,
		     struct event_base *base,
		     const struct listen_address *address)
{
	*s = (struct haproxy_servers){ .gate = gate };
	haproxy_command_init(&s->command, base, address, on_said, s);
}

void
haproxy_servers_fini(struct haproxy_servers *s)
{
	haproxy_command_fini(&s->command);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_api.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/address_text.h"
#include "agent/io/haproxy_process.h"
#include "agent/io/haproxy_servers.h"
#include "agent/io/listen_text.h"
#include "agent/io/log.h"
#include "agent/io/loop.h"
#include "agent/io/turn.h"

#define LOOK_SEC 1

/* How long HAProxy may take to answer. */
#define ANSWER_USEC (2 * USEC_PER_SEC)

#define BACKOFF_MIN_USEC (1 * USEC_PER_SEC)
#define BACKOFF_MAX_USEC (10 * USEC_PER_SEC)

/* What is due so soon after a tick is done at it. */
#define SLACK_USEC (USEC_PER_SEC / 4)

/* Processes of one HAProxy: the running one, and those before its reloads. */
#define PROCESSES_MAX 16

TAILQ_HEAD(haproxy_processes, haproxy_process);

struct haproxy {
	struct haproxy_api *api; /* borrowed */
	struct listen_address address;
	char name[LISTEN_TEXT_MAX];

	struct haproxy_processes processes; /* owned; the oldest first */
	size_t process_count;
	struct haproxy_process *running; /* one of them, or NULL */
	struct haproxy_info latest;      /* of a running one */
	bool nameless;                   /* no server had an address */

	usec_t backoff;
	usec_t retry; /* not before */
	struct log_limit failures;

	struct haproxy_servers servers; /* where they are managed */
	struct haproxy_valve valve;     /* where it is on */
};

struct haproxy_api {
	struct event_base *base; /* borrowed */
	struct turn *turn;       /* borrowed */
	struct gate *gate;       /* borrowed */
	struct event *tick;      /* owned */
	bool looking;
	usec_t begun;
	struct log_limit losses;
	bool manage;
	struct haproxy_valve_options valve; /* its bound 0: it is off */
	size_t count;
	struct haproxy haproxys[];
};

/* ---- processes ---- */

static void
count_look(struct haproxy *h, enum look_result result)
{
	metrics_count(&h->api->gate->metrics, METRIC_haproxy_looks, result);
}

static void
drop(struct haproxy *h, struct haproxy_process *p)
{
	if (h->running == p)
		h->running = NULL;
	TAILQ_REMOVE(&h->processes, p, link);
	h->process_count--;
	haproxy_process_close(&p);
}

/* Nobody runs any more in a process that has stopped. */
static void
leave(struct haproxy *h, struct haproxy_process *p)
{
	log_info("haproxy: stopped process is left socket=%s pid=%llu "
		 "clients=%llu",
		 h->name, (unsigned long long)p->info.pid,
		 (unsigned long long)p->info.connections);
	drop(h, p);
}

static void
back_off(struct haproxy *h, enum look_result result, const char *why,
	 usec_t now)
{
	count_look(h, result);
	h->backoff = h->backoff == 0 ? BACKOFF_MIN_USEC : 2 * h->backoff;
	if (h->backoff > BACKOFF_MAX_USEC)
		h->backoff = BACKOFF_MAX_USEC;
	h->retry = now + h->backoff;
	if (log_limit(&h->failures, now))
		log_warnx("haproxy: cannot look socket=%s why=\"%s\" "
			  "retry_s=%llu skipped=%lu",
			  h->name, why,
			  (unsigned long long)(h->backoff / USEC_PER_SEC),
			  h->failures.skipped);
}

static void
lose(struct haproxy *h, struct haproxy_process *p, const char *why, usec_t now)
{
	enum look_result result = haproxy_process_has_begun(p)
					  ? LOOK_UNPARSEABLE
					  : LOOK_UNREACHABLE;

	if (p->info.stopping) {
		leave(h, p);
		return;
	}
	/* Between looks nobody minds: the next one connects again. */
	if (p->state == HAPROXY_ASKED)
		back_off(h, result, why, now);
	drop(h, p);
}

/* ---- answers ---- */

/* What it dropped since the look before, by this or an earlier session. */
static uint64_t
dropped_since(const struct haproxy_info *info,
	      const struct haproxy_info *before)
{
	/* Nothing is known of the time before we came. */
	if (before->pid == 0)
		return 0;
	if (before->pid != info->pid)
		return info->dropped_logs;
	if (info->dropped_logs < before->dropped_logs)
		return 0;
	return info->dropped_logs - before->dropped_logs;
}

static void
note_drops(struct haproxy *h, const struct haproxy_info *info,
	   const struct haproxy_info *before, usec_t now)
{
	struct haproxy_api *api = h->api;
	uint64_t dropped = dropped_since(info, before);

	if (dropped == 0)
		return;
	metrics_add(&api->gate->metrics, METRIC_log_lines_dropped, 0,
		    (int64_t)dropped);
	if (log_limit(&api->losses, now))
		log_warnx("haproxy: log lines were dropped count=%llu "
			  "socket=%s skipped=%lu",
			  (unsigned long long)dropped, h->name,
			  api->losses.skipped);
}

static void
note_running(struct haproxy *h, const struct haproxy_info *info)
{
	unsigned long long pid = info->pid, clients = info->connections;

	if (h->backoff > 0 || h->latest.pid != info->pid)
		log_info("haproxy: looked at socket=%s pid=%llu", h->name, pid);
	h->backoff = 0;
	h->latest = *info;
	if (!info->stopping)
		return;
	log_info("haproxy: process stops and is followed socket=%s pid=%llu "
		 "clients=%llu",
		 h->name, pid, clients);
	h->running = NULL;
}

static bool
has_other(const struct haproxy *h, const struct haproxy_process *than,
	  uint64_t pid)
{
	const struct haproxy_process *p;

	TAILQ_FOREACH (p, &h->processes, link)
		if (p != than && p->info.pid == pid)
			return true;
	return false;
}

static void
take_answer(struct haproxy *h, struct haproxy_process *p,
	    const struct haproxy_info *info, usec_t now)
{
	/* It took the new connection just before it was replaced. */
	if (has_other(h, p, info->pid)) {
		h->retry = now + BACKOFF_MIN_USEC;
		drop(h, p);
		return;
	}
	count_look(h, LOOK_OK);
	note_drops(h, info, p->info.pid == 0 ? &h->latest : &p->info, now);
	p->info = *info;
	if (h->running == p)
		note_running(h, info);
}

/* ---- what is done to it ---- */

static void
set_gauge(struct gate *gate, enum metric_id id, uint64_t value)
{
	gate->metrics.value[id][0] = value;
}

/* Only what the running process says; contexts are added up. */
static void
turn_valve(struct haproxy *h, uint64_t *contexts)
{
	struct haproxy_valve_look look;

	haproxy_valve_look(&h->valve, h->running->stat, &look);
	*contexts += look.contexts;
	if (look.paused)
		metrics_count(&h->api->gate->metrics, METRIC_accept_blocked, 0);
}

static void
tend(struct haproxy_api *api, usec_t now)
{
	uint64_t contexts = 0;

	for (size_t i = 0; i < api->count; i++) {
		struct haproxy *h = &api->haproxys[i];

		if (h->running == NULL || h->running->state != HAPROXY_ANSWERED)
			continue;
		if (api->valve.bound > 0)
			turn_valve(h, &contexts);
		if (api->manage)
			haproxy_servers_look(&h->servers, h->running->stat,
					     now);
	}
	if (api->valve.bound > 0)
		set_gauge(api->gate, METRIC_contexts, contexts);
}

/* ---- the end of a look ---- */

static void
tell_server(struct gate *gate, const struct haproxy_server *server,
	    bool running)
{
	struct server_look look = {
		.backend = server->backend,
		.server = server->server,
		/* What runs in a stopping process counts; its checks do not. */
		.up = server->up && running,
		.sessions = server->sessions,
	};

	if (address_port_from_text(server->address, &look.address, &look.port))
		gate_look_server(gate, &look);
}

static void
tell_process(struct haproxy *h, const struct haproxy_process *p)
{
	struct haproxy_stat stat = p->stat;
	struct haproxy_server server;
	size_t servers = 0, addresses = 0;
	bool nameless;

	while (haproxy_stat_next(&stat, &server)) {
		tell_server(h->api->gate, &server, h->running == p);
		servers++;
		addresses += server.address.len > 0;
	}
	nameless = servers > 0 && addresses == 0;
	if (nameless && !h->nameless)
		log_warnx("haproxy: servers have no address socket=%s "
			  "needs=\"level operator\"",
			  h->name);
	h->nameless = nameless;
}

/* Tells the gate of one HAProxy; false if anything is not known of it. */
static bool
tell_haproxy(struct haproxy *h)
{
	const struct haproxy_process *p;
	bool complete = true;

	/* Old processes alone would make every server look down. */
	if (h->running == NULL || h->running->state != HAPROXY_ANSWERED)
		return false;
	TAILQ_FOREACH (p, &h->processes, link) {
		if (p->state == HAPROXY_ANSWERED)
			tell_process(h, p);
		else
			complete = false;
	}
	return complete;
}

/* Forgets the answers, and the stopped processes that no client is left in. */
static void
put_away(struct haproxy *h)
{
	struct haproxy_process *p = TAILQ_FIRST(&h->processes);

	while (p != NULL) {
		struct haproxy_process *next = TAILQ_NEXT(p, link);

		if (p->state == HAPROXY_ANSWERED) {
			haproxy_process_put_away(p);
			if (p->info.stopping && p->info.connections == 0)
				leave(h, p);
		}
		p = next;
	}
}

static void
conclude(struct haproxy_api *api, usec_t now)
{
	bool complete = true;
	size_t reclaimed;

	api->looking = false;
	gate_look_begin(api->gate, api->begun);
	for (size_t i = 0; i < api->count; i++)
		if (!tell_haproxy(&api->haproxys[i]))
			complete = false;
	reclaimed = gate_look_end(api->gate, complete, now);
	if (reclaimed > 0)
		log_warnx("haproxy: units given back count=%zu", reclaimed);
	tend(api, now);
	for (size_t i = 0; i < api->count; i++)
		put_away(&api->haproxys[i]);
}

static bool
is_waiting(const struct haproxy_api *api)
{
	const struct haproxy_process *p;

	for (size_t i = 0; i < api->count; i++)
		TAILQ_FOREACH (p, &api->haproxys[i].processes, link)
			if (p->state == HAPROXY_ASKED)
				return true;
	return false;
}

/* Ends the look when nobody owes an answer. */
static void
settle(struct haproxy_api *api, usec_t now)
{
	if (api->looking && !is_waiting(api))
		conclude(api, now);
}

static void
on_answered(struct haproxy_process *p, const struct haproxy_info *info)
{
	struct haproxy *h = p->owner;
	usec_t now = turn_enter(h->api->turn);

	take_answer(h, p, info, now);
	settle(h->api, now);
}

static void
on_lost(struct haproxy_process *p, const char *why)
{
	struct haproxy *h = p->owner;
	usec_t now = turn_enter(h->api->turn);

	lose(h, p, why, now);
	settle(h->api, now);
}

/* ---- the beginning of a look ---- */

static const struct haproxy_process_events process_events = {
	.answered = on_answered,
	.lost = on_lost,
};

static void
reach(struct haproxy *h, usec_t now)
{
	struct haproxy_process *p = haproxy_process_open(
		h->api->base, &h->address, &process_events, h,
		h->api->manage || h->api->valve.bound > 0);

	if (p == NULL) {
		back_off(h, LOOK_UNREACHABLE, strerror(errno), now);
		return;
	}
	if (h->process_count == PROCESSES_MAX) {
		log_warnx("haproxy: too many processes socket=%s", h->name);
		leave(h, TAILQ_FIRST(&h->processes));
	}
	TAILQ_INSERT_TAIL(&h->processes, p, link);
	h->process_count++;
	h->running = p;
}

static void
look_at(struct haproxy *h, usec_t now)
{
	struct haproxy_process *p;

	TAILQ_FOREACH (p, &h->processes, link)
		if (p->state == HAPROXY_IDLE)
			haproxy_process_ask(p);
	if (h->running == NULL && now + SLACK_USEC >= h->retry)
		reach(h, now);
}

/* A stopped process gets all the time it wants: none can reach it again. */
static void
give_up_late(struct haproxy *h, usec_t now)
{
	if (h->running != NULL && h->running->state == HAPROXY_ASKED)
		lose(h, h->running, "no answer in time", now);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct haproxy_api *api = arg;
	usec_t now = turn_enter(api->turn);

	(void)fd;
	(void)what;
	if (api->looking && now - api->begun + SLACK_USEC < ANSWER_USEC)
		return;
	if (api->looking) {
		for (size_t i = 0; i < api->count; i++)
			give_up_late(&api->haproxys[i], now);
		conclude(api, now);
	}
	api->looking = true;
	api->begun = now;
	for (size_t i = 0; i < api->count; i++)
		look_at(&api->haproxys[i], now);
	settle(api, now);
}

/* ---- opening and closing ---- */

static void
haproxy_init(struct haproxy_api *api, size_t i,
	     const struct listen_address *address)
{
	struct haproxy *h = &api->haproxys[i];
	struct haproxy_valve_options valve = api->valve;

	valve.bound = haproxy_valve_part(valve.bound, api->count, i);
	h->api = api;
	h->address = *address;
	listen_address_format(address, h->name);
	TAILQ_INIT(&h->processes);
	haproxy_servers_init(&h->servers, api->gate, api->base, &h->address);
	haproxy_valve_init(&h->valve, api->gate, api->base, &h->address,
			   &valve);
}

struct haproxy_api *
haproxy_api_open(struct event_base *base, struct turn *turn, struct gate *gate,
		 const struct haproxy_api_options *options)
{
	const struct timeval period = { .tv_sec = LOOK_SEC };
	size_t count = options->count;
	struct haproxy_api *api;

	assert(count > 0);
	api = calloc(1, sizeof(*api) + count * sizeof(api->haproxys[0]));
	if (api == NULL)
		return NULL;
	api->base = base;
	api->turn = turn;
	api->gate = gate;
	api->manage = options->manage;
	api->valve = options->valve;
	api->count = count;
	set_gauge(gate, METRIC_accept_bound, options->valve.bound);
	for (size_t i = 0; i < count; i++)
		haproxy_init(api, i, &options->addresses[i]);
	api->tick = event_new(base, -1, EV_PERSIST, on_tick, api);
	if (api->tick == NULL || event_add(api->tick, &period) != 0) {
		haproxy_api_close(&api);
		return NULL;
	}
	event_active(api->tick, EV_TIMEOUT, 0);
	return api;
}

void
haproxy_api_close(struct haproxy_api **api)
{
	if (*api == NULL)
		return;
	free_event((*api)->tick);
	for (size_t i = 0; i < (*api)->count; i++) {
		struct haproxy *h = &(*api)->haproxys[i];

		while (!TAILQ_EMPTY(&h->processes))
			drop(h, TAILQ_FIRST(&h->processes));
		haproxy_servers_fini(&h->servers);
		haproxy_valve_fini(&h->valve);
	}
	free(*api);
	*api = NULL;
}

const char *
haproxy_api_problem(const struct haproxy_api *api)
{
	for (size_t i = 0; i < api->count; i++)
		if (api->haproxys[i].servers.fault[0] != '\0')
			return api->haproxys[i].servers.fault;
	return NULL;
}

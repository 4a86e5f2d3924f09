/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_HAPROXY_PROCESS_H
#define AGENT_IO_HAPROXY_PROCESS_H

/*
 * A session with the runtime API of one process of HAProxy: it is asked what
 * it is and what its servers do, again and again, and stays open in between.
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "agent/core/haproxy_stat.h"

/* Some 40 000 servers. */
#define HAPROXY_ANSWER_MAX (16 << 20)

struct bufferevent;
struct event_base;
struct haproxy_process;
struct listen_address;

enum haproxy_process_state {
	HAPROXY_IDLE,
	HAPROXY_ASKED,
	HAPROXY_ANSWERED, /* the answer is kept until it is put away */
};

/* What it tells its owner, who may close it meanwhile. */
struct haproxy_process_events {
	/* ASKED has become ANSWERED. */
	void (*answered)(struct haproxy_process *p,
			 const struct haproxy_info *info);
	/* It is of no use any more, and its owner must close it. */
	void (*lost)(struct haproxy_process *p, const char *why);
};

struct haproxy_process {
	TAILQ_ENTRY(haproxy_process) link; /* for the owner */
	void *owner;                       /* borrowed */
	const struct haproxy_process_events *events;
	struct bufferevent *io; /* owned */
	bool asks_all;          /* for frontends and backends, too */
	enum haproxy_process_state state;
	struct haproxy_stat stat; /* of the answer; copied to be read */
	struct haproxy_info info; /* kept by the owner; pid 0 at first */
};

/* Connects and asks; the answer comes later. NULL with errno set. */
MUST_CHECK struct haproxy_process *haproxy_process_open(
	struct event_base *base, const struct listen_address *address,
	const struct haproxy_process_events *events, void *owner,
	bool asks_all);
void haproxy_process_close(struct haproxy_process **process);

/* Asks again; it must be idle. */
void haproxy_process_ask(struct haproxy_process *p);

/* Forgets the answer: ANSWERED becomes IDLE. */
void haproxy_process_put_away(struct haproxy_process *p);

/* Whether anything came that is no answer yet. */
bool haproxy_process_has_begun(const struct haproxy_process *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_GATE_H
#define AGENT_CORE_GATE_H

/*
 * The gate: decides each request by the numbered ladder, keeps who executes
 * and who waits, and hands a freed unit to the next waiter in the same step.
 *
 * It calls nobody. What a call settles for requests that asked earlier stands
 * in line as answers; after any call, take them with gate_next_answer().
 * Time never goes back between calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/address.h"
#include "agent/core/base.h"
#include "agent/core/index.h"
#include "agent/core/metrics.h"
#include "agent/core/pool.h"
#include "agent/core/request.h"
#include "agent/core/rule.h"
#include "agent/core/rulebook.h"
#include "agent/core/settings.h"
#include "agent/core/text.h"

/* How long a look at an endpoint says more of its units than their age. */
#define GATE_LOOK_TRUST (30 * USEC_PER_SEC)

TAILQ_HEAD(gate_pools, pool);
TAILQ_HEAD(gate_answers, request);

struct gate_options {
	uint64_t epoch;       /* of the permits it gives */
	uint64_t hash_key[2]; /* random */
	usec_t unit_max_age;  /* USEC_NEVER: units never age out */
	const char *backend;  /* borrowed; of rules that have no name */

	/* The queue that may hold half of the node's memory; for adapters. */
	uint64_t depth_of_half_memory;
};

/* The last episode of maintenance, or the one under way (contract 2). */
struct maintenance {
	bool on;
	uint32_t number; /* counted from 1; 0: there was none */
	usec_t entered;
	int64_t entered_wall;     /* seconds of wall time, for the reader */
	uint32_t drain_timeout_s; /* 0: none was given */
};

/* How long a HAProxy counts as attached after its last greeting. */
#define GATE_GREETING_TRUST (10 * USEC_PER_SEC)

struct gate {
	struct gate_options options;
	struct settings_env env;
	struct metrics metrics;

	struct rulebook rules;
	struct gate_pools pools;   /* owned; of the rules */
	struct gate_pools retired; /* owned; their rules are gone */
	struct ledger *ledger;     /* owned */
	struct wheel *wheel;       /* owned; deadlines of the waiters */
	struct gate_answers answers;
	uint64_t permits; /* given so far */
	bool draining;
	struct maintenance maintenance;
	size_t peers;   /* SPOP connections that have greeted */
	usec_t greeted; /* when the last one did; 0: none yet */

	struct index endpoints; /* of all pools, by their addresses */
	usec_t look_asked;      /* of the look in progress */
	usec_t spared;          /* when an aged unit was last left alone */
	usec_t pass_at; /* of pools that time alone changes; USEC_NEVER */
};

/* NULL without memory. */
MUST_CHECK struct gate *gate_new(const struct gate_options *options,
				 const struct settings_env *env, usec_t now);

/* Nobody may wait and no answer may be due; executing requests are forgotten.
 */
void gate_free(struct gate **gate);

/* ---- rules ---- */

enum gate_change {
	GATE_CREATED,
	GATE_UNCHANGED,
	GATE_CHANGED,   /* settings in place; executing requests untouched */
	GATE_RECREATED, /* waiters ended, counts start again */
	GATE_NO_MEMORY, /* nothing changed */
};

/* Takes a checked rule, also when it fails. */
enum gate_change gate_put(struct gate *g, struct rule *rule, usec_t now);

/*
 * The same in two steps, the second of which cannot fail: all the memory it
 * takes is in the plan. Between the two no other rule may change.
 */
struct gate_plan {
	enum gate_change change; /* what will come of it */
	struct rule *rule;       /* owned */
	struct service *stored;  /* borrowed; the one it meets, or NULL */
	struct service *place;   /* owned; where it meets none */
	struct pool *pool;       /* owned; where it needs a new one */
};

/* Takes a checked rule, also when it fails: false without memory. */
MUST_CHECK bool gate_plan_put(struct gate_plan *plan, const struct gate *g,
			      struct rule *rule);

/* Each plan is carried out or dropped, once. */
enum gate_change gate_carry_out(struct gate *g, struct gate_plan *plan,
				usec_t now);
void gate_plan_drop(struct gate_plan *plan);

/* Its waiters end with admission_drained. */
void gate_delete(struct gate *g, struct service *s, usec_t now);

/* ---- requests ---- */

/* One question (interface 2, admission-request). */
struct ask {
	struct text id; /* 1 to REQUEST_ID_MAX bytes */
	struct rule_query query;
	struct text method;
	unsigned http; /* 1, 2 or 3 */
	bool streamed; /* the body is not fully buffered */
	enum role leg; /* which one it is itself; ROLE_NORMAL: none */
	struct text tenant;
	usec_t waited; /* how long it has waited already */
	struct asker asker;
};

/*
 * Decides. VERDICT_WAIT fills nothing in: the answer comes later, exactly
 * once, by gate_next_answer() unless the peer is lost before.
 */
enum verdict gate_ask(struct gate *g, const struct ask *ask, usec_t now,
		      struct answer *answer);

/* The end of a request as HAProxy logged it (interface 3). */
struct ending {
	struct text id;
	struct text permit;  /* empty for none */
	struct text verdict; /* empty for none */
};

/* Counts the line and says what came of it. */
enum line_result gate_end(struct gate *g, const struct ending *ending,
			  usec_t now);

/* An answer of an engine begins (interface 2, admission-response). */
struct response {
	struct text id;
	struct text server; /* HAProxy's name of who answers */
	bool begun;         /* the first event of its stream is there */
};

/* What its client is told of the pool (rows 290 to 307). */
struct exposure {
	bool exposed; /* else nothing */
	uint32_t inflight;
	uint32_t queued;
	uint32_t limit;
};

/*
 * Where HAProxy has sent it to another endpoint than ours, its unit moves
 * there (row 29). A prefill unit is given back once the data has begun. An id
 * that is not executing exposes nothing.
 */
void gate_respond(struct gate *g, const struct response *response, usec_t now,
		  struct exposure *exposure);

/* Its waiters leave, uncounted as answers; its units stay (interface 6.5). */
void gate_peer_lost(struct gate *g, struct peer *peer);

/*
 * Takes the next answer to an earlier question. False when there is none.
 */
bool gate_next_answer(struct gate *g, struct asker *to, struct answer *answer);

/* Ends who waited out, gives back units beyond their age. */
void gate_tick(struct gate *g, usec_t now);

/* When to call gate_tick() next. */
usec_t gate_wakeup(const struct gate *g);

/* The queue depths in force of all enforcing pools together. */
uint64_t gate_queue_depths(const struct gate *g);

/* Whether anybody waits, on any pool. */
bool gate_has_waiters(const struct gate *g);

/* Ends every waiter with admission_drained; who enforces admits nobody more. */
void gate_drain(struct gate *g, usec_t now);

/* ---- maintenance ---- */

/*
 * From now on enforcing pools refuse, and all that wait ends. It ends by
 * gate_leave_maintenance() only. False, and nothing changed, where it is on.
 */
bool gate_enter_maintenance(struct gate *g, uint32_t drain_timeout_s,
			    int64_t wall, usec_t now);

/* False where it was not on. */
bool gate_leave_maintenance(struct gate *g);

/* Requests that execute on gated pools, those of replaced rules included. */
uint64_t gate_in_flight(const struct gate *g);

/* A SPOP connection has greeted, or one that had is gone. */
void gate_peer_greeted(struct gate *g, usec_t now);
void gate_peer_gone(struct gate *g);

/* Whether a HAProxy is attached: connected, or lately seen (interface 6.11). */
bool gate_is_attached(const struct gate *g, usec_t now);

/* ---- what HAProxy says of the servers ---- */

struct server_look {
	struct text backend;
	struct text server;
	struct address address;
	uint16_t port;
	bool up;
	uint32_t sessions; /* scur + qcur */
};

/*
 * A look is begun, told each server of each HAProxy, and ended. An endpoint
 * that no server had keeps what it was. Only a look at all HAProxys together
 * is complete; an incomplete one gives no unit back. asked is when the first
 * HAProxy was asked: what was admitted since may be in no answer yet.
 */
void gate_look_begin(struct gate *g, usec_t asked);
void gate_look_server(struct gate *g, const struct server_look *look);

/*
 * Sets the endpoints of that address by hand, on any port for 0: red is out
 * of service, green is in it, as far as HAProxy sees it up. Returns how many
 * there are.
 */
size_t gate_set_host(struct gate *g, const struct address *address,
		     uint16_t port, bool red, usec_t now);

/* An engine has said how many requests wait in it. */
void gate_report(struct gate *g, const struct address *address, uint16_t port,
		 uint32_t waiting, usec_t now);

/* Returns how many units were given back. */
size_t gate_look_end(struct gate *g, bool complete, usec_t now);

#endif

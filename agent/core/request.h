/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_REQUEST_H
#define AGENT_CORE_REQUEST_H

/*
 * One live request: it waits, or it executes, or its end was seen before it
 * began. Owned by the ledger while it is any of these.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "agent/core/index.h"
#include "agent/core/reason.h"
#include "agent/core/text.h"
#include "agent/core/wheel.h"

#define REQUEST_ID_MAX 128

struct endpoint;
struct pool;
struct request;
struct tenant;

LIST_HEAD(peer_waiters, request);

/*
 * One SPOP connection as the gate sees it: those that wait for an answer on
 * it. Embedded in the connection; initialise with LIST_INIT.
 */
struct peer {
	struct peer_waiters waiters;
};

/* Where an answer goes. */
struct asker {
	struct peer *peer; /* borrowed; gate_peer_lost() ends the loan */
	uint64_t stream;
	uint64_t frame;
};

enum verdict { VERDICT_BYPASS, VERDICT_ADMIT, VERDICT_REFUSE, VERDICT_WAIT };

/* What the client's side hears of a decision (interface 2). */
struct answer {
	enum verdict verdict;
	enum reason reason;
	bool close; /* the client connection closes after the answer */

	/* of a refusal */
	uint32_t retry_after; /* seconds */
	uint32_t queued_ms;
	uint32_t inflight;
	uint32_t queued;
	uint32_t limit;

	/*
	 * of an admission; the texts are borrowed from the pool until the
	 * next gate call other than gate_peer_lost()
	 */
	uint64_t permit;
	const char *server;  /* NULL lets HAProxy choose */
	const char *backend; /* NULL for a rule without a name */
	const char
		*prefill; /* "address:port"; NULL unless it is one of a pair */
	bool respond;     /* gate_respond() wants to hear of its answer */
};

enum request_state {
	REQUEST_NEW, /* in no queue yet */
	REQUEST_WAITING,
	REQUEST_EXECUTING,
	REQUEST_ENDED_EARLY, /* its line came before its question */
	REQUEST_ENDED,       /* out of the ledger, its answer still due */
};

struct request {
	struct index_node node;
	enum request_state state;
	bool streamed; /* its body was not fully buffered */
	bool waited;   /* here or before, if for no time at all */
	bool due;      /* its answer is on its way out */
	bool begun;    /* the engine's answer has */

	struct pool *pool;         /* borrowed; NULL for ENDED_EARLY */
	struct endpoint *endpoint; /* borrowed, of pool; EXECUTING only */
	struct endpoint *prefill;  /* the same; NULL once its part is done */
	struct tenant *tenant; /* borrowed, of pool; NULL: no service unit */
	uint64_t tenant_key;
	struct asker asker;
	usec_t since; /* when it first asked */
	usec_t admitted;
	uint64_t permit; /* number; 0 before it is admitted */

	uint64_t turn;                  /* its place in its pool's queue */
	TAILQ_ENTRY(request) queued;    /* in its tenant's line */
	TAILQ_ENTRY(request) executing; /* on its endpoint, or on none */
	TAILQ_ENTRY(request) aged;      /* in the ledger, by age */
	TAILQ_ENTRY(request) answered;  /* among the gate's due answers */
	LIST_ENTRY(request) on_peer;
	struct wheel_node deadline;

	struct answer answer; /* valid while due */

	uint8_t id_len;
	char id[]; /* not terminated */
};

#endif

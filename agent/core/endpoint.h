/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_ENDPOINT_H
#define AGENT_CORE_ENDPOINT_H

/*
 * One endpoint of a pool: who executes on it, and whether it may take more.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "agent/core/index.h"
#include "agent/core/rule.h"

/* A server name of HAProxy, its terminator included. */
#define ENDPOINT_SERVER_MAX 128

/* An address and port, the brackets of IPv6 and the terminator included. */
#define ENDPOINT_TARGET_MAX (RULE_IP_MAX + 2 + TEXT_PORT_MAX)

/* How many looks in a row units must exceed sessions before they are lost. */
#define ENDPOINT_LOOKS 3

TAILQ_HEAD(endpoint_units, request);

struct pool;

struct endpoint {
	struct index_node node; /* among all endpoints, by address */
	struct pool *pool;      /* borrowed: the one it is of */
	struct address address;
	uint16_t port;
	uint32_t weight;
	enum role role;
	char server[ENDPOINT_SERVER_MAX]; /* HAProxy's name for it */
	char target[ENDPOINT_TARGET_MAX]; /* "address:port", "[v6]:port" */

	bool up;       /* as HAProxy's checks see it */
	bool red;      /* taken out by hand */
	usec_t warmed; /* since when its ceilings ramp; 0: they do not */

	/* What the engine says, and when; 0: nothing yet. */
	uint32_t waiting; /* requests in its own queue */
	usec_t reported;
	uint32_t first_token_ms; /* on average */
	usec_t first_token_at;

	uint32_t units;  /* requests that execute on it */
	uint32_t beside; /* of them, those executing elsewhere */
	struct endpoint_units executing; /* all others, oldest first */

	/* What the look in progress has found. */
	bool seen;
	bool seen_own; /* in the backend of its rule, not in the default one */
	bool seen_up;
	uint32_t seen_sessions;
	uint32_t lost; /* units that nobody owns any more */

	/* Units beyond HAProxy's sessions at the last looks, newest first. */
	uint32_t excess[ENDPOINT_LOOKS];
	usec_t looked[ENDPOINT_LOOKS];
};

void endpoint_init(struct endpoint *e, const struct rule_endpoint *declared);

/*
 * Takes HAProxy's name for it; one that is longer than ENDPOINT_SERVER_MAX is
 * not taken. Until then the name is "address:port" (interface 5).
 */
void endpoint_name(struct endpoint *e, struct text server);

/* It is back in service: its ceilings begin at a quarter. */
void endpoint_return(struct endpoint *e, usec_t now);

/* Ends a ramp whose window is over. */
void endpoint_warm(struct endpoint *e, usec_t window, usec_t now);

/* A ceiling as far as it is ramped: at least 1, but none stays none. */
uint32_t endpoint_ramp(const struct endpoint *e, uint32_t ceiling,
		       usec_t window, usec_t now);

/*
 * A new sample weighs an eighth; the first one, and one after a silence of
 * more than the window, stands alone (contract 4.15).
 */
void endpoint_first_token(struct endpoint *e, usec_t took, usec_t window,
			  usec_t now);

/* Whether it may take requests at all. */
bool endpoint_is_eligible(const struct endpoint *e);

/* ceiling 0 is none. */
bool endpoint_has_room(const struct endpoint *e, uint32_t ceiling);

/* Whether a carries less for its weight than b. */
bool endpoint_is_lighter(const struct endpoint *a, const struct endpoint *b);

/*
 * Notes what HAProxy had on it when it was asked, or later, and says how many
 * of the oldest units nobody owns any more: those that exceeded the sessions
 * at each of the last ENDPOINT_LOOKS looks and were there before the first of
 * them was asked for. Units given since then accuse nobody.
 */
uint32_t endpoint_look(struct endpoint *e, uint32_t sessions, usec_t asked);

/* Sessions beyond its units: they may be those of units of another endpoint. */
uint32_t endpoint_spare(const struct endpoint *e, uint32_t sessions,
			usec_t asked);

#endif

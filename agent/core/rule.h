/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_RULE_H
#define AGENT_CORE_RULE_H

/*
 * One rule as an operator declared it: which requests it is for, which
 * endpoints serve them, and what it asks of the gate.
 *
 * Two rules with the same key are the same rule (contract 1.1). What the gate
 * does not act on stands in document, as text that only an adapter reads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/address.h"
#include "agent/core/base.h"
#include "agent/core/settings.h"
#include "agent/core/text.h"

#define RULE_ENDPOINTS_MAX 128

enum role { ROLE_NORMAL, ROLE_PREFILL, ROLE_DECODE };

enum path_match { PATH_ANY, PATH_PREFIX, PATH_EXACT };

/* The mode of a rule that proxies whole requests (fullproxy). */
#define RULE_MODE_FULLPROXY 4

#define RULE_IP_MAX 46 /* bytes of an address as text, terminator included */

struct rule_endpoint {
	char *ip; /* owned, as declared without brackets; under RULE_IP_MAX */
	struct address address;
	uint16_t port;
	uint32_t weight; /* 0 counts as 1 */
	enum role role;
};

/*
 * All pointers are owned and, but for text, never NULL once rule_check()
 * passed; an empty string is "none". Made by an adapter with rule_new() and
 * strdup().
 */
struct rule {
	/* the key */
	char *external_ip; /* as declared */
	struct address vip;
	uint16_t port;
	char *protocol;
	char *host;
	char *path_prefix;
	enum path_match path_match;
	char *model;

	/* what decides whether it is an AI service */
	unsigned mode;
	bool sse;
	bool disaggregated; /* pd_disagg_mode */
	bool enforces_credential;

	char *name;
	struct rule_endpoint *endpoints;
	size_t endpoint_count;

	struct settings declared;
	char *document; /* canonical text of all that is not fc_* */
	char *text;     /* one line of all of it, for an adapter that keeps it;
			   NULL until then */
};

/* An empty rule, or NULL without memory. */
MUST_CHECK struct rule *rule_new(void);
void rule_free(struct rule **rule);

bool rule_same_key(const struct rule *a, const struct rule *b);

/* Whether the gate runs on it (contract rows 1 to 8). */
bool rule_is_ai_service(const struct rule *rule);

/* Whether nothing but fc_* settings differ, so that b may replace a in place.
 */
bool rule_same_service(const struct rule *a, const struct rule *b);

/* What spans members of one rule. NULL, or what is wrong. */
MUST_CHECK const char *rule_check(const struct rule *rule);

/* What a request shows of itself for the choice of its rule. */
struct rule_query {
	struct text pool; /* a rule's name; wins over vip and port */
	struct address vip;
	uint16_t port;
	struct text host, path, model;
};

/*
 * How closely the rule fits: 0 is not at all, and the larger of two wins
 * (interface 6.1).
 */
uint32_t rule_fit(const struct rule *rule, const struct rule_query *query);

#endif

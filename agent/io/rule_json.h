/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_RULE_JSON_H
#define AGENT_IO_RULE_JSON_H

/*
 * One rule between JSON (contract 1.2 to 1.4) and struct rule.
 *
 * Member names are matched without regard to case. A null list is an empty
 * one. What the gate does not act on is kept in the rule's document, without
 * members that a reader of a rule adds (fc_effective, an endpoint's state and
 * counter) and without known members whose value is the zero of their type:
 * clients differ in whether they write those.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/rule.h"
#include "agent/core/settings.h"

struct pool;

/* The longest string that a member which we know may have, in bytes. */
#define RULE_JSON_STRING_MAX 1024

#define RULE_FAULT_MAX 192

/* Why a rule is not taken, in the words and numbers of contract 1. */
struct rule_fault {
	unsigned status; /* HTTP */
	unsigned code;	 /* in the body; another one than status for 422 */
	char text[RULE_FAULT_MAX];
};

/* Sets a fault whose code is its status. */
void rule_fault_set(struct rule_fault *fault, unsigned status,
		    const char *text);

/* What a body declares, before it meets the stored rule of the same key. */
struct rule_draft {
	struct rule *rule;	   /* owned */
	bool given[SETTING_COUNT]; /* the settings that the body mentions */
};

/* False, *fault set and nothing owed, where the body is no rule. */
MUST_CHECK bool rule_json_read(struct rule_draft *draft, const json_t *body,
			       struct rule_fault *fault);

/* Takes over from stored what the body does not mention. */
void rule_draft_merge(struct rule_draft *draft, const struct rule *stored);

/* What spans members, once merged. False and *fault set where wrong. */
MUST_CHECK bool rule_draft_check(const struct rule_draft *draft,
				 struct rule_fault *fault);

/*
 * The rule as GET shows it: what was declared and, with a pool, fc_effective.
 * The caller owns it. NULL without memory.
 */
MUST_CHECK json_t *rule_json_write(const struct rule *rule,
				   const struct pool *pool,
				   uint32_t request_buffer_kib);

#endif

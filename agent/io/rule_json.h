/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_RULE_JSON_H
#define AGENT_IO_RULE_JSON_H

/*
 * One rule between JSON (contract 1.2 to 1.4) and struct rule.
 *
 * What the gate does not act on is kept in the rule's document, so that it
 * reads back and counts when two rules are compared. Not kept is what a reader
 * of a rule adds (fc_effective, an endpoint's state and counter), nor a known
 * member that is zero: clients differ in whether they write those.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/rule.h"
#include "agent/core/settings.h"
#include "agent/core/text.h"
#include "agent/io/fault_json.h"

struct members;
struct pool;

/* A rule, its serviceArguments, and the list that GET answers with. */
extern const struct members rule_members;
extern const struct members rule_argument_members;
extern const struct members rule_list_members;

/* What a body declares, before it meets the stored rule of the same key. */
struct rule_draft {
	struct rule *rule;         /* owned */
	bool given[SETTING_COUNT]; /* the settings that the body mentions */
	bool sock_map;          /* the kernel relays one direction at least */
	bool sock_map_response; /* it relays the answers */
};

/* False, *fault set and nothing owed, where the body is no rule. */
MUST_CHECK bool rule_json_read(struct rule_draft *draft, json_t *body,
			       struct fault *fault);

/* Takes over from stored the settings that the body does not mention. */
void rule_draft_merge(struct rule_draft *draft, const struct rule *stored);

/*
 * Whether the draft may replace stored: not where it would be another kind of
 * service (contract 1.1). False, and *fault set, where it may not.
 */
MUST_CHECK bool rule_draft_replaces(const struct rule_draft *draft,
				    const struct rule *stored,
				    struct fault *fault);

/* What spans members, once merged. False, and *fault set, where wrong. */
MUST_CHECK bool rule_draft_check(const struct rule_draft *draft,
				 struct fault *fault);

/*
 * Makes the rule's text: the rule as rule_json_write() has it without a pool,
 * in one line. False without memory.
 */
MUST_CHECK bool rule_json_keep(struct rule *rule);

/*
 * Reads the word of path_match_mode; none is "disabled". False, and *match
 * untouched, for any other.
 */
bool rule_path_match(struct text word, enum path_match *match);

/*
 * The rule as GET shows it: what was declared and, with a pool, fc_effective.
 * The caller owns it; NULL without memory.
 */
MUST_CHECK json_t *rule_json_write(const struct rule *rule,
				   const struct pool *pool,
				   uint32_t request_buffer_kib);

/*
 * Its serviceArguments without the settings. The caller owns them; NULL
 * without memory.
 */
MUST_CHECK json_t *rule_json_arguments(const struct rule *rule);

#endif

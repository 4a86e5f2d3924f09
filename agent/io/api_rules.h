/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_RULES_H
#define AGENT_IO_API_RULES_H

/*
 * The load-balancer resource (contract 1.1, rows 82 to 146). A write answers
 * only where it is refused; else it plans the call's change (api_route.h).
 */

#include "agent/io/api_call.h"

/* What a 404 says where the path is right. */
#define API_NO_RULE "no-rule error"

void api_rules_post(const struct api_call *call, struct api_answer *answer);
void api_rules_get_all(const struct api_call *call, struct api_answer *answer);

/*
 * The first rule on that address, port and protocol that has whatever else
 * the query names.
 */
void api_rules_get(const struct api_call *call, struct api_answer *answer);

/* Always refused: 404 without such a rule, else 400. */
void api_rules_patch(const struct api_call *call, struct api_answer *answer);

/* The rule with exactly that key: a part not named is a part it has not. */
void api_rules_delete(const struct api_call *call, struct api_answer *answer);
void api_rules_delete_named(const struct api_call *call,
			    struct api_answer *answer);
void api_rules_delete_all(const struct api_call *call,
			  struct api_answer *answer);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_ENDPOINTS_JSON_H
#define AGENT_IO_ENDPOINTS_JSON_H

/* The list of endpoints of a rule's body (contract 1.2). */

#include <jansson.h>
#include <stdbool.h>

#include "agent/core/base.h"
#include "agent/core/rule.h"
#include "agent/io/fault_json.h"

struct members;

/* One endpoint of the list. */
extern const struct members endpoint_members;

/*
 * Reads body's endpoints into a rule that has none, and puts their canonical
 * form in their place; there are RULE_ENDPOINTS_MAX at most. False, and *fault
 * set, where one is wrong or there twice; the rule may then hold some of them.
 */
MUST_CHECK bool endpoints_read(struct rule *rule, json_t *body,
			       struct fault *fault);

#endif

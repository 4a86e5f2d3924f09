/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_RULES_JSON_H
#define AGENT_IO_RULES_JSON_H

/*
 * The gate's rules as JSON: one put in, many loaded, all listed.
 *
 * A write is planned, and then carried out, which cannot fail. Between the two
 * it can be kept somewhere (rules_text.h), and nothing else may change a rule.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/gate.h"
#include "agent/core/text.h"
#include "agent/io/fault_json.h"

enum rules_change_kind {
	RULES_STAY, /* as they are */
	RULES_PUT,
	RULES_DELETE,
};

struct rules_change {
	enum rules_change_kind kind;
	struct gate_plan put; /* owned; of RULES_PUT */
	/* Of RULES_DELETE, both borrowed until then: */
	struct service *one; /* this one; or, where it is NULL, */
	struct text name;    /* those of that name; every one without a name */
};

/*
 * Plans what rules_put() does. False, *fault set and nothing owed, where it is
 * refused.
 */
MUST_CHECK bool rules_plan_put(struct rules_change *change,
			       const struct gate *gate, json_t *body,
			       struct fault *fault);

void rules_plan_delete(struct rules_change *change, struct service *s);

/* The rules of that name, or all for the empty one; false where none is. */
bool rules_plan_delete_named(struct rules_change *change,
			     const struct gate *gate, struct text name);

/* Each change is carried out or dropped, once; the log says what came of it. */
void rules_carry_out(struct gate *gate, struct rules_change *change,
		     usec_t now);
void rules_drop(struct rules_change *change);

/* Whether the change deletes that rule. */
bool rules_change_deletes(const struct rules_change *change,
			  const struct service *s);

/*
 * Creates or replaces the rule that a POST body declares; an existing one
 * whose list of endpoints is given as empty is deleted. False and *fault set
 * where it is refused; then the stored rule is as it was.
 */
MUST_CHECK bool rules_put(struct gate *gate, json_t *body, usec_t now,
			  struct fault *fault);

/*
 * Puts each rule of a file that is one POST body, an array of them, or the
 * {"lbAttr":[…]} that GET returns. Returns how many were refused, each said
 * in the log with its number; a file that cannot be read or is no JSON counts
 * as one.
 */
MUST_CHECK size_t rules_load_file(struct gate *gate, const char *path,
				  usec_t now);

/*
 * {"lbAttr":[…]} of all rules in the order of their creation. The caller owns
 * it. NULL without memory.
 */
MUST_CHECK json_t *rules_list(const struct gate *gate,
			      uint32_t request_buffer_kib);

#endif

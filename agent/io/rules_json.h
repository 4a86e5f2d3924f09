/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_RULES_JSON_H
#define AGENT_IO_RULES_JSON_H

/* The gate's rules as JSON: one put in, many loaded, all listed. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/io/fault_json.h"

struct gate;
struct service;

/*
 * Creates or replaces the rule that a POST body declares; an existing one
 * whose list of endpoints is given as empty is deleted. False and *fault set
 * where it is refused; then the stored rule is as it was.
 */
MUST_CHECK bool rules_put(struct gate *gate, json_t *body, usec_t now,
			  struct fault *fault);

/* Deletes a rule, and says so in the log. */
void rules_delete(struct gate *gate, struct service *s, usec_t now);

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

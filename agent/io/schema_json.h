/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_SCHEMA_JSON_H
#define AGENT_IO_SCHEMA_JSON_H

/*
 * What an object may hold, as Swagger 2.0 describes it, made from the table
 * that reads or writes it.
 *
 * All return NULL or false without memory; what is half done is the caller's
 * to throw away.
 */

#include <jansson.h>
#include <stdbool.h>

#include "agent/core/base.h"
#include "agent/io/members_json.h"

/* Adds the schema of an object, and all that it refers to, unless there. */
MUST_CHECK bool schema_define(json_t *definitions,
			      const struct members *members);

/* {"$ref": …} to a schema that is defined. The caller owns it. */
MUST_CHECK json_t *schema_ref(const struct members *members);

/* A member of what others write (open) or only we do. The caller owns it. */
MUST_CHECK json_t *schema_member(const struct member *member, bool open);

/* {"type":"string","enum":[…]}. The caller owns it. */
MUST_CHECK json_t *schema_words(const char *const *words);

/* Adds a member to an object's schema. Takes member, which may be NULL. */
MUST_CHECK bool schema_add(json_t *schema, const char *name, json_t *member,
			   bool required);

#endif

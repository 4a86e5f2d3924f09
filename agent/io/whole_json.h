/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_WHOLE_JSON_H
#define AGENT_IO_WHOLE_JSON_H

/*
 * JSON as text, whole or not at all. json_dumps() would lose a name where it
 * cannot grow, and say nothing.
 */

#include <jansson.h>
#include <stddef.h>

#include "agent/core/base.h"

/*
 * Compact, with these further flags of jansson. The caller frees it; NULL
 * without memory, or where json is NULL. len may be NULL.
 */
MUST_CHECK char *whole_json(const json_t *json, size_t flags, size_t *len);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_EFFECTIVE_JSON_H
#define AGENT_IO_EFFECTIVE_JSON_H

/* fc_effective: what is in force on a pool, and who said so (contract 1.4). */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/settings.h"

struct members;
struct pool;

/* fc_effective itself. */
extern const struct members effective_members;

/* A setting's value as JSON writes it: its word or its number. */
MUST_CHECK json_t *setting_json(const struct setting *def, uint32_t value);

/* The schema of a setting, as a rule has it or as it is in force. */
MUST_CHECK json_t *setting_schema(const struct setting *def, bool in_force);

/*
 * Zeros are written out. request_buffer_kib is what one parked request may
 * hold in HAProxy. The caller owns it; NULL without memory.
 */
MUST_CHECK json_t *effective_json(const struct pool *pool,
				  uint32_t request_buffer_kib);

#endif

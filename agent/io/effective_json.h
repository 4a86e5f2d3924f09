/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_EFFECTIVE_JSON_H
#define AGENT_IO_EFFECTIVE_JSON_H

/* fc_effective: what is in force on a pool, and who said so (contract 1.4). */

#include <jansson.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/settings.h"

struct pool;

/* A setting's value as JSON writes it: its word or its number. */
MUST_CHECK json_t *setting_json(const struct setting *def, uint32_t value);

/*
 * Zeros are written out. request_buffer_kib is what one parked request may
 * hold in HAProxy. The caller owns it; NULL without memory.
 */
MUST_CHECK json_t *effective_json(const struct pool *pool,
				  uint32_t request_buffer_kib);

#endif

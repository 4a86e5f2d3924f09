/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_POOL_PRIVATE_H
#define AGENT_CORE_POOL_PRIVATE_H

/* What the files of the pool share. */

#include "agent/core/pool.h"

/* Bounds the tenants by the ceiling and the settings in force. */
void pool_share_out(struct pool *p);

bool pool_is_adaptive(const struct pool *p);

/* How long an endpoint that is back takes to its whole ceiling; 0: at once. */
usec_t pool_warm_up(const struct pool *p);

/* Whether what was said then is trusted still; 0 is never. */
bool pool_is_fresh(const struct pool *p, usec_t at, usec_t now);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_MAINTENANCE_H
#define AGENT_IO_API_MAINTENANCE_H

/* /netlox/v1/maintenance (contract 2). Both answer with the status. */

#include "agent/io/api_call.h"

struct members;

/* What PUT takes, and what both answer with. */
extern const struct members api_maintenance_wish;
extern const struct members api_maintenance_status;

void api_maintenance_get(const struct api_call *call,
			 struct api_answer *answer);

/* {"enabled": bool, "drain_timeout_seconds": number, if any} */
void api_maintenance_put(const struct api_call *call,
			 struct api_answer *answer);

/*
 * True, and answered 503, while maintenance freezes the rules: what it drains
 * must not be tuned or made anew meanwhile.
 */
bool api_maintenance_freezes(const struct api_call *call,
			     struct api_answer *answer);

#endif

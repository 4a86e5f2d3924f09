/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_STATUS_H
#define AGENT_IO_API_STATUS_H

/* What the process says of itself. */

#include "agent/io/api_call.h"

struct members;

extern const struct members api_status_version_members;
extern const struct members api_status_health_members;
extern const struct members api_status_ready_members;

void api_status_metrics(const struct api_call *call, struct api_answer *answer);
void api_status_version(const struct api_call *call, struct api_answer *answer);

/* 200: the loop turns, or there would be no answer. */
void api_status_health(const struct api_call *call, struct api_answer *answer);

/* 200, or 503 while not ready; the same members either way. */
void api_status_ready(const struct api_call *call, struct api_answer *answer);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_ROUTE_H
#define AGENT_IO_API_ROUTE_H

/* Everything that is served: one table of method, path and handler. */

#include "agent/io/api_call.h"

/*
 * Answers a call whose target, method and body are set: 404 where nothing
 * has that path, 405 where something has but not with that method. HEAD is
 * served as GET is.
 */
void api_route(struct api_call *call, struct api_answer *answer);

#endif

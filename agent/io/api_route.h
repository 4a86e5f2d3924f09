/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_ROUTE_H
#define AGENT_IO_API_ROUTE_H

/* Everything that is served: one table of method, path and handler. */

#include "agent/io/api_call.h"

struct api_route;

/*
 * What serves a call whose target and method are set; its path is taken apart.
 * NULL, and answered, 404 where nothing has that path, 405 where something has
 * but not with that method. HEAD is served as GET is.
 */
const struct api_route *api_route_find(struct api_call *call,
				       struct api_answer *answer);

/* Such a call must come with a change, and one at a time. */
bool api_route_changes_rules(const struct api_route *route);

/*
 * Answers, or, of a route that changes rules, plans the change and leaves the
 * status 0: then it is to be carried out and answered.
 */
void api_route_serve(const struct api_route *route, const struct api_call *call,
		     struct api_answer *answer);

#endif

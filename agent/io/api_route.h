/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_ROUTE_H
#define AGENT_IO_API_ROUTE_H

/*
 * Everything that is served: one table of method, path and handler, with what
 * the description of the API says of it.
 */

#include "agent/io/api_call.h"

#define API_ROUTE_QUERY_MAX 5

struct members;

typedef void (*api_handler_fn)(const struct api_call *call,
			       struct api_answer *answer);

struct api_route {
	/* A part in braces stands for any one part, and is named as the member
	 * of a rule that it means. */
	const char *pattern;
	api_handler_fn handler;
	enum api_method method;
	bool changes;       /* what the process does: not for everybody */
	bool changes_rules; /* refused while maintenance freezes them */

	/* For its description only. */
	bool refused; /* whoever asks */
	bool unready; /* 503, with the same answer, while not ready */
	const char *summary;
	const char *query[API_ROUTE_QUERY_MAX]; /* members of a rule, too */
	const struct members *body;             /* NULL: it takes none */
	const struct members *answer;           /* NULL: text */
	const char *type;                       /* NULL: JSON */
};

extern const struct api_route api_routes[];
extern const size_t api_route_count;

bool api_route_is_wildcard(struct text part);

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

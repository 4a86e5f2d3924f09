/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_openapi.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent/io/api.h"
#include "agent/io/api_route.h"
#include "agent/io/members_json.h"
#include "agent/io/rule_json.h"
#include "agent/io/schema_json.h"

#define NAME_MAX_BYTES 32

static const char about[] =
	"The admission gate beside HAProxy: its rules, maintenance and "
	"metrics. HEAD is served wherever GET is. Names of members that a "
	"body has are taken in any case, and null is as if the member were "
	"absent, but for those that begin with fc_: null is refused there, "
	"absent keeps what the stored rule declares, and 0 or \"inherit\" "
	"takes it back, so that x-env or else x-default is in force. Members "
	"that are not described are kept and given back.";

static const char *const swagger_words[] = { "2.0", NULL };

static const struct member openapi_table[] = {
	{ "swagger", .kind = MEMBER_WORD, .required = true,
	  .words = swagger_words },
	{ "info", .kind = MEMBER_OBJECT, .required = true },
	{ "paths", .kind = MEMBER_OBJECT, .required = true },
	{ "definitions", .kind = MEMBER_OBJECT, .required = true },
};

const struct members api_openapi_members = {
	.name = "Description",
	.table = openapi_table,
	.count = ARRAY_LEN(openapi_table),
};

/* ---- what an operation takes ---- */

/* Takes schema, which may be NULL. */
static bool
add_parameter(json_t *list, const char *name, const char *in, json_t *schema)
{
	json_t *parameter = json_pack("{s:s, s:s}", "name", name, "in", in);
	bool added = parameter != NULL && schema != NULL &&
		     (strcmp(in, "query") == 0 ||
		      json_object_set_new(parameter, "required", json_true()) ==
			      0) &&
		     json_object_update(parameter, schema) == 0 &&
		     json_array_append(list, parameter) == 0;

	json_decref(schema);
	json_decref(parameter);
	return added;
}

/* What a path or a query names is a member of the rules that are meant. */
static bool
add_argument(json_t *list, const char *name, const char *in)
{
	const struct member *member =
		members_find(&rule_argument_members, name);

	assert(member != NULL);
	return add_parameter(list, name, in, schema_member(member, true));
}

static bool
add_parts(json_t *list, const char *pattern)
{
	struct text rest = text_of(pattern);
	char name[NAME_MAX_BYTES];

	while (rest.len > 0) {
		struct text part = text_cut(&rest, '/');

		if (!api_route_is_wildcard(part))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)part.len - 2,
			 part.at + 1);
		if (!add_argument(list, name, "path"))
			return false;
	}
	return true;
}

static bool
add_queries(json_t *list, const struct api_route *route)
{
	for (size_t i = 0; i < API_ROUTE_QUERY_MAX; i++)
		if (route->query[i] != NULL &&
		    !add_argument(list, route->query[i], "query"))
			return false;
	return true;
}

static bool
add_body(json_t *list, const struct members *body)
{
	return body == NULL ||
	       add_parameter(list, "body", "body",
			     json_pack("{s:o}", "schema", schema_ref(body)));
}

/* ---- what it answers ---- */

static bool
always(const struct api_route *route)
{
	return route != NULL;
}

static bool
changes(const struct api_route *route)
{
	return route->changes;
}

static bool
changes_rules(const struct api_route *route)
{
	return route->changes_rules;
}

static bool
names_a_rule(const struct api_route *route)
{
	return strchr(route->pattern, '{') != NULL;
}

static bool
takes_a_body(const struct api_route *route)
{
	return route->body != NULL;
}

static bool
takes_a_rule(const struct api_route *route)
{
	return route->body == &rule_members;
}

static bool
may_be_unready(const struct api_route *route)
{
	return route->unready;
}

static bool
may_succeed(const struct api_route *route)
{
	return !route->refused;
}

/* Whose schema is NULL answers with what the route does. */
static const struct {
	const char *status;
	const char *when;
	bool (*applies)(const struct api_route *route);
	const struct members *members;
} responses[] = {
	{ "200", "It worked.", may_succeed, NULL },
	{ "400", "The request cannot be understood, or breaks a rule.", always,
	  &fault_members },
	{ "401", "The token is missing or wrong.", changes, &fault_members },
	{ "404", "There is no such rule.", names_a_rule, &fault_members },
	{ "409", "The stored rule is of another kind.", takes_a_rule,
	  &fault_members },
	{ "413", "The body is larger than 1 MiB.", takes_a_body,
	  &fault_members },
	{ "422", "A member is of a wrong type, or no word of its own.",
	  takes_a_body, &fault_schema_members },
	{ "503", "Maintenance freezes the rules; see Retry-After.",
	  changes_rules, &fault_members },
	{ "503", "Not yet, or not any more.", may_be_unready, NULL },
	{ "default", "Any other fault.", always, &fault_members },
};

/* Text has no schema but its type. */
static json_t *
answer_schema(const struct members *members)
{
	if (members != NULL)
		return schema_ref(members);
	return json_pack("{s:s}", "type", "string");
}

static bool
add_response(json_t *object, const struct api_route *route, size_t i)
{
	const struct members *members = responses[i].members != NULL
						? responses[i].members
						: route->answer;

	return json_object_set_new(object, responses[i].status,
				   json_pack("{s:s, s:o}", "description",
					     responses[i].when, "schema",
					     answer_schema(members))) == 0;
}

static bool
add_responses(json_t *object, const struct api_route *route)
{
	for (size_t i = 0; i < ARRAY_LEN(responses); i++)
		if (responses[i].applies(route) &&
		    !add_response(object, route, i))
			return false;
	return true;
}

/* ---- the operation ---- */

static bool
add_properties(json_t *operation, const struct api_route *route)
{
	return (route->type == NULL ||
		json_object_set_new(operation, "produces",
				    json_pack("[s]", route->type)) == 0) &&
	       (!route->changes ||
		json_object_set_new(operation, "security",
				    json_pack("[{s:[]}]", "bearer")) == 0);
}

static bool
fill(json_t *operation, const struct api_route *route)
{
	json_t *parameters = json_object_get(operation, "parameters");
	json_t *answers = json_object_get(operation, "responses");

	return operation != NULL && add_properties(operation, route) &&
	       add_parts(parameters, route->pattern) &&
	       add_queries(parameters, route) &&
	       add_body(parameters, route->body) &&
	       add_responses(answers, route);
}

/* The one of that path, made where there is none; NULL without memory. */
static json_t *
item_of(json_t *paths, const char *pattern)
{
	if (json_object_get(paths, pattern) == NULL &&
	    json_object_set_new(paths, pattern, json_object()) != 0)
		return NULL;
	return json_object_get(paths, pattern);
}

/* Takes operation. */
static bool
place(json_t *paths, const struct api_route *route, json_t *operation)
{
	const char *method = api_method_name(route->method);
	char name[NAME_MAX_BYTES];
	size_t len = strlen(method);

	for (size_t i = 0; i < len; i++)
		name[i] = (char)(method[i] - 'A' + 'a');
	name[len] = '\0';
	return json_object_set_new(item_of(paths, route->pattern), name,
				   operation) == 0;
}

static bool
add_operation(json_t *paths, const struct api_route *route)
{
	json_t *operation =
		json_pack("{s:s, s:[], s:{}}", "summary", route->summary,
			  "parameters", "responses");

	if (fill(operation, route))
		return place(paths, route, operation);
	json_decref(operation);
	return false;
}

static bool
define(json_t *definitions, const struct members *members)
{
	return members == NULL || schema_define(definitions, members);
}

static bool
add_routes(json_t *document)
{
	json_t *paths = json_object_get(document, "paths");
	json_t *definitions = json_object_get(document, "definitions");

	for (size_t i = 0; i < api_route_count; i++)
		if (!add_operation(paths, &api_routes[i]) ||
		    !define(definitions, api_routes[i].body) ||
		    !define(definitions, api_routes[i].answer))
			return false;
	return define(definitions, &fault_members) &&
	       define(definitions, &fault_schema_members);
}

/* Without a host, it is the one that was asked. */
static json_t *
frame(const char *version)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:s, s:[s], s:[s], "
			 "s:{s:{s:s, s:s, s:s, s:s}}, s:{}, s:{}}",
			 "swagger", "2.0", "info", "title", "spoa-admission",
			 "version", version, "description", about, "basePath",
			 "/", "consumes", "application/json", "produces",
			 "application/json", "securityDefinitions", "bearer",
			 "type", "apiKey", "in", "header", "name",
			 "Authorization", "description",
			 "\"Bearer \" and the token, where there is one.",
			 "paths", "definitions");
}

void
api_openapi_get(const struct api_call *call, struct api_answer *answer)
{
	json_t *document = frame(call->options->version);

	if (document != NULL && add_routes(document)) {
		api_answer_json(answer, 200, document);
		return;
	}
	json_decref(document);
	api_answer_json(answer, 500, NULL);
}

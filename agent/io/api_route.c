/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_route.h"

#include "agent/io/api_hosts.h"
#include "agent/io/api_maintenance.h"
#include "agent/io/api_openapi.h"
#include "agent/io/api_rule_id.h"
#include "agent/io/api_rules.h"
#include "agent/io/api_status.h"
#include "agent/io/metrics_text.h"
#include "agent/io/rule_json.h"

#define BASE "/netlox/v1"
#define RULES BASE "/config/loadbalancer"
#define ADDRESS "/externalipaddress/{externalIP}/port/{port}"
#define ADDRESS_RANGE ADDRESS "/portmax/{portMax}"
#define PROTOCOL "/protocol/{protocol}"

#define KEY_QUERY "path_prefix", "path_match_mode", "model_name"
/* The last two are taken and mean nothing. */
#define DELETE_QUERY KEY_QUERY, "bgp", "block"

const struct api_route api_routes[] = {
	{ RULES, api_rules_post, API_POST, .changes = true,
	  .changes_rules = true,
	  .summary = "Creates a rule, or replaces the one with the same key.",
	  .body = &rule_members, .answer = &api_success },
	{ RULES "/all", api_rules_get_all, API_GET,
	  .summary = "Every rule, in the order of declaration.",
	  .query = { "projectId" }, .answer = &rule_list_members },
	{ RULES "/all", api_rules_delete_all, API_DELETE, .changes = true,
	  .changes_rules = true, .summary = "Deletes every rule.",
	  .answer = &api_success },
	{ RULES "/name/{name}", api_rules_delete_named, API_DELETE,
	  .changes = true, .changes_rules = true,
	  .summary = "Deletes every rule of that name.",
	  .query = { "bgp", "block" }, .answer = &api_success },
	{ RULES "/id/{id}", api_rule_id_get, API_GET,
	  .summary = "The rule that declared that id.",
	  .answer = &rule_members },
	{ RULES "/id/{id}", api_rule_id_delete, API_DELETE, .changes = true,
	  .changes_rules = true,
	  .summary = "Deletes the rule that declared that id.",
	  .query = { "bgp", "block" }, .answer = &api_success },
	{ RULES "/id/{id}/status", api_rule_id_status, API_GET,
	  .summary = "How the endpoints of a rule are.",
	  .answer = &api_rule_id_status_members },
	{ RULES ADDRESS PROTOCOL, api_rules_get, API_GET,
	  .summary = "The first rule there that has what the query names.",
	  .query = { KEY_QUERY }, .answer = &rule_members },
	{ RULES ADDRESS PROTOCOL, api_rules_patch, API_PATCH, .changes = true,
	  .summary = "Always refused: POST the whole rule.",
	  .query = { KEY_QUERY }, .refused = true },
	{ RULES ADDRESS PROTOCOL, api_rules_delete, API_DELETE, .changes = true,
	  .changes_rules = true, .summary = "Deletes a rule without host.",
	  .query = { DELETE_QUERY }, .answer = &api_success },
	{ RULES ADDRESS_RANGE PROTOCOL, api_rules_delete, API_DELETE,
	  .changes = true, .changes_rules = true,
	  .summary = "Deletes a rule without host.", .query = { DELETE_QUERY },
	  .answer = &api_success },
	{ RULES "/hosturl/{host}" ADDRESS PROTOCOL, api_rules_delete,
	  API_DELETE, .changes = true, .changes_rules = true,
	  .summary = "Deletes a rule of a host; any is none.",
	  .query = { DELETE_QUERY }, .answer = &api_success },
	{ RULES "/hosturl/{host}" ADDRESS_RANGE PROTOCOL, api_rules_delete,
	  API_DELETE, .changes = true, .changes_rules = true,
	  .summary = "Deletes a rule of a host; any is none.",
	  .query = { DELETE_QUERY }, .answer = &api_success },
	{ BASE "/config/endpointhoststate", api_hosts_post, API_POST,
	  .changes = true,
	  .summary =
		  "Takes the endpoints of an address out of service, or back.",
	  .body = &api_hosts_wish, .answer = &api_success },
	{ BASE "/maintenance", api_maintenance_get, API_GET,
	  .summary = "Whether maintenance is on, and what still runs.",
	  .answer = &api_maintenance_status },
	{ BASE "/maintenance", api_maintenance_put, API_PUT, .changes = true,
	  .summary = "Enters or leaves maintenance.",
	  .body = &api_maintenance_wish, .answer = &api_maintenance_status },
	{ BASE "/metrics", api_status_metrics, API_GET,
	  .summary = "Metrics as Prometheus text.", .type = METRICS_TEXT_TYPE },
	{ "/metrics", api_status_metrics, API_GET,
	  .summary = "Metrics as Prometheus text.", .type = METRICS_TEXT_TYPE },
	{ BASE "/version", api_status_version, API_GET,
	  .summary = "Version and build.",
	  .answer = &api_status_version_members },
	{ BASE "/swagger.json", api_openapi_get, API_GET,
	  .summary = "This description.", .answer = &api_openapi_members },
	{ BASE "/status/ready", api_status_ready, API_GET,
	  .summary = "Whether it listens and its rules are loaded.",
	  .answer = &api_status_ready_members, .unready = true },
	{ "/healthz", api_status_health, API_GET,
	  .summary = "Whether the loop turns.",
	  .answer = &api_status_health_members },
	{ "/readyz", api_status_ready, API_GET,
	  .summary = "Whether it listens and its rules are loaded.",
	  .answer = &api_status_ready_members, .unready = true },
};

const size_t api_route_count = ARRAY_LEN(api_routes);

bool
api_route_is_wildcard(struct text part)
{
	return part.len > 2 && part.at[0] == '{';
}

/* Whether the path has the pattern's form; then the parts are set. */
static bool
matches(const char *pattern, struct api_call *call)
{
	struct text want = text_of(pattern);
	struct text path = call->path;

	call->part_count = 0;
	while (want.len > 0 && path.len > 0) {
		struct text name = text_cut(&want, '/');
		struct text value = text_cut(&path, '/');

		if (!api_route_is_wildcard(name)) {
			if (!text_equals(name, value))
				return false;
			continue;
		}
		if (value.len == 0)
			return false;
		name = (struct text){ name.at + 1, name.len - 2 };
		call->part[call->part_count++] =
			(struct api_pair){ name, value };
	}
	return want.len == 0 && path.len == 0;
}

static bool
decode_parts(struct api_call *call)
{
	for (size_t i = 0; i < call->part_count; i++)
		if (!api_call_decode(call, &call->part[i].value))
			return false;
	return true;
}

static void
refuse(struct api_answer *answer, unsigned allow)
{
	if (allow == 0) {
		api_answer_error(answer, 404, "no such path");
		return;
	}
	if (allow & 1U << API_GET)
		allow |= 1U << API_HEAD;
	api_answer_error(answer, 405, "not with this method");
	answer->allow = allow;
}

/* NULL, and *allow has the methods that there are, where there is none. */
static const struct api_route *
find(struct api_call *call, unsigned *allow)
{
	enum api_method method =
		call->method == API_HEAD ? API_GET : call->method;

	for (size_t i = 0; i < api_route_count; i++) {
		if (!matches(api_routes[i].pattern, call))
			continue;
		*allow |= 1U << api_routes[i].method;
		if (api_routes[i].method == method)
			return &api_routes[i];
	}
	return NULL;
}

const struct api_route *
api_route_find(struct api_call *call, struct api_answer *answer)
{
	unsigned allow = 0;
	const struct api_route *route = find(call, &allow);

	if (route == NULL) {
		refuse(answer, allow);
		return NULL;
	}
	if (!decode_parts(call)) {
		api_answer_error(answer, 400, "invalid percent-encoding");
		return NULL;
	}
	return route;
}

bool
api_route_changes_rules(const struct api_route *route)
{
	return route->changes_rules;
}

void
api_route_serve(const struct api_route *route, const struct api_call *call,
		struct api_answer *answer)
{
	if (!route->changes_rules || !api_maintenance_freezes(call, answer))
		route->handler(call, answer);
}

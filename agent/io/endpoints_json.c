/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/endpoints_json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/text.h"
#include "agent/io/address_text.h"
#include "agent/io/members_json.h"

#define WEIGHT_MAX 65535

static const struct member endpoint_table[] = {
	{ "endpointIP", .kind = MEMBER_STRING, .required = true,
	  .help = "An IP address, in brackets or without." },
	{ "targetPort", .kind = MEMBER_NUMBER, .required = true, .min = 1,
	  .max = UINT16_MAX },
	{ "weight", .kind = MEMBER_NUMBER, .max = WEIGHT_MAX,
	  .help = "0 counts as 1." },
	{ "ep_role", .kind = MEMBER_NUMBER, .max = ROLE_DECODE,
	  .help = "0 is normal, 1 prefill, 2 decode." },
	{ "nixl_port", .kind = MEMBER_NUMBER, .max = UINT16_MAX },
	{ "backup", .kind = MEMBER_BOOLEAN },
	{ "subnetId", .kind = MEMBER_STRING },
	{ "monitorAddress", .kind = MEMBER_STRING },
	{ "state", .kind = MEMBER_DROPPED },
	{ "counter", .kind = MEMBER_DROPPED },
};

const struct members endpoint_members = {
	.name = "Endpoint",
	.table = endpoint_table,
	.count = ARRAY_LEN(endpoint_table),
};

static bool
is_listed(const struct rule *rule, const struct rule_endpoint *endpoint)
{
	for (size_t i = 0; i < rule->endpoint_count; i++)
		if (rule->endpoints[i].port == endpoint->port &&
		    address_equals(&rule->endpoints[i].address,
				   &endpoint->address))
			return true;
	return false;
}

static bool
add_endpoint(struct rule *rule, const json_t *members, struct fault *fault)
{
	const char *ip = member_string(members, "endpointIP");
	struct rule_endpoint endpoint = {
		.port = (uint16_t)member_number(members, "targetPort"),
		.weight = member_number(members, "weight"),
		.role = (enum role)member_number(members, "ep_role"),
	};

	if (!address_from_text(text_of(ip), &endpoint.address))
		return fault_set(fault, 400,
				 "endpointIP must be an IP address");
	if (is_listed(rule, &endpoint))
		return fault_set(fault, 400,
				 "endpoints must not repeat an "
				 "endpointIP and targetPort");
	endpoint.ip = strdup(ip);
	if (endpoint.ip == NULL)
		return fault_memory(fault);
	rule->endpoints[rule->endpoint_count++] = endpoint;
	return true;
}

/* Takes one over into the rule and its canonical form into the list. */
static bool
read_endpoint(struct rule *rule, json_t *list, json_t *declared,
	      struct fault *fault)
{
	json_t *members;

	if (!json_is_object(declared))
		return member_bad_type(fault, "endpoints", "array of objects");
	members = members_read(&endpoint_members, declared, fault);
	if (members == NULL)
		return false;
	if (json_array_append_new(list, members) != 0)
		return fault_memory(fault);
	return add_endpoint(rule, members, fault);
}

static bool
read_each_endpoint(struct rule *rule, json_t *list, const json_t *declared,
		   struct fault *fault)
{
	size_t i;
	json_t *one;

	json_array_foreach (declared, i, one)
		if (!read_endpoint(rule, list, one, fault))
			return false;
	return true;
}

bool
endpoints_read(struct rule *rule, json_t *body, struct fault *fault)
{
	json_t *declared = json_object_get(body, "endpoints");
	size_t count = json_array_size(declared);
	json_t *list = json_array();
	bool read;

	rule->endpoints = calloc(count + 1, sizeof(*rule->endpoints));
	if (rule->endpoints == NULL || list == NULL)
		read = fault_memory(fault);
	else
		read = read_each_endpoint(rule, list, declared, fault);
	if (read && json_object_set(body, "endpoints", list) != 0)
		read = fault_memory(fault);
	json_decref(list);
	return read;
}

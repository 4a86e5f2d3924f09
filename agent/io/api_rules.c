/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_rules.h"

#include <stddef.h>
#include <stdint.h>

#include "agent/core/gate.h"
#include "agent/io/address_text.h"
#include "agent/io/api.h"
#include "agent/io/members_json.h"
#include "agent/io/rule_json.h"
#include "agent/io/rules_json.h"

void
api_rules_post(const struct api_call *call, struct api_answer *answer)
{
	json_t *body = json_loadb(call->body.at, call->body.len, 0, NULL);
	struct fault fault;

	if (body == NULL)
		api_answer_error(answer, 400, "body is invalid JSON");
	else if (!rules_plan_put(call->change, call->options->gate, body,
				 &fault))
		api_answer_fault(answer, &fault);
	json_decref(body);
}

static bool
is_of_project(const json_t *entry, struct text project)
{
	const json_t *arguments = json_object_get(entry, "serviceArguments");

	return text_is(project, member_string(arguments, "projectId"));
}

/* Leaves what is the project's. */
static void
keep_project(json_t *list, struct text project)
{
	size_t i = json_array_size(list);

	while (i-- > 0)
		if (!is_of_project(json_array_get(list, i), project))
			json_array_remove(list, i);
}

void
api_rules_get_all(const struct api_call *call, struct api_answer *answer)
{
	struct text project = api_call_query(call, "projectId");
	json_t *list = rules_list(call->options->gate,
				  call->options->request_buffer_kib);

	if (project.len > 0)
		keep_project(json_object_get(list, "lbAttr"), project);
	api_answer_json(answer, 200, list);
}

/* ---- which rule a path means ---- */

/* What a path and its query name; what they do not is empty. */
struct wanted {
	struct address vip;
	uint16_t port;
	struct text protocol, host, path_prefix, model;
	enum path_match path_match;
};

static bool
read_address(struct text text, struct address *address)
{
	if (text.len > 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
		text = (struct text){ text.at + 1, text.len - 2 };
	return address_from_text(text, address);
}

/* False, and answered, where no rule can be meant. */
static bool
read_wanted(const struct api_call *call, struct wanted *want,
	    struct api_answer *answer)
{
	struct text match = api_call_query(call, "path_match_mode");
	unsigned long long port;

	if (!read_address(api_call_part(call, "externalIP"), &want->vip) ||
	    !text_number(api_call_part(call, "port"), UINT16_MAX, &port) ||
	    !rule_path_match(match, &want->path_match)) {
		api_answer_error(answer, 400,
				 "invalid address, port or path_match_mode");
		return false;
	}
	want->port = (uint16_t)port;
	want->protocol = api_call_part(call, "protocol");
	want->host = api_call_part(call, "host");
	if (text_is(want->host, "any"))
		want->host = text_of(NULL);
	want->path_prefix = api_call_query(call, "path_prefix");
	want->model = api_call_query(call, "model_name");
	return true;
}

static bool
is_there(const struct rule *rule, const struct wanted *want)
{
	return rule->port == want->port &&
	       address_equals(&rule->vip, &want->vip) &&
	       text_is(want->protocol, rule->protocol);
}

static bool
is_exactly(const struct rule *rule, const struct wanted *want)
{
	return is_there(rule, want) && text_is_nocase(want->host, rule->host) &&
	       text_is(want->path_prefix, rule->path_prefix) &&
	       rule->path_match == want->path_match &&
	       text_is(want->model, rule->model);
}

static bool
is_loosely(const struct rule *rule, const struct wanted *want)
{
	return is_there(rule, want) &&
	       (want->path_prefix.len == 0 ||
		text_is(want->path_prefix, rule->path_prefix)) &&
	       (want->path_match == PATH_ANY ||
		rule->path_match == want->path_match) &&
	       (want->model.len == 0 || text_is(want->model, rule->model));
}

typedef bool (*fits_fn)(const struct rule *rule, const struct wanted *want);

/* NULL, and answered, where there is none. */
static struct service *
find(const struct api_call *call, fits_fn fits, struct api_answer *answer)
{
	struct wanted want;
	struct service *s;

	if (!read_wanted(call, &want, answer))
		return NULL;
	TAILQ_FOREACH (s, &call->options->gate->rules.services, link)
		if (fits(s->rule, &want))
			return s;
	api_answer_error(answer, 404, API_NO_RULE);
	return NULL;
}

/* ---- one rule ---- */

void
api_rules_get(const struct api_call *call, struct api_answer *answer)
{
	const struct service *s = find(call, is_loosely, answer);

	if (s != NULL)
		api_answer_json(
			answer, 200,
			rule_json_write(s->rule, s->pool,
					call->options->request_buffer_kib));
}

void
api_rules_patch(const struct api_call *call, struct api_answer *answer)
{
	const struct service *s = find(call, is_loosely, answer);

	if (s == NULL)
		return;
	if (s->rule->mode == RULE_MODE_FULLPROXY)
		api_answer_error(answer, 400,
				 "a fullproxy (L7) rule cannot be patched: "
				 "POST the whole rule");
	else
		api_answer_error(answer, 400,
				 "invalid: rules are not patched here, POST "
				 "the whole rule");
}

void
api_rules_delete(const struct api_call *call, struct api_answer *answer)
{
	struct service *s = find(call, is_exactly, answer);

	if (s != NULL)
		rules_plan_delete(call->change, s);
}

/* ---- many ---- */

void
api_rules_delete_named(const struct api_call *call, struct api_answer *answer)
{
	if (!rules_plan_delete_named(call->change, call->options->gate,
				     api_call_part(call, "name")))
		api_answer_error(answer, 404, API_NO_RULE);
}

void
api_rules_delete_all(const struct api_call *call, struct api_answer *answer)
{
	(void)answer;
	(void)rules_plan_delete_named(call->change, call->options->gate,
				      text_of(NULL));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/rules_json.h"

#include <stdio.h>

#include "agent/core/gate.h"
#include "agent/io/log.h"
#include "agent/io/rule_json.h"
#include "agent/io/rules_memory.h"

void
rules_delete(struct gate *gate, struct service *s, usec_t now)
{
	log_info("rule: deleted service=%s:%u name=\"%s\"",
		 s->rule->external_ip, s->rule->port, s->rule->name);
	gate_delete(gate, s, now);
}

/* "address:port" for the log. */
#define RULE_SERVICE_MAX 64

/* Takes the rule, whatever comes of it. */
static bool
put_checked(struct gate *gate, struct rule *rule, usec_t now)
{
	static const char *const changes[] = {
		[GATE_CREATED] = "created",
		[GATE_UNCHANGED] = NULL,
		[GATE_CHANGED] = "changed in place",
		[GATE_RECREATED] = "created anew",
		[GATE_NO_MEMORY] = NULL,
	};
	char service[RULE_SERVICE_MAX];
	enum gate_change change;

	snprintf(service, sizeof(service), "%s:%u", rule->external_ip,
		 rule->port);
	change = gate_put(gate, rule, now);
	if (changes[change] != NULL) {
		log_info("rule: %s service=%s", changes[change], service);
		rules_memory_check(gate, rule);
	}
	return change != GATE_NO_MEMORY;
}

/* Takes the draft's rule, whatever comes of it. */
static bool
put(struct gate *gate, struct rule_draft *draft, usec_t now,
    struct fault *fault)
{
	struct service *stored = rulebook_find(&gate->rules, draft->rule);

	if (stored != NULL)
		rule_draft_merge(draft, stored->rule);

	if (draft->rule->endpoint_count == 0) {
		rule_free(&draft->rule);
		if (stored == NULL)
			return fault_set(fault, 400, "endpoints is required");
		rules_delete(gate, stored, now);
		return true;
	}
	if (!rule_draft_check(draft, fault)) {
		rule_free(&draft->rule);
		return false;
	}
	return put_checked(gate, draft->rule, now) || fault_memory(fault);
}

bool
rules_put(struct gate *gate, json_t *body, usec_t now, struct fault *fault)
{
	struct rule_draft draft;

	return rule_json_read(&draft, body, fault) &&
	       put(gate, &draft, now, fault);
}

/* The list that a file of rules is; NULL where it is one rule. */
static json_t *
list_of(json_t *root)
{
	json_t *list = json_object_get(root, "lbAttr");

	if (json_is_array(root))
		return root;
	return json_is_array(list) ? list : NULL;
}

/* Returns how many of this one rule were refused. */
static size_t
load(struct gate *gate, json_t *body, size_t number, usec_t now)
{
	struct fault fault;

	if (rules_put(gate, body, now, &fault))
		return 0;
	log_err("rules: refused number=%zu why=\"%s\"", number, fault.text);
	return 1;
}

size_t
rules_load_file(struct gate *gate, const char *path, usec_t now)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	json_t *list, *body;
	size_t refused = 0, i;

	if (root == NULL && error.line < 0) {
		log_err("rules: cannot read why=\"%s\"", error.text);
		return 1;
	}
	if (root == NULL) {
		log_err("rules: no JSON line=%d column=%d why=\"%s\"",
			error.line, error.column, error.text);
		return 1;
	}
	list = list_of(root);
	if (list == NULL)
		refused = load(gate, root, 1, now);
	json_array_foreach (list, i, body)
		refused += load(gate, body, i + 1, now);
	json_decref(root);
	return refused;
}

static bool
list_each(json_t *list, const struct gate *gate, uint32_t request_buffer_kib)
{
	const struct service *s;

	TAILQ_FOREACH (s, &gate->rules.services, link)
		if (json_array_append_new(
			    list, rule_json_write(s->rule, s->pool,
						  request_buffer_kib)) != 0)
			return false;
	return true;
}

json_t *
rules_list(const struct gate *gate, uint32_t request_buffer_kib)
{
	json_t *list = json_array();

	if (list_each(list, gate, request_buffer_kib))
		return json_pack("{s:o}", "lbAttr", list);
	json_decref(list);
	return NULL;
}

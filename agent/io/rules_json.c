/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/rules_json.h"

#include "agent/core/gate.h"
#include "agent/io/log.h"
#include "agent/io/rule_json.h"
#include "agent/io/rules_memory.h"

/* ---- planned ---- */

/* Takes the draft's rule, merged, whatever comes of it. */
static bool
plan_checked(struct rules_change *change, const struct gate *gate,
	     struct rule_draft *draft, struct fault *fault)
{
	if (!rule_draft_check(draft, fault)) {
		rule_free(&draft->rule);
		return false;
	}
	if (!rule_json_keep(draft->rule)) {
		rule_free(&draft->rule);
		return fault_memory(fault);
	}
	if (!gate_plan_put(&change->put, gate, draft->rule))
		return fault_memory(fault);
	if (change->put.change == GATE_UNCHANGED)
		gate_plan_drop(&change->put);
	else
		change->kind = RULES_PUT;
	return true;
}

/* Takes the draft's rule, whatever comes of it. */
static bool
plan(struct rules_change *change, const struct gate *gate,
     struct rule_draft *draft, struct fault *fault)
{
	struct service *stored = rulebook_find(&gate->rules, draft->rule);

	if (stored != NULL && draft->rule->endpoint_count > 0 &&
	    !rule_draft_replaces(draft, stored->rule, fault)) {
		rule_free(&draft->rule);
		return false;
	}
	if (stored != NULL)
		rule_draft_merge(draft, stored->rule);
	if (draft->rule->endpoint_count > 0)
		return plan_checked(change, gate, draft, fault);

	rule_free(&draft->rule);
	if (stored == NULL)
		return fault_set(fault, 400, "endpoints is required");
	rules_plan_delete(change, stored);
	return true;
}

bool
rules_plan_put(struct rules_change *change, const struct gate *gate,
	       json_t *body, struct fault *fault)
{
	struct rule_draft draft;

	*change = (struct rules_change){ .kind = RULES_STAY };
	return rule_json_read(&draft, body, fault) &&
	       plan(change, gate, &draft, fault);
}

void
rules_plan_delete(struct rules_change *change, struct service *s)
{
	*change = (struct rules_change){ .kind = RULES_DELETE, .one = s };
}

bool
rules_change_deletes(const struct rules_change *change, const struct service *s)
{
	if (change->kind != RULES_DELETE)
		return false;
	if (change->one != NULL)
		return change->one == s;
	return change->name.len == 0 || text_is(change->name, s->rule->name);
}

bool
rules_plan_delete_named(struct rules_change *change, const struct gate *gate,
			struct text name)
{
	const struct service *s;

	*change = (struct rules_change){ .kind = RULES_DELETE, .name = name };
	TAILQ_FOREACH (s, &gate->rules.services, link)
		if (rules_change_deletes(change, s))
			return true;
	change->kind = RULES_STAY;
	return false;
}

/* ---- carried out ---- */

static void
put(struct gate *gate, struct gate_plan *plan, usec_t now)
{
	static const char *const changes[] = {
		[GATE_CREATED] = "created",
		[GATE_CHANGED] = "changed in place",
		[GATE_RECREATED] = "created anew",
	};
	const struct service *s =
		plan->stored != NULL ? plan->stored : plan->place;
	enum gate_change change = gate_carry_out(gate, plan, now);

	log_info("rule: %s service=%s:%u", changes[change],
		 s->rule->external_ip, s->rule->port);
	rules_memory_check(gate, s->rule);
}

static void
remove_each(struct gate *gate, const struct rules_change *change, usec_t now)
{
	struct service *s = TAILQ_FIRST(&gate->rules.services);

	while (s != NULL) {
		struct service *next = TAILQ_NEXT(s, link);

		if (rules_change_deletes(change, s)) {
			log_info("rule: deleted service=%s:%u name=\"%s\"",
				 s->rule->external_ip, s->rule->port,
				 s->rule->name);
			gate_delete(gate, s, now);
		}
		s = next;
	}
}

void
rules_carry_out(struct gate *gate, struct rules_change *change, usec_t now)
{
	switch (change->kind) {
	case RULES_STAY:
		break;
	case RULES_PUT:
		put(gate, &change->put, now);
		break;
	case RULES_DELETE:
		remove_each(gate, change, now);
		break;
	}
	change->kind = RULES_STAY;
}

void
rules_drop(struct rules_change *change)
{
	if (change->kind == RULES_PUT)
		gate_plan_drop(&change->put);
	change->kind = RULES_STAY;
}

bool
rules_put(struct gate *gate, json_t *body, usec_t now, struct fault *fault)
{
	struct rules_change change;

	if (!rules_plan_put(&change, gate, body, fault))
		return false;
	rules_carry_out(gate, &change, now);
	return true;
}

/* ---- many ---- */

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

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_rule_id.h"

#include "agent/core/gate.h"
#include "agent/io/api.h"
#include "agent/io/api_rules.h"
#include "agent/io/clock.h"
#include "agent/io/members_json.h"
#include "agent/io/rule_json.h"
#include "agent/io/rules_json.h"

enum status {
	STATUS_NO_MONITOR,
	STATUS_ONLINE,
	STATUS_DEGRADED,
	STATUS_OFFLINE,
	STATUS_ERROR
};

static const char *const status_words[] = { "NO_MONITOR", "ONLINE", "DEGRADED",
					    "OFFLINE",    "ERROR",  NULL };

static const struct member status_table[] = {
	{ "adminStateUp", .kind = MEMBER_BOOLEAN, .required = true,
	  .help = "As the rule declares it; the gate does not act on it." },
	{ "operatingStatus", .kind = MEMBER_WORD, .required = true,
	  .words = status_words,
	  .help = "The endpoints as HAProxy's checks see them." },
	{ "lastUpdated", .kind = MEMBER_STRING, .required = true,
	  .format = "date-time", .help = "When the rule was last written." },
	{ "problem", .kind = MEMBER_STRING,
	  .help = "Of ERROR: why endpoints cannot be made servers of "
		  "HAProxy." },
};

const struct members api_rule_id_status_members = {
	.name = "RuleStatus",
	.table = status_table,
	.count = ARRAY_LEN(status_table),
	.closed = true,
};

/* ---- which rule ---- */

static bool
has_id(const struct rule *rule, struct text id)
{
	json_t *arguments = rule_json_arguments(rule);
	bool has = text_is(id, member_string(arguments, "id"));

	json_decref(arguments);
	return has;
}

/* NULL, and answered, where there is none. */
static struct service *
find(const struct api_call *call, struct api_answer *answer)
{
	struct text id = api_call_part(call, "id");
	struct service *s;

	TAILQ_FOREACH (s, &call->options->gate->rules.services, link)
		if (has_id(s->rule, id))
			return s;
	api_answer_error(answer, 404, API_NO_RULE);
	return NULL;
}

void
api_rule_id_get(const struct api_call *call, struct api_answer *answer)
{
	const struct service *s = find(call, answer);

	if (s != NULL)
		api_answer_json(
			answer, 200,
			rule_json_write(s->rule, s->pool,
					call->options->request_buffer_kib));
}

void
api_rule_id_delete(const struct api_call *call, struct api_answer *answer)
{
	struct service *s = find(call, answer);

	if (s != NULL)
		rules_plan_delete(call->change, s);
}

/* ---- how it is ---- */

/* Whether anybody has lately told how it is. */
static bool
is_known(const struct endpoint *e, usec_t now)
{
	usec_t looked = e->looked[0];

	return e->seen || !endpoint_is_eligible(e) ||
	       (looked != 0 && now - looked < GATE_LOOK_TRUST);
}

/* Why not all of its endpoints are servers, where that is to be; or NULL. */
static const char *
problem_of(const struct api_call *call, const struct pool *p)
{
	const struct api_options *options = call->options;

	if (options->problem == NULL || p == NULL)
		return NULL;
	for (size_t i = 0; i < p->endpoint_count; i++)
		if (!is_known(&p->endpoints[i], call->now))
			return options->problem(options->problem_arg);
	return NULL;
}

static enum status
status_of(const struct pool *p, usec_t now)
{
	size_t known = 0, up = 0;

	if (p == NULL)
		return STATUS_NO_MONITOR;
	for (size_t i = 0; i < p->endpoint_count; i++) {
		known += is_known(&p->endpoints[i], now);
		up += endpoint_is_eligible(&p->endpoints[i]);
	}
	if (known == 0)
		return STATUS_NO_MONITOR;
	if (up == p->endpoint_count)
		return STATUS_ONLINE;
	return up > 0 ? STATUS_DEGRADED : STATUS_OFFLINE;
}

static bool
admin_state(const struct rule *rule)
{
	json_t *arguments = rule_json_arguments(rule);
	bool down = json_is_false(json_object_get(arguments, "adminStateUp"));

	json_decref(arguments);
	return !down;
}

void
api_rule_id_status(const struct api_call *call, struct api_answer *answer)
{
	const struct service *s = find(call, answer);
	const char *problem;
	enum status status;
	int64_t since;

	if (s == NULL)
		return;
	since = (int64_t)((call->now - s->changed) / USEC_PER_SEC);
	problem = problem_of(call, s->pool);
	status = problem != NULL ? STATUS_ERROR : status_of(s->pool, call->now);
	api_answer_json(answer, 200,
			json_pack("{s:b, s:s, s:o, s:s*}", status_table[0].name,
				  admin_state(s->rule), status_table[1].name,
				  status_words[status], status_table[2].name,
				  api_date(clock_wall().tv_sec - since),
				  status_table[3].name, problem));
}

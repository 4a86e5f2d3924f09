/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/rule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct rule *
rule_new(void)
{
	return calloc(1, sizeof(struct rule));
}

void
rule_free(struct rule **rule)
{
	struct rule *r = *rule;

	if (r == NULL)
		return;
	for (size_t i = 0; i < r->endpoint_count; i++)
		free(r->endpoints[i].ip);
	free(r->endpoints);
	free(r->external_ip);
	free(r->protocol);
	free(r->host);
	free(r->path_prefix);
	free(r->model);
	free(r->name);
	free(r->document);
	free(r->text);
	free(r);
	*rule = NULL;
}

bool
rule_same_key(const struct rule *a, const struct rule *b)
{
	return address_equals(&a->vip, &b->vip) && a->port == b->port &&
	       strcmp(a->protocol, b->protocol) == 0 &&
	       strcmp(a->host, b->host) == 0 &&
	       strcmp(a->path_prefix, b->path_prefix) == 0 &&
	       a->path_match == b->path_match &&
	       strcmp(a->model, b->model) == 0;
}

bool
rule_is_ai_service(const struct rule *rule)
{
	return rule->mode == RULE_MODE_FULLPROXY &&
	       (rule->sse || rule->disaggregated || rule->enforces_credential);
}

bool
rule_same_service(const struct rule *a, const struct rule *b)
{
	return rule_same_key(a, b) && strcmp(a->document, b->document) == 0;
}

static bool
has_role(const struct rule *rule, enum role role)
{
	for (size_t i = 0; i < rule->endpoint_count; i++)
		if (rule->endpoints[i].role == role)
			return true;
	return false;
}

const char *
rule_check(const struct rule *rule)
{
	if (rule->disaggregated && rule->mode != RULE_MODE_FULLPROXY)
		return "pd_disagg_mode needs mode 4";
	if (rule->disaggregated &&
	    !(has_role(rule, ROLE_PREFILL) && has_role(rule, ROLE_DECODE)))
		return "pd_disagg_mode is invalid without an endpoint of "
		       "ep_role 1 and one of ep_role 2";
	return settings_check(&rule->declared);
}

/* How closely each part fits, most telling first (interface 6.1). */
#define FIT_ANY 1U
#define FIT_MODEL (1U << 1)
#define FIT_PREFIX_SHIFT 2 /* the prefix length, up to FIT_PREFIX_MAX */
#define FIT_PREFIX_MAX 0xffffU
#define FIT_EXACT (1U << 18)
#define FIT_HOST (1U << 19)
#define FIT_VIP (1U << 20)

static bool
fits_vip(const struct rule *rule, const struct rule_query *q, uint32_t *fit)
{
	if (q->pool.len > 0)
		return text_is(q->pool, rule->name);
	if (q->port != rule->port)
		return false;
	if (address_is_any(&rule->vip))
		return true;
	*fit |= FIT_VIP;
	return address_equals(&rule->vip, &q->vip);
}

static bool
fits_host(const struct rule *rule, const struct rule_query *q, uint32_t *fit)
{
	if (rule->host[0] == '\0')
		return true;
	*fit |= FIT_HOST;
	return text_is_nocase(q->host, rule->host);
}

static bool
fits_path(const struct rule *rule, const struct rule_query *q, uint32_t *fit)
{
	size_t len = strlen(rule->path_prefix);
	struct text rest = q->path;
	struct text path = text_cut(&rest, '?');

	switch (rule->path_match) {
	case PATH_ANY:
		return true;
	case PATH_EXACT:
		*fit |= FIT_EXACT;
		return text_is(path, rule->path_prefix);
	case PATH_PREFIX:
		*fit |= (uint32_t)(len < FIT_PREFIX_MAX ? len : FIT_PREFIX_MAX)
			<< FIT_PREFIX_SHIFT;
		path.len = path.len < len ? path.len : len;
		return text_is(path, rule->path_prefix);
	}
	assert(false && "unknown path match");
	return false;
}

static bool
fits_model(const struct rule *rule, const struct rule_query *q, uint32_t *fit)
{
	if (rule->model[0] == '\0')
		return true;
	*fit |= FIT_MODEL;
	return text_is(q->model, rule->model);
}

uint32_t
rule_fit(const struct rule *rule, const struct rule_query *query)
{
	uint32_t fit = FIT_ANY;

	if (!fits_vip(rule, query, &fit) || !fits_host(rule, query, &fit) ||
	    !fits_path(rule, query, &fit) || !fits_model(rule, query, &fit))
		return 0;
	return fit;
}

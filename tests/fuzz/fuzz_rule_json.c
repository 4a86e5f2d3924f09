/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "agent/core/pool.h"
#include "agent/io/rule_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What GET shows is a rule again, and the same one. */
static void
assert_reads_back(const struct rule *rule, const struct pool *pool)
{
	json_t *shown = rule_json_write(rule, pool, 1024);
	struct rule_draft again;
	struct fault fault;
	bool read;

	assert(shown != NULL);
	read = rule_json_read(&again, shown, &fault);
	assert(read);
	assert(rule_same_service(rule, again.rule));
	assert(memcmp(&rule->declared, &again.rule->declared,
		      sizeof(rule->declared)) == 0);
	rule_free(&again.rule);
	json_decref(shown);
}

static void
assert_fault_is_json(const struct fault *fault)
{
	json_t *body = fault_json(fault);

	assert(fault->status >= 400 && fault->status < 500);
	assert(body != NULL);
	json_decref(body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct settings_env env;
	json_t *body = json_loadb((const char *)data, size, 0, NULL);
	struct rule_draft draft;
	struct fault fault;
	struct pool *pool;

	if (body == NULL)
		return 0;
	if (!rule_json_read(&draft, body, &fault)) {
		assert_fault_is_json(&fault);
		json_decref(body);
		return 0;
	}
	json_decref(body);
	if (!rule_draft_check(&draft, &fault))
		assert_fault_is_json(&fault);

	assert_reads_back(draft.rule, NULL);
	pool = pool_new(draft.rule, &env);
	assert_reads_back(draft.rule, pool);
	pool_free(&pool);
	rule_free(&draft.rule);
	return 0;
}

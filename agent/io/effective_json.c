/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/effective_json.h"

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/pool.h"
#include "agent/io/members_json.h"
#include "agent/io/schema_json.h"

#define KIB_PER_MIB 1024

json_t *
setting_json(const struct setting *def, uint32_t value)
{
	const char *const *words = setting_words(def->kind);

	return words != NULL ? json_string(words[value]) : json_integer(value);
}

/* ---- what it is ---- */

static json_t *
number_schema(const struct setting *def, bool in_force)
{
	/* The environment may say more than a rule. */
	uint32_t max = in_force && def->env_max > def->rule_max ? def->env_max
								: def->rule_max;

	return json_pack("{s:s, s:i, s:I}", "type", "integer", "minimum", 0,
			 "maximum", (json_int_t)max);
}

/* What is in force is not inherited any more. */
static json_t *
word_schema(const struct setting *def, bool in_force)
{
	return schema_words(setting_words(def->kind) + in_force);
}

/* Not as its default: a client would fill that in, and so declare it. */
static bool
add_origin(json_t *schema, const struct setting *def)
{
	return json_object_set_new(schema, "x-env", json_string(def->env)) ==
		       0 &&
	       json_object_set_new(schema, "x-default",
				   setting_json(def, def->fallback)) == 0;
}

json_t *
setting_schema(const struct setting *def, bool in_force)
{
	json_t *schema = def->kind == SETTING_NUMBER
				 ? number_schema(def, in_force)
				 : word_schema(def, in_force);

	if (json_object_set_new(schema, "description",
				json_string(def->help)) == 0 &&
	    (def->unit[0] == '\0' ||
	     json_object_set_new(schema, "x-unit", json_string(def->unit)) ==
		     0) &&
	    (in_force || add_origin(schema, def)))
		return schema;
	json_decref(schema);
	return NULL;
}

static bool
describe_settings(json_t *schema)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (!schema_add(schema, settings_table[i].name,
				setting_schema(&settings_table[i], true), true))
			return false;
	return true;
}

static bool
describe_sources(json_t *schema)
{
	const char *const words[] = { source_name(SOURCE_RULE),
				      source_name(SOURCE_ENV),
				      source_name(SOURCE_DEFAULT), NULL };

	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (!schema_add(schema, settings_table[i].name,
				schema_words(words), true))
			return false;
	return true;
}

static const struct members source_members = {
	.name = "Source",
	.describe = describe_sources,
	.closed = true,
};

/* What stands beside the settings; first the numbers. */
enum live {
	LIVE_INFLIGHT,
	LIVE_QUEUED,
	LIVE_QUEUE_MEMORY,
	LIVE_CEILING,
	LIVE_WARMING,
	LIVE_TENANTS,
	LIVE_NUMBERS,
	LIVE_ADAPT_STATE = LIVE_NUMBERS,
	LIVE_ADAPT_REASON,
	LIVE_SOURCE,
};

static const char *const adapt_states[] = { ADAPT_STATE_WORDS, NULL };
static const char *const adapt_reasons[] = { ADAPT_REASON_WORDS, NULL };

#define LIVE(name, ...)                                                        \
	{                                                                      \
		name, .required = true, __VA_ARGS__                            \
	}

static const struct member live_table[] = {
	[LIVE_INFLIGHT] = LIVE("inflight", .kind = MEMBER_NUMBER,
			       .help = "Requests that execute now."),
	[LIVE_QUEUED] = LIVE("queued", .kind = MEMBER_NUMBER,
			     .help = "Requests that wait now."),
	[LIVE_QUEUE_MEMORY] =
		LIVE("queue_memory_bound_mib", .kind = MEMBER_NUMBER,
		     .help = "What a full queue may hold in HAProxy."),
	[LIVE_CEILING] =
		LIVE("effective_max_outstanding", .kind = MEMBER_NUMBER,
		     .help = "The service ceiling in force; 0 is none."),
	[LIVE_WARMING] = LIVE("warming_endpoints", .kind = MEMBER_NUMBER,
			      .help = "Endpoints whose ceilings still rise."),
	[LIVE_TENANTS] = LIVE("tenants_active", .kind = MEMBER_NUMBER,
			      .help = "Tenants that execute or wait; 0 "
				      "without a share."),
	[LIVE_ADAPT_STATE] =
		LIVE("adapt_state", .kind = MEMBER_WORD, .words = adapt_states),
	[LIVE_ADAPT_REASON] = LIVE("adapt_reason", .kind = MEMBER_WORD,
				   .words = adapt_reasons),
	[LIVE_SOURCE] =
		LIVE("source", .kind = MEMBER_OBJECT, .of = &source_members),
};

const struct members effective_members = {
	.name = "Effective",
	.table = live_table,
	.count = ARRAY_LEN(live_table),
	.describe = describe_settings,
	.closed = true,
};

/* ---- what it says ---- */

static json_t *
sources(const struct settings_effective *effective)
{
	json_t *object = json_object();

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const char *name = source_name(effective->source[i]);

		if (json_object_set_new(object, settings_table[i].name,
					json_string(name)) != 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static bool
put_settings(json_t *object, const struct settings *value)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];

		if (json_object_set_new(
			    object, def->name,
			    setting_json(def, setting_get(value, def))) != 0)
			return false;
	}
	return true;
}

static bool
put_live(json_t *object, const struct pool *pool, uint32_t request_buffer_kib)
{
	json_int_t depth = pool->effective.value.queue_depth;
	const json_int_t live[LIVE_NUMBERS] = {
		[LIVE_INFLIGHT] = pool->units,
		[LIVE_QUEUED] = (json_int_t)pool->queue.len,
		[LIVE_QUEUE_MEMORY] = depth * request_buffer_kib / KIB_PER_MIB,
		[LIVE_CEILING] = pool_ceiling(pool),
		[LIVE_WARMING] = pool_warming(pool),
		[LIVE_TENANTS] = tenants_active(&pool->tenants),
	};

	for (size_t i = 0; i < LIVE_NUMBERS; i++)
		if (json_object_set_new(object, live_table[i].name,
					json_integer(live[i])) != 0)
			return false;
	return true;
}

static bool
put_adaptation(json_t *object, const struct adaptive *a)
{
	return json_object_set_new(object, live_table[LIVE_ADAPT_STATE].name,
				   json_string(adapt_states[a->state])) == 0 &&
	       json_object_set_new(object, live_table[LIVE_ADAPT_REASON].name,
				   json_string(adapt_reasons[a->reason])) == 0;
}

json_t *
effective_json(const struct pool *pool, uint32_t request_buffer_kib)
{
	json_t *object = json_object();

	if (put_settings(object, &pool->effective.value) &&
	    put_live(object, pool, request_buffer_kib) &&
	    put_adaptation(object, &pool->adaptive) &&
	    json_object_set_new(object, live_table[LIVE_SOURCE].name,
				sources(&pool->effective)) == 0)
		return object;
	json_decref(object);
	return NULL;
}

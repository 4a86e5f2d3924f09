/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/effective_json.h"

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/pool.h"

#define KIB_PER_MIB 1024

json_t *
setting_json(const struct setting *def, uint32_t value)
{
	const char *const *words = setting_words(def->kind);

	return words != NULL ? json_string(words[value]) : json_integer(value);
}

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
	const struct {
		const char *name;
		json_int_t value;
	} live[] = {
		{ "inflight", pool->units },
		{ "queued", pool->queue.len },
		{ "queue_memory_bound_mib",
		  depth * request_buffer_kib / KIB_PER_MIB },
		{ "effective_max_outstanding", pool_ceiling(pool) },
		{ "warming_endpoints", 0 },
		{ "tenants_active", tenants_active(&pool->tenants) },
	};

	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		if (json_object_set_new(object, live[i].name,
					json_integer(live[i].value)) != 0)
			return false;
	return true;
}

/* No ceiling adapts. */
static bool
put_adaptation(json_t *object)
{
	return json_object_set_new(object, "adapt_state", json_string("off")) ==
		       0 &&
	       json_object_set_new(object, "adapt_reason",
				   json_string("none")) == 0;
}

json_t *
effective_json(const struct pool *pool, uint32_t request_buffer_kib)
{
	json_t *object = json_object();

	if (put_settings(object, &pool->effective.value) &&
	    put_live(object, pool, request_buffer_kib) &&
	    put_adaptation(object) &&
	    json_object_set_new(object, "source", sources(&pool->effective)) ==
		    0)
		return object;
	json_decref(object);
	return NULL;
}

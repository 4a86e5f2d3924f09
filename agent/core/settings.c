/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/settings.h"

#include <assert.h>
#include <string.h>

/* The largest number that the environment may hold at all (contract 3). */
#define ENV_NUMBER_MAX 100000000

/* clang-format off */
const struct setting settings_table[SETTING_COUNT] = {
#define SETTING(kind, name, rule_name, fallback, rule_max, env_max, beyond,    \
		env, env_fallback, unit, help)                                 \
	{ SETTING_##kind, SETTING_##beyond, #name, rule_name, env,             \
	  env_fallback, unit, help, offsetof(struct settings, name), fallback, \
	  rule_max, env_max },
#include "agent/core/settings.def"
#undef SETTING
};
/* clang-format on */

uint32_t
setting_get(const struct settings *s, const struct setting *def)
{
	uint32_t value;

	memcpy(&value, (const char *)s + def->offset, sizeof(value));
	return value;
}

void
setting_set(struct settings *s, const struct setting *def, uint32_t value)
{
	memcpy((char *)s + def->offset, &value, sizeof(value));
}

const struct setting *
setting_find(struct text rule_name)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (text_is_nocase(rule_name, settings_table[i].rule_name))
			return &settings_table[i];
	return NULL;
}

const char *const *
setting_words(enum setting_kind kind)
{
	static const char *const modes[] = { "inherit", "off", "observe",
					     "enforce", NULL };
	static const char *const switches[] = { "inherit", "off", "on", NULL };
	static const char *const follows[] = { "inherit", "off", "on", "sample",
					       NULL };

	switch (kind) {
	case SETTING_MODE:
		return modes;
	case SETTING_SWITCH:
		return switches;
	case SETTING_FOLLOW:
		return follows;
	case SETTING_NUMBER:
		return NULL;
	}
	assert(false && "unknown kind");
	return NULL;
}

const char *
source_name(enum source source)
{
	static const char *const names[] = { "default", "env", "rule" };

	assert(source < ARRAY_LEN(names));
	return names[source];
}

/* The environment's word for a value; "inherit" is none. */
static bool
read_word(const struct setting *def, struct text said, uint32_t *value)
{
	const char *const *words = setting_words(def->kind);

	for (uint32_t i = 1; words[i] != NULL; i++) {
		if (text_is_nocase(said, words[i])) {
			*value = i;
			return true;
		}
	}
	return false;
}

static bool
read_number(const struct setting *def, struct text said, uint32_t *value)
{
	unsigned long long number;

	if (!text_number(said, ENV_NUMBER_MAX, &number))
		return false;
	if (number > def->env_max && def->beyond == SETTING_IGNORE)
		return false;
	*value = number > def->env_max ? def->env_max : (uint32_t)number;
	return true;
}

static bool
read_env(const struct setting *def, const char *said, uint32_t *value)
{
	if (said == NULL)
		return false;
	return def->kind == SETTING_NUMBER
		       ? read_number(def, text_of(said), value)
		       : read_word(def, text_of(said), value);
}

void
settings_env_read(struct settings_env *env, settings_lookup lookup)
{
	memset(env, 0, sizeof(*env));
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		const char *said = lookup(def->env);
		uint32_t value;
		bool found = read_env(def, said, &value);

		env->misread[i] = said != NULL && !found;
		if (!found && def->env_fallback != NULL)
			found = read_env(def, lookup(def->env_fallback),
					 &value);
		if (!found)
			continue;
		setting_set(&env->value, def, value);
		env->declared[i] = true;
	}
	/* A window of no length is no window of trust (contract 3). */
	if (env->value.telemetry_stale_ms == 0)
		env->declared[SETTING_ID_telemetry_stale_ms] = false;
}

static void
resolve_one(struct settings_effective *out, size_t i,
	    const struct settings *declared, const struct settings_env *env)
{
	const struct setting *def = &settings_table[i];
	uint32_t value = setting_get(declared, def);
	enum source source = SOURCE_RULE;

	if (value == 0 && env->declared[i]) {
		value = setting_get(&env->value, def);
		source = SOURCE_ENV;
	} else if (value == 0) {
		value = def->fallback;
		source = SOURCE_DEFAULT;
	}
	setting_set(&out->value, def, value);
	out->source[i] = source;
}

void
settings_resolve(struct settings_effective *out,
		 const struct settings *declared,
		 const struct settings_env *env)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		resolve_one(out, i, declared, env);

	if (out->value.queue_depth > 0 && out->value.queue_wait_ms == 0) {
		out->value.queue_wait_ms = SETTINGS_DEFAULT_WAIT_MS;
		out->source[SETTING_ID_queue_wait_ms] = SOURCE_DEFAULT;
	}
}

const char *
settings_check(const struct settings *declared)
{
	if (declared->queue_depth > 0 && declared->queue_wait_ms == 0)
		return "fc_max_queue_wait_ms must be greater than 0 when "
		       "fc_max_queue_depth is set";
	return NULL;
}

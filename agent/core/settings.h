/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_SETTINGS_H
#define AGENT_CORE_SETTINGS_H

/*
 * The tunables of one rule: what it declares, what the process declares, and
 * what is in force (contract 3, rows 65 to 81).
 *
 * The three are the same struct. On a rule 0 declares nothing; in force every
 * field has its value, so mode is one of MODE_OFF, MODE_OBSERVE, MODE_ENFORCE
 * and a switch is SWITCH_OFF or SWITCH_ON.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/text.h"

enum mode { MODE_INHERIT, MODE_OFF, MODE_OBSERVE, MODE_ENFORCE };
enum switch_state { SWITCH_INHERIT, SWITCH_OFF, SWITCH_ON };

/* How the ceiling follows the engines; SAMPLE steps once per report. */
enum follow { FOLLOW_INHERIT, FOLLOW_OFF, FOLLOW_ON, FOLLOW_SAMPLE };

/* The window where a depth is in force and no window is. */
#define SETTINGS_DEFAULT_WAIT_MS 5000

struct settings {
#define SETTING(kind, name, ...) uint32_t name;
#include "agent/core/settings.def"
#undef SETTING
};

enum setting_id {
#define SETTING(kind, name, ...) SETTING_ID_##name,
#include "agent/core/settings.def"
#undef SETTING
	SETTING_COUNT
};

enum setting_kind {
	SETTING_NUMBER,
	SETTING_MODE,
	SETTING_SWITCH,
	SETTING_FOLLOW,
};

/* What becomes of an environment value above its maximum. */
enum setting_beyond { SETTING_CLAMP, SETTING_IGNORE };

struct setting {
	enum setting_kind kind;
	enum setting_beyond beyond;
	const char *name;      /* as in fc_effective and its source */
	const char *rule_name; /* as on a rule, fc_ first */
	const char *env;
	const char *env_fallback; /* or NULL */
	const char *unit;
	const char *help;
	size_t offset;
	uint32_t fallback; /* in force where nobody declares anything */
	uint32_t rule_max;
	uint32_t env_max;
};

enum source { SOURCE_DEFAULT, SOURCE_ENV, SOURCE_RULE };

/* What the process environment declares; an explicit 0 counts. */
struct settings_env {
	struct settings value;
	bool declared[SETTING_COUNT];
	bool misread[SETTING_COUNT]; /* said, but nothing we understand */
};

/* What is in force, and who said so. */
struct settings_effective {
	struct settings value;
	enum source source[SETTING_COUNT];
};

extern const struct setting settings_table[SETTING_COUNT];

uint32_t setting_get(const struct settings *s, const struct setting *def);
void setting_set(struct settings *s, const struct setting *def, uint32_t value);

/* NULL when no setting of a rule has that name. */
const struct setting *setting_find(struct text rule_name);

/*
 * The words of a kind, index = value, NULL-terminated: index 0 is "inherit".
 * NULL for SETTING_NUMBER.
 */
const char *const *setting_words(enum setting_kind kind);

/* "rule", "env" or "default". */
const char *source_name(enum source source);

/* The value of an environment variable, or NULL where it is not set. */
typedef const char *(*settings_lookup)(const char *name);

/* What cannot be read counts as not set (contract 3). */
void settings_env_read(struct settings_env *env, settings_lookup lookup);

/* Rule over environment over default, setting by setting. */
void settings_resolve(struct settings_effective *out,
		      const struct settings *declared,
		      const struct settings_env *env);

/* The rules that span settings of one rule. NULL, or what is wrong. */
MUST_CHECK const char *settings_check(const struct settings *declared);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/members_json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool
member_bad_word(struct fault *fault, const char *name, const char *const *words)
{
	char list[FAULT_TEXT_MAX] = "";
	size_t len = 0;

	for (size_t i = 0; words[i] != NULL && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					i == 0 ? "" : " ", words[i]);
	return fault_schema(fault, FAULT_WORD,
			    "%s in body should be one of [%s]", name, list);
}

bool
member_bad_type(struct fault *fault, const char *name, const char *type)
{
	return fault_schema(fault, FAULT_TYPE, "%s in body must be of type %s",
			    name, type);
}

bool
member_bad_range(struct fault *fault, const char *name, uint32_t min,
		 uint32_t max)
{
	return fault_set(fault, 400, "%s must be within %u..%u", name, min,
			 max);
}

static bool
fits_string(const char *name, const json_t *value, struct fault *fault)
{
	const char *string = json_string_value(value);

	if (string == NULL)
		return member_bad_type(fault, name, "string");
	if (json_string_length(value) > MEMBER_STRING_MAX)
		return fault_set(fault, 400, "%s must be at most %d bytes",
				 name, MEMBER_STRING_MAX);
	for (const char *c = string; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == '\x7f')
			return fault_set(fault, 400,
					 "%s must not hold control characters",
					 name);
	return true;
}

static bool
fits_word(const struct member *member, const json_t *value, struct fault *fault)
{
	const char *string = json_string_value(value);

	if (string == NULL)
		return member_bad_type(fault, member->name, "string");
	if (string[0] == '\0')
		return true;
	for (size_t i = 0; member->words[i] != NULL; i++)
		if (strcmp(string, member->words[i]) == 0)
			return true;
	return member_bad_word(fault, member->name, member->words);
}

static bool
fits_number(const struct member *member, const json_t *value,
	    struct fault *fault)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return member_bad_type(fault, member->name, "integer");
	if (number < member->min || number > member->max)
		return member_bad_range(fault, member->name, member->min,
					member->max);
	return true;
}

static bool
fits_list(const struct member *member, const json_t *value, struct fault *fault)
{
	if (!json_is_array(value))
		return member_bad_type(fault, member->name, "array");
	if (member->max > 0 && json_array_size(value) > member->max)
		return fault_set(fault, 400, "%s must be at most %u",
				 member->name, member->max);
	return true;
}

static bool
fits(const struct member *member, const json_t *value, struct fault *fault)
{
	switch (member->kind) {
	case MEMBER_STRING:
		return fits_string(member->name, value, fault);
	case MEMBER_WORD:
		return fits_word(member, value, fault);
	case MEMBER_NUMBER:
		return fits_number(member, value, fault);
	case MEMBER_BOOLEAN:
		return json_is_boolean(value) ||
		       member_bad_type(fault, member->name, "boolean");
	case MEMBER_LIST:
		return fits_list(member, value, fault);
	case MEMBER_OBJECT:
		return json_is_object(value) ||
		       member_bad_type(fault, member->name, "object");
	case MEMBER_DROPPED:
		return true;
	}
	assert(0 && "unknown kind of member");
	return false;
}

static bool
is_zero(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return json_string_length(value) == 0;
	case JSON_INTEGER:
		return json_integer_value(value) == 0;
	case JSON_ARRAY:
		return json_array_size(value) == 0;
	case JSON_OBJECT:
		return json_object_size(value) == 0;
	case JSON_FALSE:
	case JSON_NULL:
		return true;
	case JSON_TRUE:
	case JSON_REAL:
		return false;
	}
	return false;
}

const struct member *
members_find(const struct members *members, const char *name)
{
	for (size_t i = 0; i < members->count; i++)
		if (strcasecmp(name, members->table[i].name) == 0)
			return &members->table[i];
	return NULL;
}

static bool
is_skipped(const struct members *members, const char *name)
{
	const char *prefix = members->skipped;

	return prefix != NULL && strncasecmp(name, prefix, strlen(prefix)) == 0;
}

static bool
store(json_t *copy, const char *name, json_t *value, struct fault *fault)
{
	return json_object_set(copy, name, value) == 0 || fault_memory(fault);
}

static bool
take(const struct members *members, json_t *copy, const char *name,
     json_t *value, struct fault *fault)
{
	const struct member *member = members_find(members, name);

	if (json_is_null(value) || is_skipped(members, name))
		return true;
	if (member == NULL)
		return store(copy, name, value, fault);
	if (!fits(member, value, fault))
		return false;
	if (member->kind == MEMBER_DROPPED)
		return true;
	if (member->required || member->kept || !is_zero(value))
		return store(copy, member->name, value, fault);
	json_object_del(copy, member->name);
	return true;
}

static bool
has_required(const struct members *members, const json_t *copy,
	     struct fault *fault)
{
	for (size_t i = 0; i < members->count; i++) {
		const struct member *member = &members->table[i];
		const json_t *value = json_object_get(copy, member->name);

		if (!member->required)
			continue;
		if (value == NULL || (json_is_string(value) && is_zero(value)))
			return fault_set(fault, 400, "%s is required",
					 member->name);
	}
	return true;
}

static bool
take_all(const struct members *members, json_t *copy, json_t *object,
	 struct fault *fault)
{
	const char *name;
	json_t *value;

	json_object_foreach (object, name, value)
		if (!take(members, copy, name, value, fault))
			return false;
	return has_required(members, copy, fault);
}

json_t *
members_read(const struct members *members, json_t *object, struct fault *fault)
{
	json_t *copy = json_object();

	if (copy == NULL) {
		fault_memory(fault);
		return NULL;
	}
	if (!take_all(members, copy, object, fault)) {
		json_decref(copy);
		return NULL;
	}
	return copy;
}

uint32_t
member_number(const json_t *object, const char *name)
{
	return (uint32_t)json_integer_value(json_object_get(object, name));
}

const char *
member_string(const json_t *object, const char *name)
{
	const char *string = json_string_value(json_object_get(object, name));

	return string == NULL ? "" : string;
}

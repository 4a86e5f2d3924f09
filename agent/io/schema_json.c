/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/schema_json.h"

#include <assert.h>
#include <stddef.h>

#define REFERENCE "#/definitions/"

/* What fits_string() of members_json.c takes. */
#define NO_CONTROLS "^[^\\u0000-\\u001f\\u007f]*$"

json_t *
schema_ref(const struct members *members)
{
	return json_pack("{s:s+}", "$ref", REFERENCE, members->name);
}

json_t *
schema_words(const char *const *words)
{
	json_t *list = json_array();

	for (size_t i = 0; words[i] != NULL; i++) {
		if (json_array_append_new(list, json_string(words[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

/* ---- one member ---- */

/* Takes both, of which each may be NULL for want of memory. */
static json_t *
with(json_t *schema, const char *name, json_t *value)
{
	if (json_object_set_new(schema, name, value) == 0)
		return schema;
	json_decref(schema);
	return NULL;
}

static json_t *
with_text(json_t *schema, const char *name, const char *text)
{
	return text == NULL ? schema : with(schema, name, json_string(text));
}

static json_t *
with_bound(json_t *schema, const char *name, uint32_t bound)
{
	return bound == 0 ? schema : with(schema, name, json_integer(bound));
}

static json_t *
of_string(const struct member *member, bool open)
{
	if (!open)
		return with_text(json_pack("{s:s}", "type", "string"), "format",
				 member->format);
	return json_pack("{s:s, s:s, s:i, s:i}", "type", "string", "pattern",
			 NO_CONTROLS, "minLength", (int)member->required,
			 "maxLength", MEMBER_STRING_MAX);
}

/* Where it may be left out, no word is as good as none of it. */
static json_t *
of_word(const struct member *member, bool open)
{
	json_t *schema = schema_words(member->words);

	if (!open || member->required ||
	    json_array_append_new(json_object_get(schema, "enum"),
				  json_string("")) == 0)
		return schema;
	json_decref(schema);
	return NULL;
}

static json_t *
of_number(const struct member *member)
{
	json_t *schema = json_pack("{s:s, s:I}", "type", "integer", "minimum",
				   (json_int_t)member->min);

	return with_bound(schema, "maximum", member->max);
}

static json_t *
of_list(const struct member *member)
{
	json_t *items = member->of != NULL ? schema_ref(member->of)
					   : with_text(json_object(), "type",
						       member->format);
	json_t *schema =
		json_pack("{s:s, s:o}", "type", "array", "items", items);

	return with_bound(schema, "maxItems", member->max);
}

static json_t *
of_object(const struct member *member)
{
	if (member->of != NULL)
		return schema_ref(member->of);
	return json_pack("{s:s}", "type", "object");
}

/* Only answers have it. */
static json_t *
of_dropped(const struct member *member)
{
	if (member->of != NULL)
		return schema_ref(member->of);
	return json_pack("{s:b}", "readOnly", 1);
}

static json_t *
of_kind(const struct member *member, bool open)
{
	switch (member->kind) {
	case MEMBER_STRING:
		return of_string(member, open);
	case MEMBER_WORD:
		return of_word(member, open);
	case MEMBER_NUMBER:
		return of_number(member);
	case MEMBER_BOOLEAN:
		return json_pack("{s:s}", "type", "boolean");
	case MEMBER_LIST:
		return of_list(member);
	case MEMBER_OBJECT:
		return of_object(member);
	case MEMBER_DROPPED:
		return of_dropped(member);
	}
	assert(0 && "unknown kind of member");
	return NULL;
}

json_t *
schema_member(const struct member *member, bool open)
{
	json_t *schema = of_kind(member, open);

	/* Beside a reference nothing counts. */
	if (json_object_get(schema, "$ref") != NULL)
		return schema;
	return with_text(schema, "description", member->help);
}

/* ---- an object ---- */

bool
schema_add(json_t *schema, const char *name, json_t *member, bool required)
{
	json_t *properties = json_object_get(schema, "properties");
	json_t *list = json_object_get(schema, "required");

	if (json_object_set_new(properties, name, member) != 0)
		return false;
	if (!required)
		return true;
	if (list == NULL) {
		list = json_array();
		if (json_object_set_new(schema, "required", list) != 0)
			return false;
	}
	return json_array_append_new(list, json_string(name)) == 0;
}

static bool
add_table(json_t *schema, const struct members *members)
{
	for (size_t i = 0; i < members->count; i++) {
		const struct member *member = &members->table[i];

		if (!schema_add(schema, member->name,
				schema_member(member, !members->closed),
				member->required))
			return false;
	}
	return true;
}

static bool
fill(json_t *schema, const struct members *members)
{
	return add_table(schema, members) &&
	       (members->describe == NULL || members->describe(schema)) &&
	       (!members->closed ||
		json_object_set_new(schema, "additionalProperties",
				    json_false()) == 0);
}

/* Objects refer to others in few levels, and never back. */
static bool
define_inner(json_t *definitions, const struct members *members)
{
	for (size_t i = 0; i < members->count; i++)
		if (members->table[i].of != NULL &&
		    !schema_define(definitions, members->table[i].of))
			return false;
	return true;
}

bool
schema_define(json_t *definitions, const struct members *members)
{
	json_t *schema;

	if (json_object_get(definitions, members->name) != NULL)
		return true;
	schema = json_pack("{s:s, s:{}}", "type", "object", "properties");
	if (json_object_set_new(definitions, members->name, schema) != 0)
		return false;
	return fill(schema, members) && define_inner(definitions, members);
}

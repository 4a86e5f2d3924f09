/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_call.h"

#include <stdlib.h>
#include <string.h>

#include "agent/io/whole_json.h"
#include <time.h>

#include "agent/io/members_json.h"

#define DATE_MAX 32

static const char *const method_names[] = {
	[API_GET] = "GET",  [API_HEAD] = "HEAD",   [API_POST] = "POST",
	[API_PUT] = "PUT",  [API_PATCH] = "PATCH", [API_DELETE] = "DELETE",
	[API_OTHER] = NULL,
};

const char *
api_method_name(enum api_method method)
{
	return method_names[method];
}

enum api_method
api_method_of(const char *name)
{
	for (unsigned i = 0; method_names[i] != NULL; i++)
		if (strcmp(name, method_names[i]) == 0)
			return (enum api_method)i;
	return API_OTHER;
}

/* -1 for what is no hexadecimal digit. */
static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The byte that %XY stands for, or 0 where it stands for none we take. */
static char
unescape(const char *at, size_t len)
{
	int high = len > 2 ? hex(at[1]) : -1;
	int low = len > 2 ? hex(at[2]) : -1;

	if (high < 0 || low < 0)
		return '\0';
	return (char)(high * 16 + low);
}

bool
api_call_decode(const struct api_call *call, struct text *value)
{
	char *to;
	size_t len = 0;

	if (value->len == 0)
		return true;
	to = call->target + (value->at - call->target);
	for (size_t i = 0; i < value->len; i++) {
		char c = to[i];

		if (c == '%') {
			c = unescape(to + i, value->len - i);
			i += 2;
		}
		if (c == '\0')
			return false;
		to[len++] = c;
	}
	value->len = len;
	return true;
}

/* In a query, as opposed to a path, a plus is a blank. */
static bool
decode_query(const struct api_call *call, struct text *value)
{
	for (size_t i = 0; i < value->len; i++) {
		char *c = call->target + (value->at - call->target) + i;

		if (*c == '+')
			*c = ' ';
	}
	return api_call_decode(call, value);
}

bool
api_call_target(struct api_call *call, char *target)
{
	struct text query = text_of(target);

	call->target = target;
	call->path = text_cut(&query, '?');
	call->query_count = 0;
	while (query.len > 0) {
		struct text value = text_cut(&query, '&');
		struct text name = text_cut(&value, '=');

		if (call->query_count == API_QUERY_MAX ||
		    !decode_query(call, &name) || !decode_query(call, &value))
			return false;
		call->query[call->query_count++] =
			(struct api_pair){ name, value };
	}
	return true;
}

static struct text
find(const struct api_pair *pairs, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (text_is(pairs[i].name, name))
			return pairs[i].value;
	return text_of(NULL);
}

struct text
api_call_part(const struct api_call *call, const char *name)
{
	return find(call->part, call->part_count, name);
}

struct text
api_call_query(const struct api_call *call, const char *name)
{
	return find(call->query, call->query_count, name);
}

void
api_answer_json(struct api_answer *answer, unsigned status, json_t *json)
{
	answer->status = status;
	answer->type = "application/json";
	answer->body = whole_json(json, 0, &answer->len);
	json_decref(json);
}

static const char *const success_words[] = { "Success", NULL };

static const struct member success_table[] = {
	{ "result", .kind = MEMBER_WORD, .required = true,
	  .words = success_words },
};

const struct members api_success = {
	.name = "Success",
	.table = success_table,
	.count = ARRAY_LEN(success_table),
	.closed = true,
};

void
api_answer_success(struct api_answer *answer)
{
	api_answer_json(
		answer, 200,
		json_pack("{s:s}", success_table[0].name, success_words[0]));
}

void
api_answer_fault(struct api_answer *answer, const struct fault *fault)
{
	api_answer_json(answer, fault->status, fault_json(fault));
}

void
api_answer_error(struct api_answer *answer, unsigned status, const char *result)
{
	struct fault fault;

	fault_set(&fault, status, "%s", result);
	api_answer_fault(answer, &fault);
}

json_t *
api_date(int64_t wall)
{
	time_t seconds = (time_t)wall;
	char text[DATE_MAX];
	struct tm utc;

	if (gmtime_r(&seconds, &utc) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		return NULL;
	return json_string(text);
}

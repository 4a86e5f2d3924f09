/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/fault_json.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/io/members_json.h"

#define STATUS_SCHEMA 422

static const struct member fault_table[] = {
	{ "code", .kind = MEMBER_NUMBER, .required = true, .min = 400,
	  .max = 599, .help = "The status." },
	{ "message", .kind = MEMBER_STRING, .required = true,
	  .help = "The fixed text of a status." },
	{ "result", .kind = MEMBER_STRING, .required = true,
	  .help = "What is wrong." },
};

static const struct member fault_schema_table[] = {
	{ "code", .kind = MEMBER_NUMBER, .required = true, .min = FAULT_TYPE,
	  .max = FAULT_WORD, .help = "601: the type; 606: the word." },
	{ "message", .kind = MEMBER_STRING, .required = true,
	  .help = "Which member is wrong, and what it may be." },
};

const struct members fault_members = {
	.name = "Fault",
	.table = fault_table,
	.count = ARRAY_LEN(fault_table),
	.closed = true,
};

const struct members fault_schema_members = {
	.name = "SchemaFault",
	.table = fault_schema_table,
	.count = ARRAY_LEN(fault_schema_table),
	.closed = true,
};

static void fill(struct fault *fault, unsigned status, unsigned code,
		 const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

static void
fill(struct fault *fault, unsigned status, unsigned code, const char *format,
     va_list args)
{
	fault->status = status;
	fault->code = code;
	vsnprintf(fault->text, sizeof(fault->text), format, args);
}

bool
fault_set(struct fault *fault, unsigned status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(fault, status, status, format, args);
	va_end(args);
	return false;
}

bool
fault_schema(struct fault *fault, unsigned code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(fault, STATUS_SCHEMA, code, format, args);
	va_end(args);
	return false;
}

bool
fault_memory(struct fault *fault)
{
	return fault_set(fault, 500, "out of memory");
}

/* The fixed text of a status; what is particular stands in result. */
static const char *
message_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *message;
	} table[] = {
		{ 400, "Malformed arguments for API call" },
		{ 401, "Invalid authentication credentials" },
		{ 403, "Capacity insufficient" },
		{ 404, "Resource not found" },
		{ 405, "Method not allowed" },
		{ 409, "Resource conflict: Resource already exists OR "
		       "dependency not found" },
		{ 413, "Request body too large" },
		{ 503, "Maintenance mode" },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].status == status)
			return table[i].message;
	return "Internal service error";
}

json_t *
fault_json(const struct fault *fault)
{
	if (fault->status == STATUS_SCHEMA)
		return json_pack("{s:I, s:s}", "code", (json_int_t)fault->code,
				 "message", fault->text);
	return json_pack("{s:I, s:s, s:s}", "code", (json_int_t)fault->code,
			 "message", message_of(fault->status), "result",
			 fault->text);
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_FAULT_JSON_H
#define AGENT_IO_FAULT_JSON_H

/*
 * Why a request of the REST side is refused, in the words and numbers of
 * contract 1: {"code", "message", "result"}, or {"code", "message"} where the
 * body breaks its schema (interface 6.21).
 */

#include <jansson.h>
#include <stdbool.h>

#include "agent/core/base.h"

#define FAULT_TEXT_MAX 160

/* What a body may break of its schema, with the code that says so. */
#define FAULT_TYPE 601
#define FAULT_WORD 606

struct members;

/* The two forms of the answer. */
extern const struct members fault_members;
extern const struct members fault_schema_members;

struct fault {
	unsigned status; /* HTTP */
	unsigned code;   /* in the body; differs from status for 422 only */
	char text[FAULT_TEXT_MAX];
};

/*
 * All return false, so that a check can end with them. The text is ours,
 * never the client's, so it is always valid in JSON.
 */
bool fault_set(struct fault *fault, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool fault_schema(struct fault *fault, unsigned code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool fault_memory(struct fault *fault);

/* The body of the answer. The caller owns it; NULL without memory. */
MUST_CHECK json_t *fault_json(const struct fault *fault);

#endif

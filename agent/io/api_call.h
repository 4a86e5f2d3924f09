/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_CALL_H
#define AGENT_IO_API_CALL_H

/*
 * One call of the REST side and its answer, without HTTP: what the handlers
 * of api_route.c work on.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/text.h"
#include "agent/io/fault_json.h"

struct api_options;
struct members;
struct rules_change;

#define API_BODY_MAX ((size_t)1 << 20)
#define API_QUERY_MAX 16
#define API_PARTS_MAX 8

enum api_method {
	API_GET,
	API_HEAD,
	API_POST,
	API_PUT,
	API_PATCH,
	API_DELETE,
	API_OTHER,
};

/* NULL for API_OTHER. */
const char *api_method_name(enum api_method method);
enum api_method api_method_of(const char *name);

struct api_pair {
	struct text name;
	struct text value;
};

struct api_call {
	enum api_method method;
	char *target;     /* borrowed; values are decoded in it */
	struct text path; /* not decoded */
	struct api_pair query[API_QUERY_MAX];
	size_t query_count;
	struct api_pair part[API_PARTS_MAX]; /* of the path, by its pattern */
	size_t part_count;
	struct text body;

	/* of the headers; empty where it is not there */
	struct text authorization, host, origin;

	const struct api_options *options; /* borrowed */
	bool ready;
	usec_t now;
	struct rules_change *change; /* borrowed; what a write plans */
};

/*
 * Takes the target of a request apart. False where it cannot be read: bad
 * percent-encoding, a NUL, or more than API_QUERY_MAX pairs.
 */
MUST_CHECK bool api_call_target(struct api_call *call, char *target);

/* Decodes a value that lies in target, in place. False where it is bad. */
MUST_CHECK bool api_call_decode(const struct api_call *call,
				struct text *value);

/* A part of the path or a value of the query; empty where it is not there. */
struct text api_call_part(const struct api_call *call, const char *name);
struct text api_call_query(const struct api_call *call, const char *name);

struct api_answer {
	unsigned status;  /* 0: none yet */
	const char *type; /* borrowed for good */
	char *body;       /* owned; NULL where there was no memory for it */
	size_t len;
	unsigned allow;       /* of 405: 1 << method for each */
	unsigned retry_after; /* seconds; 0 for none */
};

/* Takes json, which may be NULL for want of memory. */
void api_answer_json(struct api_answer *answer, unsigned status, json_t *json);

/* {"result":"Success"} */
extern const struct members api_success;
void api_answer_success(struct api_answer *answer);

void api_answer_fault(struct api_answer *answer, const struct fault *fault);
void api_answer_error(struct api_answer *answer, unsigned status,
		      const char *result);

/* Seconds of wall time as RFC 3339 has them. NULL without memory. */
MUST_CHECK json_t *api_date(int64_t wall);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_MEMBERS_JSON_H
#define AGENT_IO_MEMBERS_JSON_H

/*
 * The members of a JSON object by a table: which we know, of which type and
 * range. Names are matched without regard to case.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/io/fault_json.h"

/* The longest string of a known member, in bytes. */
#define MEMBER_STRING_MAX 1024

enum member_kind {
	MEMBER_STRING, /* without control characters */
	MEMBER_WORD,   /* a string of words, or empty */
	MEMBER_NUMBER, /* a whole one, from min to max */
	MEMBER_BOOLEAN,
	MEMBER_LIST,
	MEMBER_OBJECT,
	MEMBER_DROPPED, /* whatever it is, it is not taken over */
};

struct members;

struct member {
	const char *name;
	enum member_kind kind;
	bool required;
	bool kept;                /* also where it is zero */
	uint32_t min, max;        /* of a number; the most of a list, or 0 */
	const char *const *words; /* NULL-terminated */

	/* For its description only. */
	const struct members *of; /* an object's, or of each in a list */
	const char *format;       /* of a string; the type of each in a list */
	const char *help;
};

/* An object by its table: one we read or, closed, one that we write. */
struct members {
	const char *name; /* of its schema */
	const struct member *table;
	size_t count;
	const char *skipped; /* how names begin that others read, or NULL */
	bool (*describe)(json_t *schema); /* adds those to a schema, or NULL */
	bool closed;                      /* nothing else is in it */
};

/*
 * A copy of object as the table has it: known members in the table's
 * spelling, left out where null or, unless required or kept, the zero of
 * their type; all others as they are, left out where null. Of known members
 * that differ in case only the last counts. A required string is not empty.
 * NULL, and *fault set, where the object breaks the table; the caller owns
 * the copy, which shares its values with object.
 */
MUST_CHECK json_t *members_read(const struct members *members, json_t *object,
				struct fault *fault);

/* The row of that name, in any case, or NULL. */
const struct member *members_find(const struct members *members,
				  const char *name);

/* Of a member that was read; 0 and "" where it is left out. */
uint32_t member_number(const json_t *object, const char *name);
const char *member_string(const json_t *object, const char *name);

/* The faults of a value, for readers of further members. All return false. */
bool member_bad_word(struct fault *fault, const char *name,
		     const char *const *words);
bool member_bad_type(struct fault *fault, const char *name, const char *type);
bool member_bad_range(struct fault *fault, const char *name, uint32_t min,
		      uint32_t max);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_TEXT_H
#define AGENT_CORE_TEXT_H

/*
 * A view of bytes that somebody else owns, not terminated. An absent text and
 * an empty one are the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	const char *at; /* borrowed */
	size_t len;
};

/* A view of a terminated string; NULL gives the empty text. */
struct text text_of(const char *string);

bool text_equals(struct text a, struct text b);

/* Whether a is the terminated string b. */
bool text_is(struct text a, const char *b);

/* ASCII letters compare equal in either case. */
bool text_is_nocase(struct text a, const char *b);

/*
 * Cuts the text at its first sep: the part before it is returned, *rest keeps
 * what is behind it (nothing when sep is not there).
 */
struct text text_cut(struct text *rest, char sep);

/*
 * Reads a plain decimal number that fills the whole text and is at most max.
 * Signs, blanks and an empty text are refused. *value is set on success only.
 */
bool text_number(struct text t, unsigned long long max,
		 unsigned long long *value);

/* Room that text_host_port() needs beyond the length of host. */
#define TEXT_PORT_MAX 7

/* Writes "host:port", terminated, to out, which has room for it. */
void text_host_port(char *out, const char *host, uint16_t port);

#endif

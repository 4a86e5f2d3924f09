/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_SHAPE_H
#define TESTS_ENGINE_SHAPE_H

/* The answers of an OpenAI-like server, one row for each of its paths. */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"

struct evbuffer;

struct shape {
	const char *method;
	const char *path;
	bool inference;
	bool streams;       /* whether or not the body asks for it */
	const char *before; /* the whole answer, up to the words */
	const char *after;  /* and behind them */
	const char *event;  /* a streamed event with one word */
};

/* NULL when there is nothing at that path. Slashes at its end do not count. */
const struct shape *shape_find(const char *method, const char *path);

/* Appends the whole answer, of so many words. */
void shape_whole(const struct shape *shape, uint32_t words,
		 struct evbuffer *out);

#define SHAPE_WORD "lorem "

#endif

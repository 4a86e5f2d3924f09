/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_LOG_FRAME_H
#define AGENT_CORE_LOG_FRAME_H

/*
 * Lines in a stream of bytes, each either counted ("12 <14>hello wor", RFC
 * 6587) or ended by a newline.
 *
 * A message is counted if it begins with a count of at most LOG_LINE_MAX, a
 * space, and so many bytes with no newline but as the last of them, and if
 * what follows may begin another. So a line that begins with a number is a
 * line all the same, unless the number happens to fit.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/text.h"

/* The longest line; longer ones are skipped. */
#define LOG_LINE_MAX 8192

/* With this many bytes at hand, log_frame_next() always uses some. */
#define LOG_FRAME_MAX (LOG_LINE_MAX + 8)

/* Set to zero at the beginning of a stream. */
struct log_frame {
	bool skipping;  /* to the next newline */
	size_t skipped; /* bytes so far, since the last line */
};

/*
 * Takes the next message from the front of bytes. Returns how many of them
 * are used up, 0 if more are needed. *line is a view into bytes without its
 * end (newline, CR, NUL), empty where what was used is no line.
 */
size_t log_frame_next(struct log_frame *frame, struct text bytes,
		      struct text *line);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/log_frame.h"

#include <string.h>

#include "agent/core/log_line.h"

/* The digits of LOG_LINE_MAX. */
#define COUNT_DIGITS 4

/* How many bytes a count and its space take; 0 where there is none. */
static size_t
read_count(struct text bytes, size_t *count)
{
	struct text head = bytes;
	unsigned long long number;

	if (head.len > COUNT_DIGITS + 1)
		head.len = COUNT_DIGITS + 1;
	if (head.len == 0 || head.at[0] == '0' ||
	    memchr(head.at, ' ', head.len) == NULL)
		return 0;
	head = text_cut(&head, ' ');
	if (!text_number(head, LOG_LINE_MAX, &number))
		return 0;
	*count = (size_t)number;
	return head.len + 1;
}

/*
 * Whether the message at the front ends after len bytes: at the first newline
 * or before it, with nothing behind that could not begin another.
 */
static bool
ends_at(struct text bytes, size_t newline, size_t len)
{
	char next;

	if (bytes.len < len || newline + 1 < len)
		return false;
	if (newline + 1 == len || bytes.len == len)
		return true;
	next = bytes.at[len];
	return next == '<' || next == '\n' || (next >= '0' && next <= '9');
}

static size_t
take(struct log_frame *frame, struct text line, size_t used, struct text *out)
{
	*out = log_line_trim(line);
	frame->skipping = false;
	frame->skipped = 0;
	return used;
}

/* Drops what is at hand, up to the newline at end if there is one. */
static size_t
skip(struct log_frame *frame, struct text bytes, const char *end)
{
	size_t used = bytes.len;

	if (end != NULL)
		used = (size_t)(end - bytes.at) + 1;
	frame->skipping = end == NULL;
	frame->skipped += used;
	return used;
}

size_t
log_frame_next(struct log_frame *frame, struct text bytes, struct text *line)
{
	size_t count = 0, head, len = bytes.len;
	const char *newline = NULL;

	*line = (struct text){ NULL, 0 };
	if (bytes.len > 0)
		newline = memchr(bytes.at, '\n', bytes.len);
	if (newline != NULL)
		len = (size_t)(newline - bytes.at);
	if (frame->skipping)
		return skip(frame, bytes, newline);

	head = read_count(bytes, &count);
	if (head > 0 && ends_at(bytes, len, head + count))
		return take(frame, (struct text){ bytes.at + head, count },
			    head + count, line);
	if (len > LOG_LINE_MAX && (newline != NULL || len >= LOG_FRAME_MAX))
		return skip(frame, bytes, newline);
	if (newline == NULL)
		return 0;
	return take(frame, (struct text){ bytes.at, len }, len + 1, line);
}

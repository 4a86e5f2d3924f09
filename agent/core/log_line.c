/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/log_line.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "agent/core/base.h"

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	{ "id", offsetof(struct log_line, id) },
	{ "permit", offsetof(struct log_line, permit) },
	{ "verdict", offsetof(struct log_line, verdict) },
};

struct text
log_line_trim(struct text line)
{
	while (line.len > 0 && memchr("\r\n", line.at[line.len - 1], 3) != NULL)
		line.len--;
	return line;
}

/* "<134>", which may stand right before the word. */
static void
pass_priority(struct text *line)
{
	if (line->len > 0 && line->at[0] == '<' &&
	    memchr(line->at, '>', line->len) != NULL)
		text_cut(line, '>');
}

/* What follows the last word "admission". */
static bool
find_fields(struct text line, struct text *rest)
{
	bool found = false;

	while (line.len > 0) {
		if (text_is(text_cut(&line, ' '), "admission")) {
			*rest = line;
			found = true;
		}
	}
	return found;
}

static void
store(struct log_line *line, size_t offset, struct text value)
{
	if (!text_is(value, "-"))
		memcpy((char *)line + offset, &value, sizeof(value));
}

/* *taken has a bit for each field taken before. */
static bool
take(struct log_line *line, struct text word, unsigned *taken)
{
	struct text key;

	if (memchr(word.at, '=', word.len) == NULL)
		return false;
	key = text_cut(&word, '=');
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!text_is(key, fields[i].key))
			continue;
		if (*taken & (1U << i))
			return false;
		*taken |= 1U << i;
		store(line, fields[i].offset, word);
	}
	return true;
}

bool
log_line_parse(struct text line, struct log_line *out)
{
	struct log_line found = { 0 };
	struct text rest;
	unsigned taken = 0;

	pass_priority(&line);
	if (!find_fields(line, &rest))
		return false;
	while (rest.len > 0) {
		struct text word = text_cut(&rest, ' ');

		if (word.len > 0 && !take(&found, word, &taken))
			return false;
	}
	if (found.id.len == 0)
		return false;
	*out = found;
	return true;
}

/* Keeps in *line what stands before its last word. */
static struct text
cut_last(struct text *line)
{
	struct text last;
	size_t at = line->len;

	while (at > 0 && line->at[at - 1] != ' ')
		at--;
	last = (struct text){ line->at + at, line->len - at };
	line->len = at > 0 ? at - 1 : 0;
	return last;
}

unsigned long long
log_line_dropped(struct text line)
{
	unsigned long long count;
	struct text word;

	if (line.len == 0 || !text_is(cut_last(&line), "dropped"))
		return 0;
	word = cut_last(&line);
	if (!text_is(word, "event") && !text_is(word, "events"))
		return 0;
	if (!text_number(cut_last(&line), UINT_MAX, &count))
		return 0;
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/engine_metrics.h"

#include <string.h>

#include "agent/core/base.h"

/* The first one that has a count is taken. */
static const struct family {
	const char *name;
	const char *label; /* or NULL: whatever its labels are */
	const char *value;
} families[] = {
	{ "vllm:num_requests_waiting", NULL, NULL },
	{ "sglang:num_queue_reqs", NULL, NULL },
	{ "sglang_num_queue_reqs", NULL, NULL },
	{ "tgi_queue_size", NULL, NULL },
	{ "nv_trt_llm_request_metrics", "request_type", "waiting" },
	{ "trtllm_num_requests_waiting", NULL, NULL },
	{ "nv_inference_pending_request_count", NULL, NULL },
	{ "llamacpp:requests_deferred", NULL, NULL },
};

_Static_assert(ARRAY_LEN(families) == ENGINE_FAMILIES, "one sum each");

/* ---- numbers ---- */

#define COUNT_MAX 1e9

static void
skip(struct text *t, size_t n)
{
	t->at += n;
	t->len -= n;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
read_exponent(struct text *t)
{
	bool minus = t->len > 0 && t->at[0] == '-';
	int exponent = 0;

	if (t->len > 0 && (minus || t->at[0] == '+'))
		skip(t, 1);
	if (t->len == 0)
		return 0;
	for (; t->len > 0 && is_digit(t->at[0]); skip(t, 1))
		if (exponent < 1000)
			exponent = exponent * 10 + (t->at[0] - '0');
	return minus ? -exponent : exponent;
}

static double
scale(double number, int exponent)
{
	for (; exponent > 0 && number < COUNT_MAX; exponent--)
		number *= 10;
	for (; exponent < 0 && number > 0; exponent++)
		number /= 10;
	return number;
}

/* More digits than that say nothing more. */
#define MANTISSA_MAX 1e15

/* The digits up to an exponent; *digits counts them. */
static double
read_mantissa(struct text *t, int *digits, int *exponent)
{
	double number = 0;
	bool behind = false;

	*digits = 0;
	*exponent = 0;
	for (; t->len > 0; skip(t, 1)) {
		char c = t->at[0];

		if (c == '.' && !behind) {
			behind = true;
			continue;
		}
		if (!is_digit(c))
			break;
		++*digits;
		if (number < MANTISSA_MAX) {
			number = number * 10 + (c - '0');
			*exponent -= behind ? 1 : 0;
		} else {
			*exponent += behind ? 0 : 1;
		}
	}
	return number;
}

enum number { NUMBER_COUNT, NUMBER_NONE, NUMBER_WRONG };

static bool
is_no_count(struct text t)
{
	static const char *const words[] = { "nan",      "inf",
					     "+inf",     "-inf",
					     "infinity", "+infinity",
					     "-infinity" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (text_is_nocase(t, words[i]))
			return true;
	return false;
}

/* NUMBER_NONE for what is a value but no count. */
static enum number
read_number(struct text t, uint64_t *count)
{
	bool minus = t.len > 0 && t.at[0] == '-';
	int digits, exponent;
	double number;

	if (is_no_count(t))
		return NUMBER_NONE;
	if (minus || (t.len > 0 && t.at[0] == '+'))
		skip(&t, 1);
	number = read_mantissa(&t, &digits, &exponent);
	if (digits == 0)
		return NUMBER_WRONG;
	if (t.len > 0 && (t.at[0] == 'e' || t.at[0] == 'E')) {
		skip(&t, 1);
		exponent += read_exponent(&t);
	}
	if (t.len > 0)
		return NUMBER_WRONG;
	number = scale(number, exponent);
	if (number > COUNT_MAX)
		number = COUNT_MAX;
	*count = (uint64_t)number;
	if ((double)*count < number)
		++*count;
	return minus && *count > 0 ? NUMBER_NONE : NUMBER_COUNT;
}

/* ---- lines ---- */

static bool
is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       is_digit(c) || c == '_' || c == ':';
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void
skip_blanks(struct text *t)
{
	while (t->len > 0 && is_blank(t->at[0]))
		skip(t, 1);
}

static struct text
cut_word(struct text *t, bool (*belongs)(char c))
{
	struct text word = { t->at, 0 };

	for (; t->len > 0 && belongs(t->at[0]); skip(t, 1))
		word.len++;
	return word;
}

/* A quoted value, its escapes as they are written. False where it is open. */
static bool
cut_quoted(struct text *t, struct text *value)
{
	if (t->len == 0 || t->at[0] != '"')
		return false;
	skip(t, 1);
	*value = (struct text){ t->at, 0 };
	while (t->len > 0 && t->at[0] != '"') {
		size_t n = t->at[0] == '\\' && t->len > 1 ? 2 : 1;

		value->len += n;
		skip(t, n);
	}
	if (t->len == 0)
		return false;
	skip(t, 1);
	return true;
}

static bool
cut_label(struct text *t, struct text *name, struct text *value)
{
	skip_blanks(t);
	*name = cut_word(t, is_name_char);
	skip_blanks(t);
	if (t->len == 0 || t->at[0] != '=')
		return false;
	skip(t, 1);
	skip_blanks(t);
	if (!cut_quoted(t, value))
		return false;
	skip_blanks(t);
	return true;
}

/* The labels in their braces, if any; *fits: they are those of the family. */
static bool
cut_labels(const struct family *f, struct text *t, bool *fits)
{
	struct text name, value;

	*fits = f->label == NULL;
	skip_blanks(t);
	if (t->len == 0 || t->at[0] != '{')
		return true;
	skip(t, 1);
	skip_blanks(t);
	while (t->len > 0 && t->at[0] != '}') {
		if (!cut_label(t, &name, &value))
			return false;
		if (f->label != NULL && text_is(name, f->label) &&
		    text_is(value, f->value))
			*fits = true;
		if (t->len > 0 && t->at[0] == ',')
			skip(t, 1);
		else if (t->len == 0 || t->at[0] != '}')
			return false;
		skip_blanks(t);
	}
	if (t->len == 0)
		return false;
	skip(t, 1);
	return true;
}

static bool
is_no_blank(char c)
{
	return !is_blank(c);
}

/* False for a malformed line of a family of ours. */
static bool
take_sample(struct engine_metrics *m, size_t family, struct text rest)
{
	uint64_t count = 0;
	bool fits;

	if (!cut_labels(&families[family], &rest, &fits))
		return false;
	skip_blanks(&rest);
	switch (read_number(cut_word(&rest, is_no_blank), &count)) {
	case NUMBER_WRONG:
		return false;
	case NUMBER_NONE:
		return true;
	case NUMBER_COUNT:
		break;
	}
	if (fits) {
		m->counted[family] = true;
		m->sum[family] += count;
	}
	return true;
}

/* The family of a name, or ENGINE_FAMILIES. */
static size_t
family_of(struct text name)
{
	size_t i;

	for (i = 0; i < ENGINE_FAMILIES; i++)
		if (text_is(name, families[i].name))
			break;
	return i;
}

static void
take_line(struct engine_metrics *m, struct text line)
{
	struct text name;
	size_t family;

	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	skip_blanks(&line);
	/* A comment, or a name that is quoted, which none of ours is. */
	if (line.len == 0 || line.at[0] == '#' || line.at[0] == '{')
		return;
	name = cut_word(&line, is_name_char);
	if (name.len == 0 || line.len == 0 ||
	    (line.at[0] != '{' && !is_blank(line.at[0]))) {
		m->broken = true;
		return;
	}
	family = family_of(name);
	if (family < ENGINE_FAMILIES && !take_sample(m, family, line))
		m->broken = true;
}

/* Its beginning stands in m->line; only one of ours would be missed. */
static void
pass_long_line(struct engine_metrics *m)
{
	struct text begin = { m->line, m->len };
	struct text name;

	skip_blanks(&begin);
	name = cut_word(&begin, is_name_char);
	m->broken = m->broken || family_of(name) < ENGINE_FAMILIES;
	m->passing = true;
	m->len = 0;
}

static void
keep(struct engine_metrics *m, struct text part)
{
	size_t room = ENGINE_LINE_MAX - m->len;

	if (m->passing || part.len == 0)
		return;
	memcpy(m->line + m->len, part.at, part.len < room ? part.len : room);
	m->len += part.len < room ? part.len : room;
	if (part.len > room)
		pass_long_line(m);
}

static void
end_line(struct engine_metrics *m)
{
	if (!m->passing)
		take_line(m, (struct text){ m->line, m->len });
	m->passing = false;
	m->len = 0;
}

void
engine_metrics_begin(struct engine_metrics *m)
{
	memset(m, 0, sizeof(*m));
}

void
engine_metrics_feed(struct engine_metrics *m, struct text piece)
{
	while (piece.len > 0) {
		const char *end = memchr(piece.at, '\n', piece.len);

		keep(m, text_cut(&piece, '\n'));
		if (end != NULL)
			end_line(m);
	}
}

enum engine_result
engine_metrics_end(struct engine_metrics *m, uint32_t *waiting)
{
	end_line(m);
	if (m->broken)
		return ENGINE_UNPARSEABLE;
	for (size_t i = 0; i < ENGINE_FAMILIES; i++) {
		if (!m->counted[i])
			continue;
		*waiting = m->sum[i] > UINT32_MAX ? UINT32_MAX
						  : (uint32_t)m->sum[i];
		return ENGINE_COUNTED;
	}
	return ENGINE_UNKNOWN;
}

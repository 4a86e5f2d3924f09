/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/rules_text.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/core/index.h"
#include "agent/io/log.h"
#include "agent/io/rules_json.h"

#define MAGIC "{\"version\":"
#define VERSION "1"
#define HEAD MAGIC VERSION ",\"digest\":\""
#define COUNT "\",\"count\":"
#define LIST ",\"lbAttr\":[\n"
#define END "]}\n"

#define DIGEST_LEN 16
#define DIGEST_AT (sizeof(HEAD) - 1)
#define DIGESTED_AT (DIGEST_AT + DIGEST_LEN)

#define COUNT_MAX 20 /* digits */

/* ---- written ---- */

/*
 * The rules of a text, one after the other. A text is written by going over
 * them twice: once for its length, once for its bytes.
 */
struct sink {
	char *at; /* NULL: it is only measured */
	size_t len;
	size_t count; /* of rules */
};

static void
add(struct sink *sink, const char *bytes, size_t len)
{
	if (sink->at != NULL)
		memcpy(sink->at + sink->len, bytes, len);
	sink->len += len;
}

static void
add_rule(struct sink *sink, const struct rule *rule)
{
	assert(rule->text != NULL);
	if (sink->count > 0)
		add(sink, ",\n", 2);
	add(sink, rule->text, strlen(rule->text));
	sink->count++;
}

/* The rule that will be in this place, or NULL. */
static const struct rule *
rule_in_place(const struct service *s, const struct rules_change *change)
{
	if (rules_change_deletes(change, s))
		return NULL;
	if (change->kind == RULES_PUT && change->put.stored == s)
		return change->put.rule;
	return s->rule;
}

static void
add_rules(struct sink *sink, const struct gate *gate,
	  const struct rules_change *change)
{
	const struct service *s;

	TAILQ_FOREACH (s, &gate->rules.services, link) {
		const struct rule *rule = rule_in_place(s, change);

		if (rule != NULL)
			add_rule(sink, rule);
	}
	if (change->kind == RULES_PUT && change->put.stored == NULL)
		add_rule(sink, change->put.rule);
	if (sink->count > 0)
		add(sink, "\n", 1);
	add(sink, END, sizeof(END) - 1);
}

char *
rules_text_write(const struct gate *gate, const struct rules_change *change,
		 size_t *len)
{
	char head[DIGESTED_AT + sizeof(COUNT LIST) + COUNT_MAX];
	struct sink measured = { .at = NULL };
	struct sink written = { .at = NULL };
	size_t head_len;

	add_rules(&measured, gate, change);
	head_len = (size_t)snprintf(head, sizeof(head),
				    HEAD "%0*d" COUNT "%zu" LIST, DIGEST_LEN, 0,
				    measured.count);
	written.at = malloc(head_len + measured.len);
	if (written.at == NULL)
		return NULL;
	add(&written, head, head_len);
	add_rules(&written, gate, change);
	*len = written.len;
	return written.at;
}

/* ---- the digest ---- */

static void
write_digest(char digest[DIGEST_LEN], const char *text, size_t len)
{
	/* Not against malice: who can write the file can write a digest. */
	static const uint64_t key[2] = { 0x7370, 0x6f61 };
	uint64_t hash = index_hash(text + DIGESTED_AT, len - DIGESTED_AT, key);

	for (size_t i = DIGEST_LEN; i > 0; i--, hash >>= 4)
		digest[i - 1] = "0123456789abcdef"[hash & 0xf];
}

void
rules_text_seal(char *text, size_t len)
{
	assert(len >= DIGESTED_AT);
	write_digest(text + DIGEST_AT, text, len);
}

/* ---- read ---- */

static bool say(char why[RULES_TEXT_WHY_MAX], const char *format, ...)
	PRINTF_LIKE(2, 3);

static bool
say(char why[RULES_TEXT_WHY_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, RULES_TEXT_WHY_MAX, format, args);
	va_end(args);
	return false;
}

/* Takes the words off the text; false where it does not begin with them. */
static bool
take(struct text *text, const char *words)
{
	size_t len = strlen(words);

	if (text->len < len || memcmp(text->at, words, len) != 0)
		return false;
	text->at += len;
	text->len -= len;
	return true;
}

/* Leaves of the text what is behind the digest. */
static bool
check(struct text *text, char why[RULES_TEXT_WHY_MAX])
{
	struct text whole = *text;
	struct text version;
	char digest[DIGEST_LEN];

	if (!take(text, MAGIC))
		return say(why, "it is no snapshot of rules");
	version = text_cut(text, ',');
	if (!text_is(version, VERSION))
		return say(why, "its version is not " VERSION);
	*text = whole;
	if (!take(text, HEAD) || text->len < DIGEST_LEN)
		return say(why, "its first line is damaged");
	write_digest(digest, whole.at, whole.len);
	if (memcmp(digest, text->at, DIGEST_LEN) != 0)
		return say(why, "its bytes do not have the digest it names");
	text->at += DIGEST_LEN;
	text->len -= DIGEST_LEN;
	return true;
}

static bool
read_count(struct text *text, size_t *count)
{
	unsigned long long number;
	size_t digits;

	if (!take(text, COUNT))
		return false;
	for (digits = 0; digits < text->len; digits++)
		if (text->at[digits] < '0' || text->at[digits] > '9')
			break;
	if (!text_number((struct text){ text->at, digits }, SIZE_MAX, &number))
		return false;
	*count = (size_t)number;
	text->at += digits;
	text->len -= digits;
	return take(text, LIST);
}

static bool
put_line(struct gate *gate, struct text line, usec_t now, struct fault *fault)
{
	json_t *body = json_loadb(line.at, line.len, 0, NULL);
	bool taken;

	if (body == NULL)
		return fault_set(fault, 400, "it is no JSON, or no memory");
	taken = rules_put(gate, body, now, fault);
	json_decref(body);
	return taken;
}

/* Leaves of the text what is behind the rules. */
static bool
put_lines(struct gate *gate, struct text *text, usec_t now,
	  char why[RULES_TEXT_WHY_MAX])
{
	struct fault fault;
	size_t number = 0;

	while (text->len > 0 && text->at[0] == '{') {
		struct text line = text_cut(text, '\n');

		if (line.at[line.len - 1] == ',')
			line.len--;
		number++;
		if (!put_line(gate, line, now, &fault))
			return say(why, "rule %zu is refused: %s", number,
				   fault.text);
	}
	return true;
}

bool
rules_text_read(struct gate *gate, struct text text, usec_t now,
		char why[RULES_TEXT_WHY_MAX])
{
	size_t count;

	assert(gate->rules.len == 0);
	if (!check(&text, why))
		return false;
	if (!read_count(&text, &count))
		return say(why, "its first line is damaged");
	if (!put_lines(gate, &text, now, why))
		return false;
	if (gate->rules.len != count)
		return say(why, "it names %zu rules and holds %zu", count,
			   gate->rules.len);
	if (!text_is(text, END))
		return say(why, "its end is not where it should be");
	return true;
}

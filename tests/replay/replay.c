/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay FILE: plays a scenario through the gate in virtual time.
 *
 * Exits with 0 when all went as the file says; else with 1, having said at
 * which line what was expected and what came. README.md has the language.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/reason.h"
#include "tests/unit/core/desk.h"

#define WHERE_MAX 512
#define FACTS_MAX 512
#define RANGE_NAME_MAX 64

struct replay {
	const char *file;
	unsigned line;
	char where[WHERE_MAX];

	/* Said before the first rule. */
	char env[KIT_LINE_MAX];
	struct gate_options options;

	struct desk *desk; /* NULL until it is needed */
};

/* ---- what is expected, against what came ---- */

_Noreturn static void
differ(const struct replay *r, const char *expected, const char *got)
{
	fprintf(stderr, "%s: expected \"%s\", got \"%s\"\n", r->where, expected,
		got);
	exit(1);
}

static bool
has_word(const char *facts, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(facts, word); at != NULL;
	     at = strstr(at + 1, word))
		if ((at == facts || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

/* Each expected word must be among the facts. */
static void
expect_facts(const struct replay *r, const char *expected, const char *facts)
{
	char text[KIT_LINE_MAX];
	char *rest = text;
	char *word;

	snprintf(text, sizeof(text), "%s", expected);
	while ((word = kit_word(&rest)) != NULL)
		if (!has_word(facts, word))
			differ(r, expected, facts);
}

/* All that can be said of an answer; a scenario repeats what it is about. */
static void
facts_of(char facts[FACTS_MAX], const struct answer *a)
{
	const struct reason_row *row = &reason_table[a->reason];

	switch (a->verdict) {
	case VERDICT_BYPASS:
		snprintf(facts, FACTS_MAX, "bypass");
		return;
	case VERDICT_WAIT:
		snprintf(facts, FACTS_MAX, "wait");
		return;
	case VERDICT_ADMIT:
		snprintf(facts, FACTS_MAX,
			 "admit %s %s backend=%s prefill=%s %s permit=%llu",
			 a->server != NULL ? a->server : "anywhere",
			 a->close ? "close" : "keep",
			 a->backend != NULL ? a->backend : "none",
			 a->prefill != NULL ? a->prefill : "none",
			 a->respond ? "respond" : "quiet",
			 (unsigned long long)a->permit);
		return;
	case VERDICT_REFUSE:
		snprintf(facts, FACTS_MAX,
			 "refuse %s %u %s %s retry=%u inflight=%u queued=%u "
			 "limit=%u queued_ms=%u",
			 row->label, row->status, row->error,
			 a->close ? "close" : "keep", a->retry_after,
			 a->inflight, a->queued, a->limit, a->queued_ms);
		return;
	}
}

/* Cuts the part up to the next semicolon; NULL when nothing is left. */
static char *
next_part(char **rest)
{
	char *part = *rest == NULL ? NULL : strsep(rest, ";");

	if (part == NULL)
		return NULL;
	part += strspn(part, " \t");
	return part[0] == '\0' || strcmp(part, "nothing") == 0 ? NULL : part;
}

/* "b..d" and "w1..w4" stand for each of them: calls back for each. */
static void
each_of(const char *word, void (*call)(void *, const char *), void *arg)
{
	const char *dots = strstr(word, "..");
	char name[RANGE_NAME_MAX];
	unsigned long from, to;
	size_t stem;

	if (dots == NULL) {
		call(arg, word);
		return;
	}
	if (dots == word + 1 && strlen(word) == 4) {
		for (char c = word[0]; c <= word[3]; c++)
			call(arg, (const char[]){ c, '\0' });
		return;
	}
	stem = strcspn(word, "0123456789");
	if (strncmp(word, dots + 2, stem) != 0)
		kit_fault("not a range", word);
	from = strtoul(word + stem, NULL, 10);
	to = kit_number(dots + 2 + stem);
	for (; from <= to; from++) {
		snprintf(name, sizeof(name), "%.*s%lu", (int)stem, word, from);
		call(arg, name);
	}
}

struct event {
	const struct replay *replay;
	const char *expected;
};

static void
expect_event(void *arg, const char *label)
{
	const struct event *e = arg;
	char facts[FACTS_MAX] = "";
	char got[FACTS_MAX + DESK_LABEL_MAX];
	struct answer answer;
	const char *who = desk_next(e->replay->desk, &answer);

	if (who == NULL)
		differ(e->replay, label, "nothing");
	facts_of(facts, &answer);
	snprintf(got, sizeof(got), "%s %s", who, facts);
	if (strcmp(who, label) != 0)
		differ(e->replay, label, got);
	expect_facts(e->replay, e->expected, facts);
}

/* "b admit; c..d wait": the answers that a call settled, in this order. */
static void
expect_events(const struct replay *r, char *events)
{
	char facts[FACTS_MAX] = "";
	char got[FACTS_MAX + DESK_LABEL_MAX];
	struct answer answer;
	const char *who;
	char *part;

	while ((part = next_part(&events)) != NULL) {
		char *label = kit_word(&part);

		each_of(label, expect_event, &(struct event){ r, part });
	}
	who = desk_next(r->desk, &answer);
	if (who == NULL)
		return;
	facts_of(facts, &answer);
	snprintf(got, sizeof(got), "%s %s", who, facts);
	differ(r, "nothing more", got);
}

/* The result of a call, then its events. NULL expects no event. */
static void
expect(const struct replay *r, char *expected, const char *result)
{
	char *first = next_part(&expected);

	if (first != NULL)
		expect_facts(r, first, result);
	expect_events(r, expected);
}

/* ---- the commands ---- */

static void
do_env(struct replay *r, char *words, char *expected)
{
	size_t len = strlen(r->env);

	(void)expected;
	if (r->desk != NULL)
		kit_fault("too late, the process runs", words);
	snprintf(r->env + len, sizeof(r->env) - len, " %s", words);
}

static void
do_unit_max_age(struct replay *r, char *words, char *expected)
{
	const char *ms = kit_word(&words);

	(void)expected;
	if (ms == NULL || r->desk != NULL)
		kit_fault("needs a time, before the process runs", words);
	r->options.unit_max_age = kit_number(ms) * USEC_PER_MSEC;
}

static void
do_rule(struct replay *r, char *words, char *expected)
{
	static const char *const results[] = { "created", "unchanged",
					       "changed", "recreated" };

	expect(r, expected, results[desk_put(r->desk, words)]);
}

static void
do_delete(struct replay *r, char *words, char *expected)
{
	desk_delete(r->desk, words);
	expect_events(r, expected);
}

struct each {
	struct replay *replay;
	const char *words;
	const char *expected;
};

static void
ask_one(void *arg, const char *id)
{
	const struct each *e = arg;
	struct answer answer = { .verdict = VERDICT_WAIT };
	char question[KIT_LINE_MAX * 2];
	char expected[KIT_LINE_MAX];
	char facts[FACTS_MAX] = "";

	snprintf(question, sizeof(question), "%s %s", id, e->words);
	snprintf(expected, sizeof(expected), "%s", e->expected);
	if (desk_ask(e->replay->desk, question, &answer) == VERDICT_WAIT)
		answer.verdict = VERDICT_WAIT;
	facts_of(facts, &answer);
	expect(e->replay, expected, facts);
}

static void
do_ask(struct replay *r, char *words, char *expected)
{
	char *ids = kit_word(&words);

	if (ids == NULL || expected == NULL)
		kit_fault("ask needs an id and what is expected", "");
	each_of(ids, ask_one, &(struct each){ r, words, expected });
}

static void
end_one(void *arg, const char *id)
{
	static const char *const results[] = {
		"released", "cancelled", "early", "noted",
		"late",     "unknown",   "other",
	};
	const struct each *e = arg;
	char line[KIT_LINE_MAX * 2];
	char expected[KIT_LINE_MAX];

	snprintf(line, sizeof(line), "%s %s", id, e->words);
	snprintf(expected, sizeof(expected), "%s", e->expected);
	expect(e->replay, expected, results[desk_end(e->replay->desk, line)]);
}

static void
do_end(struct replay *r, char *words, char *expected)
{
	char *ids = kit_word(&words);

	if (ids == NULL || expected == NULL)
		kit_fault("end needs an id and what is expected", "");
	each_of(ids, end_one, &(struct each){ r, words, expected });
}

static void
read_response(struct response *response, char *words)
{
	char *word;

	while ((word = kit_word(&words)) != NULL) {
		const char *server = kit_value(word, "server");

		if (server != NULL)
			response->server = text_of(server);
		else if (strcmp(word, "begun") == 0)
			response->begun = true;
		else
			kit_fault("neither begun nor server=", word);
	}
}

/* "respond ID [begun] [server=NAME]": an answer of an engine begins. */
static void
do_respond(struct replay *r, char *words, char *expected)
{
	const char *id = kit_word(&words);
	struct response response = { .id = text_of(id) };
	struct exposure e;
	char facts[FACTS_MAX] = "unexposed";

	if (id == NULL)
		kit_fault("respond needs an id", "");
	read_response(&response, words);
	gate_respond(r->desk->gate, &response, r->desk->now, &e);
	if (e.exposed)
		snprintf(facts, sizeof(facts),
			 "exposed inflight=%u queued=%u limit=%u", e.inflight,
			 e.queued, e.limit);
	expect(r, expected, facts);
}

/* "report IP:PORT N": an engine says how many wait in it. */
static void
do_report(struct replay *r, char *words, char *expected)
{
	char *engine = kit_word(&words);
	const char *waiting = kit_word(&words);
	struct address address;
	const char *ip;
	uint16_t port;

	if (engine == NULL || waiting == NULL)
		kit_fault("report needs an engine and a number", "");
	kit_host_port(engine, &ip, &address, &port);
	gate_report(r->desk->gate, &address, port,
		    (uint32_t)kit_number(waiting), r->desk->now);
	expect_events(r, expected);
}

/* "host IP:PORT red", port 0 for all: an endpoint is set by hand. */
static void
do_host(struct replay *r, char *words, char *expected)
{
	char *host = kit_word(&words);
	const char *state = kit_word(&words);
	char result[FACTS_MAX];
	struct address address;
	const char *ip;
	uint16_t port;

	if (host == NULL || state == NULL)
		kit_fault("host needs an address, and red or green", "");
	kit_host_port(host, &ip, &address, &port);
	snprintf(result, sizeof(result), "found=%zu",
		 gate_set_host(r->desk->gate, &address, port,
			       strcmp(state, "red") == 0, r->desk->now));
	expect(r, expected, result);
}

static void
do_tick(struct replay *r, char *words, char *expected)
{
	(void)words;
	gate_tick(r->desk->gate, r->desk->now);
	expect_events(r, expected);
}

static void
do_lost(struct replay *r, char *words, char *expected)
{
	const char *peer = kit_word(&words);

	if (peer == NULL)
		kit_fault("lost needs a peer", words);
	desk_lose(r->desk, (unsigned)kit_number(peer));
	expect_events(r, expected);
}

static void
do_look(struct replay *r, char *words, char *expected)
{
	char result[FACTS_MAX];

	snprintf(result, sizeof(result), "reclaimed=%zu",
		 desk_look(r->desk, words));
	expect(r, expected, result);
}

static void
do_drain(struct replay *r, char *words, char *expected)
{
	(void)words;
	gate_drain(r->desk->gate, r->desk->now);
	expect_events(r, expected);
}

/* ---- numbers ---- */

static enum metric_id
find_metric(const char *name)
{
	static const char *const names[] = {
#define METRIC(name, ...) #name,
#include "agent/core/metrics.def"
#undef METRIC
	};

	for (size_t i = 0; i < METRIC_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return (enum metric_id)i;
	kit_fault("no such metric", name);
}

static size_t
find_label(enum metric_id id, const char *value)
{
	const struct metric_label_row *row =
		metric_label_row(metrics_table[id].label);

	if (row->name == NULL)
		return 0;
	for (size_t i = 0; value != NULL && i < row->count; i++)
		if (strcmp(row->values[i], value) == 0)
			return i;
	kit_fault("no such value of the label", value);
}

static const struct pool *
pool_of(struct replay *r, const char *port)
{
	char key[64];
	const struct pool *p;

	snprintf(key, sizeof(key), "port=%s", port);
	p = desk_pool(r->desk, key);
	if (p == NULL)
		kit_fault("no AI service", key);
	return p;
}

static unsigned long long
histogram(const struct pool *p, const char *part)
{
	if (part == NULL)
		kit_fault("queue_wait has a count and a sum_ms", "");
	if (strcmp(part, "count") == 0)
		return p->waits.count;
	if (strcmp(part, "sum_ms") == 0)
		return p->waits.sum / USEC_PER_MSEC;
	kit_fault("neither count nor sum_ms", part);
}

static unsigned long long
read_metric(struct replay *r, const char *port, const char *name,
	    const char *label)
{
	enum metric_id id = find_metric(name);

	if (metrics_table[id].scope == METRIC_PROCESS)
		return r->desk->gate->metrics.value[id][find_label(id, label)];
	if (metrics_table[id].type == METRIC_HISTOGRAM)
		return histogram(pool_of(r, port), label);
	return pool_metric(pool_of(r, port), id, find_label(id, label));
}

/* "port=8080 decisions queued 2": port 8080 where none is named. */
static void
do_metric(struct replay *r, char *words, char *expected)
{
	const char *port = "8080";
	char *name = kit_word(&words);
	const char *label, *number;
	char got[32];

	(void)expected;
	if (name != NULL && kit_value(name, "port") != NULL) {
		port = kit_value(name, "port");
		name = kit_word(&words);
	}
	label = kit_word(&words);
	number = kit_word(&words);
	if (name == NULL || label == NULL)
		kit_fault("metric needs a name and a number", "");
	if (number == NULL) {
		number = label;
		label = NULL;
	}
	snprintf(got, sizeof(got), "%llu", read_metric(r, port, name, label));
	if (strcmp(got, number) != 0)
		differ(r, number, got);
}

/* ---- lines ---- */

struct command {
	const char *word;
	void (*run)(struct replay *r, char *words, char *expected);
	bool needs_gate;
};

static const struct command commands[] = {
	{ "env", do_env, false },
	{ "unit_max_age_ms", do_unit_max_age, false },
	{ "rule", do_rule, true },
	{ "delete", do_delete, true },
	{ "ask", do_ask, true },
	{ "end", do_end, true },
	{ "respond", do_respond, true },
	{ "report", do_report, true },
	{ "host", do_host, true },
	{ "tick", do_tick, true },
	{ "lost", do_lost, true },
	{ "look", do_look, true },
	{ "drain", do_drain, true },
	{ "metric", do_metric, true },
};

static void
open_gate(struct replay *r)
{
	if (r->desk == NULL)
		r->desk = desk_open_with(&r->options, r->env);
}

static void
pass_time(struct replay *r, const char *until)
{
	char *end;
	double ms = strtod(until, &end);
	usec_t now = DESK_START + (usec_t)(ms * 1000.0 + 0.5);

	if (end == until || *end != '\0')
		kit_fault("not a time", until);
	open_gate(r);
	if (now < r->desk->now)
		kit_fault("time goes back", until);
	r->desk->now = now;
}

static void
run(struct replay *r, const char *word, char *words, char *expected)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].word, word) != 0)
			continue;
		if (commands[i].needs_gate)
			open_gate(r);
		commands[i].run(r, words, expected);
		return;
	}
	kit_fault("no such command", word);
}

/* "at MS command words -> expected" */
static void
play(struct replay *r, char *line)
{
	char *rest = line;
	char *expected, *word;

	line[strcspn(line, "#\r\n")] = '\0';
	expected = strstr(line, "->");
	if (expected != NULL) {
		*expected = '\0';
		expected += 2;
	}
	word = kit_word(&rest);
	if (word != NULL && strcmp(word, "at") == 0) {
		word = kit_word(&rest);
		if (word == NULL)
			kit_fault("at needs a time", "");
		pass_time(r, word);
		word = kit_word(&rest);
	}
	if (word != NULL)
		run(r, word, rest, expected);
}

static void
play_file(struct replay *r, FILE *file)
{
	static char line[KIT_LINE_MAX];

	while (fgets(line, sizeof(line), file) != NULL) {
		r->line++;
		snprintf(r->where, sizeof(r->where), "%s:%u", r->file, r->line);
		kit_at(r->where);
		play(r, line);
	}
	open_gate(r);
	desk_close(&r->desk);
}

int
main(int argc, char **argv)
{
	struct replay r = {
		.options = { .epoch = 0xabc,
			     .hash_key = { 1, 2 },
			     .unit_max_age = USEC_NEVER,
			     .backend = "pool" },
	};
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (file == NULL) {
		fprintf(stderr, "usage: replay FILE\n");
		return 2;
	}
	r.file = argv[1];
	play_file(&r, file);
	fclose(file);
	return 0;
}

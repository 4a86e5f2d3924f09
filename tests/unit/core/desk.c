/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/permit.h"

struct desk *
desk_open_with(const struct gate_options *options, const char *env)
{
	struct desk *d = calloc(1, sizeof(*d));
	struct settings_env read;

	if (d == NULL)
		kit_fault("no memory", "desk");
	kit_env(&read, env);
	d->now = DESK_START;
	for (size_t i = 0; i < DESK_PEERS; i++)
		LIST_INIT(&d->peers[i].waiters);
	d->gate = gate_new(options, &read, d->now);
	if (d->gate == NULL)
		kit_fault("no memory", "gate");
	return d;
}

struct desk *
desk_open(const char *env)
{
	const struct gate_options options = {
		.epoch = 0xabc,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};

	return desk_open_with(&options, env);
}

void
desk_at(struct desk *d, unsigned long ms)
{
	d->now = DESK_START + ms * USEC_PER_MSEC;
}

void
desk_close(struct desk **desk)
{
	struct desk *d = *desk;
	struct answer answer;

	gate_drain(d->gate, d->now);
	while (desk_next(d, &answer) != NULL)
		continue;
	for (size_t i = 0; i < d->note_count; i++)
		if (!d->notes[i].answered && !d->notes[i].lost)
			kit_fault("never answered", d->notes[i].label);
	gate_free(&d->gate);
	free(d);
	*desk = NULL;
}

enum gate_change
desk_put(struct desk *d, const char *rule)
{
	struct rule *made = kit_rule(rule);
	const char *wrong = rule_check(made);

	if (wrong != NULL)
		kit_fault(wrong, rule);
	return gate_put(d->gate, made, d->now);
}

static struct service *
service_of(struct desk *d, const char *rule)
{
	struct rule *key = kit_rule(rule);
	struct service *s = rulebook_find(&d->gate->rules, key);

	rule_free(&key);
	if (s == NULL)
		kit_fault("no such rule", rule);
	return s;
}

void
desk_delete(struct desk *d, const char *rule)
{
	gate_delete(d->gate, service_of(d, rule), d->now);
}

struct pool *
desk_pool(struct desk *d, const char *rule)
{
	return service_of(d, rule)->pool;
}

static void
take_note(struct note *n, const struct answer *answer)
{
	if (n->answered)
		kit_fault("answered twice", n->label);
	if (n->lost)
		kit_fault("answered on a lost connection", n->label);
	n->answered = true;
	n->verdict = answer->verdict;
	n->permit = answer->permit;
}

static struct note *
new_note(struct desk *d, const struct question *q)
{
	struct note *n = &d->notes[d->note_count];

	if (d->note_count++ == DESK_NOTES)
		kit_fault("too many questions", q->label);
	snprintf(n->id, sizeof(n->id), "%s", q->id);
	snprintf(n->label, sizeof(n->label), "%s", q->label);
	n->peer = q->peer;
	return n;
}

enum verdict
desk_ask(struct desk *d, const char *question, struct answer *answer)
{
	static struct question q;
	struct note *n;
	enum verdict verdict;

	kit_question(&q, question);
	if (q.peer >= DESK_PEERS)
		kit_fault("no such peer", question);
	n = new_note(d, &q);
	q.ask.asker = (struct asker){
		.peer = &d->peers[q.peer],
		.stream = (uint64_t)(n - d->notes),
		.frame = 1,
	};
	memset(answer, 0, sizeof(*answer));
	verdict = gate_ask(d->gate, &q.ask, d->now, answer);
	if (verdict == VERDICT_WAIT)
		return verdict;
	if (verdict != answer->verdict)
		kit_fault("two verdicts at once", question);
	take_note(n, answer);
	return verdict;
}

const char *
desk_next(struct desk *d, struct answer *answer)
{
	struct asker to;
	struct note *n;

	if (!gate_next_answer(d->gate, &to, answer))
		return NULL;
	n = &d->notes[to.stream];
	if (to.peer != &d->peers[n->peer] || to.frame != 1)
		kit_fault("answered to another", n->label);
	take_note(n, answer);
	return n->label;
}

/* The newest question of that id that HAProxy has an answer to. */
static const struct note *
last_answer(const struct desk *d, const char *id)
{
	for (size_t i = d->note_count; i-- > 0;)
		if (d->notes[i].answered && strcmp(d->notes[i].id, id) == 0)
			return &d->notes[i];
	return NULL;
}

static const char *
verdict_word(const struct note *n)
{
	if (n == NULL)
		return "none";
	switch (n->verdict) {
	case VERDICT_ADMIT:
		return "admit";
	case VERDICT_REFUSE:
		return "refuse";
	case VERDICT_BYPASS:
		return "bypass";
	case VERDICT_WAIT:
		break;
	}
	return "none";
}

static struct text
said(const char *word)
{
	return strcmp(word, "none") == 0 ? text_of("") : text_of(word);
}

enum line_result
desk_end(struct desk *d, const char *line)
{
	char text[KIT_LINE_MAX];
	char *rest = text;
	char written[PERMIT_TEXT_MAX] = "none";
	const char *id, *value;
	const char *verdict, *permit = written;
	const struct note *n;
	char *word;

	snprintf(text, sizeof(text), "%s", line);
	id = kit_word(&rest);
	if (id == NULL)
		kit_fault("no id", line);
	n = last_answer(d, id);
	verdict = verdict_word(n);
	if (n != NULL && n->permit != 0)
		permit_format(written, &(struct permit){ d->gate->options.epoch,
							 n->permit });
	while ((word = kit_word(&rest)) != NULL) {
		if ((value = kit_value(word, "permit")) != NULL)
			permit = value;
		else if ((value = kit_value(word, "verdict")) != NULL)
			verdict = value;
		else
			kit_fault("not understood in a line", word);
	}
	return gate_end(
		d->gate,
		&(struct ending){ text_of(id), said(permit), said(verdict) },
		d->now);
}

void
desk_lose(struct desk *d, unsigned peer)
{
	gate_peer_lost(d->gate, &d->peers[peer]);
	for (size_t i = 0; i < d->note_count; i++)
		if (d->notes[i].peer == peer && !d->notes[i].answered)
			d->notes[i].lost = true;
}

/* "10.0.0.1:8000=up,3,name" */
static void
tell_server(struct desk *d, char *word, const char *backend)
{
	char *facts = strchr(word, '=');
	struct server_look look = { .backend = text_of(backend) };
	const char *ip, *health, *sessions;

	if (facts == NULL)
		kit_fault("not a server", word);
	*facts++ = '\0';
	health = strsep(&facts, ",");
	sessions = strsep(&facts, ",");
	kit_host_port(word, &ip, &look.address, &look.port);
	look.up = strcmp(health, "up") == 0;
	if (!look.up && strcmp(health, "down") != 0)
		kit_fault("neither up nor down", health);
	look.sessions = sessions == NULL ? 0 : (uint32_t)kit_number(sessions);
	look.server = text_of(facts);
	gate_look_server(d->gate, &look);
}

static usec_t
at_msec(const char *msec)
{
	return DESK_START + kit_number(msec) * USEC_PER_MSEC;
}

size_t
desk_look(struct desk *d, const char *look)
{
	char text[KIT_LINE_MAX];
	char *rest = text;
	const char *backend = "pool";
	const char *value;
	bool complete = true;
	char *word;

	snprintf(text, sizeof(text), "%s", look);
	gate_look_begin(d->gate, d->now);
	while ((word = kit_word(&rest)) != NULL) {
		if (strcmp(word, "incomplete") == 0)
			complete = false;
		else if ((value = kit_value(word, "backend")) != NULL)
			backend = value;
		else if ((value = kit_value(word, "asked")) != NULL)
			gate_look_begin(d->gate, at_msec(value));
		else
			tell_server(d, word, backend);
	}
	return gate_look_end(d->gate, complete, d->now);
}

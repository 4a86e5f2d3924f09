/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded workload, the gate, and engines that get slower when they are
 * full, in virtual time: an hour takes about a second.
 *
 *     simulate TRACE [WORD ...]
 *
 * A word is speed=6 (of the trace), from=0 to=3600 (seconds of it), series=FILE
 * (what is in force, each second), or a setting of the rule by its name:
 * mode=enforce max_outstanding=16 queue_depth=64 queue_wait_ms=5000
 * adaptive=on. Without a mode there is no gate.
 *
 * Prints what became of the requests; good are those whose first token came
 * within two seconds of their arrival.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "tests/bench/simulate/engine_model.h"
#include "tests/bench/simulate/workload.h"
#include "tests/unit/core/kit.h"

#define ENGINES 2
#define BUDGET (2 * USEC_PER_SEC)
#define SCRAPE_EVERY (10 * USEC_PER_SEC)
#define ID_BYTES 24
#define START (86400 * USEC_PER_SEC)

/* Who is still running then does not matter any more. */
#define EPILOGUE (60 * USEC_PER_SEC)

struct options {
	const char *trace;
	const char *series;
	double speed, from, to;
	char rule[KIT_LINE_MAX];
};

struct tally {
	size_t good, late; /* first tokens in time, and not */
	size_t refused, timed_out;
};

struct simulation {
	const struct workload *workload;
	struct gate *gate;
	struct pool *pool;
	struct peer peer;
	struct engine_model engines[ENGINES];
	usec_t scrape[ENGINES]; /* the next one */
	size_t arrived;
	usec_t now;
	usec_t second; /* the next line of the series */
	FILE *series;
	struct tally tally;
};

/* ---- requests ---- */

static void
make_id(char id[ID_BYTES], size_t request)
{
	snprintf(id, ID_BYTES, "r%zu", request);
}

/* The one of the answer's server, or where the fewest run. */
static struct engine_model *
engine_of(struct simulation *s, const struct answer *answer)
{
	struct engine_model *least = &s->engines[0];

	for (size_t i = 0; i < ENGINES; i++) {
		const char *server = s->pool->endpoints[i].server;

		if (answer->server != NULL &&
		    strcmp(answer->server, server) == 0)
			return &s->engines[i];
		if (s->engines[i].running < least->running)
			least = &s->engines[i];
	}
	return least;
}

static void
settle(struct simulation *s, size_t request, const struct answer *answer)
{
	const struct work *w = &s->workload->works[request];

	if (answer->verdict != VERDICT_REFUSE)
		engine_model_begin(engine_of(s, answer), request,
				   w->prompt_tokens, w->output_tokens);
	else if (answer->reason == REASON_QUEUE_TIMEOUT)
		s->tally.timed_out++;
	else
		s->tally.refused++;
}

static void
take_answers(struct simulation *s)
{
	struct answer answer;
	struct asker to;

	while (gate_next_answer(s->gate, &to, &answer))
		settle(s, (size_t)to.stream, &answer);
}

static void
arrive(struct simulation *s)
{
	size_t request = s->arrived++;
	struct question q;
	struct answer answer;
	char id[ID_BYTES];

	make_id(id, request);
	kit_question(&q, id);
	q.ask.asker = (struct asker){ .peer = &s->peer, .stream = request };
	if (gate_ask(s->gate, &q.ask, s->now, &answer) != VERDICT_WAIT)
		settle(s, request, &answer);
}

static void
first_token(struct simulation *s, size_t request)
{
	usec_t took = s->now - START - s->workload->works[request].at;
	struct exposure exposure;
	char id[ID_BYTES];

	make_id(id, request);
	gate_respond(s->gate,
		     &(struct response){ .id = text_of(id), .begun = true },
		     s->now, &exposure);
	if (took <= BUDGET)
		s->tally.good++;
	else
		s->tally.late++;
}

static void
last_token(struct simulation *s, size_t request)
{
	char id[ID_BYTES];

	make_id(id, request);
	gate_end(s->gate,
		 &(struct ending){ .id = text_of(id),
				   .verdict = text_of("admit") },
		 s->now);
}

/* ---- engines ---- */

static void
run_engines(struct simulation *s)
{
	struct mark mark;

	for (size_t i = 0; i < ENGINES; i++) {
		engine_model_pass(&s->engines[i], s->now);
		while (engine_model_take(&s->engines[i], &mark)) {
			if (mark.milestone == FIRST_TOKEN)
				first_token(s, mark.request);
			else
				last_token(s, mark.request);
		}
	}
}

static void
scrape(struct simulation *s)
{
	for (size_t i = 0; i < ENGINES; i++) {
		const struct endpoint *e = &s->pool->endpoints[i];

		if (s->scrape[i] > s->now)
			continue;
		s->scrape[i] += SCRAPE_EVERY;
		gate_report(s->gate, &e->address, e->port,
			    engine_model_waiting(&s->engines[i]), s->now);
	}
}

/* ---- time ---- */

static void
keep_earlier(usec_t *at, usec_t other)
{
	if (other < *at)
		*at = other;
}

static usec_t
next_event(const struct simulation *s)
{
	usec_t at = gate_wakeup(s->gate);

	if (s->arrived < s->workload->count)
		keep_earlier(&at, START + s->workload->works[s->arrived].at);
	for (size_t i = 0; i < ENGINES; i++) {
		keep_earlier(&at, engine_model_next(&s->engines[i]));
		keep_earlier(&at, s->scrape[i]);
	}
	return at > s->now ? at : s->now;
}

static void
write_series(struct simulation *s)
{
	if (s->series == NULL || s->now < s->second)
		return;
	s->second += USEC_PER_SEC;
	fprintf(s->series, "%" PRIu64 ",%u,%zu,%zu,%u\n",
		(s->now - START) / USEC_PER_SEC, pool_ceiling(s->pool),
		s->engines[0].running, s->engines[1].running,
		s->pool->queue.len);
}

/* At one time engines come first, then the timer, then who arrives. */
static void
step(struct simulation *s)
{
	s->now = next_event(s);
	run_engines(s);
	take_answers(s);
	scrape(s);
	if (gate_wakeup(s->gate) <= s->now)
		gate_tick(s->gate, s->now);
	take_answers(s);
	while (s->arrived < s->workload->count &&
	       START + s->workload->works[s->arrived].at <= s->now)
		arrive(s);
	write_series(s);
}

/* ---- set up ---- */

static void
open_simulation(struct simulation *s, const struct options *o,
		const struct workload *workload)
{
	static const struct gate_options gate = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;

	memset(s, 0, sizeof(*s));
	s->workload = workload;
	s->now = s->second = START;
	kit_env(&env, "");
	s->gate = gate_new(&gate, &env, s->now);
	LIST_INIT(&s->peer.waiters);
	if (gate_put(s->gate, kit_rule(o->rule), s->now) != GATE_CREATED)
		kit_fault("not a rule", o->rule);
	s->pool = TAILQ_FIRST(&s->gate->pools);
	for (size_t i = 0; i < ENGINES; i++) {
		engine_model_init(&s->engines[i]);
		s->engines[i].now = s->now;
		s->scrape[i] = s->now + i * SCRAPE_EVERY / ENGINES;
	}
	if (o->series != NULL && (s->series = fopen(o->series, "w")) == NULL)
		kit_fault("cannot write", o->series);
	if (s->series != NULL)
		fputs("second,ceiling,engine1,engine2,queued\n", s->series);
}

static void
close_simulation(struct simulation *s)
{
	if (s->series != NULL)
		fclose(s->series);
	gate_drain(s->gate, s->now);
	take_answers(s);
	for (size_t i = 0; i < ENGINES; i++)
		engine_model_fini(&s->engines[i]);
	gate_free(&s->gate);
}

static void
simulate(const struct options *o, const struct workload *w)
{
	usec_t end = START + w->works[w->count - 1].at + EPILOGUE;
	struct simulation s;
	const struct tally *t = &s.tally;

	open_simulation(&s, o, w);
	while (s.now < end)
		step(&s);
	printf("requests=%zu good=%zu late=%zu refused=%zu timed_out=%zu "
	       "goodput=%.2f%% down=%" PRIu64 " up=%" PRIu64 "\n",
	       w->count, t->good, t->late, t->refused, t->timed_out,
	       100.0 * (double)t->good / (double)w->count,
	       s.pool->adaptive.moves[ADAPT_DOWN],
	       s.pool->adaptive.moves[ADAPT_UP]);
	close_simulation(&s);
}

/* ---- options ---- */

static void
read_word(struct options *o, char *word)
{
	size_t len = strlen(o->rule);
	const char *value;

	if ((value = kit_value(word, "speed")) != NULL)
		o->speed = strtod(value, NULL);
	else if ((value = kit_value(word, "from")) != NULL)
		o->from = strtod(value, NULL);
	else if ((value = kit_value(word, "to")) != NULL)
		o->to = strtod(value, NULL);
	else if ((value = kit_value(word, "series")) != NULL)
		o->series = value;
	else
		snprintf(o->rule + len, sizeof(o->rule) - len, " %s", word);
}

int
main(int argc, char **argv)
{
	struct options o = {
		.speed = 6,
		.to = 1e9,
		.rule = "endpoints=10.0.0.1:8000,10.0.0.2:8000",
	};
	struct workload workload;

	if (argc < 2) {
		fputs("usage: simulate TRACE [speed=6] [from=S] [to=S] "
		      "[series=FILE] [SETTING=VALUE ...]\n"
		      "e.g.   simulate trace.csv mode=enforce "
		      "max_outstanding=16 queue_depth=64 queue_wait_ms=5000\n",
		      stderr);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		read_word(&o, argv[i]);
	workload_read(&workload, argv[1], o.speed, o.from, o.to);
	simulate(&o, &workload);
	workload_fini(&workload);
	return 0;
}

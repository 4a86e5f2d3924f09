/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/simulation.h"

#include <inttypes.h>
#include <string.h>

#include "agent/core/gate.h"
#include "tests/unit/core/kit.h"

#define SCRAPE_EVERY (10 * USEC_PER_SEC)
#define EPILOGUE (60 * USEC_PER_SEC)
#define ENDPOINTS "endpoints=10.0.0.1:8000,10.0.0.2:8000 "
#define ID_BYTES 24

/* The gate knows no time before it; a time of 0 means never there. */
#define START (86400 * USEC_PER_SEC)

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

	for (size_t i = 0; i < SIMULATION_ENGINES; i++) {
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
	const struct work *w = clients_work(&s->clients, request);

	if (answer->verdict == VERDICT_REFUSE) {
		clients_refuse(&s->clients, request,
			       answer->reason == REASON_QUEUE_TIMEOUT);
		return;
	}
	clients_begin(&s->clients, request, s->now);
	engine_model_begin(engine_of(s, answer), request, w->prompt_tokens,
			   w->output_tokens);
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
	size_t request = clients_arrive(&s->clients);
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
	struct exposure exposure;
	char id[ID_BYTES];

	make_id(id, request);
	gate_respond(s->gate,
		     &(struct response){ .id = text_of(id), .begun = true },
		     s->now, &exposure);
	clients_first_token(&s->clients, request, s->now);
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

	for (size_t i = 0; i < SIMULATION_ENGINES; i++) {
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
	for (size_t i = 0; i < SIMULATION_ENGINES; i++) {
		const struct endpoint *e = &s->pool->endpoints[i];

		if (s->scrapes[i] > s->now)
			continue;
		s->scrapes[i] += SCRAPE_EVERY;
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

	keep_earlier(&at, clients_next(&s->clients));
	for (size_t i = 0; i < SIMULATION_ENGINES; i++) {
		keep_earlier(&at, engine_model_next(&s->engines[i]));
		keep_earlier(&at, s->scrapes[i]);
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
	while (clients_next(&s->clients) <= s->now)
		arrive(s);
	write_series(s);
}

void
simulation_run(struct simulation *s)
{
	while (s->now < s->end)
		step(s);
}

/* ---- set up ---- */

static void
make_gate(struct simulation *s, const char *words)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;
	char rule[KIT_LINE_MAX + sizeof(ENDPOINTS)];

	snprintf(rule, sizeof(rule), "%s%s", ENDPOINTS, words);
	kit_env(&env, "");
	s->gate = gate_new(&options, &env, s->now);
	if (s->gate == NULL ||
	    gate_put(s->gate, kit_rule(rule), s->now) != GATE_CREATED)
		kit_fault("no such rule", rule);
	s->pool = TAILQ_FIRST(&s->gate->pools);
}

static void
open_series(struct simulation *s, const char *path)
{
	if (path == NULL)
		return;
	s->series = fopen(path, "w");
	if (s->series == NULL)
		kit_fault("cannot write", path);
	fputs("second,ceiling,engine1,engine2,queued\n", s->series);
}

void
simulation_init(struct simulation *s, const struct options *o,
		const struct workload *workload)
{
	memset(s, 0, sizeof(*s));
	s->now = s->second = START;
	s->end = START + workload->works[workload->count - 1].at + EPILOGUE;
	clients_init(&s->clients, workload, START, o->budget);
	LIST_INIT(&s->peer.waiters);
	make_gate(s, o->rule);
	for (size_t i = 0; i < SIMULATION_ENGINES; i++) {
		engine_model_init(&s->engines[i], s->now);
		s->scrapes[i] = s->now;
		if (o->spread)
			s->scrapes[i] += i * SCRAPE_EVERY / SIMULATION_ENGINES;
	}
	open_series(s, o->series);
}

void
simulation_fini(struct simulation *s)
{
	if (s->series != NULL)
		fclose(s->series);
	gate_drain(s->gate, s->now);
	take_answers(s);
	for (size_t i = 0; i < SIMULATION_ENGINES; i++)
		engine_model_fini(&s->engines[i]);
	gate_free(&s->gate);
	clients_fini(&s->clients);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tenant shares do to a recorded workload, in virtual time:
 *
 *     tenant_shares TRACE [CEILING [DEPTH [WINDOW_MS [SHARE [LOAD]]]]]
 *
 * Plays the trace through the gate three times: without a share, with one, and
 * with one that may be borrowed. Prints what became of the requests of each
 * tenant, and exits with 1 where a promise is broken:
 *
 *  - with a share the lighter tenants lose at most half of what they lose
 *    without one;
 *  - with borrowing they lose at most a twentieth more than with a hard share;
 *  - with borrowing no unit is ever free while anybody waits.
 *
 * It is exact, and says the same each time.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/core/gate.h"
#include "tests/bench/tenants/tally.h"
#include "tests/unit/core/kit.h"

#define ID_BYTES 24

struct plan {
	unsigned ceiling;
	unsigned depth;
	unsigned window_ms;
	unsigned share; /* % */
	unsigned load;  /* % of the ceiling */
};

struct run {
	const struct trace *trace;
	const struct plan *plan;
	struct gate *gate;
	const struct pool *pool;
	struct peer peer;
	struct tally *tally;
	size_t arrived;
	usec_t *ends; /* of each arrival; USEC_NEVER unless it executes */
	usec_t now;
};

/* ---- what the gate is told ---- */

static void
begin(struct run *r, size_t arrival)
{
	const struct arrival *a = &r->trace->arrivals[arrival];

	r->ends[arrival] = r->now + a->service;
	tally_note(r->tally, arrival, OUTCOME_SERVED, r->now - a->at);
}

static void
settle(struct run *r, size_t arrival, const struct answer *answer)
{
	if (answer->verdict == VERDICT_ADMIT)
		begin(r, arrival);
	else
		tally_note(r->tally, arrival,
			   answer->reason == REASON_QUEUE_TIMEOUT
				   ? OUTCOME_TIMED_OUT
				   : OUTCOME_REFUSED,
			   0);
}

static void
take_answers(struct run *r)
{
	struct answer answer;
	struct asker to;

	while (gate_next_answer(r->gate, &to, &answer))
		settle(r, (size_t)to.stream, &answer);
}

static void
arrive(struct run *r, size_t arrival)
{
	const struct arrival *a = &r->trace->arrivals[arrival];
	char line[ID_BYTES + TRACE_NAME_MAX + 16];
	struct question q;
	struct answer answer;

	snprintf(line, sizeof(line), "r%zu tenant=%s", arrival,
		 r->trace->names[a->tenant]);
	kit_question(&q, line);
	q.ask.asker = (struct asker){ .peer = &r->peer, .stream = arrival };
	if (gate_ask(r->gate, &q.ask, r->now, &answer) != VERDICT_WAIT)
		settle(r, arrival, &answer);
}

static void
end(struct run *r, size_t arrival)
{
	struct ending ending = { .verdict = text_of("admit") };
	char id[ID_BYTES];

	snprintf(id, sizeof(id), "r%zu", arrival);
	ending.id = text_of(id);
	r->ends[arrival] = USEC_NEVER;
	gate_end(r->gate, &ending, r->now);
}

/* ---- time ---- */

/* Nothing happens until then. */
static void
pass(struct run *r, usec_t until)
{
	const struct pool *p = r->pool;
	uint32_t beyond = 0;

	if (until <= r->now)
		return;
	for (size_t i = 0; i < TENANTS_MAX; i++)
		if (p->tenants.slot[i].units > p->tenants.unit_bound)
			beyond += p->tenants.slot[i].units -
				  p->tenants.unit_bound;
	tally_pass(r->tally, until - r->now,
		   &(struct units){ .ceiling = r->plan->ceiling,
				    .busy = p->units,
				    .borrowed = beyond,
				    .waiting = p->queue.len });
	r->now = until;
}

static size_t
next_to_end(const struct run *r)
{
	size_t first = 0;

	for (size_t i = 1; i < r->trace->count; i++)
		if (r->ends[i] < r->ends[first])
			first = i;
	return first;
}

static usec_t
next_arrival(const struct run *r)
{
	return r->arrived < r->trace->count ? r->trace->arrivals[r->arrived].at
					    : USEC_NEVER;
}

/* At one time ends come first, then the timer. False when all is over. */
static bool
step(struct run *r)
{
	size_t ending = next_to_end(r);
	usec_t timer = gate_wakeup(r->gate);
	usec_t arrival = next_arrival(r);

	if (r->ends[ending] <= timer && r->ends[ending] <= arrival) {
		if (r->ends[ending] == USEC_NEVER)
			return false;
		pass(r, r->ends[ending]);
		end(r, ending);
	} else if (timer <= arrival) {
		pass(r, timer);
		gate_tick(r->gate, r->now);
	} else {
		pass(r, arrival);
		arrive(r, r->arrived++);
	}
	take_answers(r);
	return true;
}

/* ---- a run ---- */

static void
open_gate(struct run *r, const char *share)
{
	struct gate_options options = { .unit_max_age = USEC_NEVER,
					.backend = "pool" };
	struct settings_env env;
	char rule[KIT_LINE_MAX];

	snprintf(rule, sizeof(rule),
		 "mode=enforce max_outstanding=%u queue_depth=%u "
		 "queue_wait_ms=%u %s",
		 r->plan->ceiling, r->plan->depth, r->plan->window_ms, share);
	kit_env(&env, "");
	r->gate = gate_new(&options, &env, 0);
	if (r->gate == NULL)
		kit_fault("no memory", "gate");
	if (gate_put(r->gate, kit_rule(rule), 0) != GATE_CREATED)
		kit_fault("no memory", rule);
	r->pool = TAILQ_FIRST(&r->gate->pools);
	LIST_INIT(&r->peer.waiters);
}

static void
play(const struct trace *trace, const struct plan *plan, const char *share,
     struct tally *tally)
{
	struct run r = { .trace = trace, .plan = plan, .tally = tally };

	tally_init(tally, trace);
	open_gate(&r, share);
	r.ends = calloc(trace->count, sizeof(*r.ends));
	if (r.ends == NULL)
		kit_fault("no memory", "ends");
	for (size_t i = 0; i < trace->count; i++)
		r.ends[i] = USEC_NEVER;
	while (step(&r))
		continue;
	free(r.ends);
	gate_free(&r.gate);
}

/* ---- the three, and what was promised ---- */

enum { OFF, HARD, BORROWED, RUNS };

static bool
keep(bool kept, const char *promise)
{
	printf("%s: %s\n", kept ? "kept" : "BROKEN", promise);
	return kept;
}

static bool
judge(const struct tally runs[RUNS])
{
	size_t off = tally_light_lost(&runs[OFF]);
	size_t hard = tally_light_lost(&runs[HARD]);
	size_t borrowed = tally_light_lost(&runs[BORROWED]);
	bool kept;

	printf("\nlost by the lighter tenants: %zu without a share, %zu with "
	       "one, %zu with borrowing\n",
	       off, hard, borrowed);
	kept = keep(2 * hard <= off, "a share at least halves it");
	kept &= keep(20 * borrowed <= 21 * hard,
		     "borrowing adds a twentieth at most");
	kept &= keep(runs[BORROWED].idle == 0,
		     "with borrowing no unit is free while anybody waits");
	/* Or the last would be true of anything. */
	kept &= keep(runs[HARD].idle > 0 && runs[BORROWED].borrowed > 0,
		     "a hard share leaves units free that are then lent");
	return kept;
}

static bool
play_all(const struct trace *trace, const struct plan *plan)
{
	const struct {
		unsigned share;
		const char *borrow;
	} kinds[RUNS] = {
		[OFF] = { 100, "off" },
		[HARD] = { plan->share, "off" },
		[BORROWED] = { plan->share, "on" },
	};
	struct tally runs[RUNS];
	char words[64];
	bool kept;

	for (size_t i = 0; i < RUNS; i++) {
		snprintf(words, sizeof(words),
			 "tenant_max_share_pct=%u tenant_borrow=%s",
			 kinds[i].share, kinds[i].borrow);
		play(trace, plan, words, &runs[i]);
		tally_print(&runs[i], words);
	}
	kept = judge(runs);
	for (size_t i = 0; i < RUNS; i++)
		tally_fini(&runs[i]);
	return kept;
}

int
main(int argc, char **argv)
{
	struct plan plan = { 40, 80, SETTINGS_DEFAULT_WAIT_MS, 10, 150 };
	unsigned *const fields[] = { &plan.ceiling, &plan.depth,
				     &plan.window_ms, &plan.share, &plan.load };
	struct trace trace;
	bool kept;

	if (argc < 2 || (size_t)argc > ARRAY_LEN(fields) + 2) {
		fputs("usage: tenant_shares TRACE [CEILING [DEPTH [WINDOW_MS "
		      "[SHARE [LOAD]]]]]\n",
		      stderr);
		return EXIT_FAILURE;
	}
	for (int i = 2; i < argc; i++)
		*fields[i - 2] = (unsigned)kit_number(argv[i]);
	trace_read(&trace, argv[1]);
	trace_load(&trace, plan.load, plan.ceiling);
	kept = play_all(&trace, &plan);
	trace_fini(&trace);
	return kept ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate against a naive model of it: hundreds of thousands of random steps
 * on two rules, and after each one all that must hold is looked at.
 *
 *  - a verdict is the one that the ladder gives for what could be seen before;
 *  - every question has one answer, unless its connection was lost;
 *  - who waits is who the model says, in that order, and could not run;
 *  - units only rise up to a ceiling, and are those of the ledger;
 *  - every counter is the sum of what was answered (row 345);
 *  - at the end all is zero.
 */
#include "agent/core/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/ledger.h"
#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

#define STEPS 250000
#define RULES 2
#define IDS 48
#define PEERS 4
#define POOLS 4096 /* that ever were */
#define ENDPOINTS 3
#define AGE (60 * USEC_PER_SEC)

enum place { FREE, WAITING, EXECUTING };

struct mpool {
	struct pool *pool; /* gone with its last unit once retired */
	bool retired;
	uint32_t executing;
	unsigned waiting[IDS]; /* ids, oldest first */
	uint32_t waiting_len;
	uint64_t decisions[REASON_COUNT];
	uint64_t ran_after_wait;
	uint64_t reclaimed;
};

struct mid {
	struct mpool *pool;
	uint64_t newest; /* question */
	uint64_t permit;
	usec_t since;
	usec_t deadline;
	usec_t admitted;
	usec_t early_since;
	enum place place;
	bool early;
	char id[8];
};

struct mquestion {
	unsigned id;
	unsigned peer;
	bool answered;
	bool lost;
	bool superseded;
};

struct mrule {
	struct mpool *pool; /* NULL: no such rule */
	struct settings settings;
	unsigned variant;
};

static struct gate *gate;
static usec_t now;
static struct peer peers[PEERS];
static struct mpool pools[POOLS];
static size_t pool_count;
static struct mid ids[IDS];
static struct mrule rules[RULES];
static struct mquestion questions[STEPS];
static uint64_t question_count;
static uint64_t unknown_permits;

/* How often each thing happened: a model that never does it proves nothing. */
static uint64_t seen[REASON_COUNT];
static uint64_t seen_superseded, seen_reclaimed, seen_early, seen_lost;

/* ---- chance ---- */

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static unsigned
pick(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 11) % below);
}

static bool
chance(unsigned percent)
{
	return pick(100) < percent;
}

/* ---- the rules ---- */

static uint32_t
setting(enum mode mode, uint32_t value)
{
	/* Where all are let through there is little to see. */
	return mode == MODE_ENFORCE || chance(50) ? value : 0;
}

static struct settings
any_settings(void)
{
	struct settings s = { 0 };

	s.mode = chance(80)   ? MODE_ENFORCE
		 : chance(70) ? MODE_OBSERVE
			      : MODE_OFF;
	s.max_outstanding = setting((enum mode)s.mode, pick(9));
	s.ep_max_inflight = setting((enum mode)s.mode, pick(4));
	s.queue_depth = pick(7);
	s.queue_wait_ms = s.queue_depth > 0 ? 1 + pick(3000) : 0;
	return s;
}

/* The key of a rule and, by variant, endpoints that make it another service. */
static struct rule *
rule_of(unsigned which, unsigned variant, const struct settings *s)
{
	char words[160];
	struct rule *rule;

	snprintf(words, sizeof(words),
		 "port=%u name=p%u endpoints=10.0.%u.1:80,10.0.%u.2:80*2,"
		 "10.0.%u.3:80",
		 8001 + which, which, variant, variant, variant);
	rule = kit_rule(words);
	rule->declared = *s;
	return rule;
}

static struct service *
service_of(unsigned which)
{
	struct rule *key = rule_of(which, 0, &(struct settings){ 0 });
	struct service *s = rulebook_find(&gate->rules, key);

	rule_free(&key);
	return s;
}

static void
new_mpool(unsigned which)
{
	struct mpool *m = &pools[pool_count++];

	assert_true(pool_count < POOLS);
	m->pool = service_of(which)->pool;
	rules[which].pool = m;
}

/* ---- who moves where ---- */

static void
leave_line(struct mpool *m, unsigned id)
{
	uint32_t at = 0;

	while (m->waiting[at] != id)
		assert_true(++at < m->waiting_len);
	m->waiting_len--;
	memmove(&m->waiting[at], &m->waiting[at + 1],
		(m->waiting_len - at) * sizeof(m->waiting[0]));
}

static void
count(struct mpool *m, enum reason reason)
{
	m->decisions[reason]++;
	seen[reason]++;
}

static void
begin(struct mid *i, struct mpool *m, uint64_t permit)
{
	i->place = EXECUTING;
	i->pool = m;
	i->permit = permit;
	i->admitted = now;
	m->executing++;
	count(m, REASON_ADMITTED);
}

static void
set_free(struct mid *i)
{
	if (i->place == EXECUTING)
		i->pool->executing--;
	if (i->place == WAITING)
		leave_line(i->pool, (unsigned)(i - ids));
	i->place = FREE;
}

/* ---- answers that come later ---- */

static void
woken(struct mid *i, const struct answer *a)
{
	struct mpool *m = i->pool;

	/* Strictly first come, first served. */
	assert_int_equal(m->waiting[0], i - ids);
	leave_line(m, (unsigned)(i - ids));
	m->ran_after_wait++;
	begin(i, m, a->permit);
}

static void
refused(struct mid *i, const struct answer *a)
{
	if (a->reason == REASON_QUEUE_TIMEOUT)
		assert_true(i->deadline <= now);
	if (a->reason == REASON_DRAINED)
		assert_true(i->pool->retired || gate->draining);
	/* Nobody reads the answer to one who has gone. */
	if (a->reason != REASON_CANCELLED)
		assert_int_equal(a->queued_ms,
				 (now - i->since) / USEC_PER_MSEC);
	count(i->pool, a->reason);
	set_free(i);
}

static void
take_answer(const struct asker *to, const struct answer *a)
{
	struct mquestion *q = &questions[to->stream];
	struct mid *i = &ids[q->id];

	assert_true(to->stream < question_count);
	assert_ptr_equal(to->peer, &peers[q->peer]);
	assert_false(q->answered);
	assert_false(q->lost);
	q->answered = true;
	if (q->superseded) {
		assert_int_equal(a->verdict, VERDICT_REFUSE);
		assert_int_equal(a->reason, REASON_CANCELLED);
		return;
	}
	assert_int_equal(i->place, WAITING);
	assert_true(i->newest == to->stream);
	switch (a->verdict) {
	case VERDICT_ADMIT:
		woken(i, a);
		return;
	case VERDICT_REFUSE:
		refused(i, a);
		return;
	case VERDICT_BYPASS:
		assert_int_equal(pool_mode(i->pool->pool), MODE_OFF);
		set_free(i);
		return;
	case VERDICT_WAIT:
		fail();
	}
}

static void
take_answers(void)
{
	struct asker to;
	struct answer a;

	while (gate_next_answer(gate, &to, &a))
		take_answer(&to, &a);
}

/* ---- questions ---- */

/* What the ladder says for what can be seen now. */
static enum verdict
predict(const struct mpool *m, const struct ask *ask, enum reason *why)
{
	const struct settings *s = &m->pool->effective.value;
	bool full = s->ep_max_inflight > 0;
	bool some = false;
	bool over;

	for (size_t i = 0; i < m->pool->endpoint_count; i++) {
		const struct endpoint *e = &m->pool->endpoints[i];

		some = some || e->up;
		full = full && (!e->up || e->units >= s->ep_max_inflight);
	}
	over = s->max_outstanding > 0 && m->executing >= s->max_outstanding;
	*why = REASON_ADMITTED;
	if (s->mode == MODE_OBSERVE)
		return VERDICT_ADMIT;
	*why = REASON_NO_HEALTHY_CAPACITY;
	if (m->waiting_len == 0 && !over && !some)
		return VERDICT_REFUSE;
	*why = REASON_ADMITTED;
	if (m->waiting_len == 0 && !over && !full)
		return VERDICT_ADMIT;
	*why = REASON_CAPACITY_SHED;
	if (s->queue_depth == 0 || ask->http > 1 || ask->leg != ROLE_NORMAL)
		return VERDICT_REFUSE;
	*why = m->waiting_len < s->queue_depth ? REASON_QUEUED
					       : REASON_QUEUE_FULL;
	return *why == REASON_QUEUED ? VERDICT_WAIT : VERDICT_REFUSE;
}

/* In observe the same ceilings are only counted. */
static void
count_observed(struct mpool *m)
{
	const struct settings *s = &m->pool->effective.value;
	enum reason would = s->queue_depth > 0 ? REASON_OBSERVE_WOULD_QUEUE
					       : REASON_OBSERVE_WOULD_SHED;
	bool some = false, room = false;

	for (size_t i = 0; i < m->pool->endpoint_count; i++) {
		const struct endpoint *e = &m->pool->endpoints[i];

		some = some || e->up;
		room = room || (e->up && (s->ep_max_inflight == 0 ||
					  e->units < s->ep_max_inflight));
	}
	if (s->max_outstanding > 0 && m->executing >= s->max_outstanding)
		count(m, would);
	if (!some)
		count(m, REASON_OBSERVE_WOULD_SHED);
	else if (!room)
		count(m, would);
}

static struct ask
any_ask(unsigned id, unsigned rule, unsigned peer)
{
	return (struct ask){
		.id = text_of(ids[id].id),
		.query = { .port = (uint16_t)(8001 + rule),
			   .vip = { ADDRESS_V4, { 127, 0, 0, 1 } },
			   .path = text_of(chance(97) ? "/generate" : "/") },
		.method = text_of("POST"),
		.http = chance(85) ? 1 : 2,
		.streamed = chance(20),
		.leg = chance(4) ? ROLE_DECODE : ROLE_NORMAL,
		.waited = chance(5) ? pick(4000) * USEC_PER_MSEC : 0,
		.asker = { &peers[peer], question_count, 7 },
	};
}

static void
ask_new(struct mid *i, const struct ask *ask, struct mrule *rule)
{
	struct mpool *m = rule->pool;
	enum verdict expected = VERDICT_BYPASS;
	enum reason why = REASON_ADMITTED;
	enum verdict got;
	struct answer a;

	if (m != NULL && rule->settings.mode != MODE_OFF) {
		if (ask->query.path.len == 1)
			count(m, REASON_BYPASS);
		else if (!i->early)
			expected = predict(m, ask, &why);
		if (expected == VERDICT_ADMIT &&
		    rule->settings.mode == MODE_OBSERVE)
			count_observed(m);
	}
	got = gate_ask(gate, ask, now, &a);
	assert_int_equal(got, expected);
	questions[ask->asker.stream].answered = got != VERDICT_WAIT;
	if (m == NULL)
		return;
	if (got == VERDICT_ADMIT)
		begin(i, m, a.permit);
	if (got == VERDICT_REFUSE) {
		assert_int_equal(a.reason, why);
		count(m, why);
	}
	if (got != VERDICT_WAIT)
		return;
	count(m, REASON_QUEUED);
	i->place = WAITING;
	i->pool = m;
	i->newest = ask->asker.stream;
	i->since = now - ask->waited;
	i->deadline = i->since + rule->settings.queue_wait_ms * USEC_PER_MSEC;
	m->waiting[m->waiting_len++] = (unsigned)(i - ids);
}

static void
ask_again(struct mid *i, const struct ask *ask)
{
	enum place place = i->place;
	struct answer a;
	enum verdict got = gate_ask(gate, ask, now, &a);

	if (place == EXECUTING) {
		assert_int_equal(got, VERDICT_ADMIT);
		assert_true(a.permit == i->permit);
		questions[ask->asker.stream].answered = true;
		return;
	}
	assert_int_equal(got, VERDICT_WAIT);
	questions[i->newest].superseded = true;
	i->newest = ask->asker.stream;
	seen_superseded++;
}

static void
do_ask(void)
{
	unsigned id = pick(IDS), rule = pick(RULES), peer = pick(PEERS);
	struct ask ask = any_ask(id, rule, peer);

	if (ids[id].place != FREE && !chance(30))
		return;
	questions[question_count++] =
		(struct mquestion){ .id = id, .peer = peer };
	if (ids[id].place == FREE)
		ask_new(&ids[id], &ask, &rules[rule]);
	else
		ask_again(&ids[id], &ask);
}

/* ---- ends ---- */

static void
do_end(void)
{
	struct mid *i = &ids[pick(IDS)];
	struct ending ending = { .id = text_of(i->id) };
	enum line_result expected = LINE_EARLY;

	if (i->place == EXECUTING)
		expected = LINE_RELEASED;
	else if (i->place == WAITING)
		expected = LINE_CANCELLED;
	else if (i->early)
		expected = LINE_LATE;
	else if (chance(30)) {
		ending.verdict = text_of("refuse");
		expected = LINE_NOTED;
	} else if (chance(30)) {
		ending.permit = text_of("forged");
		expected = LINE_UNKNOWN;
		unknown_permits++;
	} else if (chance(90)) {
		return;
	}

	if (i->place == EXECUTING)
		set_free(i);
	if (expected == LINE_EARLY) {
		i->early = true;
		i->early_since = now;
		seen_early++;
	}
	assert_int_equal(gate_end(gate, &ending, now), expected);
}

static void
do_lose(void)
{
	unsigned peer = pick(PEERS);

	if (!chance(10))
		return;
	gate_peer_lost(gate, &peers[peer]);
	for (size_t n = 0; n < IDS; n++) {
		struct mid *i = &ids[n];

		if (i->place != WAITING || questions[i->newest].peer != peer)
			continue;
		questions[i->newest].lost = true;
		count(i->pool, REASON_CANCELLED);
		set_free(i);
		seen_lost++;
	}
}

/* ---- time ---- */

static usec_t
any_pause(void)
{
	if (chance(60))
		return 0;
	return chance(97) ? pick(200) * USEC_PER_MSEC + pick(1000)
			  : pick(12000) * USEC_PER_MSEC;
}

/* Those whose unit the gate took back; it tells their number only. */
static size_t
find_reclaimed(usec_t admitted_by)
{
	size_t found = 0;

	for (size_t n = 0; n < IDS; n++) {
		struct mid *i = &ids[n];

		if (i->place != EXECUTING ||
		    ledger_find(gate->ledger, text_of(i->id)) != NULL)
			continue;
		assert_true(i->admitted <= admitted_by);
		i->pool->reclaimed++;
		set_free(i);
		found++;
	}
	seen_reclaimed += found;
	return found;
}

/* A look at its endpoint says more than its age. */
static bool
is_spared(const struct mid *i)
{
	const struct request *r = ledger_find(gate->ledger, text_of(i->id));
	const struct endpoint *e = r->endpoint;

	return e != NULL && e->looked[0] > 0 &&
	       now - e->looked[0] < GATE_LOOK_TRUST;
}

static void
do_tick(void)
{
	usec_t old = now < AGE ? 0 : now - AGE;
	/* Once one was spared, ages are looked at once a second. */
	bool looked = gate->spared == 0 || now >= gate->spared + USEC_PER_SEC;

	gate_tick(gate, now);
	find_reclaimed(old);
	take_answers();
	for (size_t n = 0; n < IDS; n++) {
		struct mid *i = &ids[n];

		assert_false(i->place == WAITING && i->deadline <= now);
		assert_false(looked && i->place == EXECUTING &&
			     i->admitted <= old && !is_spared(i));
		if (i->early && now - i->early_since >= LEDGER_EARLY_USEC)
			i->early = false;
	}
}

static void
tell(const struct mrule *rule, unsigned which, unsigned excess)
{
	char name[8];

	snprintf(name, sizeof(name), "p%u", which);
	for (size_t n = 0; n < rule->pool->pool->endpoint_count; n++) {
		const struct endpoint *e = &rule->pool->pool->endpoints[n];
		struct server_look look = { .backend = text_of(name),
					    .server = text_of("srv"),
					    .address = e->address,
					    .port = e->port,
					    .up = chance(85),
					    .sessions = e->units };

		look.sessions -= excess < e->units ? excess : e->units;
		gate_look_server(gate, &look);
	}
}

static void
do_look(void)
{
	/* Now and then three in a row, which is what it takes. */
	unsigned looks = chance(20) ? 3 : 1;
	unsigned excess = chance(30);

	if (!chance(20))
		return;
	while (looks-- > 0) {
		size_t given_back;

		gate_look_begin(gate, now);
		for (unsigned i = 0; i < RULES; i++)
			if (rules[i].pool != NULL)
				tell(&rules[i], i, excess);
		given_back = gate_look_end(gate, chance(90), now);
		assert_int_equal(find_reclaimed(now), given_back);
		take_answers();
		now += 1 + pick(1000);
	}
}

/* ---- changes ---- */

static void
put(unsigned which, unsigned variant)
{
	struct mrule *rule = &rules[which];
	struct settings s = any_settings();
	enum gate_change change;

	if (rule->pool != NULL && variant != rule->variant)
		rule->pool->retired = true;
	change = gate_put(gate, rule_of(which, variant, &s), now);
	take_answers();
	assert_true(change != GATE_NO_MEMORY);
	assert_int_equal(change == GATE_CREATED, rule->pool == NULL);
	if (change == GATE_CREATED || change == GATE_RECREATED)
		new_mpool(which);
	rule->settings = s;
	rule->variant = variant;
}

static void
do_change(void)
{
	unsigned which = pick(RULES);
	struct mrule *rule = &rules[which];

	if (!chance(20))
		return;
	if (rule->pool == NULL || chance(95)) {
		put(which, rule->pool == NULL || chance(90)
				   ? rule->variant
				   : 1 - rule->variant);
		return;
	}
	rule->pool->retired = true;
	gate_delete(gate, service_of(which), now);
	take_answers();
	rule->pool = NULL;
}

/* ---- what must hold ---- */

struct before {
	uint32_t units;
	uint32_t endpoint[ENDPOINTS];
	const struct mpool *of;
};

static void
look_at_line(const struct mpool *m)
{
	const struct request *r;
	uint32_t n = 0;

	assert_int_equal(m->pool->queue.len, m->waiting_len);
	TAILQ_FOREACH (r, &m->pool->tenants.last.line, queued) {
		assert_true(n < m->waiting_len);
		assert_memory_equal(r->id, ids[m->waiting[n]].id, r->id_len);
		n++;
	}
	assert_int_equal(n, m->waiting_len);
}

static void
look_at_units(const struct mpool *m)
{
	const struct request *r;
	uint32_t with = 0, without = 0, all = 0;

	for (size_t i = 0; i < m->pool->endpoint_count; i++)
		with += m->pool->endpoints[i].units;
	TAILQ_FOREACH (r, &gate->ledger->executing, aged) {
		if (r->pool != m->pool)
			continue;
		all++;
		without += r->endpoint == NULL;
	}
	assert_int_equal(m->pool->units, m->executing);
	assert_int_equal(m->pool->units, with + without);
	assert_int_equal(m->pool->units, all);
}

/* Above a ceiling only by what was there when it was lowered. */
static void
look_at_ceilings(const struct mpool *m, const struct before *b)
{
	const struct settings *s = &m->pool->effective.value;
	uint32_t units = b->of == m ? b->units : 0;

	if (s->mode != MODE_ENFORCE)
		return;
	if (s->max_outstanding > 0 && m->pool->units > units)
		assert_true(m->pool->units <= s->max_outstanding);
	for (size_t i = 0; i < m->pool->endpoint_count; i++) {
		const struct endpoint *e = &m->pool->endpoints[i];

		if (s->ep_max_inflight > 0 &&
		    e->units > (b->of == m ? b->endpoint[i] : 0))
			assert_true(e->units <= s->ep_max_inflight);
	}
}

/* Nobody waits who could run. */
static void
look_at_idleness(const struct mpool *m)
{
	enum reason why;

	if (m->waiting_len == 0)
		return;
	assert_int_equal(pool_mode(m->pool), MODE_ENFORCE);
	assert_int_not_equal(
		predict(&(struct mpool){ .pool = m->pool,
					 .executing = m->executing },
			&(struct ask){ .http = 1 }, &why),
		VERDICT_ADMIT);
	assert_int_not_equal(why, REASON_NO_HEALTHY_CAPACITY);
}

static void
look_at_counters(const struct mpool *m)
{
	for (size_t i = 0; i < REASON_COUNT; i++)
		assert_int_equal(m->pool->decisions[i], m->decisions[i]);
	assert_int_equal(m->pool->waits.count, m->ran_after_wait);
	assert_int_equal(m->pool->reclaimed, m->reclaimed);
	/* Row 345: of those who waited, each is somewhere. */
	assert_true(m->decisions[REASON_QUEUED] >=
		    m->ran_after_wait + m->decisions[REASON_QUEUE_TIMEOUT] +
			    m->decisions[REASON_CANCELLED] +
			    m->decisions[REASON_DRAINED] + m->waiting_len);
}

static void
look_at_the_retired(void)
{
	const struct pool *p;
	size_t alive = 0, there = 0;

	TAILQ_FOREACH (p, &gate->retired, link)
		there++;
	for (size_t i = 0; i < pool_count; i++) {
		const struct mpool *m = &pools[i];

		if (!m->retired)
			continue;
		assert_int_equal(m->waiting_len, 0);
		if (m->executing == 0)
			continue;
		alive++;
		look_at_units(m);
	}
	assert_int_equal(there, alive);
}

static void
look_at_anomalies(void)
{
	const uint64_t *value = gate->metrics.value[METRIC_anomalies];

	assert_int_equal(value[ANOMALY_UNDERFLOW], 0);
	assert_int_equal(value[ANOMALY_UNKNOWN_PERMIT], unknown_permits);
}

static void
remember(struct before *b, const struct mrule *rule)
{
	b->of = rule->pool;
	if (b->of == NULL)
		return;
	b->units = b->of->pool->units;
	for (size_t i = 0; i < ENDPOINTS; i++)
		b->endpoint[i] = b->of->pool->endpoints[i].units;
}

static void
look_at_all(const struct before before[RULES])
{
	for (unsigned i = 0; i < RULES; i++) {
		const struct mpool *m = rules[i].pool;

		if (m == NULL)
			continue;
		look_at_line(m);
		look_at_units(m);
		look_at_ceilings(m, &before[i]);
		look_at_idleness(m);
		look_at_counters(m);
	}
	look_at_anomalies();
}

/* ---- the course of it ---- */

static void
step(void)
{
	static void (*const often[])(
		void) = { do_ask, do_ask,  do_ask,  do_ask,    do_end, do_end,
			  do_end, do_tick, do_look, do_change, do_lose };
	struct before before[RULES];

	for (unsigned i = 0; i < RULES; i++)
		remember(&before[i], &rules[i]);
	often[pick(ARRAY_LEN(often))]();
	take_answers();
	look_at_all(before);
}

static void
end_everything(void)
{
	gate_drain(gate, now);
	take_answers();
	for (size_t n = 0; n < IDS; n++) {
		struct ending ending = { .id = text_of(ids[n].id) };

		assert_int_not_equal(ids[n].place, WAITING);
		if (ids[n].place != EXECUTING)
			continue;
		assert_int_equal(gate_end(gate, &ending, now), LINE_RELEASED);
		set_free(&ids[n]);
	}
	assert_true(TAILQ_EMPTY(&gate->ledger->executing));
	assert_true(TAILQ_EMPTY(&gate->retired));
	assert_int_equal(gate->wheel->len, 0);
	for (unsigned i = 0; i < RULES; i++)
		if (rules[i].pool != NULL)
			assert_int_equal(rules[i].pool->pool->units, 0);
	for (uint64_t i = 0; i < question_count; i++)
		assert_true(questions[i].answered != questions[i].lost);
}

static void
assert_all_was_seen(void)
{
	for (size_t i = 0; i < REASON_COUNT; i++)
		if (i != REASON_DRAINING && i != REASON_TENANT_SHARE)
			assert_true(seen[i] > 20);
	assert_true(seen_superseded > 300);
	assert_true(seen_reclaimed > 100);
	assert_true(seen_early > 300);
	assert_true(seen_lost > 100);
}

static void
the_gate_does_what_a_naive_model_does(void **state)
{
	const struct gate_options options = { .epoch = 0xabc,
					      .hash_key = { 1, 2 },
					      .unit_max_age = AGE,
					      .backend = "pool" };
	const struct settings_env env = { 0 };

	(void)state;
	now = 1000 * USEC_PER_SEC;
	gate = gate_new(&options, &env, now);
	assert_non_null(gate);
	for (unsigned i = 0; i < PEERS; i++)
		LIST_INIT(&peers[i].waiters);
	for (unsigned i = 0; i < IDS; i++)
		snprintf(ids[i].id, sizeof(ids[i].id), "id%u", i);
	for (unsigned i = 0; i < RULES; i++)
		put(i, 0);
	for (unsigned i = 0; i < STEPS; i++) {
		step();
		now += any_pause();
		if (i % 64 == 0)
			look_at_the_retired();
	}
	end_everything();
	assert_all_was_seen();
	gate_free(&gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gate_does_what_a_naive_model_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

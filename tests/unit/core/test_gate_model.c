/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate against a naive model of it: hundreds of thousands of random steps
 * on three rules, one of them for pairs, and after each one all that must hold
 * is looked at.
 *
 *  - a verdict is the one that the ladder gives for what could be seen before;
 *  - every question has one answer, unless its connection was lost;
 *  - who waits is who the model says, the next one is who is next there, and
 *    could not run; where shares are borrowed nobody could;
 *  - units only rise up to a ceiling or a share, and are those of the ledger;
 *  - tenants hold what their requests do, each in one slot;
 *  - every counter is the sum of what was answered (row 345);
 *  - at the end all is zero.
 *
 * With a number it starts from another chance: test_gate_model SEED.
 */
#include "agent/core/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/ledger.h"
#include "tests/cmocka.h"
#include "tests/unit/core/gate_model.h"
#include "tests/unit/core/kit.h"

#define STEPS 250000
#define RULES 3
#define PAIRS 2 /* the rule that is for pairs */
#define PEERS 4
#define POOLS 4096 /* that ever were */
#define ENDPOINTS 4
#define AGE (60 * USEC_PER_SEC)

/* How much there is of everything. */
struct scale {
	unsigned steps;
	unsigned ids;
	unsigned tenants;
	unsigned ceiling, endpoint_ceiling, depth; /* below */
	unsigned first_rule;                       /* percent of all that ask */
	unsigned lazy;  /* percent of the ends that do not come */
	unsigned busy;  /* percent of the steps after which no time goes by */
	unsigned least; /* how often each thing must happen */
};

/* A few, so that all that meets does meet. */
static const struct scale narrow = { STEPS, 48, 4, 9, 4, 7, 34, 0, 60, 100 };

/* More tenants than there are slots. */
static const struct scale wide = {
	60000, MODEL_IDS, MODEL_TENANTS, 160, 90, 120, 80, 20, 90, 20
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
	unsigned variant;
};

static const struct scale *scale;
static struct gate *gate;
static usec_t now;
static struct peer peers[PEERS];
static struct mpool pools[POOLS];
static size_t pool_count;
static struct model model;
static struct mid *const ids = model.ids;
static struct mrule rules[RULES];
static struct mquestion questions[STEPS];
static uint64_t question_count;
static uint64_t unknown_permits, table_full;

/* Units came back, and others were given, in an order only the gate knows. */
static bool out_of_order;

/* How often each thing happened: a model that never does it proves nothing. */
static struct {
	uint64_t reason[REASON_COUNT];
	uint64_t superseded, reclaimed, early, lost;
	uint64_t tightened, regrouped, passed, borrowed, pairs, legs, exposed,
		begun;
	uint32_t most_active;
} seen;

/* ---- chance ---- */

static uint64_t first_seed = UINT64_C(0x9e3779b97f4a7c15);
static bool exploring; /* from a seed of which nobody knows what it does */
static uint64_t seed;

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

static enum switch_state
any_switch(unsigned percent)
{
	return chance(percent) ? SWITCH_ON : SWITCH_OFF;
}

static void
any_share(struct settings *s)
{
	s->tenant_max_share_pct = chance(20)   ? 0
				  : chance(60) ? 10 + pick(30)
					       : 1 + pick(100);
	/* So small that many tenants can be at it. */
	if (scale->tenants > 64 && chance(60))
		s->tenant_max_share_pct = 1 + pick(3);
	s->tenant_borrow = any_switch(40);
}

static struct settings
any_settings(void)
{
	struct settings s = { 0 };
	enum mode mode = chance(80)   ? MODE_ENFORCE
			 : chance(70) ? MODE_OBSERVE
				      : MODE_OFF;

	s.mode = mode;
	s.max_outstanding = setting(mode, pick(scale->ceiling));
	s.ep_max_inflight = setting(mode, pick(scale->endpoint_ceiling));
	s.prefill_max_inflight = setting(mode, pick(scale->endpoint_ceiling));
	s.decode_max_inflight = setting(mode, pick(scale->endpoint_ceiling));
	s.queue_depth = pick(scale->depth);
	s.queue_wait_ms = 1 + pick(chance(50) ? 3000 : 60000);
	if (s.queue_depth == 0)
		s.queue_wait_ms = 0;
	s.expose_headers = any_switch(50);
	s.adaptive = chance(30) ? FOLLOW_ON : FOLLOW_OFF;
	s.telemetry_stale_ms = 20000;
	any_share(&s);
	return s;
}

/* The key of a rule and, by variant, endpoints that make it another service. */
static struct rule *
rule_of(unsigned which, unsigned variant, const struct settings *s)
{
	bool pairs = which == PAIRS;
	const char *one = pairs ? "@prefill" : "";
	const char *other = pairs ? "@decode" : "";
	char words[256];
	struct rule *rule;

	snprintf(words, sizeof(words),
		 "%s port=%u name=p%u endpoints=10.0.%u.1:80%s,"
		 "10.0.%u.2:80*2%s,10.0.%u.3:80%s,10.0.%u.4:80%s",
		 pairs ? "pd" : "sse", 8001 + which, which, variant, one,
		 variant, other, variant, other, variant, one);
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
	m->disaggregated = which == PAIRS;
	rules[which].pool = m;
}

/* ---- who moves where ---- */

static const struct request *
live(const struct mid *i)
{
	const struct request *r = ledger_find(gate->ledger, text_of(i->id));

	if (r == NULL)
		kit_fault("not in the ledger", i->id);
	return r;
}

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
	seen.reason[reason]++;
}

/* Only whom nobody needs may pass its share (and only if shares are lent). */
static void
assert_share(const struct mpool *m, const struct mid *i)
{
	struct tally t;

	model_count(&model, m, &t);
	if (out_of_order || m->settings.mode != MODE_ENFORCE ||
	    t.units[i->group] <= model_unit_bound(m))
		return;
	assert_int_equal(m->settings.tenant_borrow, SWITCH_ON);
	seen.borrowed++;
	for (uint32_t n = 0; n < m->waiting_len; n++)
		assert_true(t.units[ids[m->waiting[n]].group] >=
			    model_unit_bound(m));
}

/* One endpoint of each role it needs, unless there was none. */
static void
assert_placed(const struct mpool *m, const struct mid *i)
{
	bool pair = m->disaggregated && i->leg == ROLE_NORMAL;
	bool enforced = m->settings.mode == MODE_ENFORCE;

	assert_true(!enforced || i->endpoint != NULL);
	assert_true(!enforced || (i->prefill != NULL) == pair);
	assert_true(pair || i->prefill == NULL);
	if (i->endpoint != NULL && m->disaggregated)
		assert_int_equal(i->endpoint->role,
				 pair ? ROLE_DECODE : i->leg);
	if (i->prefill != NULL)
		assert_int_equal(i->prefill->role, ROLE_PREFILL);
	seen.pairs += i->prefill != NULL;
	seen.legs += m->disaggregated && !pair;
}

static void
assert_told(const struct mid *i, const struct answer *a)
{
	const struct settings *s = &i->pool->settings;

	assert_true(a->permit == i->permit);
	assert_int_equal(a->server != NULL, i->endpoint != NULL);
	assert_ptr_equal(a->prefill,
			 i->prefill != NULL ? i->prefill->target : NULL);
	/* Read by who asks again: the pool may have changed since. */
	if (!i->pool->retired)
		assert_int_equal(a->respond,
				 i->prefill != NULL ||
					 (s->expose_headers == SWITCH_ON &&
					  s->mode != MODE_OFF));
}

static void
begin(struct mid *i, struct mpool *m, const struct answer *a)
{
	const struct request *r = live(i);

	i->place = EXECUTING;
	i->pool = m;
	i->permit = a->permit;
	i->admitted = now;
	i->endpoint = r->endpoint;
	i->prefill = r->prefill;
	m->executing++;
	count(m, REASON_ADMITTED);
	assert_placed(m, i);
	assert_told(i, a);
	if (model_is_whole(m, i->leg))
		assert_share(m, i);
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

/* The oldest at least of those that it is counted with. */
static void
assert_first_of_its_group(const struct mpool *m, const struct mid *i)
{
	for (uint32_t n = 0; &ids[m->waiting[n]] != i; n++) {
		assert_true(n + 1 < m->waiting_len);
		assert_int_not_equal(ids[m->waiting[n]].group, i->group);
	}
}

static void
assert_turn(const struct mid *i)
{
	const struct mpool *m = i->pool;

	assert_first_of_its_group(m, i);
	if (!out_of_order)
		assert_int_equal(model_next(&model, m), i - ids);
	seen.passed += m->waiting[0] != i - ids;
}

static void
woken(struct mid *i, const struct answer *a)
{
	struct mpool *m = i->pool;

	assert_turn(i);
	leave_line(m, (unsigned)(i - ids));
	m->ran_after_wait++;
	begin(i, m, a);
}

static void
refused(struct mid *i, const struct answer *a)
{
	if (a->reason == REASON_QUEUE_TIMEOUT)
		assert_true(i->deadline <= now);
	if (a->reason == REASON_NO_HEALTHY_CAPACITY)
		assert_turn(i);
	if (a->reason == REASON_DRAINED) {
		assert_true(i->pool->retired || gate->draining || model.closed);
		assert_int_equal(i->pool->waiting[0], i - ids);
	}
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
		assert_int_equal(i->pool->settings.mode, MODE_OFF);
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
	out_of_order = false;
}

/* ---- questions ---- */

static struct ask
any_ask(unsigned rule, unsigned peer, const char *id, const char *tenant)
{
	return (struct ask){
		.id = text_of(id),
		.query = { .port = (uint16_t)(8001 + rule),
			   .vip = { ADDRESS_V4, { 127, 0, 0, 1 } },
			   .path = text_of(chance(97) ? "/generate" : "/") },
		.method = text_of("POST"),
		.http = chance(85) ? 1 : 2,
		.streamed = chance(20),
		.leg = !chance(rule == PAIRS ? 30 : 4) ? ROLE_NORMAL
		       : chance(50)                    ? ROLE_PREFILL
						       : ROLE_DECODE,
		.tenant = text_of(tenant),
		.waited = chance(5) ? pick(4000) * USEC_PER_MSEC : 0,
		.asker = { &peers[peer], question_count, 7 },
	};
}

static void
count_observed(struct mpool *m, const struct ask *ask, unsigned group)
{
	uint64_t would[REASON_COUNT];

	model_observed(&model, m, ask->leg, group, would);
	for (size_t i = 0; i < REASON_COUNT; i++)
		while (would[i]-- > 0)
			count(m, (enum reason)i);
}

/* Steps 0 to 3, and what the others count before they decide. */
static struct forecast
foresee(const struct mid *i, struct mpool *m, const struct ask *ask,
	unsigned group)
{
	const struct forecast bypass = { VERDICT_BYPASS, REASON_BYPASS, 0 };
	bool enforced;

	if (m->settings.mode == MODE_OFF)
		return bypass;
	enforced = m->settings.mode == MODE_ENFORCE;
	if (ask->query.path.len == 1) {
		count(m, REASON_BYPASS);
		return bypass;
	}
	if (i->early && !(model.closed && enforced))
		return bypass;
	if (model_is_whole(m, ask->leg) && model_is_shared(m) &&
	    group == MODEL_LAST && !(model.closed && enforced))
		table_full++;
	if (!enforced)
		count_observed(m, ask, group);
	return model_forecast(&model, m, ask, group);
}

static void
assert_refusal(const struct mpool *m, const struct answer *a,
	       const struct forecast *f)
{
	struct tally t;

	model_count(&model, m, &t);
	assert_int_equal(a->reason, f->reason);
	assert_int_equal(a->limit, f->limit);
	assert_int_equal(a->inflight, t.all_units);
	assert_int_equal(a->queued, m->waiting_len);
}

static void
join(struct mid *i, struct mpool *m, const struct ask *ask)
{
	count(m, REASON_QUEUED);
	i->place = WAITING;
	i->newest = ask->asker.stream;
	i->since = now - ask->waited;
	i->deadline = i->since + m->settings.queue_wait_ms * USEC_PER_MSEC;
	m->waiting[m->waiting_len++] = (unsigned)(i - ids);
}

static void
ask_new(struct mid *i, const struct ask *ask, struct mpool *m, unsigned tenant)
{
	unsigned group = model_group(&model, m, tenant);
	struct forecast f = foresee(i, m, ask, group);
	struct answer a;
	enum verdict got = gate_ask(gate, ask, now, &a);

	assert_int_equal(got, f.verdict);
	questions[ask->asker.stream].answered = got != VERDICT_WAIT;
	if (got == VERDICT_REFUSE) {
		assert_refusal(m, &a, &f);
		count(m, f.reason);
	}
	if (got != VERDICT_ADMIT && got != VERDICT_WAIT)
		return;
	i->pool = m;
	i->leg = ask->leg;
	i->tenant = tenant;
	i->group = group;
	if (got == VERDICT_ADMIT)
		begin(i, m, &a);
	else
		join(i, m, ask);
}

static void
ask_nobody(const struct ask *ask)
{
	struct answer a;

	assert_int_equal(gate_ask(gate, ask, now, &a), VERDICT_BYPASS);
	questions[ask->asker.stream].answered = true;
}

static void
ask_again(struct mid *i, const struct ask *ask)
{
	enum place place = i->place;
	struct answer a;
	enum verdict got = gate_ask(gate, ask, now, &a);

	if (place == EXECUTING) {
		assert_int_equal(got, VERDICT_ADMIT);
		assert_told(i, &a);
		questions[ask->asker.stream].answered = true;
		return;
	}
	assert_int_equal(got, VERDICT_WAIT);
	questions[i->newest].superseded = true;
	i->newest = ask->asker.stream;
	seen.superseded++;
}

static unsigned
any_rule(void)
{
	return chance(scale->first_rule) ? 0 : 1 + pick(RULES - 1);
}

static void
do_ask(void)
{
	struct mid *i = &ids[pick(scale->ids)];
	unsigned rule = any_rule(), peer = pick(PEERS);
	unsigned tenant = pick(scale->tenants);
	char name[16] = "";
	struct ask ask;

	if (i->place != FREE && !chance(30))
		return;
	/* No name is one, too. */
	if (tenant > 0)
		snprintf(name, sizeof(name), "t%u", tenant);
	ask = any_ask(rule, peer, i->id,
		      tenant > 0 || chance(50) ? name : NULL);
	questions[question_count++] =
		(struct mquestion){ .id = (unsigned)(i - ids), .peer = peer };
	if (i->place != FREE)
		ask_again(i, &ask);
	else if (rules[rule].pool == NULL)
		ask_nobody(&ask);
	else
		ask_new(i, &ask, rules[rule].pool, tenant);
}

/* ---- the engines' answers ---- */

static void
assert_exposed(const struct mpool *m, const struct exposure *e)
{
	struct tally t;

	model_count(&model, m, &t);
	assert_int_equal(e->exposed, m->settings.expose_headers == SWITCH_ON &&
					     m->settings.mode != MODE_OFF);
	if (!e->exposed)
		return;
	assert_int_equal(e->inflight, t.all_units);
	assert_int_equal(e->queued, m->waiting_len);
	assert_int_equal(e->limit, pool_ceiling(m->pool));
	seen.exposed++;
}

static void
do_respond(void)
{
	struct mid *i = &ids[pick(scale->ids)];
	struct response response = { .id = text_of(i->id),
				     .begun = chance(60) };
	struct exposure e;

	gate_respond(gate, &response, now, &e);
	if (i->place != EXECUTING) {
		assert_false(e.exposed);
		return;
	}
	assert_exposed(i->pool, &e);
	if (!response.begun)
		return;
	seen.begun += i->prefill != NULL;
	i->prefill = NULL;
}

/* Half of them say that somebody waits in them. */
static void
do_report(void)
{
	const struct mpool *m = rules[any_rule()].pool;
	const struct endpoint *e;

	if (m == NULL)
		return;
	e = &m->pool->endpoints[pick((unsigned)m->pool->endpoint_count)];
	gate_report(gate, &e->address, e->port, chance(50) ? 0 : 3, now);
}

/* ---- ends ---- */

/* The line of one that holds nothing; LINE_RELEASED: no line this time. */
static enum line_result
any_other_line(const struct mid *i, struct ending *ending)
{
	if (i->early)
		return LINE_LATE;
	if (chance(30)) {
		ending->verdict = text_of("refuse");
		return LINE_NOTED;
	}
	if (chance(30)) {
		ending->permit = text_of("forged");
		unknown_permits++;
		return LINE_UNKNOWN;
	}
	return chance(90) ? LINE_RELEASED : LINE_EARLY;
}

static void
do_end(void)
{
	struct mid *i = &ids[pick(scale->ids)];
	struct ending ending = { .id = text_of(i->id) };
	enum line_result expected = LINE_CANCELLED;

	if (chance(scale->lazy))
		return;
	if (i->place == FREE) {
		expected = any_other_line(i, &ending);
		if (expected == LINE_RELEASED)
			return;
	}
	if (i->place == EXECUTING) {
		expected = LINE_RELEASED;
		set_free(i);
	}
	if (expected == LINE_EARLY) {
		i->early = true;
		i->early_since = now;
		seen.early++;
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
	for (size_t n = 0; n < scale->ids; n++) {
		struct mid *i = &ids[n];

		if (i->place != WAITING || questions[i->newest].peer != peer)
			continue;
		questions[i->newest].lost = true;
		count(i->pool, REASON_CANCELLED);
		set_free(i);
		seen.lost++;
	}
}

/* ---- time ---- */

static usec_t
any_pause(void)
{
	if (chance(scale->busy))
		return 0;
	return chance(97) ? pick(200) * USEC_PER_MSEC + pick(1000)
			  : pick(12000) * USEC_PER_MSEC;
}

/* Those whose unit the gate took back; it tells their number only. */
static size_t
find_reclaimed(usec_t admitted_by)
{
	size_t found = 0;

	for (size_t n = 0; n < scale->ids; n++) {
		struct mid *i = &ids[n];

		if (i->place != EXECUTING ||
		    ledger_find(gate->ledger, text_of(i->id)) != NULL)
			continue;
		assert_true(i->admitted <= admitted_by);
		i->pool->reclaimed++;
		set_free(i);
		found++;
	}
	seen.reclaimed += found;
	out_of_order = found > 0;
	return found;
}

/* A look at its endpoint says more than its age. */
static bool
is_spared(const struct mid *i)
{
	const struct endpoint *e = live(i)->endpoint;

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
	for (size_t n = 0; n < scale->ids; n++) {
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
	bool outage = chance(5);
	char name[8];

	snprintf(name, sizeof(name), "p%u", which);
	for (size_t n = 0; n < rule->pool->pool->endpoint_count; n++) {
		const struct endpoint *e = &rule->pool->pool->endpoints[n];
		/* Its engine hears of pairs from another engine. */
		uint32_t here = e->units - e->beside;
		struct server_look look = { .backend = text_of(name),
					    .server = text_of("srv"),
					    .address = e->address,
					    .port = e->port,
					    .up = !outage && chance(85),
					    .sessions = here };

		look.sessions -= excess < here ? excess : here;
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

/* One that lives, or whose answer is still due. */
static const struct request *
request_of(const struct mid *i)
{
	const struct request *r = ledger_find(gate->ledger, text_of(i->id));

	if (r != NULL)
		return r;
	TAILQ_FOREACH (r, &gate->answers, answered)
		if (r->asker.stream == i->newest)
			return r;
	kit_fault("nowhere", i->id);
}

/* A share began or ended: who is with whom is the gate's to choose. */
static void
regroup(struct mpool *m)
{
	bool shared = model_is_shared(m);
	bool apart[MODEL_GROUPS] = { false };
	bool together[MODEL_GROUPS] = { false };
	unsigned slots = 0, in_last = 0;

	for (size_t n = 0; n < scale->ids; n++) {
		struct mid *i = &ids[n];

		if (i->pool != m || i->place == FREE ||
		    !model_is_whole(m, i->leg))
			continue;
		i->group = request_of(i)->tenant == &m->pool->tenants.last
				   ? MODEL_LAST
				   : i->tenant;
		slots += i->group != MODEL_LAST && !apart[i->tenant];
		in_last += i->group == MODEL_LAST;
		(i->group == MODEL_LAST ? together : apart)[i->tenant] = true;
	}
	for (unsigned tenant = 0; tenant < MODEL_TENANTS; tenant++)
		assert_false(apart[tenant] && together[tenant]);
	assert_true(shared || slots == 0);
	assert_true(slots <= 64);
	assert_true(!shared || slots == 64 || in_last == 0);
	seen.regrouped++;
}

static void
put(unsigned which, unsigned variant)
{
	struct mrule *rule = &rules[which];
	struct settings s = any_settings();
	bool was_shared = rule->pool != NULL && model_is_shared(rule->pool);
	enum gate_change change;

	if (rule->pool != NULL && variant != rule->variant)
		rule->pool->retired = true;
	change = gate_put(gate, rule_of(which, variant, &s), now);
	assert_true(change != GATE_NO_MEMORY);
	assert_int_equal(change == GATE_CREATED, rule->pool == NULL);
	if (change == GATE_CREATED || change == GATE_RECREATED) {
		take_answers();
		new_mpool(which);
	}
	rule->variant = variant;
	rule->pool->settings = s;
	if (change == GATE_CHANGED && was_shared != model_is_shared(rule->pool))
		regroup(rule->pool);
	take_answers();
}

/* Now and then of one thing only, as an operator would. */
static void
change_one_setting(unsigned which)
{
	struct mrule *rule = &rules[which];
	struct settings s = rule->pool->settings;
	bool was_shared = model_is_shared(rule->pool);
	struct rule *changed;

	if (chance(40))
		any_share(&s);
	else if (chance(40))
		s.max_outstanding = pick(scale->ceiling);
	else
		s.mode = chance(60) ? MODE_ENFORCE : MODE_OBSERVE;
	changed = rule_of(which, rule->variant, &s);
	gate_put(gate, changed, now);
	rule->pool->settings = s;
	if (was_shared != model_is_shared(rule->pool))
		regroup(rule->pool);
	take_answers();
}

static void
do_change(void)
{
	unsigned which = pick(RULES);
	struct mrule *rule = &rules[which];

	if (!chance(10))
		return;
	if (rule->pool != NULL && chance(50)) {
		change_one_setting(which);
		return;
	}
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

static void
do_maintain(void)
{
	if (model.closed && chance(50)) {
		assert_true(gate_leave_maintenance(gate));
		model.closed = false;
	} else if (!model.closed && chance(1)) {
		model.closed = true;
		assert_true(gate_enter_maintenance(gate, 0, 0, now));
	}
}

/* ---- what must hold ---- */

struct before {
	uint32_t units;
	uint32_t endpoint[ENDPOINTS];
	const struct mpool *of;
};

/* Each tenant's line is in the order of the queue. */
static void
look_at_line(const struct mpool *m)
{
	const struct request *last[MODEL_GROUPS] = { NULL };

	assert_int_equal(m->pool->queue.len, m->waiting_len);
	for (uint32_t n = 0; n < m->waiting_len; n++) {
		const struct mid *i = &ids[m->waiting[n]];
		const struct request *r = live(i);
		const struct request *before = last[i->group];

		assert_ptr_equal(before == NULL ? TAILQ_FIRST(&r->tenant->line)
						: TAILQ_NEXT(before, queued),
				 r);
		last[i->group] = r;
	}
}

/* Each request is where its tenant is, and the tenant holds what they do. */
static void
look_at_tenants(const struct mpool *m)
{
	const struct tenant *slot[MODEL_GROUPS] = { NULL };
	struct tally t;

	model_count(&model, m, &t);
	for (size_t n = 0; n < scale->ids; n++) {
		const struct mid *i = &ids[n];
		const struct tenant *tenant;

		if (i->pool != m || i->place == FREE)
			continue;
		tenant = live(i)->tenant;
		if (!model_is_whole(m, i->leg)) {
			assert_null(tenant);
			continue;
		}
		if (slot[i->group] == NULL)
			slot[i->group] = tenant;
		assert_ptr_equal(tenant, slot[i->group]);
		assert_int_equal(i->group == MODEL_LAST,
				 tenant == &m->pool->tenants.last);
		assert_int_equal(tenant->units, t.units[i->group]);
		assert_int_equal(tenant->waiting, t.waiting[i->group]);
	}
	assert_int_equal(m->pool->units, t.all_units);
	assert_int_equal(tenants_active(&m->pool->tenants),
			 model_is_shared(m) ? t.active : 0);
	if (model_is_shared(m) && t.active > seen.most_active)
		seen.most_active = t.active;
}

static void
look_at_units(const struct mpool *m)
{
	uint32_t on[ENDPOINTS] = { 0 }, beside[ENDPOINTS] = { 0 };

	for (size_t n = 0; n < scale->ids; n++) {
		const struct mid *i = &ids[n];

		if (i->pool != m || i->place != EXECUTING)
			continue;
		if (i->endpoint != NULL)
			on[i->endpoint - m->pool->endpoints]++;
		if (i->prefill != NULL)
			beside[i->prefill - m->pool->endpoints]++;
	}
	assert_int_equal(m->pool->executing, m->executing);
	for (size_t i = 0; i < m->pool->endpoint_count; i++) {
		const struct endpoint *e = &m->pool->endpoints[i];

		assert_int_equal(e->units, on[i] + beside[i]);
		assert_int_equal(e->beside, beside[i]);
	}
}

/* Above a ceiling only by what was there when it was lowered. */
static void
look_at_ceilings(const struct mpool *m, const struct before *b)
{
	const struct settings *s = &m->settings;
	const uint32_t ceilings[] = { s->ep_max_inflight,
				      s->prefill_max_inflight,
				      s->decode_max_inflight };
	uint32_t units = b->of == m ? b->units : 0;

	if (s->mode != MODE_ENFORCE)
		return;
	if (s->max_outstanding > 0 && m->pool->units > units)
		assert_true(m->pool->units <= pool_ceiling(m->pool));
	for (size_t i = 0; i < m->pool->endpoint_count; i++) {
		const struct endpoint *e = &m->pool->endpoints[i];
		uint32_t ceiling = ceilings[e->role];

		if (ceiling > 0 && e->units > (b->of == m ? b->endpoint[i] : 0))
			assert_true(e->units <= ceiling);
	}
}

/* Only where it follows the engines it may be less than what is configured. */
static void
look_at_adaptation(const struct mpool *m)
{
	uint32_t most = m->settings.max_outstanding;
	uint32_t ceiling = pool_ceiling(m->pool);

	assert_int_equal(ceiling == 0, most == 0);
	assert_true(ceiling == most ||
		    (ceiling < most && m->settings.adaptive == FOLLOW_ON));
	if (ceiling < most && model_is_shared(m))
		seen.tightened++;
}

/* Nobody waits who could run. */
static void
look_at_idleness(const struct mpool *m)
{
	uint32_t ceiling = pool_ceiling(m->pool);
	struct mplace at;

	if (m->waiting_len == 0)
		return;
	assert_int_equal(m->settings.mode, MODE_ENFORCE);
	if (model_next(&model, m) == MODEL_IDS) {
		assert_int_not_equal(m->settings.tenant_borrow, SWITCH_ON);
		return;
	}
	if (ceiling > 0 && m->pool->units >= ceiling)
		return;
	at = model_place(m, ROLE_NORMAL);
	assert_true(at.full > 0);
	assert_false(at.none);
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
		look_at_tenants(m);
	}
	assert_int_equal(there, alive);
}

static void
look_at_anomalies(void)
{
	const uint64_t *value = gate->metrics.value[METRIC_anomalies];

	assert_int_equal(value[ANOMALY_UNDERFLOW], 0);
	assert_int_equal(value[ANOMALY_UNKNOWN_PERMIT], unknown_permits);
	assert_int_equal(value[ANOMALY_TENANT_TABLE_FULL], table_full);
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
		look_at_tenants(m);
		look_at_units(m);
		look_at_ceilings(m, &before[i]);
		look_at_adaptation(m);
		look_at_idleness(m);
		look_at_counters(m);
	}
	look_at_anomalies();
}

/* ---- the course of it ---- */

static void
step(void)
{
	static void (*const often[])(void) = {
		do_ask,  do_ask,    do_ask,    do_ask,     do_ask,
		do_end,  do_end,    do_end,    do_tick,    do_look,
		do_lose, do_change, do_report, do_respond, do_maintain,
	};
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
	for (size_t n = 0; n < scale->ids; n++) {
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
	for (unsigned i = 0; i < RULES; i++) {
		if (rules[i].pool == NULL)
			continue;
		look_at_units(rules[i].pool);
		look_at_tenants(rules[i].pool);
		assert_int_equal(rules[i].pool->pool->executing, 0);
	}
	for (uint64_t i = 0; i < question_count; i++)
		assert_true(questions[i].answered != questions[i].lost);
}

static void
assert_all_was_seen(void)
{
	const uint64_t often[] = {
		seen.superseded, seen.reclaimed, seen.early,   seen.lost,
		seen.tightened,  seen.regrouped, seen.passed,  seen.borrowed,
		seen.pairs,      seen.legs,      seen.exposed, seen.begun,
	};

	for (size_t i = 0; i < REASON_COUNT; i++)
		assert_true(seen.reason[i] >= scale->least);
	for (size_t i = 0; i < ARRAY_LEN(often); i++)
		assert_true(often[i] >= scale->least);
	assert_true(scale == &narrow || seen.most_active == 65);
	assert_true(scale == &narrow || table_full > 100);
}

static void
begin_anew(const struct scale *next)
{
	const struct gate_options options = { .epoch = 0xabc,
					      .hash_key = { 1, 2 },
					      .unit_max_age = AGE,
					      .backend = "pool" };
	const struct settings_env env = { 0 };

	scale = next;
	seed = first_seed;
	now = 1000 * USEC_PER_SEC;
	memset(&model, 0, sizeof(model));
	memset(pools, 0, sizeof(pools));
	memset(rules, 0, sizeof(rules));
	memset(&seen, 0, sizeof(seen));
	pool_count = 0;
	question_count = unknown_permits = table_full = 0;
	model.id_count = scale->ids;
	gate = gate_new(&options, &env, now);
	assert_non_null(gate);
	for (unsigned i = 0; i < PEERS; i++)
		LIST_INIT(&peers[i].waiters);
	for (unsigned i = 0; i < scale->ids; i++)
		snprintf(ids[i].id, sizeof(ids[i].id), "id%u", i);
	for (unsigned i = 0; i < RULES; i++)
		put(i, 0);
}

static void
play(const struct scale *next)
{
	begin_anew(next);
	for (unsigned i = 0; i < scale->steps; i++) {
		step();
		now += any_pause();
		if (i % 64 == 0)
			look_at_the_retired();
	}
	end_everything();
	if (!exploring)
		assert_all_was_seen();
	gate_free(&gate);
}

static void
the_gate_does_what_a_naive_model_does(void **state)
{
	(void)state;
	play(&narrow);
}

static void
with_more_tenants_than_slots_too(void **state)
{
	(void)state;
	play(&wide);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gate_does_what_a_naive_model_does),
		cmocka_unit_test(with_more_tenants_than_slots_too),
	};

	exploring = argc > 1;
	if (exploring)
		first_seed = UINT64_C(2) * strtoull(argv[1], NULL, 0) + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

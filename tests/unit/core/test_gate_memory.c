/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No memory, at each place where some is asked for: nothing crashes, nobody
 * goes unanswered, no unit is lost, and no more are taken than there are.
 */
#include "agent/core/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/core/desk.h"

/* ---- the allocator: the linker sends the calls of everybody here ---- */

static bool armed;       /* only while the gate is at work */
static unsigned asked;   /* how often it asked so far */
static unsigned fail_at; /* which one of them fails; 0 is none */

/* The linker's names. NOLINTBEGIN(readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);

static bool
fails(void)
{
	return armed && ++asked == fail_at;
}

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

char *
__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}
/* NOLINTEND(readability-identifier-naming) */

/* ---- what the gate is asked while its memory fails ---- */

static struct answer last;

static enum gate_change
put(struct desk *d, const char *words)
{
	struct rule *rule = kit_rule(words);
	enum gate_change change;

	armed = true;
	change = gate_put(d->gate, rule, d->now);
	armed = false;
	return change;
}

/* Once more where it failed, since one call only does. */
static void
put_after_all(struct desk *d, const char *words, enum gate_change expected)
{
	enum gate_change change = put(d, words);

	if (change == GATE_NO_MEMORY)
		change = put(d, words);
	assert_int_equal(change, expected);
}

static enum verdict
ask(struct desk *d, const char *question)
{
	enum verdict verdict;

	armed = true;
	verdict = desk_ask(d, question, &last);
	armed = false;
	return verdict;
}

static enum line_result
end(struct desk *d, const char *line)
{
	enum line_result result;

	armed = true;
	result = desk_end(d, line);
	armed = false;
	return result;
}

static void
take_answers(struct desk *d)
{
	armed = true;
	while (desk_next(d, &last) != NULL)
		continue;
	armed = false;
}

#define RULE "mode=enforce max_outstanding=2 queue_depth=4 queue_wait_ms=5000 "
#define OTHER RULE "name=llm endpoints=10.0.0.1:8000,10.0.0.2:8000"

static void
assert_bounds(struct desk *d)
{
	struct pool *p = desk_pool(d, "");

	assert_true(p->units <= 2);
	assert_true(p->queue.len <= 4);
}

#define SHARED RULE "tenant_max_share_pct=50 "
#define PAIRS                                                                  \
	"port=8081 pd mode=enforce prefill_max_inflight=1 "                    \
	"endpoints=10.0.1.1:1@prefill,10.0.1.2:1@decode "

/* Tenants hold all that is held. */
static void
assert_tenants(struct desk *d)
{
	struct pool *p = desk_pool(d, "");
	uint32_t units = p->tenants.last.units;
	uint32_t waiting = p->tenants.last.waiting;

	for (size_t i = 0; i < TENANTS_MAX; i++) {
		units += p->tenants.slot[i].units;
		waiting += p->tenants.slot[i].waiting;
	}
	assert_int_equal(units, p->units);
	assert_int_equal(waiting, p->queue.len);
}

/* A pair is whole, or not there. */
static void
assert_pairs(struct desk *d)
{
	struct pool *p = desk_pool(d, PAIRS);

	assert_true(p->endpoints[0].units <= 1);
	assert_int_equal(p->endpoints[0].units, p->executing);
	assert_int_equal(p->endpoints[1].units, p->units);
	assert_int_equal(p->endpoints[0].beside, p->units);
}

static void
ask_all(struct desk *d, const char *const *questions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum verdict verdict = ask(d, questions[i]);

		/* Never past the gate because it is out of memory. */
		assert_true(verdict != VERDICT_BYPASS);
		take_answers(d);
		assert_bounds(d);
		assert_tenants(d);
	}
}

/* HAProxy logs each of them, whatever became of it. */
static void
end_all(struct desk *d)
{
	for (size_t i = 0; i < d->note_count; i++) {
		end(d, d->notes[i].id);
		take_answers(d);
	}
}

static void
play(struct desk *d)
{
	static const char *const first[] = {
		"a",
		"b",
		"c",
		"d",
		"c as=c2",
		"e streamed",
		"c as=c3 peer=1",
		"f http=2",
		"g peer=2",
		"a as=a2 peer=1",
		"d as=d2 streamed",
	};
	static const char *const second[] = { "h", "i",       "j",
					      "k", "h as=h2", "k as=k2" };

	put_after_all(d, RULE, GATE_CREATED);
	ask_all(d, first, ARRAY_LEN(first));
	end(d, "a");
	take_answers(d);
	assert_bounds(d);
	end(d, "early permit=none verdict=none");
	put_after_all(d, RULE "warmup_ms=1", GATE_CHANGED);
	put_after_all(d, OTHER, GATE_RECREATED);
	take_answers(d);
	ask_all(d, second, ARRAY_LEN(second));
	desk_look(d, "backend=llm 10.0.0.1:8000=up,1,gpu1");
	desk_at(d, 5000);
	gate_tick(d->gate, d->now);
	take_answers(d);
	end_all(d);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_int_equal(desk_pool(d, "")->queue.len, 0);
	assert_true(TAILQ_EMPTY(&d->gate->retired));
}

/* With tenants, whose share begins while they wait, and with pairs. */
static void
play_shared(struct desk *d)
{
	static const char *const before[] = {
		"a tenant=x", "b tenant=x", "c tenant=x",
		"d tenant=y", "e tenant=x",
	};
	static const char *const shared[] = {
		"f tenant=x",        "g tenant=y",
		"c as=c2 tenant=x",  "d as=d2 tenant=y peer=1",
		"h tenant=z http=2", "i tenant=",
	};
	static const char *const pairs[] = {
		"p port=8081",
		"q port=8081",
		"r port=8081 leg=prefill",
		"p as=p2 port=8081",
	};

	put_after_all(d, RULE, GATE_CREATED);
	put_after_all(d, PAIRS, GATE_CREATED);
	ask_all(d, before, ARRAY_LEN(before));
	put_after_all(d, SHARED, GATE_CHANGED);
	take_answers(d);
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		assert_true(ask(d, pairs[i]) != VERDICT_BYPASS);
		assert_pairs(d);
	}
	ask_all(d, shared, ARRAY_LEN(shared));
	end(d, "a");
	take_answers(d);
	put_after_all(d, RULE "tenant_borrow=on", GATE_CHANGED);
	put_after_all(d, SHARED "tenant_borrow=on", GATE_CHANGED);
	take_answers(d);
	ask_all(d, shared, ARRAY_LEN(shared));
	end_all(d);
	assert_tenants(d);
	assert_pairs(d);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_int_equal(desk_pool(d, "")->queue.len, 0);
	assert_int_equal(desk_pool(d, PAIRS)->executing, 0);
}

static void
fail_each_in_turn(void (*scenario)(struct desk *d))
{
	fail_at = 0;
	do {
		struct desk *d = desk_open("");

		asked = 0;
		fail_at++;
		scenario(d);
		for (size_t i = 0; i < METRIC_VALUES_MAX; i++)
			assert_int_equal(
				d->gate->metrics.value[METRIC_anomalies][i], 0);
		/* Answers that were never given would end the program. */
		desk_close(&d);
	} while (asked >= fail_at);
	/* A scenario that asks for nothing proves nothing. */
	assert_true(fail_at > 20);
}

static void
nobody_is_lost_whichever_allocation_fails(void **state)
{
	(void)state;
	fail_each_in_turn(play);
}

static void
no_share_and_no_pair_is_lost_whichever_allocation_fails(void **state)
{
	(void)state;
	fail_each_in_turn(play_shared);
}

static void
a_rule_that_found_no_memory_changed_nothing(void **state)
{
	enum gate_change change = GATE_NO_MEMORY;

	(void)state;
	for (fail_at = 1; change == GATE_NO_MEMORY; fail_at++) {
		struct desk *d = desk_open("");
		struct pool *p;

		desk_put(d, RULE);
		p = desk_pool(d, "");
		assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
		assert_int_equal(desk_ask(d, "b", &last), VERDICT_ADMIT);
		assert_int_equal(desk_ask(d, "c", &last), VERDICT_WAIT);
		asked = 0;
		change = put(d, OTHER);
		if (change == GATE_NO_MEMORY) {
			assert_ptr_equal(desk_pool(d, ""), p);
			assert_int_equal(p->units, 2);
			assert_int_equal(p->queue.len, 1);
			assert_null(desk_next(d, &last));
			assert_int_equal(d->gate->rules.len, 1);
			assert_true(TAILQ_NEXT(p, link) == NULL);
		}
		desk_close(&d);
	}
	assert_int_equal(change, GATE_RECREATED);
	assert_true(fail_at > 3);
}

/* What is promised once a rule is planned; another process was told so. */
static void
a_plan_is_carried_out_without_memory(void **state)
{
	static const struct {
		const char *words;
		enum gate_change change;
	} puts[] = {
		{ RULE "host=other", GATE_CREATED },
		{ RULE "warmup_ms=1", GATE_CHANGED },
		{ OTHER, GATE_RECREATED },
		{ OTHER, GATE_UNCHANGED },
	};
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, RULE);
	for (size_t i = 0; i < ARRAY_LEN(puts); i++) {
		struct gate_plan plan;

		assert_true(
			gate_plan_put(&plan, d->gate, kit_rule(puts[i].words)));
		assert_int_equal(plan.change, puts[i].change);
		/* Every one of them, were there any. */
		asked = 0;
		fail_at = 1;
		armed = true;
		assert_int_equal(gate_carry_out(d->gate, &plan, d->now),
				 puts[i].change);
		armed = false;
		assert_int_equal(asked, 0);
		assert_non_null(desk_pool(d, puts[i].words));
	}
	desk_close(&d);
}

static void
a_gate_without_memory_is_none(void **state)
{
	const struct gate_options options = { .hash_key = { 1, 2 },
					      .backend = "pool" };
	const struct settings_env env = { 0 };
	struct gate *g = NULL;

	(void)state;
	for (fail_at = 1; g == NULL; fail_at++) {
		asked = 0;
		armed = true;
		g = gate_new(&options, &env, 0);
		armed = false;
	}
	assert_true(fail_at > 5);
	gate_free(&g);
}

/* Rows 39, 45: there it is only counting that has to stop. */
static void
observe_refuses_nobody_for_want_of_memory(void **state)
{
	struct desk *d = desk_open("");

	(void)state;
	desk_put(d, "mode=observe max_outstanding=1");
	asked = 0;
	fail_at = 1;
	assert_int_equal(ask(d, "a"), VERDICT_BYPASS);
	assert_int_equal(desk_pool(d, "")->units, 0);
	assert_int_equal(desk_pool(d, "")->decisions[REASON_CAPACITY_SHED], 0);
	assert_int_equal(ask(d, "b"), VERDICT_ADMIT);
	desk_close(&d);
}

/* Asked again, and no memory to remember that: it is refused, wholly. */
static void
a_waiter_asked_again_without_memory_is_refused_once(void **state)
{
	struct desk *d = desk_open("");
	struct pool *p;

	(void)state;
	desk_put(d, "mode=enforce max_outstanding=1 queue_depth=2 "
		    "queue_wait_ms=5000");
	p = desk_pool(d, "");
	assert_int_equal(desk_ask(d, "a", &last), VERDICT_ADMIT);
	assert_int_equal(desk_ask(d, "b", &last), VERDICT_WAIT);
	asked = 0;
	fail_at = 1;
	assert_int_equal(ask(d, "b as=b2"), VERDICT_REFUSE);
	assert_int_equal(last.reason, REASON_CAPACITY_SHED);
	assert_string_equal(desk_next(d, &last), "b");
	assert_int_equal(last.verdict, VERDICT_REFUSE);
	assert_int_equal(p->queue.len, 0);
	assert_int_equal(p->decisions[REASON_CAPACITY_SHED], 1);
	assert_int_equal(p->decisions[REASON_CANCELLED], 0);
	assert_int_equal(desk_end(d, "b"), LINE_NOTED);
	assert_int_equal(desk_end(d, "a"), LINE_RELEASED);
	assert_null(desk_next(d, &last));
	desk_close(&d);
}

/* A table that cannot grow gets slower, not wrong. */
static void
a_full_index_still_finds_everybody(void **state)
{
	struct desk *d = desk_open("");
	char id[16];

	(void)state;
	desk_put(d, "mode=enforce");
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "r%u", i);
		asked = 0;
		/* A request first, then the table if it wants to grow. */
		fail_at = 2;
		assert_int_equal(ask(d, id), VERDICT_ADMIT);
	}
	assert_int_equal(d->gate->rules.by_port.len, 1);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "r%u", i);
		assert_int_equal(desk_end(d, id), LINE_RELEASED);
	}
	assert_int_equal(desk_pool(d, "")->units, 0);
	desk_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_lost_whichever_allocation_fails),
		cmocka_unit_test(
			no_share_and_no_pair_is_lost_whichever_allocation_fails),
		cmocka_unit_test(a_rule_that_found_no_memory_changed_nothing),
		cmocka_unit_test(a_plan_is_carried_out_without_memory),
		cmocka_unit_test(a_gate_without_memory_is_none),
		cmocka_unit_test(observe_refuses_nobody_for_want_of_memory),
		cmocka_unit_test(
			a_waiter_asked_again_without_memory_is_refused_once),
		cmocka_unit_test(a_full_index_still_finds_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

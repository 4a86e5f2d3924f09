/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/rule.h"

#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

static bool
is_ai_service(const char *words)
{
	struct rule *r = kit_rule(words);
	bool is = rule_is_ai_service(r);

	rule_free(&r);
	assert_null(r);
	return is;
}

/* Rows 1 to 5. */
static void
each_of_three_marks_makes_an_ai_service(void **state)
{
	(void)state;
	assert_true(is_ai_service("plain sse"));
	assert_true(is_ai_service("plain pd"));
	assert_true(is_ai_service("plain credential"));
	assert_true(is_ai_service("plain sse pd credential"));
}

/* Rows 6, 7, 8. */
static void
no_mark_or_another_mode_makes_none(void **state)
{
	(void)state;
	assert_false(is_ai_service("plain"));
	assert_false(is_ai_service("plain mode=enforce max_outstanding=1"));
	assert_false(is_ai_service("sse credential lb_mode=0"));
	assert_false(is_ai_service("sse lb_mode=5"));
}

static const char *
check(const char *words)
{
	struct rule *r = kit_rule(words);
	const char *wrong = rule_check(r);

	rule_free(&r);
	return wrong;
}

/* Rows 2, 8, 110. */
static void
what_cannot_be_is_refused(void **state)
{
	(void)state;
	assert_null(check("sse"));
	assert_null(check("pd endpoints=10.0.0.1:1@prefill,10.0.0.2:1@decode"));
	assert_non_null(check("pd endpoints=10.0.0.1:1@prefill"));
	assert_non_null(check("pd endpoints=10.0.0.1:1,10.0.0.2:1@decode"));
	assert_non_null(
		check("pd lb_mode=1 "
		      "endpoints=10.0.0.1:1@prefill,10.0.0.2:1@decode"));
	assert_non_null(check("queue_depth=1"));
	assert_null(check("queue_depth=1 queue_wait_ms=1"));
}

static bool
same(bool (*how)(const struct rule *, const struct rule *), const char *a,
     const char *b)
{
	struct rule *x = kit_rule(a), *y = kit_rule(b);
	bool is = how(x, y);

	assert_int_equal(how(y, x), is);
	rule_free(&x);
	rule_free(&y);
	return is;
}

/* Contract 1.1. */
static void
each_part_of_the_key_tells_rules_apart(void **state)
{
	static const char *const others[] = {
		"vip=10.0.0.1 port=80 host=h prefix=/p model=m",
		"vip=10.0.0.9 port=81 host=h prefix=/p model=m",
		"vip=10.0.0.9 port=80 host=i prefix=/p model=m",
		"vip=10.0.0.9 port=80 host=h prefix=/q model=m",
		"vip=10.0.0.9 port=80 host=h exact=/p model=m",
		"vip=10.0.0.9 port=80 host=h prefix=/p model=n",
		"vip=10.0.0.9 port=80 host=h prefix=/p",
		"vip=10.0.0.9 port=80 protocol=udp host=h prefix=/p model=m",
	};
	static const char one[] =
		"vip=10.0.0.9 port=80 host=h prefix=/p model=m";

	(void)state;
	assert_true(same(rule_same_key, one, one));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(same(rule_same_key, one, others[i]));
	assert_true(same(rule_same_key, "plain name=a", "sse name=b pd"));
	assert_true(same(rule_same_key, "mode=off", "mode=enforce"));
}

/* Rows 105, 106, 109. */
static void
only_settings_may_change_in_place(void **state)
{
	(void)state;
	assert_true(
		same(rule_same_service, "sse mode=off", "sse mode=enforce"));
	assert_true(same(rule_same_service, "sse", "sse queue_wait_ms=7"));
	assert_false(same(rule_same_service, "sse", "sse credential"));
	assert_false(same(rule_same_service, "endpoints=10.0.0.1:1",
			  "endpoints=10.0.0.1:2"));
	assert_false(same(rule_same_service, "port=80", "port=81"));
}

static uint32_t
fit(const char *rule, const char *question)
{
	static struct question q;
	struct rule *r = kit_rule(rule);
	uint32_t how;

	kit_question(&q, question);
	how = rule_fit(r, &q.ask.query);
	rule_free(&r);
	return how;
}

/* Interface 6.1: each beats all that follow it together. */
static void
the_more_telling_part_wins(void **state)
{
	static const char *const ladder[] = {
		"vip=10.0.0.9 host=h exact=/v1/chat/completions model=m",
		"vip=10.0.0.9 host=h exact=/v1/chat/completions",
		"vip=10.0.0.9 host=h prefix=/v1/chat/ model=m",
		"vip=10.0.0.9 host=h prefix=/v1/chat/",
		"vip=10.0.0.9 host=h prefix=/v1/ model=m",
		"vip=10.0.0.9 host=h model=m",
		"vip=10.0.0.9 host=h",
		"vip=10.0.0.9 exact=/v1/chat/completions model=m",
		"vip=10.0.0.9",
		"vip=0.0.0.0 host=h exact=/v1/chat/completions model=m",
		"vip=:: exact=/v1/chat/completions model=m",
		"vip=:: prefix=/v1/ model=m",
		"vip=:: model=m",
		"vip=0.0.0.0",
	};
	static const char asked[] = "q vip=10.0.0.9 host=h model=m";

	(void)state;
	for (size_t i = 1; i < ARRAY_LEN(ladder); i++)
		assert_true(fit(ladder[i - 1], asked) > fit(ladder[i], asked));
	assert_true(fit("vip=0.0.0.0", asked) > 0);
}

static void
a_part_that_differs_excludes(void **state)
{
	static const char asked[] = "q vip=10.0.0.9 host=h model=m";

	(void)state;
	assert_int_equal(fit("vip=10.0.0.8", asked), 0);
	assert_int_equal(fit("port=81", asked), 0);
	assert_int_equal(fit("host=i", asked), 0);
	assert_int_equal(fit("exact=/v1/chat", asked), 0);
	assert_int_equal(fit("prefix=/v2", asked), 0);
	assert_int_equal(fit("model=n", asked), 0);
	assert_int_equal(fit("model=M", asked), 0);
	assert_int_equal(fit("prefix=/v1/chat/completions/x", asked), 0);
	/* What the request does not show is not what a rule asks for. */
	assert_int_equal(fit("host=h", "q"), 0);
	assert_int_equal(fit("model=m", "q"), 0);
}

static void
case_of_a_host_and_a_query_do_not_count(void **state)
{
	(void)state;
	assert_true(fit("host=A.Example", "q host=a.eXample") > 0);
	assert_true(fit("exact=/a", "q path=/a?b=/c") > 0);
	assert_int_equal(fit("exact=/a", "q path=/a/"), 0);
	assert_int_equal(fit("prefix=/a?b", "q path=/a?b"), 0);
}

/* Interface 2. */
static void
a_named_pool_wins_over_address_and_port(void **state)
{
	(void)state;
	assert_true(fit("vip=10.0.0.9 port=1 name=p", "q pool=p port=2") > 0);
	assert_int_equal(fit("name=p", "q pool=P"), 0);
	assert_int_equal(fit("", "q pool=p"), 0);
	/* The rest of the key counts as ever. */
	assert_int_equal(fit("name=p host=h", "q pool=p"), 0);
	assert_true(fit("name=p host=h", "q pool=p host=h") >
		    fit("name=p", "q pool=p host=h"));
}

static void
an_absent_path_has_the_empty_prefix_only(void **state)
{
	struct rule *r = kit_rule("prefix=");
	struct rule_query query = { .port = 8080 };

	(void)state;
	assert_true(rule_fit(r, &query) > 0);
	rule_free(&r);
	r = kit_rule("prefix=/");
	assert_int_equal(rule_fit(r, &query), 0);
	rule_free(&r);
	rule_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_of_three_marks_makes_an_ai_service),
		cmocka_unit_test(no_mark_or_another_mode_makes_none),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(each_part_of_the_key_tells_rules_apart),
		cmocka_unit_test(only_settings_may_change_in_place),
		cmocka_unit_test(the_more_telling_part_wins),
		cmocka_unit_test(a_part_that_differs_excludes),
		cmocka_unit_test(case_of_a_host_and_a_query_do_not_count),
		cmocka_unit_test(a_named_pool_wins_over_address_and_port),
		cmocka_unit_test(an_absent_path_has_the_empty_prefix_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

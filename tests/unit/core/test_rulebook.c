/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/rulebook.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

static const uint64_t key[2] = { 11, 12 };

static void
open_book(struct rulebook *b)
{
	assert_true(rulebook_init(b, key));
}

static struct service *
add(struct rulebook *b, const char *words)
{
	struct service *s = rulebook_place();

	assert_non_null(s);
	rulebook_add(b, s, kit_rule(words));
	return s;
}

static struct service *
find(const struct rulebook *b, const char *words)
{
	struct rule *r = kit_rule(words);
	struct service *s = rulebook_find(b, r);

	rule_free(&r);
	return s;
}

static struct service *
match(const struct rulebook *b, const char *question)
{
	static struct question q;

	kit_question(&q, question);
	return rulebook_match(b, &q.ask.query);
}

static void
a_rule_is_found_by_its_key_and_not_by_less(void **state)
{
	struct rulebook b;
	struct service *s, *t;

	(void)state;
	open_book(&b);
	assert_null(find(&b, "port=80"));
	s = add(&b, "port=80 host=h name=a");
	t = add(&b, "port=80 host=i name=b");
	assert_ptr_equal(find(&b, "port=80 host=h"), s);
	assert_ptr_equal(find(&b, "port=80 host=i mode=off"), t);
	assert_null(find(&b, "port=80"));
	assert_null(find(&b, "port=81 host=h"));
	rulebook_remove(&b, s);
	assert_null(find(&b, "port=80 host=h"));
	assert_int_equal(b.len, 1);
	rulebook_fini(&b);
}

static void
rules_stand_in_the_order_of_their_declaration(void **state)
{
	struct rulebook b;
	struct service *s[4];
	struct service *at;
	size_t i = 0;

	(void)state;
	open_book(&b);
	s[0] = add(&b, "port=3");
	s[1] = add(&b, "port=1");
	s[2] = add(&b, "port=2");
	s[3] = add(&b, "port=4");
	rulebook_replace(&b, s[1], kit_rule("port=1 mode=off"));
	TAILQ_FOREACH (at, &b.services, link)
		assert_ptr_equal(at, s[i++]);
	assert_int_equal(i, 4);
	rulebook_fini(&b);
}

static void
all_rules_of_a_name_are_named_by_it(void **state)
{
	struct rulebook b;
	struct service *s, *first, *second;

	(void)state;
	open_book(&b);
	s = add(&b, "port=1 name=a");
	add(&b, "port=2 name=b");
	add(&b, "port=3");
	add(&b, "port=4 name=a");
	first = rulebook_named(&b, text_of("a"));
	assert_non_null(first);
	second = rulebook_next_named(first);
	assert_non_null(second);
	assert_null(rulebook_next_named(second));
	assert_int_equal(first->rule->port + second->rule->port, 5);
	assert_null(rulebook_named(&b, text_of("A")));
	assert_int_equal(rulebook_named(&b, text_of(""))->rule->port, 3);
	assert_int_equal(rulebook_named(&b, text_of(NULL))->rule->port, 3);

	/* A new name is the only one that it answers to. */
	rulebook_replace(&b, s, kit_rule("port=1 name=c"));
	assert_ptr_equal(rulebook_named(&b, text_of("c")), s);
	assert_int_equal(rulebook_named(&b, text_of("a"))->rule->port, 4);
	assert_null(rulebook_next_named(rulebook_named(&b, text_of("a"))));
	rulebook_fini(&b);
}

static void
a_replaced_rule_keeps_its_place_and_answers_as_the_new_one(void **state)
{
	struct rulebook b;
	struct service *s;

	(void)state;
	open_book(&b);
	s = add(&b, "port=80 name=a");
	rulebook_replace(&b, s, kit_rule("port=80 name=b mode=enforce"));
	assert_int_equal(b.len, 1);
	assert_ptr_equal(match(&b, "q port=80"), s);
	assert_int_equal(s->rule->declared.mode, MODE_ENFORCE);
	rulebook_fini(&b);
}

/* Interface 6.1. */
static void
the_closest_rule_is_matched(void **state)
{
	struct rulebook b;
	struct service *any, *vip, *host, *other;

	(void)state;
	open_book(&b);
	any = add(&b, "port=80 name=p");
	vip = add(&b, "port=80 vip=10.0.0.9");
	host = add(&b, "port=80 host=h name=p");
	other = add(&b, "port=81");
	assert_ptr_equal(match(&b, "q port=80"), any);
	assert_ptr_equal(match(&b, "q port=80 vip=10.0.0.9 host=h"), vip);
	assert_ptr_equal(match(&b, "q port=80 host=h"), host);
	assert_ptr_equal(match(&b, "q port=81"), other);
	assert_null(match(&b, "q port=82"));
	assert_ptr_equal(match(&b, "q port=82 pool=p"), any);
	assert_ptr_equal(match(&b, "q port=82 pool=p host=h"), host);
	assert_null(match(&b, "q port=80 pool=x"));
	rulebook_fini(&b);
}

/*
 * Two rules may fit a request alike: of one name, of two protocols, on both
 * "any" addresses. Which one it is must not change with a replace.
 */
static void
of_equals_the_first_declared_is_matched(void **state)
{
	struct rulebook b;
	struct service *s[4];

	(void)state;
	open_book(&b);
	s[0] = add(&b, "port=80 vip=0.0.0.0");
	s[1] = add(&b, "port=80 vip=::");
	s[2] = add(&b, "port=91 name=p");
	s[3] = add(&b, "port=92 name=p");
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		char words[32];

		assert_ptr_equal(match(&b, "q port=80"), s[0]);
		assert_ptr_equal(match(&b, "q pool=p"), s[2]);
		snprintf(words, sizeof(words), "port=%u vip=%s name=%s",
			 s[i]->rule->port, s[i]->rule->external_ip,
			 s[i]->rule->name);
		rulebook_replace(&b, s[i], kit_rule(words));
	}
	assert_ptr_equal(match(&b, "q port=80"), s[0]);
	assert_ptr_equal(match(&b, "q pool=p"), s[2]);
	rulebook_remove(&b, s[0]);
	assert_ptr_equal(match(&b, "q port=80"), s[1]);
	rulebook_fini(&b);
}

#define MANY 5000

static void
thousands_are_kept_apart(void **state)
{
	struct rulebook b;
	char words[96];

	(void)state;
	open_book(&b);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(words, sizeof(words), "port=%u name=n%u", i + 1, i);
		add(&b, words);
	}
	for (unsigned i = 0; i < MANY; i += 7) {
		struct service *s;

		snprintf(words, sizeof(words), "q port=%u", i + 1);
		s = match(&b, words);
		assert_int_equal(s->rule->port, i + 1);
		snprintf(words, sizeof(words), "q pool=n%u", i);
		assert_ptr_equal(match(&b, words), s);
		rulebook_remove(&b, s);
		assert_null(match(&b, words));
	}
	assert_int_equal(b.len, MANY - (MANY + 6) / 7);
	rulebook_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_found_by_its_key_and_not_by_less),
		cmocka_unit_test(rules_stand_in_the_order_of_their_declaration),
		cmocka_unit_test(all_rules_of_a_name_are_named_by_it),
		cmocka_unit_test(
			a_replaced_rule_keeps_its_place_and_answers_as_the_new_one),
		cmocka_unit_test(the_closest_rule_is_matched),
		cmocka_unit_test(of_equals_the_first_declared_is_matched),
		cmocka_unit_test(thousands_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

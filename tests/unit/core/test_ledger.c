/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/ledger.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka.h"

static const uint64_t key[2] = { 5, 6 };

static void
open_ledger(struct ledger *l)
{
	assert_true(ledger_init(l, key));
}

static void
drop(struct ledger *l, struct request *r)
{
	ledger_remove(l, r);
	ledger_free(r);
}

static void
a_request_is_found_by_its_whole_id(void **state)
{
	struct ledger l;
	struct request *a, *b;
	char longest[REQUEST_ID_MAX];

	(void)state;
	open_ledger(&l);
	memset(longest, 'x', sizeof(longest));
	a = ledger_add(&l, text_of("a"));
	b = ledger_add(&l, (struct text){ longest, sizeof(longest) });
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_equal(ledger_find(&l, text_of("a")), a);
	assert_ptr_equal(
		ledger_find(&l, (struct text){ longest, sizeof(longest) }), b);
	assert_null(
		ledger_find(&l, (struct text){ longest, sizeof(longest) - 1 }));
	assert_null(ledger_find(&l, text_of("aa")));
	assert_null(ledger_find(&l, text_of("")));
	drop(&l, a);
	assert_null(ledger_find(&l, text_of("a")));
	drop(&l, b);
	ledger_fini(&l);
}

static void
the_newer_takes_the_id_of_the_older(void **state)
{
	struct ledger l;
	struct request *older, *newer;

	(void)state;
	open_ledger(&l);
	older = ledger_add(&l, text_of("a"));
	assert_non_null(older);
	newer = ledger_replace(&l, older);
	assert_non_null(newer);
	assert_ptr_not_equal(newer, older);
	assert_int_equal(older->state, REQUEST_ENDED);
	assert_int_equal(newer->state, REQUEST_NEW);
	assert_ptr_equal(ledger_find(&l, text_of("a")), newer);
	ledger_free(older);
	drop(&l, newer);
	ledger_fini(&l);
}

static void
those_who_execute_stand_by_age(void **state)
{
	struct ledger l;
	struct request *a, *b;

	(void)state;
	open_ledger(&l);
	b = ledger_add(&l, text_of("b"));
	a = ledger_add(&l, text_of("a"));
	assert_non_null(a);
	assert_non_null(b);
	ledger_begin(&l, a, 10);
	ledger_begin(&l, b, 20);
	assert_ptr_equal(TAILQ_FIRST(&l.executing), a);
	assert_int_equal(a->admitted, 10);
	drop(&l, a);
	assert_ptr_equal(TAILQ_FIRST(&l.executing), b);
	/* Forgets b. */
	ledger_fini(&l);
}

/* Interface 3. */
static bool
has_ended_early(const struct ledger *l, struct text id)
{
	const struct request *r = ledger_find(l, id);

	return r != NULL && r->state == REQUEST_ENDED_EARLY;
}

static void
an_early_end_is_remembered_for_ten_seconds(void **state)
{
	struct ledger l;

	(void)state;
	open_ledger(&l);
	assert_false(has_ended_early(&l, text_of("a")));
	ledger_end_early(&l, text_of("a"), 1000);
	ledger_end_early(&l, text_of("b"), 1001);
	assert_true(has_ended_early(&l, text_of("a")));
	assert_false(has_ended_early(&l, text_of("c")));

	ledger_forget(&l, 1000 + 10 * USEC_PER_SEC - 1);
	assert_true(has_ended_early(&l, text_of("a")));
	ledger_forget(&l, 1000 + 10 * USEC_PER_SEC);
	assert_false(has_ended_early(&l, text_of("a")));
	assert_true(has_ended_early(&l, text_of("b")));
	ledger_fini(&l);
}

static void
a_live_request_has_not_ended_early(void **state)
{
	struct ledger l;
	struct request *a;

	(void)state;
	open_ledger(&l);
	ledger_end_early(&l, text_of("b"), 0);
	a = ledger_add(&l, text_of("a"));
	assert_non_null(a);
	assert_false(has_ended_early(&l, text_of("a")));
	drop(&l, a);
	ledger_fini(&l);
}

static bool
ended(const struct ledger *l, unsigned number)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", number);
	return has_ended_early(l, text_of(id));
}

static void
early_ends_are_bounded_and_the_oldest_goes(void **state)
{
	struct ledger l;
	char id[16];

	(void)state;
	open_ledger(&l);
	for (unsigned i = 0; i < LEDGER_EARLY_MAX + 3; i++) {
		snprintf(id, sizeof(id), "%u", i);
		ledger_end_early(&l, text_of(id), i);
		assert_true(l.early_len <= LEDGER_EARLY_MAX);
	}
	assert_int_equal(l.by_id.len, LEDGER_EARLY_MAX);
	assert_false(ended(&l, 0));
	assert_false(ended(&l, 2));
	assert_true(ended(&l, 3));
	assert_true(ended(&l, LEDGER_EARLY_MAX + 2));
	ledger_fini(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_found_by_its_whole_id),
		cmocka_unit_test(the_newer_takes_the_id_of_the_older),
		cmocka_unit_test(those_who_execute_stand_by_age),
		cmocka_unit_test(an_early_end_is_remembered_for_ten_seconds),
		cmocka_unit_test(a_live_request_has_not_ended_early),
		cmocka_unit_test(early_ends_are_bounded_and_the_oldest_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

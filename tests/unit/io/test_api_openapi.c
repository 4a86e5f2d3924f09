/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whichever allocation fails, there is no description rather than half of one.
 * What it says is tests/contract/test_openapi.py's.
 */
#include "agent/io/api_openapi.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/io/api.h"
#include "tests/cmocka.h"

/* Every one would be some thousands of documents. */
#define STEP 7

static unsigned asked;
static unsigned fail_at; /* which one of them fails; 0 is none */

static void *
allocate(size_t size)
{
	return ++asked == fail_at ? NULL : malloc(size);
}

static struct api_answer
describe(void)
{
	static const struct api_options options = { .version = "1.2.3" };
	const struct api_call call = { .options = &options };
	struct api_answer answer = { 0 };

	asked = 0;
	api_openapi_get(&call, &answer);
	return answer;
}

static void
without_memory_there_is_none(void **state)
{
	struct api_answer whole, answer;
	unsigned refused = 0, all;

	(void)state;
	json_set_alloc_funcs(allocate, free);
	fail_at = 0;
	whole = describe();
	assert_int_equal(whole.status, 200);
	all = asked;
	for (fail_at = 1; fail_at <= all; fail_at += STEP) {
		answer = describe();
		if (answer.body == NULL)
			refused++;
		else
			assert_string_equal(answer.body, whole.body);
		free(answer.body);
	}
	json_set_alloc_funcs(malloc, free);
	free(whole.body);
	assert_true(refused > 100);
}

static void
it_is_the_same_each_time(void **state)
{
	struct api_answer first = describe(), second = describe();

	(void)state;
	assert_string_equal(first.body, second.body);
	assert_int_equal(first.len, strlen(first.body));
	free(first.body);
	free(second.body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_there_is_none),
		cmocka_unit_test(it_is_the_same_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

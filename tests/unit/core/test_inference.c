/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/inference.h"

#include "agent/core/base.h"
#include "tests/cmocka.h"

static const char *const paths[] = {
	"/v1/chat/completions",
	"/v1/completions",
	"/v1/embeddings",
	"/v1/rerank",
	"/v1/messages",
	"/v1/responses",
	"/generate",
	"/generate_stream",
};

static bool
is(const char *method, const char *path)
{
	return inference_is(text_of(method), text_of(path));
}

/* Row 11. */
static void
a_post_to_each_of_the_paths_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_true(is("POST", paths[i]));
}

/* Row 12. */
static void
query_and_trailing_slashes_do_not_count(void **state)
{
	(void)state;
	assert_true(is("POST", "/v1/chat/completions?x=1"));
	assert_true(is("POST", "/v1/chat/completions/?x=1"));
	assert_true(is("POST", "/v1/chat/completions///"));
	assert_true(is("POST", "/generate?/v1/models"));
	assert_true(is("POST", "/generate?"));
}

/* Row 12. */
static void
all_else_of_the_path_counts(void **state)
{
	static const char *const others[] = {
		"/V1/chat/completions",
		"/v1/chat/Completions",
		"/v1/chat/completion",
		"/v1/chat/completions/x",
		"//v1/completions",
		"v1/completions",
		"/v1//completions",
		"/x/v1/completions",
		"/v1/completions ",
		"/",
		"",
		"?/generate",
		"/v1/models",
		"/generate_",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(is("POST", others[i]));
}

/* Rows 13 and 14. */
static void
no_other_method_is(void **state)
{
	static const char *const methods[] = { "GET",     "HEAD", "PUT",
					       "OPTIONS", "post", "POSTS",
					       "POS",     "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		assert_false(is(methods[i], "/v1/chat/completions"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_post_to_each_of_the_paths_is),
		cmocka_unit_test(query_and_trailing_slashes_do_not_count),
		cmocka_unit_test(all_else_of_the_path_counts),
		cmocka_unit_test(no_other_method_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define TOKEN "s3cret!token~"

/* What is said of a file with these bytes; NULL where it is taken. */
static const char *
read_bytes(struct api_token *token, const char *bytes, size_t len)
{
	char path[] = "/tmp/test_api_token.XXXXXX";
	int fd = mkstemp(path);
	const char *wrong;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	wrong = api_token_read(token, path);
	unlink(path);
	return wrong;
}

static struct api_token
token_of(const char *text)
{
	struct api_token token = { .len = 0 };

	assert_null(read_bytes(&token, text, strlen(text)));
	return token;
}

static bool
admits(const struct api_token *token, const char *authorization)
{
	return api_token_admits(token, text_of(authorization));
}

static void
line_is_read_without_what_is_around_it(void **state)
{
	static const char *const files[] = {
		TOKEN,
		TOKEN "\n",
		TOKEN "\r\n",
		"\n \t" TOKEN " \n\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct api_token token = token_of(files[i]);

		assert_int_equal(token.len, strlen(TOKEN));
		assert_memory_equal(token.secret, TOKEN, token.len);
	}
}

static void
other_files_are_refused_and_change_nothing(void **state)
{
	static const char *const files[] = {
		"",
		"\n\n",
		"1234567\n",
		"eight  8",
		"eight\t88",
		"first\nsecond8",
		"ümlautsss",
		"delete\x7f"
		"delete",
	};
	struct api_token token = token_of(TOKEN);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		assert_non_null(read_bytes(&token, files[i], strlen(files[i])));
	assert_non_null(read_bytes(&token, "nul\0inside", 10));
	assert_true(admits(&token, "Bearer " TOKEN));
}

static void
length_is_bounded(void **state)
{
	struct api_token token;
	char text[4096];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_null(read_bytes(&token, text, API_TOKEN_MIN));
	assert_non_null(read_bytes(&token, text, API_TOKEN_MIN - 1));
	assert_null(read_bytes(&token, text, API_TOKEN_MAX));
	assert_non_null(read_bytes(&token, text, API_TOKEN_MAX + 1));
	assert_non_null(read_bytes(&token, text, sizeof(text)));
	/* Nor does what is behind a token that would do count as read. */
	memset(text + API_TOKEN_MIN, '\n', 1024);
	assert_non_null(read_bytes(&token, text, sizeof(text)));
}

/* The system's word says why; a pipe does not hold it up. */
static void
what_cannot_be_read_is_said(void **state)
{
	char folder[] = "/tmp/test_api_token.XXXXXX";
	char path[64];
	struct api_token token;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_string_equal(api_token_read(&token, folder), "Is a directory");
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_string_equal(api_token_read(&token, path),
			    "No such file or directory");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_non_null(api_token_read(&token, path));
	unlink(path);
	rmdir(folder);
}

static void
only_the_token_is_admitted(void **state)
{
	static const char *const right[] = {
		"Bearer " TOKEN,
		"bearer " TOKEN,
		"BEARER   " TOKEN " ",
	};
	static const char *const wrong[] = {
		NULL,
		"",
		"Bearer",
		"Bearer ",
		TOKEN,
		"Basic " TOKEN,
		"Bearer" TOKEN,
		"Bearer s3cret!token",
		"Bearer s3cret!token~~",
		"Bearer S3cret!token~",
		"Bearer s3cret!tokenx",
		"Bearer " TOKEN TOKEN,
		"Bearer " TOKEN " " TOKEN,
		"Bearer Bearer " TOKEN,
	};
	struct api_token token = token_of(TOKEN);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(right); i++)
		assert_true(admits(&token, right[i]));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(admits(&token, wrong[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_is_read_without_what_is_around_it),
		cmocka_unit_test(other_files_are_refused_and_change_nothing),
		cmocka_unit_test(length_is_bounded),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(only_the_token_is_admitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

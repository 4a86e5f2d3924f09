/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The longest token, with more around it than an editor leaves. */
#define FILE_MAX 1024

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct text
trim(struct text t)
{
	while (t.len > 0 && is_blank(t.at[0])) {
		t.at++;
		t.len--;
	}
	while (t.len > 0 && is_blank(t.at[t.len - 1]))
		t.len--;
	return t;
}

static bool
is_visible(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] <= ' ' || t.at[i] > '~')
			return false;
	return true;
}

static const char *
take(struct api_token *token, struct text line)
{
	if (line.len == 0)
		return "nothing is in it";
	if (line.len < API_TOKEN_MIN)
		return "it is too short";
	if (line.len > API_TOKEN_MAX)
		return "it is too long";
	if (!is_visible(line))
		return "it has several lines, a blank or other characters";
	memcpy(token->secret, line.at, line.len);
	token->len = line.len;
	return NULL;
}

/* How much was read, or -1 with errno. */
static ssize_t
read_all(const char *path, char bytes[FILE_MAX])
{
	/* A pipe that nobody writes to must not hold the loop up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = 0, n = -1;
	int error;

	if (fd < 0)
		return -1;
	while (len < FILE_MAX &&
	       (n = read(fd, bytes + len, FILE_MAX - (size_t)len)) > 0)
		len += n;
	error = errno;
	close(fd);
	errno = error;
	return n < 0 ? -1 : len;
}

const char *
api_token_read(struct api_token *token, const char *path)
{
	char bytes[FILE_MAX];
	ssize_t len = read_all(path, bytes);
	const char *wrong;

	if (len < 0)
		return strerror(errno);
	if (len == FILE_MAX)
		return "it is too long";
	wrong = take(token, trim((struct text){ bytes, (size_t)len }));
	explicit_bzero(bytes, sizeof(bytes));
	return wrong;
}

/* volatile, so that no compiler leaves at the first difference. */
static bool
is_same(const struct api_token *token, struct text given)
{
	volatile unsigned char differs = given.len != token->len;

	for (size_t i = 0; i < given.len; i++)
		differs |= (unsigned char)(given.at[i] ^
					   token->secret[i % token->len]);
	return differs == 0;
}

bool
api_token_admits(const struct api_token *token, struct text authorization)
{
	struct text given = trim(authorization);
	struct text scheme = text_cut(&given, ' ');

	return text_is_nocase(scheme, "Bearer") && is_same(token, trim(given));
}

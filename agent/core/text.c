/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/text.h"

#include <string.h>

struct text
text_of(const char *string)
{
	if (string == NULL)
		return (struct text){ NULL, 0 };
	return (struct text){ string, strlen(string) };
}

bool
text_equals(struct text a, struct text b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool
text_is(struct text a, const char *b)
{
	return text_equals(a, text_of(b));
}

static int
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool
text_is_nocase(struct text a, const char *b)
{
	size_t i;

	for (i = 0; i < a.len && b[i] != '\0'; i++)
		if (lower(a.at[i]) != lower(b[i]))
			return false;
	return i == a.len && b[i] == '\0';
}

struct text
text_cut(struct text *rest, char sep)
{
	struct text whole = *rest;
	const char *at = NULL;
	size_t len;

	if (whole.len > 0)
		at = memchr(whole.at, sep, whole.len);
	if (at == NULL) {
		*rest = (struct text){ NULL, 0 };
		return whole;
	}
	len = (size_t)(at - whole.at);
	*rest = (struct text){ at + 1, whole.len - len - 1 };
	return (struct text){ whole.at, len };
}

bool
text_number(struct text t, unsigned long long max, unsigned long long *value)
{
	unsigned long long sum = 0;

	if (t.len == 0)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		unsigned digit = (unsigned char)t.at[i] - (unsigned)'0';

		if (digit > 9 || digit > max || sum > (max - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*value = sum;
	return true;
}

void
text_host_port(char *out, const char *host, uint16_t port)
{
	size_t len = strlen(host);
	char digits[TEXT_PORT_MAX];
	size_t n = 0;
	unsigned left = port;

	memcpy(out, host, len);
	out[len++] = ':';
	do
		digits[n++] = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	while (n > 0)
		out[len++] = digits[--n];
	out[len] = '\0';
}

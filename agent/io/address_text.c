/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/address_text.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

/* The longest address and its terminator. */
#define STRING_MAX 46

static bool
parse(int family, const char *text, struct address *address)
{
	struct address found = { .family = family == AF_INET ? ADDRESS_V4
							     : ADDRESS_V6 };

	if (inet_pton(family, text, found.bytes) != 1)
		return false;
	*address = found;
	return true;
}

bool
address_from_text(struct text text, struct address *address)
{
	char string[STRING_MAX] = { 0 };

	if (text.len == 0 || text.len >= sizeof(string) ||
	    memchr(text.at, '\0', text.len) != NULL)
		return false;
	memcpy(string, text.at, text.len);
	return parse(AF_INET, string, address) ||
	       parse(AF_INET6, string, address);
}

/* Where the last sep is; the length where there is none. */
static size_t
find_last(struct text text, char sep)
{
	size_t at = text.len;

	while (at > 0 && text.at[at - 1] != sep)
		at--;
	return at > 0 ? at - 1 : text.len;
}

bool
address_port_from_text(struct text text, struct address *address,
		       uint16_t *port)
{
	size_t colon = find_last(text, ':');
	struct text host = { text.at, colon };
	struct text rest = text;
	unsigned long long number;

	if (colon == text.len)
		return false;
	rest.at += colon + 1;
	rest.len -= colon + 1;
	if (!text_number(rest, UINT16_MAX, &number))
		return false;
	if (host.len >= 2 && host.at[0] == '[' && host.at[colon - 1] == ']') {
		host.at++;
		host.len -= 2;
	}
	if (!address_from_text(host, address))
		return false;
	*port = (uint16_t)number;
	return true;
}

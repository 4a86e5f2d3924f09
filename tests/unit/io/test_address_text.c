/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/address_text.h"

#include <arpa/inet.h>
#include <string.h>

#include "agent/core/base.h"
#include "tests/cmocka.h"

static void
is_written(const struct address *address, const char *as)
{
	int family = address->family == ADDRESS_V4 ? AF_INET : AF_INET6;
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, address->bytes, text, sizeof(text));
	assert_string_equal(text, as);
}

static void
addresses_are_read(void **state)
{
	static const struct {
		const char *text, *written;
		enum address_family family;
	} cases[] = {
		{ "10.0.0.1", "10.0.0.1", ADDRESS_V4 },
		{ "0.0.0.0", "0.0.0.0", ADDRESS_V4 },
		{ "::", "::", ADDRESS_V6 },
		{ "2001:DB8:0::1", "2001:db8::1", ADDRESS_V6 },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_V6 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct address address;

		assert_true(
			address_from_text(text_of(cases[i].text), &address));
		assert_int_equal(address.family, cases[i].family);
		is_written(&address, cases[i].written);
	}
}

static void
what_is_no_address_is_refused(void **state)
{
	static const char *const cases[] = {
		"",          "localhost",
		"10.0.0",    "10.0.0.256",
		"10.0.0.1 ", "[::1]",
		"::1::",     "1.2.3.4/8",
		"::1%lo",    "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555",
	};
	struct address address = { .family = ADDRESS_NONE };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_false(address_from_text(text_of(cases[i]), &address));
	assert_false(
		address_from_text((struct text){ "1.2.3.4\0", 8 }, &address));
	assert_int_equal(address.family, ADDRESS_NONE);
}

static void
address_and_port_are_read(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} cases[] = {
		{ "10.0.0.1:80", "10.0.0.1", 80 },
		{ "[::1]:65535", "::1", 65535 },
		{ "::1:8000", "::1", 8000 },
		{ "0.0.0.0:0", "0.0.0.0", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct address address;
		uint16_t port;

		assert_true(address_port_from_text(text_of(cases[i].text),
						   &address, &port));
		is_written(&address, cases[i].host);
		assert_int_equal(port, cases[i].port);
	}
}

static void
what_has_no_address_or_port_is_refused(void **state)
{
	static const char *const cases[] = {
		"",         ":",         ":80",        "unix",
		"10.0.0.1", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:65536",
		"[::1]",    "[::1:80",   "name:80",    "[]:80",
	};
	struct address address = { .family = ADDRESS_NONE };
	uint16_t port = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_false(address_port_from_text(text_of(cases[i]), &address,
						    &port));
	assert_int_equal(address.family, ADDRESS_NONE);
	assert_int_equal(port, 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(address_and_port_are_read),
		cmocka_unit_test(what_has_no_address_or_port_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/listen_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka.h"

static struct listen_address
parse(const char *text)
{
	struct listen_address address;

	assert_null(listen_address_parse(text, &address));
	return address;
}

static void
addresses_are_read_and_written(void **state)
{
	static const struct {
		const char *text, *written;
		unsigned port;
	} cases[] = {
		{ "127.0.0.1:9021", "127.0.0.1:9021", 9021 },
		{ ":0", "127.0.0.1:0", 0 },
		{ "*:80", "0.0.0.0:80", 80 },
		{ "[::1]:80", "[::1]:80", 80 },
		{ "[2001:db8::1]:65535", "[2001:db8::1]:65535", 65535 },
		{ "10.1.2.3:1", "10.1.2.3:1", 1 },
		{ "unix:/run/a:b.sock", "unix:/run/a:b.sock", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct listen_address address = parse(cases[i].text);
		char text[LISTEN_TEXT_MAX];

		listen_address_format(&address, text);
		assert_string_equal(text, cases[i].written);
		assert_int_equal(listen_address_port(&address), cases[i].port);
	}
}

static void
wrong_addresses_are_refused(void **state)
{
	static const char *const cases[] = {
		"",       "9021",      "127.0.0.1",     "127.0.0.1:",
		"::1:80", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:-1",
		"unix:",  "[::1:80",   "[::g]:80",
	};
	char path[200] = "unix:/";
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_non_null(listen_address_parse(cases[i], &address));
	memset(path + 6, 'x', 110);
	assert_non_null(listen_address_parse(path, &address));
}

static void
port_is_chosen_and_told(void **state)
{
	struct listen_address address = parse("127.0.0.1:0");
	const char *step = NULL;
	int fd = listen_open(&address, SOCK_STREAM, &step);
	int second;

	(void)state;
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(listen_bound(fd, &address));
	assert_int_not_equal(listen_address_port(&address), 0);

	second = listen_open(&address, SOCK_STREAM, &step);
	assert_int_equal(second, -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_string_equal(step, "bind");
	listen_close(fd);
}

/* ---- unix sockets, in a folder of their own ---- */

static int
make_folder(void **state)
{
	char folder[] = "/tmp/listen-XXXXXX";

	if (mkdtemp(folder) == NULL)
		return -1;
	*state = strdup(folder);
	return *state == NULL ? -1 : 0;
}

/* Also proves that the test left nothing in it. */
static int
remove_folder(void **state)
{
	int result = rmdir(*state);

	free(*state);
	return result;
}

static struct listen_address
in_folder(void **state, char path[100])
{
	char text[128];

	snprintf(path, 100, "%s/s", (const char *)*state);
	snprintf(text, sizeof(text), "unix:%s", path);
	return parse(text);
}

static void
unix_socket_has_its_mode_and_goes_away(void **state)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	char path[100];
	struct listen_address address = in_folder(state, path);

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const char *step;
		struct stat status;
		int fd = listen_open(&address, types[i], &step);

		assert_true(fd >= 0);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 0777, 0660);
		listen_close(fd);
		assert_int_equal(access(path, F_OK), -1);
	}
}

static void
unix_socket_that_is_served_is_left_alone(void **state)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	char path[100];
	struct listen_address address = in_folder(state, path);

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const char *step;
		int fd = listen_open(&address, types[i], &step);

		assert_true(fd >= 0);
		assert_int_equal(listen_open(&address, types[i], &step), -1);
		assert_int_equal(errno, EADDRINUSE);
		assert_string_equal(step, "bind");
		listen_close(fd);
	}
}

static void
stale_unix_socket_is_replaced(void **state)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	char path[100];
	struct listen_address address = in_folder(state, path);

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const char *step;
		int fd = listen_open(&address, types[i], &step);

		/* As a process that was killed leaves it. */
		assert_true(fd >= 0);
		close(fd);
		fd = listen_open(&address, types[i], &step);
		assert_true(fd >= 0);
		listen_close(fd);
	}
}

static void
file_that_is_no_socket_is_left_alone(void **state)
{
	char path[100];
	struct listen_address address = in_folder(state, path);
	const char *step;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(listen_open(&address, SOCK_STREAM, &step), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(unlink(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read_and_written),
		cmocka_unit_test(wrong_addresses_are_refused),
		cmocka_unit_test(port_is_chosen_and_told),
		cmocka_unit_test_setup_teardown(
			unix_socket_has_its_mode_and_goes_away, make_folder,
			remove_folder),
		cmocka_unit_test_setup_teardown(
			unix_socket_that_is_served_is_left_alone, make_folder,
			remove_folder),
		cmocka_unit_test_setup_teardown(stale_unix_socket_is_replaced,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			file_that_is_no_socket_is_left_alone, make_folder,
			remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

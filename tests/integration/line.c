/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/line.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/cmocka.h"

static const char *
or_none(const char *value)
{
	return value[0] != '\0' ? value : "-";
}

void
line_format(char line[LINE_MAX_BYTES], const char *id, const char *permit,
	    const char *verdict)
{
	int len = snprintf(
		line, LINE_MAX_BYTES,
		"<134>Nov 30 22:00:00 haproxy[1]: 10.0.0.9:4711 fe be/s1 "
		"\"POST /v1/chat/completions HTTP/1.1\" admission id=%s "
		"permit=%s verdict=%s state=---- status=200 "
		"server=10.1.0.1:9000",
		id, or_none(permit), or_none(verdict));

	assert_true(len < LINE_MAX_BYTES);
}

int
line_open_udp(const struct agent *agent)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)agent->lines),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)),
			 0);
	return fd;
}

int
line_open_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_true(strlen(path) < sizeof(to.sun_path));
	memcpy(to.sun_path, path, strlen(path) + 1);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)),
			 0);
	return fd;
}

void
line_send(int fd, const char *line)
{
	assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL),
			 strlen(line));
}

void
line_end(int fd, const char *id, const char *permit)
{
	char line[LINE_MAX_BYTES];

	line_format(line, id, permit, "admit");
	line_send(fd, line);
}

void
line_leave(int fd, const char *id)
{
	char line[LINE_MAX_BYTES];

	line_format(line, id, "", "");
	line_send(fd, line);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/listen_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/core/text.h"

/* A reload of HAProxy opens every connection anew at once. */
#define BACKLOG 4096

/* Whoever shares a group with the agent may reach it. */
#define UNIX_MODE 0660

#define UNIX_PREFIX "unix:"

/* The longest name of a host (RFC 1035) and its terminator. */
#define HOST_MAX 254

/* The address as each family sees it; memcpy keeps aliasing rules. */
union socket_name {
	struct sockaddr_storage any;
	struct sockaddr generic;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static union socket_name
name_of(const struct listen_address *address)
{
	union socket_name name;

	memset(&name, 0, sizeof(name));
	memcpy(&name, &address->at, sizeof(address->at));
	return name;
}

/* ---- text to address ---- */

static const char *
parse_unix(const char *path, struct listen_address *address)
{
	union socket_name name;
	size_t len = strlen(path);

	memset(&name, 0, sizeof(name));
	if (len == 0)
		return "the path is missing";
	if (len >= sizeof(name.local.sun_path))
		return "the path is too long for a unix socket";
	name.local.sun_family = AF_UNIX;
	memcpy(name.local.sun_path, path, len);
	memcpy(&address->at, &name, sizeof(address->at));
	address->len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return NULL;
}

static const char *
look_up(const char *host, const char *port, struct listen_address *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found;
	int error = getaddrinfo(host, port, &hints, &found);

	if (error != 0)
		return gai_strerror(error);
	memset(&address->at, 0, sizeof(address->at));
	memcpy(&address->at, found->ai_addr, found->ai_addrlen);
	address->len = found->ai_addrlen;
	freeaddrinfo(found);
	return NULL;
}

/* Copies the host out of "host:port" or "[v6]:port". */
static const char *
cut_host(const char *text, size_t len, char host[HOST_MAX])
{
	bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';

	if (bracketed) {
		text++;
		len -= 2;
	}
	if (len >= HOST_MAX)
		return "the host is too long";
	if (!bracketed && memchr(text, ':', len) != NULL)
		return "an IPv6 address needs brackets";
	memcpy(host, text, len);
	host[len] = '\0';
	return NULL;
}

const char *
listen_address_parse(const char *text, struct listen_address *address)
{
	const char *colon = strrchr(text, ':');
	char host[HOST_MAX];
	unsigned long long port;
	const char *wrong;

	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return parse_unix(text + strlen(UNIX_PREFIX), address);
	if (colon == NULL)
		return "neither host:port nor unix:/path";
	if (!text_number(text_of(colon + 1), UINT16_MAX, &port))
		return "the port is no number up to 65535";
	wrong = cut_host(text, (size_t)(colon - text), host);
	if (wrong != NULL)
		return wrong;
	if (host[0] == '\0')
		return look_up("127.0.0.1", colon + 1, address);
	if (strcmp(host, "*") == 0)
		return look_up("0.0.0.0", colon + 1, address);
	return look_up(host, colon + 1, address);
}

/* ---- questions ---- */

bool
listen_address_is_unix(const struct listen_address *address)
{
	return address->at.ss_family == AF_UNIX;
}

static bool
is_loopback_v4(uint32_t address)
{
	return ntohl(address) >> 24 == IN_LOOPBACKNET;
}

bool
listen_address_is_local(const struct listen_address *address)
{
	const struct sockaddr_in *v4 = (const void *)&address->at;
	const struct sockaddr_in6 *v6 = (const void *)&address->at;
	uint32_t mapped;

	switch (address->at.ss_family) {
	case AF_INET:
		return is_loopback_v4(v4->sin_addr.s_addr);
	case AF_INET6:
		if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
			return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		memcpy(&mapped, v6->sin6_addr.s6_addr + 12, sizeof(mapped));
		return is_loopback_v4(mapped);
	default:
		return listen_address_is_unix(address);
	}
}

unsigned
listen_address_port(const struct listen_address *address)
{
	union socket_name name = name_of(address);

	if (name.any.ss_family == AF_INET)
		return ntohs(name.v4.sin_port);
	if (name.any.ss_family == AF_INET6)
		return ntohs(name.v6.sin6_port);
	return 0;
}

void
listen_address_format(const struct listen_address *address,
		      char text[LISTEN_TEXT_MAX])
{
	union socket_name name = name_of(address);
	char host[INET6_ADDRSTRLEN] = "";

	if (name.any.ss_family == AF_UNIX) {
		snprintf(text, LISTEN_TEXT_MAX, UNIX_PREFIX "%s",
			 name.local.sun_path);
		return;
	}
	if (name.any.ss_family == AF_INET)
		inet_ntop(AF_INET, &name.v4.sin_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET6, &name.v6.sin6_addr, host, sizeof(host));
	snprintf(text, LISTEN_TEXT_MAX,
		 name.any.ss_family == AF_INET ? "%s:%u" : "[%s]:%u", host,
		 listen_address_port(address));
}

/* ---- sockets ---- */

/* Whether the path is a socket that nobody answers at any more. */
static bool
is_stale(const union socket_name *name, socklen_t len, int type)
{
	struct stat status;
	bool refused;
	int fd;

	if (lstat(name->local.sun_path, &status) != 0 ||
	    !S_ISSOCK(status.st_mode))
		return false;
	fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	refused =
		connect(fd, &name->generic, len) != 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

static const char *
prepare(int fd, const union socket_name *name, socklen_t len, int type)
{
	int on = 1;

	if (name->any.ss_family == AF_UNIX && is_stale(name, len, type) &&
	    unlink(name->local.sun_path) != 0)
		return "remove the old socket";
	/* On datagrams it would let two processes share the port. */
	if (name->any.ss_family != AF_UNIX && type == SOCK_STREAM &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		return "setsockopt";
	return NULL;
}

/* NULL, or what failed, with errno set. */
static const char *
open_bound(int fd, const struct listen_address *address, int type)
{
	union socket_name name = name_of(address);
	const char *failed = prepare(fd, &name, address->len, type);

	if (failed != NULL)
		return failed;
	if (bind(fd, &name.generic, address->len) != 0)
		return "bind";
	if (name.any.ss_family == AF_UNIX &&
	    chmod(name.local.sun_path, UNIX_MODE) != 0)
		return "chmod";
	if (type == SOCK_STREAM && listen(fd, BACKLOG) != 0)
		return "listen";
	return NULL;
}

int
listen_open(const struct listen_address *address, int type, const char **step)
{
	const char *failed = "socket";
	int error;
	int fd = socket(address->at.ss_family,
			type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		failed = open_bound(fd, address, type);
	if (failed == NULL)
		return fd;

	error = errno;
	if (fd >= 0)
		close(fd);
	*step = failed;
	errno = error;
	return -1;
}

bool
listen_bound(int fd, struct listen_address *address)
{
	union socket_name name;
	socklen_t len = sizeof(name);

	memset(&name, 0, sizeof(name));
	if (getsockname(fd, &name.generic, &len) != 0)
		return false;
	memcpy(&address->at, &name, sizeof(address->at));
	address->len = len;
	return true;
}

void
listen_close(int fd)
{
	struct listen_address address;
	union socket_name name;

	if (fd < 0)
		return;
	if (listen_bound(fd, &address) && listen_address_is_unix(&address)) {
		name = name_of(&address);
		unlink(name.local.sun_path);
	}
	close(fd);
}

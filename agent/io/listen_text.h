/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_LISTEN_TEXT_H
#define AGENT_IO_LISTEN_TEXT_H

/*
 * The addresses of options, as text and as sockets: "127.0.0.1:9021",
 * "[::1]:9021", "name:9021" or "unix:/path". Port 0 lets the system choose.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "agent/core/base.h"

/* The longest text of a bound address, its terminator included. */
#define LISTEN_TEXT_MAX 128

struct listen_address {
	struct sockaddr_storage at;
	socklen_t len;
};

/*
 * NULL, or a sentence that says what is wrong. An empty host is 127.0.0.1, so
 * that nobody is exposed by leaving it out; "*" is every IPv4 address. A name
 * is looked up now, which blocks, and its first address counts.
 */
MUST_CHECK const char *listen_address_parse(const char *text,
					    struct listen_address *address);

bool listen_address_is_unix(const struct listen_address *address);

/* Whether nobody beyond this machine can reach it. */
bool listen_address_is_local(const struct listen_address *address);

/* 0 for a unix socket. */
unsigned listen_address_port(const struct listen_address *address);

/* Writes it in the form that listen_address_parse() reads. */
void listen_address_format(const struct listen_address *address,
			   char text[LISTEN_TEXT_MAX]);

/*
 * A socket bound to it, non-blocking and closed on exec; SOCK_STREAM listens.
 * A unix socket takes the place of one that nobody answers at. Returns -1
 * with errno set, and *step says what failed, on failure only.
 */
MUST_CHECK int listen_open(const struct listen_address *address, int type,
			   const char **step);

/* Where it is bound; false if the system does not say. */
bool listen_bound(int fd, struct listen_address *address);

/* Closes it, -1 too, and removes the path of a unix socket. */
void listen_close(int fd);

#endif

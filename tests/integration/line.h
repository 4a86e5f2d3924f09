/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_LINE_H
#define TESTS_INTEGRATION_LINE_H

/* HAProxy's log: writes the line of a request's end (interface 3). */

#include <stddef.h>

#include "tests/integration/agent.h"

#define LINE_MAX_BYTES 512

/*
 * The line as the shipped configuration has it, without an end of line;
 * permit and verdict may be "".
 */
void line_format(char line[LINE_MAX_BYTES], const char *id, const char *permit,
		 const char *verdict);

/* Sockets to the daemon's log port; closed with close(2). */
int line_open_udp(const struct agent *agent);
int line_open_unix(const char *path);

/* One datagram. */
void line_send(int fd, const char *line);

/* Ends an admitted request over UDP. */
void line_end(int fd, const char *id, const char *permit);

/* Ends one that waits, or was never decided. */
void line_leave(int fd, const char *id);

#endif

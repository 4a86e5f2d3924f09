/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_AGENT_H
#define TESTS_INTEGRATION_AGENT_H

/*
 * The daemon under test. Everything it listens on has port 0, and the ports
 * are read from its log. What goes wrong here fails the test.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/integration/patience.h"

struct agent {
	pid_t pid;                 /* 0 once it has ended */
	unsigned spop, lines, api; /* ports; 0 for a unix socket */
	int stderr_fd;
	bool stderr_over; /* it has closed it: it has ended */
	char *log;        /* all it has written there, terminated */
	size_t log_len;
};

struct agent_setup {
	/* Both end with NULL; NULL is none. The environment is empty else. */
	const char *const *options;
	const char *const *environment;
	unsigned descriptors; /* its hard limit; 0 leaves it as it is */
	bool mute; /* its standard descriptors are closed: no log, no ports */
};

/* Starts it and waits until it is ready; setup may be NULL. */
struct agent *agent_start(const struct agent_setup *setup);

/*
 * Asks it to end, waits until it has, and expects a clean end. Returns how
 * long that took.
 */
usec_t agent_stop(struct agent **agent);

/* Kills it at once: it cannot do anything about that. */
void agent_crash(struct agent **agent);

/*
 * Runs one that ends by itself, with exactly these options. Returns its exit
 * status; what it wrote to stderr stands in *log, which the caller frees.
 */
int agent_run(const struct agent_setup *setup, char **log);

/* Kills those that a failed test left behind. */
int agent_kill_all(void **state);

/* A row of a test program's table; needs tests/cmocka.h. */
#define AGENT_TEST(test) cmocka_unit_test_teardown(test, agent_kill_all)

/* Whether the text came up in its log, within the usual patience. */
bool agent_logs(struct agent *agent, const char *text);

size_t agent_descriptors(const struct agent *agent);
size_t agent_rss_bytes(const struct agent *agent);
size_t agent_mapped_bytes(const struct agent *agent);
usec_t agent_cpu(const struct agent *agent);

/* Waits until it has no more descriptors than that open. */
void agent_settles(const struct agent *agent, size_t descriptors);

#endif

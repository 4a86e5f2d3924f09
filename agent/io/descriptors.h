/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_DESCRIPTORS_H
#define AGENT_IO_DESCRIPTORS_H

/*
 * File descriptors: as many as the system lets us have, and a word where they
 * are too few. From 3.1 on HAProxy takes an SPOP connection for each request
 * that waits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/base.h"

/* What is open besides connections of waiters, generously. */
#define DESCRIPTORS_RESERVE 512

struct gate;

struct descriptors {
	uint64_t limit; /* in force */
	bool few;       /* as was said */
};

/* Raises the soft limit to the hard one. */
void descriptors_raise(struct descriptors *d);

/*
 * After a change of rules: says whether the queues of all of them together
 * could take more than the limit, where that is not as it was.
 */
void descriptors_check(struct descriptors *d, const struct gate *gate);

#endif

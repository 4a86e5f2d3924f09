/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_DESCRIPTORS_H
#define AGENT_IO_DESCRIPTORS_H

/*
 * File descriptors: as many as the system lets us have, and a word where they
 * are too few. From 3.1 on HAProxy takes an SPOP connection for each request
 * that waits.
 */

#include <stdint.h>

#include "agent/core/base.h"

/* What is open besides connections of waiters, generously. */
#define DESCRIPTORS_RESERVE 512

struct gate;

/* Raises the soft limit to the hard one; returns what is in force then. */
uint64_t descriptors_raise(void);

/* Warns where the queues of all rules together could take more than limit. */
void descriptors_check(const struct gate *gate, uint64_t limit);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_WHEEL_H
#define AGENT_CORE_WHEEL_H

/*
 * Deadlines of any number of objects: setting and dropping one costs the same
 * at any number. A hashed timing wheel: a slot is a few milliseconds wide, and
 * an object whose deadline lies beyond one round is passed over until its
 * round comes.
 *
 * Nothing expires early; it expires at the first call after its deadline.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"

#define WHEEL_SLOTS 1024
#define WHEEL_SLOT_USEC (8 * USEC_PER_MSEC)

/* Embed one in each object; set it to zero once. */
struct wheel_node {
	TAILQ_ENTRY(wheel_node) link;
	usec_t deadline;
	uint64_t slot; /* counted from time 0; UINT64_MAX among those due */
	bool set;
};

TAILQ_HEAD(wheel_slot, wheel_node);

struct wheel {
	struct wheel_slot slot[WHEEL_SLOTS];
	struct wheel_slot due; /* expired, not yet returned */
	uint64_t turned;       /* slots gone by since time 0 */
	uint64_t next;         /* no node is in a slot before this one */
	size_t len;
};

void wheel_init(struct wheel *wheel, usec_t now);

/* The node must not be set. A deadline gone by expires at the next call. */
void wheel_set(struct wheel *wheel, struct wheel_node *node, usec_t deadline);

/* Does nothing if the node is not set. */
void wheel_drop(struct wheel *wheel, struct wheel_node *node);

/* Drops and returns one whose deadline is not after now, or NULL. */
struct wheel_node *wheel_expired(struct wheel *wheel, usec_t now);

/*
 * When to call wheel_expired() next; USEC_NEVER while nothing is set. It may
 * be early, never late by more than a slot.
 */
usec_t wheel_wakeup(const struct wheel *wheel);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_QUEUE_H
#define AGENT_CORE_QUEUE_H

/*
 * Who waits on a pool, first come first served. The bound is an argument,
 * since a smaller depth binds newcomers only (row 173).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/core/base.h"

struct request;

TAILQ_HEAD(queue_line, request);

struct queue {
	struct queue_line line;
	uint32_t len;
};

void queue_init(struct queue *q);

/* Every waiter must have left: a forgotten one is a client left hanging. */
void queue_fini(struct queue *q);

bool queue_has_room(const struct queue *q, uint32_t depth);

/* Behind all others. */
void queue_join(struct queue *q, struct request *r);

/* r must be waiting in q. */
void queue_leave(struct queue *q, struct request *r);

/* newer takes the place of older, which leaves. */
void queue_replace(struct queue *q, struct request *older,
		   struct request *newer);

/* Who is served next, or NULL. */
struct request *queue_head(const struct queue *q);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/queue.h"

#include <assert.h>

#include "agent/core/request.h"

void
queue_init(struct queue *q)
{
	TAILQ_INIT(&q->line);
	q->len = 0;
}

void
queue_fini(struct queue *q)
{
	assert(q->len == 0);
	assert(TAILQ_EMPTY(&q->line));
}

bool
queue_has_room(const struct queue *q, uint32_t depth)
{
	return q->len < depth;
}

void
queue_join(struct queue *q, struct request *r)
{
	TAILQ_INSERT_TAIL(&q->line, r, queued);
	q->len++;
}

void
queue_leave(struct queue *q, struct request *r)
{
	assert(q->len > 0);
	TAILQ_REMOVE(&q->line, r, queued);
	q->len--;
}

void
queue_replace(struct queue *q, struct request *older, struct request *newer)
{
	TAILQ_INSERT_BEFORE(older, newer, queued);
	TAILQ_REMOVE(&q->line, older, queued);
}

struct request *
queue_head(const struct queue *q)
{
	return TAILQ_FIRST(&q->line);
}

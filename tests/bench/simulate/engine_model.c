/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/engine_model.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/core/kit.h"

/* What of a request's full speed each gets. */
static double
speed(const struct engine_model *e)
{
	double k = (double)e->running;

	if (e->running <= ENGINE_SLOTS)
		return 1;
	return ENGINE_SLOTS / k / (1 + 0.03 * (k - ENGINE_SLOTS));
}

void
engine_model_init(struct engine_model *e, usec_t now)
{
	memset(e, 0, sizeof(*e));
	e->now = now;
}

void
engine_model_fini(struct engine_model *e)
{
	free(e->heap);
}

/* ---- the marks ---- */

static void
swap(struct mark *a, struct mark *b)
{
	struct mark c = *a;

	*a = *b;
	*b = c;
}

static void
push(struct engine_model *e, const struct mark *mark)
{
	size_t at = e->len++;

	if (e->len > e->cap) {
		e->cap = 2 * e->len;
		e->heap = realloc(e->heap, e->cap * sizeof(*e->heap));
		if (e->heap == NULL)
			kit_fault("no memory", "marks");
	}
	e->heap[at] = *mark;
	for (; at > 0 && e->heap[at].work < e->heap[(at - 1) / 2].work;
	     at = (at - 1) / 2)
		swap(&e->heap[at], &e->heap[(at - 1) / 2]);
}

static void
pop(struct engine_model *e)
{
	size_t at = 0, below;

	e->heap[0] = e->heap[--e->len];
	while ((below = 2 * at + 1) < e->len) {
		if (below + 1 < e->len &&
		    e->heap[below + 1].work < e->heap[below].work)
			below++;
		if (e->heap[at].work <= e->heap[below].work)
			break;
		swap(&e->heap[at], &e->heap[below]);
		at = below;
	}
}

void
engine_model_begin(struct engine_model *e, size_t request,
		   unsigned prompt_tokens, unsigned output_tokens)
{
	double first = e->work + prompt_tokens * PREFILL_TOKEN_USEC;
	double last = first + output_tokens * DECODE_TOKEN_USEC;

	push(e, &(struct mark){ first, request, FIRST_TOKEN });
	push(e, &(struct mark){ last, request, LAST_TOKEN });
	e->running++;
}

/* ---- time ---- */

usec_t
engine_model_next(const struct engine_model *e)
{
	double left;

	if (e->len == 0)
		return USEC_NEVER;
	left = (e->heap[0].work - e->work) / speed(e);
	/* Rounded up, so that it is reached then. */
	return left <= 0 ? e->now : e->now + (usec_t)left + 1;
}

void
engine_model_pass(struct engine_model *e, usec_t now)
{
	e->work += (double)(now - e->now) * speed(e);
	e->now = now;
}

bool
engine_model_take(struct engine_model *e, struct mark *mark)
{
	if (e->len == 0 || e->heap[0].work > e->work)
		return false;
	*mark = e->heap[0];
	pop(e);
	if (mark->milestone == LAST_TOKEN)
		e->running--;
	return true;
}

unsigned
engine_model_waiting(const struct engine_model *e)
{
	return e->running > ENGINE_BATCH ? (unsigned)(e->running - ENGINE_BATCH)
					 : 0;
}

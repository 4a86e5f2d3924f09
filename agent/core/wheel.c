/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/wheel.h"

#include <assert.h>

void
wheel_init(struct wheel *wheel, usec_t now)
{
	for (size_t i = 0; i < WHEEL_SLOTS; i++)
		TAILQ_INIT(&wheel->slot[i]);
	TAILQ_INIT(&wheel->due);
	wheel->turned = now / WHEEL_SLOT_USEC;
	wheel->next = wheel->turned;
	wheel->len = 0;
}

static struct wheel_slot *
slot_at(struct wheel *wheel, uint64_t number)
{
	return &wheel->slot[number % WHEEL_SLOTS];
}

void
wheel_set(struct wheel *wheel, struct wheel_node *node, usec_t deadline)
{
	uint64_t number = deadline / WHEEL_SLOT_USEC;

	assert(!node->set);
	/* Where the next turn looks, should its own slot be gone by. */
	if (number < wheel->turned)
		number = wheel->turned;
	node->deadline = deadline;
	node->slot = number;
	node->set = true;
	TAILQ_INSERT_TAIL(slot_at(wheel, number), node, link);
	if (wheel->len++ == 0 || number < wheel->next)
		wheel->next = number;
}

#define AMONG_DUE UINT64_MAX

void
wheel_drop(struct wheel *wheel, struct wheel_node *node)
{
	struct wheel_slot *slot = &wheel->due;

	if (!node->set)
		return;
	if (node->slot != AMONG_DUE)
		slot = slot_at(wheel, node->slot);
	TAILQ_REMOVE(slot, node, link);
	node->set = false;
	wheel->len--;
}

/*
 * Collects what has expired in a slot. One pass, since nodes of later rounds
 * may stand anywhere between.
 */
static void
sweep(struct wheel *wheel, struct wheel_slot *slot, usec_t now)
{
	struct wheel_node *node = TAILQ_FIRST(slot);
	struct wheel_node *next;

	for (; node != NULL; node = next) {
		next = TAILQ_NEXT(node, link);
		if (node->deadline > now)
			continue;
		TAILQ_REMOVE(slot, node, link);
		node->slot = AMONG_DUE;
		TAILQ_INSERT_TAIL(&wheel->due, node, link);
	}
}

/* Finds the next slot with a node in it, at most one round away. */
static void
look_ahead(struct wheel *wheel)
{
	wheel->next = wheel->turned;
	if (wheel->len == 0)
		return;
	while (TAILQ_EMPTY(slot_at(wheel, wheel->next)))
		wheel->next++;
}

/* Goes on to the slot of now, or to the first with something due. */
static void
turn(struct wheel *wheel, usec_t now)
{
	uint64_t last = now / WHEEL_SLOT_USEC;

	/* One round sees every slot, however long nobody looked. */
	if (last >= wheel->turned + WHEEL_SLOTS)
		wheel->turned = last - WHEEL_SLOTS + 1;
	for (;;) {
		sweep(wheel, slot_at(wheel, wheel->turned), now);
		if (!TAILQ_EMPTY(&wheel->due) || wheel->turned >= last)
			return;
		wheel->turned++;
	}
}

struct wheel_node *
wheel_expired(struct wheel *wheel, usec_t now)
{
	struct wheel_node *node;

	if (TAILQ_EMPTY(&wheel->due))
		turn(wheel, now);
	node = TAILQ_FIRST(&wheel->due);
	if (node != NULL)
		wheel_drop(wheel, node);
	else
		look_ahead(wheel);
	return node;
}

usec_t
wheel_wakeup(const struct wheel *wheel)
{
	if (wheel->len == 0)
		return USEC_NEVER;
	return (wheel->next + 1) * WHEEL_SLOT_USEC;
}

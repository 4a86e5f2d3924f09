/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/wheel.h"

#include <assert.h>

void
wheel_init(struct wheel *wheel, usec_t now)
{
	for (size_t i = 0; i < WHEEL_SLOTS; i++)
		TAILQ_INIT(&wheel->slot[i]);
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

void
wheel_drop(struct wheel *wheel, struct wheel_node *node)
{
	if (!node->set)
		return;
	TAILQ_REMOVE(slot_at(wheel, node->slot), node, link);
	node->set = false;
	wheel->len--;
}

static struct wheel_node *
expired_in(struct wheel_slot *slot, usec_t now)
{
	struct wheel_node *node;

	TAILQ_FOREACH (node, slot, link)
		if (node->deadline <= now)
			return node;
	return NULL;
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

struct wheel_node *
wheel_expired(struct wheel *wheel, usec_t now)
{
	uint64_t last = now / WHEEL_SLOT_USEC;

	/* One round sees every slot, however long nobody looked. */
	if (last >= wheel->turned + WHEEL_SLOTS)
		wheel->turned = last - WHEEL_SLOTS + 1;

	for (;;) {
		struct wheel_node *node =
			expired_in(slot_at(wheel, wheel->turned), now);

		if (node != NULL) {
			wheel_drop(wheel, node);
			return node;
		}
		if (wheel->turned >= last)
			break;
		wheel->turned++;
	}
	look_ahead(wheel);
	return NULL;
}

usec_t
wheel_wakeup(const struct wheel *wheel)
{
	if (wheel->len == 0)
		return USEC_NEVER;
	return (wheel->next + 1) * WHEEL_SLOT_USEC;
}

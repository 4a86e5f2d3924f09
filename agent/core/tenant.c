/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/tenant.h"

#include <string.h>

void
tenants_init(struct tenants *t)
{
	memset(t, 0, sizeof(*t));
	t->unit_bound = TENANT_UNBOUNDED;
	t->queue_bound = TENANT_UNBOUNDED;
	TAILQ_INIT(&t->last.line);
	for (size_t i = 0; i < TENANTS_MAX; i++)
		TAILQ_INIT(&t->slot[i].line);
}

static uint32_t
share_of(uint32_t whole, uint32_t percent)
{
	uint64_t share = ((uint64_t)whole * percent + 99) / 100;

	return share < 1 ? 1 : (uint32_t)share;
}

void
tenants_bound(struct tenants *t, uint32_t percent, uint32_t ceiling,
	      uint32_t depth)
{
	t->active = percent > 0 && percent < 100 && ceiling > 0;
	t->unit_bound =
		t->active ? share_of(ceiling, percent) : TENANT_UNBOUNDED;
	t->queue_bound =
		t->active ? share_of(depth, percent) : TENANT_UNBOUNDED;
}

static bool
is_free(const struct tenant *tenant)
{
	return tenant->units == 0 && tenant->waiting == 0;
}

struct tenant *
tenants_slot(struct tenants *t, uint64_t key)
{
	struct tenant *unused = NULL;

	if (!t->active)
		return &t->last;
	for (size_t i = 0; i < TENANTS_MAX; i++) {
		struct tenant *tenant = &t->slot[i];

		if (!is_free(tenant)) {
			if (tenant->key == key)
				return tenant;
		} else if (unused == NULL) {
			unused = tenant;
		}
	}
	if (unused == NULL)
		return &t->last;
	unused->key = key;
	return unused;
}

uint32_t
tenants_active(const struct tenants *t)
{
	uint32_t active = is_free(&t->last) ? 0 : 1;

	if (!t->active)
		return 0;
	for (size_t i = 0; i < TENANTS_MAX; i++)
		if (!is_free(&t->slot[i]))
			active++;
	return active;
}

bool
tenant_is_over(const struct tenant *tenant, uint32_t unit_bound)
{
	return tenant->units >= unit_bound;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/core/kit.h"

void
clients_init(struct clients *c, const struct workload *workload, usec_t start,
	     usec_t budget)
{
	memset(c, 0, sizeof(*c));
	c->workload = workload;
	c->start = start;
	c->budget = budget;
	c->fates = calloc(workload->count, sizeof(*c->fates));
	if (c->fates == NULL)
		kit_fault("no memory", "clients");
	c->count[FATE_OPEN] = workload->count;
}

void
clients_fini(struct clients *c)
{
	free(c->fates);
}

usec_t
clients_next(const struct clients *c)
{
	return c->arrived < c->workload->count
		       ? c->start + c->workload->works[c->arrived].at
		       : USEC_NEVER;
}

size_t
clients_arrive(struct clients *c)
{
	assert(c->arrived < c->workload->count);
	return c->arrived++;
}

const struct work *
clients_work(const struct clients *c, size_t request)
{
	return &c->workload->works[request];
}

static bool
is_in_time(const struct clients *c, size_t request, usec_t now)
{
	return now <= c->start + clients_work(c, request)->at + c->budget;
}

/* Each has one fate, so the counts add up. */
static void
meet(struct clients *c, size_t request, enum fate fate)
{
	assert(c->fates[request] == FATE_OPEN);
	c->count[FATE_OPEN]--;
	c->count[fate]++;
	c->fates[request] = fate;
}

void
clients_begin(struct clients *c, size_t request, usec_t now)
{
	assert(c->fates[request] == FATE_OPEN);
	if (!is_in_time(c, request, now))
		c->hopeless++;
}

void
clients_first_token(struct clients *c, size_t request, usec_t now)
{
	meet(c, request, is_in_time(c, request, now) ? FATE_GOOD : FATE_LATE);
}

void
clients_refuse(struct clients *c, size_t request, bool waited)
{
	meet(c, request, waited ? FATE_TIMED_OUT : FATE_REFUSED);
}

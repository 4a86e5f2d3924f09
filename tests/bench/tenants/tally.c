/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/tenants/tally.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static void *
list_of(size_t count, size_t size)
{
	void *list = calloc(count, size);

	if (list == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return list;
}

/* Among equals the one that came first. */
static void
sort_tenants(struct tally *t)
{
	const struct trace *trace = t->trace;

	for (size_t i = 0; i < trace->tenants; i++) {
		size_t place = i;

		for (; place > 0 &&
		       trace->sent[t->order[place - 1]] < trace->sent[i];
		     place--)
			t->order[place] = t->order[place - 1];
		t->order[place] = i;
	}
}

void
tally_init(struct tally *t, const struct trace *trace)
{
	*t = (struct tally){ .trace = trace };
	t->outcome = list_of(trace->count, sizeof(*t->outcome));
	t->wait = list_of(trace->count, sizeof(*t->wait));
	sort_tenants(t);
}

void
tally_fini(struct tally *t)
{
	free(t->outcome);
	free(t->wait);
}

void
tally_note(struct tally *t, size_t arrival, enum outcome outcome, usec_t wait)
{
	t->outcome[arrival] = outcome;
	t->wait[arrival] = wait;
}

void
tally_pass(struct tally *t, usec_t time, const struct units *units)
{
	t->whole += units->ceiling * time;
	t->busy += units->busy * time;
	t->borrowed += units->borrowed * time;
	if (units->waiting > 0)
		t->idle += (units->ceiling - units->busy) * time;
}

/* ---- tenants of the places from to before in the order ---- */

struct part {
	size_t sent;
	size_t of[OUTCOMES];
	usec_t p50, p99; /* of the waits of those that were served */
};

static bool
is_among(const struct tally *t, size_t tenant, size_t from, size_t before)
{
	for (size_t i = from; i < before; i++)
		if (t->order[i] == tenant)
			return true;
	return false;
}

static int
compare(const void *a, const void *b)
{
	const usec_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The smallest that so many percent do not exceed. */
static usec_t
percentile(const usec_t *sorted, size_t count, size_t percent)
{
	return count == 0 ? 0 : sorted[(count * percent + 99) / 100 - 1];
}

static struct part
part_of(const struct tally *t, size_t from, size_t before)
{
	struct part part = { .sent = 0 };
	usec_t *waits = list_of(t->trace->count, sizeof(*waits));
	size_t served = 0;

	for (size_t i = 0; i < t->trace->count; i++) {
		if (!is_among(t, t->trace->arrivals[i].tenant, from, before))
			continue;
		part.sent++;
		part.of[t->outcome[i]]++;
		if (t->outcome[i] == OUTCOME_SERVED)
			waits[served++] = t->wait[i];
	}
	qsort(waits, served, sizeof(*waits), compare);
	part.p50 = percentile(waits, served, 50);
	part.p99 = percentile(waits, served, 99);
	free(waits);
	return part;
}

size_t
tally_light_lost(const struct tally *t)
{
	struct part part = part_of(t, TALLY_HEAVY, t->trace->tenants);

	return part.of[OUTCOME_REFUSED] + part.of[OUTCOME_TIMED_OUT];
}

/* ---- the table ---- */

static void
print_part(const char *name, const struct part *part)
{
	printf("%-10s %5zu %7zu %8zu %10zu %7.2f %7.2f\n", name, part->sent,
	       part->of[OUTCOME_SERVED], part->of[OUTCOME_REFUSED],
	       part->of[OUTCOME_TIMED_OUT], (double)part->p50 / 1e6,
	       (double)part->p99 / 1e6);
}

static double
percent_of(usec_t part, usec_t whole)
{
	return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

void
tally_print(const struct tally *t, const char *title)
{
	size_t tenants = t->trace->tenants;
	struct part part;
	char name[32];

	printf("\n%s\n%-10s %5s %7s %8s %10s %7s %7s\n", title, "tenant",
	       "sent", "served", "refused", "timed out", "p50 s", "p99 s");
	for (size_t i = 0; i < tenants; i++) {
		part = part_of(t, i, i + 1);
		print_part(t->trace->names[t->order[i]], &part);
	}
	part = part_of(t, TALLY_HEAVY, tenants);
	snprintf(name, sizeof(name), "%zu lighter", tenants - TALLY_HEAVY);
	print_part(name, &part);
	part = part_of(t, 0, tenants);
	print_part("all", &part);
	printf("units busy %.1f %%, borrowed %.1f %%, free while anybody "
	       "waited "
	       "%.1f %%\n",
	       percent_of(t->busy, t->whole), percent_of(t->borrowed, t->whole),
	       percent_of(t->idle, t->whole));
}

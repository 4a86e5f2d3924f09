/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a release costs with many who wait: release_cost CASE.
 *
 * Sets the case up and ends a number of requests; release_cost.py lets
 * valgrind count the instructions of gate_end() alone. Prints how many ended.
 *
 *     passed WAITERS   another tenant's unit, past that many at their share
 *     own WAITERS      the unit of a tenant at its share, to its next waiter
 *     turn BLOCKED     a unit to the next of its tenant, past that many
 *                      tenants at their share, each with a hundred waiters
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "tests/unit/core/kit.h"

#define RELEASES 64
#define UNITS 10 /* a share: one percent of the ceiling */
#define LINE 100 /* waiters of a tenant that is blocked */

#define RULE                                                                   \
	"mode=enforce queue_depth=65536 queue_wait_ms=3600000 "                \
	"endpoints=10.0.0.1:8000,10.0.0.2:8000 "
#define SHARED RULE "max_outstanding=1000 tenant_max_share_pct=1"

static struct gate *gate;
static struct peer peer;
static unsigned asked;

static void
put(const char *words)
{
	if (gate_put(gate, kit_rule(words), 1) == GATE_NO_MEMORY)
		kit_fault("no memory", words);
}

static void
ask(const char *tenant, unsigned number, enum verdict expected)
{
	char words[64];
	struct question q;
	struct answer answer;

	snprintf(words, sizeof(words), "%s.%u tenant=%s", tenant, number,
		 tenant);
	kit_question(&q, words);
	q.ask.asker = (struct asker){ &peer, asked++, 1 };
	if (gate_ask(gate, &q.ask, 1, &answer) != expected)
		kit_fault("another verdict", words);
}

static void
ask_many(const char *tenant, unsigned from, unsigned many,
	 enum verdict expected)
{
	for (unsigned i = 0; i < many; i++)
		ask(tenant, from + i, expected);
}

/* Its unit goes to so many who wait. */
static void
end_one(const char *tenant, unsigned number, unsigned woken)
{
	char id[64];
	struct asker to;
	struct answer answer;

	snprintf(id, sizeof(id), "%s.%u", tenant, number);
	if (gate_end(gate, &(struct ending){ .id = text_of(id) }, 1) !=
	    LINE_RELEASED)
		kit_fault("not released", id);
	for (; gate_next_answer(gate, &to, &answer); woken--)
		continue;
	if (woken != 0)
		kit_fault("not as many woken as should be", id);
}

/* They wait before there is a share, which would bound them. */
static void
set_up(unsigned others, unsigned waiters)
{
	char words[256];

	snprintf(words, sizeof(words), RULE "max_outstanding=%u",
		 others + UNITS);
	put(words);
	ask_many("other", 0, others, VERDICT_ADMIT);
	ask_many("crowd", 0, UNITS, VERDICT_ADMIT);
	ask_many("crowd", UNITS, waiters, VERDICT_WAIT);
	put(SHARED);
}

static void
passed(unsigned waiters)
{
	set_up(RELEASES, waiters);
	for (unsigned i = 0; i < RELEASES; i++)
		end_one("other", i, 0);
}

static void
own(unsigned waiters)
{
	set_up(0, waiters);
	for (unsigned i = 0; i < RELEASES; i++)
		end_one("crowd", i, 1);
}

static void
turn(unsigned blocked)
{
	char tenant[16];

	put(SHARED);
	for (unsigned i = 0; i < blocked; i++) {
		snprintf(tenant, sizeof(tenant), "t%u", i);
		ask_many(tenant, 0, UNITS, VERDICT_ADMIT);
		ask_many(tenant, UNITS, LINE, VERDICT_WAIT);
	}
	ask_many("turn", 0, UNITS, VERDICT_ADMIT);
	ask_many("turn", UNITS, RELEASES, VERDICT_WAIT);
	for (unsigned i = 0; i < RELEASES; i++)
		end_one("turn", i, 1);
}

static const struct {
	const char *name;
	void (*run)(unsigned number);
} cases[] = { { "passed", passed }, { "own", own }, { "turn", turn } };

int
main(int argc, char **argv)
{
	const struct gate_options options = { .hash_key = { 1, 2 },
					      .unit_max_age = USEC_NEVER,
					      .backend = "pool" };
	const struct settings_env env = { 0 };

	gate = gate_new(&options, &env, 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (argc != 3 || strcmp(argv[1], cases[i].name) != 0)
			continue;
		cases[i].run((unsigned)kit_number(argv[2]));
		printf("%d\n", RELEASES);
		/* Who waits still is left to the end of the process. */
		return 0;
	}
	kit_fault("usage", "release_cost passed|own|turn NUMBER");
}

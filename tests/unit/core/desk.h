/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORE_DESK_H
#define TESTS_UNIT_CORE_DESK_H

/*
 * A gate with somebody who asks it: keeps the time, remembers what was
 * answered to whom, and ends the program when a question is answered twice,
 * or never.
 */

#include "agent/core/gate.h"
#include "tests/unit/core/kit.h"

#define DESK_PEERS 4
#define DESK_NOTES 4096
#define DESK_LABEL_MAX 160

/* Time 0 of a test: the machine has been up for a while. */
#define DESK_START (86400 * USEC_PER_SEC)

/* One question, as HAProxy would remember it. */
struct note {
	char id[REQUEST_ID_MAX + 1];
	char label[DESK_LABEL_MAX];
	unsigned peer;
	bool answered;
	bool lost; /* its connection went before its answer */
	enum verdict verdict;
	uint64_t permit;
};

struct desk {
	struct gate *gate;
	struct peer peers[DESK_PEERS];
	usec_t now;
	size_t note_count;
	struct note notes[DESK_NOTES];
};

/* env as for kit_env(), or "". */
struct desk *desk_open(const char *env);
struct desk *desk_open_with(const struct gate_options *options,
			    const char *env);

/* Lets time pass until so many milliseconds after the start; no tick. */
void desk_at(struct desk *d, unsigned long ms);

/* Drains the gate and looks that every question had its one answer. */
void desk_close(struct desk **desk);

enum gate_change desk_put(struct desk *d, const char *rule);

/* The rule with that key. */
void desk_delete(struct desk *d, const char *rule);

enum verdict desk_ask(struct desk *d, const char *question,
		      struct answer *answer);

/*
 * "ID permit=TEXT verdict=TEXT": what is not said is what HAProxy would log
 * after the last answer to that id; the word none says nothing.
 */
enum line_result desk_end(struct desk *d, const char *line);

/* Takes the next answer; returns the label of its question, or NULL. */
const char *desk_next(struct desk *d, struct answer *answer);

void desk_lose(struct desk *d, unsigned peer);

/*
 * "incomplete asked=MS backend=pool 10.0.0.1:8000=up,SESSIONS,SERVER ...": one
 * look. "asked=MS" before the servers: when HAProxy was asked, if not now.
 * Returns the units given back.
 */
size_t desk_look(struct desk *d, const char *look);

/* Of the rule with that key, or NULL where it is no AI service. */
struct pool *desk_pool(struct desk *d, const char *rule);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_STATE_FOLDER_H
#define AGENT_IO_STATE_FOLDER_H

/*
 * The folder of --state-dir, which one agent at a time may have: the rules are
 * in STATE_RULES there, as rules_text.h writes them. What is wrong with it is
 * said in the log, in one line with the way out.
 */

#include <stdbool.h>

#include "agent/core/base.h"

#define STATE_RULES "rules.json"

struct gate;
struct state_folder;

/*
 * Makes the folder, for its owner alone, where it is not there, takes its lock
 * and removes what a crash left behind. To check only, it changes nothing and
 * takes no lock: whom it is for may be running. NULL, and said, where it
 * cannot be had.
 */
MUST_CHECK struct state_folder *state_folder_open(const char *path, bool check);
void state_folder_close(struct state_folder **folder);

enum state_found {
	STATE_EMPTY, /* no rules were ever written */
	STATE_LOADED,
	STATE_REFUSED, /* damaged or unreadable, and said: start nothing */
};

/* Puts the rules of the folder into a gate that has none. */
MUST_CHECK enum state_found state_folder_load(const struct state_folder *folder,
					      struct gate *gate, usec_t now);

/*
 * Writes the gate's rules there, waiting for the disk. False, and said, where
 * it cannot.
 */
MUST_CHECK bool state_folder_keep(const struct state_folder *folder,
				  const struct gate *gate);

/* The descriptor of the folder; the folder's. */
int state_folder_descriptor(const struct state_folder *folder);

#endif

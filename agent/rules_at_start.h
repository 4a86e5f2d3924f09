/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_RULES_AT_START_H
#define AGENT_RULES_AT_START_H

/*
 * Which rules a process starts with: those of its state folder or, where that
 * holds none, those of the file of --rules, which the folder then keeps.
 */

#include <stdbool.h>

#include "agent/core/base.h"

struct config;
struct gate;
struct state_folder;

/*
 * Puts them into a gate that has none, and opens *folder where there is to be
 * one. False, and said, where the program must not start; *folder is then the
 * caller's all the same. To check only, nothing is written.
 */
MUST_CHECK bool rules_at_start(const struct config *c, struct gate *gate,
			       struct state_folder **folder);

#endif

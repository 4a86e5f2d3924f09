/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_PERMIT_H
#define AGENT_CORE_PERMIT_H

/*
 * The name of a unit: who gave it (an epoch, new with each process or state
 * folder) and its number there, counted from 1.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/text.h"

/* "0123456789abcdef-0123456789abcdef" and its terminator. */
#define PERMIT_TEXT_MAX 34

struct permit {
	uint64_t epoch;
	uint64_t number;
};

/* Writes it, terminated; returns the length. */
size_t permit_format(char text[PERMIT_TEXT_MAX], const struct permit *permit);

/* False, and *permit untouched, for what no agent could have written. */
bool permit_parse(struct text text, struct permit *permit);

#endif

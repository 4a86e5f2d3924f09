/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_PREFILL_H
#define TESTS_ENGINE_PREFILL_H

/*
 * The first half of a P/D request: the decode engine, which is this one, has
 * the engine named in x-prefiller-host-port do it, and waits for its answer.
 */

#include <stdbool.h>

#include "agent/core/base.h"

#define PREFILL_HEADER "x-prefiller-host-port"

struct event_base;
struct prefill;

/* Told once, whether it was answered 200; drop the prefill there. */
typedef void (*prefill_done)(void *arg, bool good);

struct prefill_order {
	const char *address; /* "127.0.0.1:8000" */
	const char *path;
	const char *nonce; /* or NULL */
	bool hold;         /* the other engine holds it until released */
};

/* NULL for what is no address. Keeps nothing of the order. */
MUST_CHECK struct prefill *prefill_begin(struct event_base *base,
					 const struct prefill_order *order,
					 prefill_done done, void *arg);

/* Breaks it off where it is not done. */
void prefill_drop(struct prefill **prefill);

#endif

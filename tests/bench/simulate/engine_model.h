/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SIMULATE_ENGINE_MODEL_H
#define TESTS_BENCH_SIMULATE_ENGINE_MODEL_H

/*
 * An engine that batches: up to ENGINE_SLOTS requests run at full speed, and
 * beyond that all get slower together, by more than their number.
 *
 * A request is prefill, whose end is its first token, and then decode. All
 * that run progress alike, so time is measured in work done for each of them.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"

#define ENGINE_SLOTS 8

/* Requests beyond that are said to wait in the engine. */
#define ENGINE_BATCH 12

/* What a token takes at full speed. */
#define PREFILL_TOKEN_USEC 200.0
#define DECODE_TOKEN_USEC 20000.0

enum milestone { FIRST_TOKEN, LAST_TOKEN };

/* When a request gets somewhere, in work done. */
struct mark {
	double work;
	size_t request;
	enum milestone milestone;
};

struct engine_model {
	struct mark *heap; /* owned; the next one first */
	size_t len, cap;
	size_t running;
	double work; /* done for each that runs, in microseconds */
	usec_t now;
};

void engine_model_init(struct engine_model *e, usec_t now);
void engine_model_fini(struct engine_model *e);

void engine_model_begin(struct engine_model *e, size_t request,
			unsigned prompt_tokens, unsigned output_tokens);

/* When the next mark is reached; USEC_NEVER for none. */
usec_t engine_model_next(const struct engine_model *e);

/* Lets time pass. */
void engine_model_pass(struct engine_model *e, usec_t now);

/* Takes the next mark that is reached now; false for none. */
bool engine_model_take(struct engine_model *e, struct mark *mark);

/* What its metrics say is waiting. */
unsigned engine_model_waiting(const struct engine_model *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_ENGINE_H
#define TESTS_ENGINE_ENGINE_H

/*
 * The stub itself: requests in progress, each of them held, delayed or being
 * answered, as its headers wish (wish.def).
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "tests/engine/receipts.h"

struct event_base;
struct http_conn;
struct http_request;
struct http_server;
struct job;

TAILQ_HEAD(jobs, job);

struct engine {
	struct event_base *base;    /* borrowed, outlives the engine */
	struct http_server *server; /* borrowed, for its counts */
	const char *name;           /* borrowed: told in X-Test-Engine */
	uint32_t delay_ms;          /* of an inference request without a wish */
	uint32_t waiting;           /* what /metrics says */
	bool metrics_off;           /* /metrics answers 503 */
	bool ill;                   /* /health does */
	unsigned long scrapes;
	struct receipts receipts;
	struct jobs held;    /* until released */
	struct jobs running; /* all others in progress */
};

void engine_init(struct engine *e, struct event_base *base);

/* The server must be closed: no request may be in progress. */
void engine_fini(struct engine *e);

/* Answers what is no control path, now or later. */
void engine_serve(struct engine *e, struct http_conn *c,
		  const struct http_request *r);

/*
 * Lets go those held and the endless streams with that nonce, or all of them
 * for NULL; returns how many.
 */
unsigned engine_release(struct engine *e, const char *nonce);

unsigned engine_held(const struct engine *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_ENGINE_METRICS_H
#define AGENT_CORE_ENGINE_METRICS_H

/*
 * How many requests wait in an engine, from its metrics in the text format of
 * Prometheus or OpenMetrics, whichever engine it is. The page is fed piece by
 * piece; what is kept of it is bounded.
 *
 * Several series of a family add up. A value that is no count (NaN, infinite,
 * negative) and a family that is not there are no evidence, never zero.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/text.h"

/* The longest line of a family that we read. */
#define ENGINE_LINE_MAX 4096

/* How many families there are (engine_metrics.c). */
#define ENGINE_FAMILIES 8

struct engine_metrics {
	char line[ENGINE_LINE_MAX]; /* what is there of one that is not whole */
	size_t len;
	bool passing; /* the rest of a line that is too long */
	bool broken;
	bool counted[ENGINE_FAMILIES];
	uint64_t sum[ENGINE_FAMILIES];
};

enum engine_result {
	ENGINE_COUNTED,
	ENGINE_UNKNOWN,     /* no family that we know has a count */
	ENGINE_UNPARSEABLE, /* no metrics at all, or ours are malformed */
};

void engine_metrics_begin(struct engine_metrics *m);
void engine_metrics_feed(struct engine_metrics *m, struct text piece);

/* *waiting is set with ENGINE_COUNTED only; a part of one counts as one. */
enum engine_result engine_metrics_end(struct engine_metrics *m,
				      uint32_t *waiting);

#endif

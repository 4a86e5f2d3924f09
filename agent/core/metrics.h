/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_METRICS_H
#define AGENT_CORE_METRICS_H

/*
 * Every published family, from metrics.def. Counters of the process are plain
 * numbers written by whoever sees the event; those of a pool live in it.
 * Nothing decides by them.
 */

#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"

enum metric_id {
#define METRIC(name, ...) METRIC_##name,
#include "agent/core/metrics.def"
#undef METRIC
	METRIC_COUNT
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
enum metric_scope { METRIC_POOL, METRIC_PROCESS };

enum metric_label {
	LABEL_NONE,
	LABEL_ROLE,
	LABEL_LIMIT,
	LABEL_REASON,
	LABEL_ANOMALY,
	LABEL_LINE,
	LABEL_UNUSABLE,
	LABEL_LOOK,
	LABEL_STATE,
	LABEL_WHY,
	LABEL_MOVE,
	LABEL_SCRAPE,
};

/* The values of the label sets, in order; their words stand in metrics.c. */
enum metric_role {
	METRIC_ROLE_SERVICE,
	METRIC_ROLE_NORMAL,
	METRIC_ROLE_PREFILL,
	METRIC_ROLE_DECODE,
	METRIC_ROLE_QUEUE, /* of LIMIT only, so it is the last */
};
enum anomaly {
	ANOMALY_UNDERFLOW,
	ANOMALY_UNKNOWN_PERMIT,
	ANOMALY_TENANT_TABLE_FULL,
	ANOMALY_COUNT
};

/* What came of a line of HAProxy's log (interface 3). */
enum line_result {
	LINE_RELEASED,  /* a unit came back */
	LINE_CANCELLED, /* a waiter has gone */
	LINE_EARLY,     /* overtook its own NOTIFY */
	LINE_NOTED,     /* of a request that held nothing */
	LINE_LATE,      /* of a unit that is back already */
	LINE_UNKNOWN,   /* of a unit that nobody gave */
	LINE_OTHER,     /* not for the gate */
	LINE_COUNT
};

/* Why a message could not be used (interface 2). */
enum unusable {
	UNUSABLE_MESSAGE,
	UNUSABLE_ID,
	UNUSABLE_ARGUMENT,
	UNUSABLE_COUNT
};

/* What came of asking an engine for its metrics (contract 7). */
enum scrape_result {
	SCRAPE_OK,
	SCRAPE_UNREACHABLE,
	SCRAPE_HTTP_ERROR,
	SCRAPE_BODY_ERROR,
	SCRAPE_UNPARSEABLE,
	SCRAPE_BAD_REQUEST,
	SCRAPE_UNKNOWN, /* no waiting requests that we know to read */
	SCRAPE_COUNT
};

enum look_result { LOOK_OK, LOOK_UNREACHABLE, LOOK_UNPARSEABLE, LOOK_COUNT };

#define METRIC_VALUES_MAX 16

struct metric_row {
	enum metric_type type;
	enum metric_scope scope;
	enum metric_label label;
	const char *family;
	const char *help;
};

/* Names of a label and of its values; count is 1 and name NULL for NONE. */
struct metric_label_row {
	const char *name;
	size_t count;
	const char *values[METRIC_VALUES_MAX];
};

extern const struct metric_row metrics_table[METRIC_COUNT];
const struct metric_label_row *metric_label_row(enum metric_label label);

struct metrics {
	uint64_t value[METRIC_COUNT][METRIC_VALUES_MAX]; /* of METRIC_PROCESS */
};

/* Adds n to a number of the process; value is 0 where it has no label. */
static inline void
metrics_add(struct metrics *m, enum metric_id id, unsigned value, int64_t n)
{
	m->value[id][value] += (uint64_t)n;
}

/* Adds one. */
static inline void
metrics_count(struct metrics *m, enum metric_id id, unsigned value)
{
	metrics_add(m, id, value, 1);
}

#define HISTOGRAM_BUCKETS 8

/* Upper bounds in microseconds; the last bucket of a histogram has none. */
extern const usec_t histogram_bounds[HISTOGRAM_BUCKETS];

struct histogram {
	uint64_t bucket[HISTOGRAM_BUCKETS + 1]; /* not cumulative */
	uint64_t count;
	usec_t sum;
};

void histogram_add(struct histogram *h, usec_t value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/metrics.h"

#include <assert.h>

#include "agent/core/adaptive.h"
#include "agent/core/reason.h"

/* clang-format off */
const struct metric_row metrics_table[METRIC_COUNT] = {
#define METRIC(name, type, scope, label, family, help)                         \
	{ METRIC_##type, METRIC_##scope, LABEL_##label, family, help },
#include "agent/core/metrics.def"
#undef METRIC
};

#define ROLES                                                                  \
	[METRIC_ROLE_SERVICE] = "service",                                     \
	[METRIC_ROLE_NORMAL] = "normal",                                       \
	[METRIC_ROLE_PREFILL] = "prefill",                                     \
	[METRIC_ROLE_DECODE] = "decode"

static const struct metric_label_row labels[] = {
	[LABEL_NONE] = { NULL, 1, { "" } },
	[LABEL_ROLE] = { "role", METRIC_ROLE_QUEUE, { ROLES } },
	[LABEL_LIMIT] = { "role", METRIC_ROLE_QUEUE + 1, {
		ROLES,
		[METRIC_ROLE_QUEUE] = "queue",
	} },
	[LABEL_REASON] = { "reason", REASON_COUNT, {
#define REASON(name, label, ...) [REASON_##name] = label,
#include "agent/core/reason.def"
#undef REASON
	} },
	[LABEL_ANOMALY] = { "kind", ANOMALY_COUNT, {
		[ANOMALY_UNDERFLOW] = "underflow",
		[ANOMALY_UNKNOWN_PERMIT] = "unknown_permit",
		[ANOMALY_TENANT_TABLE_FULL] = "tenant_table_full",
	} },
	[LABEL_LINE] = { "result", LINE_COUNT, {
		[LINE_RELEASED] = "released",
		[LINE_CANCELLED] = "cancelled",
		[LINE_EARLY] = "early",
		[LINE_NOTED] = "noted",
		[LINE_LATE] = "late",
		[LINE_UNKNOWN] = "unknown",
		[LINE_OTHER] = "other",
	} },
	[LABEL_UNUSABLE] = { "cause", UNUSABLE_COUNT, {
		[UNUSABLE_MESSAGE] = "message",
		[UNUSABLE_ID] = "id",
		[UNUSABLE_ARGUMENT] = "argument",
	} },
	[LABEL_LOOK] = { "result", LOOK_COUNT, {
		[LOOK_OK] = "ok",
		[LOOK_UNREACHABLE] = "unreachable",
		[LOOK_UNPARSEABLE] = "unparseable",
	} },
	[LABEL_STATE] = { "state", ADAPT_STATES, { ADAPT_STATE_WORDS } },
	[LABEL_WHY] = { "reason", ADAPT_REASONS, { ADAPT_REASON_WORDS } },
	[LABEL_MOVE] = { "direction", ADAPT_MOVES, {
		[ADAPT_DOWN] = "down",
		[ADAPT_UP] = "up",
	} },
	[LABEL_SCRAPE] = { "result", SCRAPE_COUNT, {
		[SCRAPE_OK] = "ok",
		[SCRAPE_UNREACHABLE] = "unreachable",
		[SCRAPE_HTTP_ERROR] = "http_error",
		[SCRAPE_BODY_ERROR] = "body_error",
		[SCRAPE_UNPARSEABLE] = "unparseable",
		[SCRAPE_BAD_REQUEST] = "bad_request",
		[SCRAPE_UNKNOWN] = "unknown",
	} },
};
/* clang-format on */

_Static_assert((int)REASON_COUNT <= METRIC_VALUES_MAX,
	       "a label has more values than a metric holds");

const struct metric_label_row *
metric_label_row(enum metric_label label)
{
	assert(label < ARRAY_LEN(labels));
	return &labels[label];
}

const usec_t histogram_bounds[HISTOGRAM_BUCKETS] = {
	10 * USEC_PER_MSEC,   50 * USEC_PER_MSEC,   100 * USEC_PER_MSEC,
	250 * USEC_PER_MSEC,  500 * USEC_PER_MSEC,  1000 * USEC_PER_MSEC,
	2500 * USEC_PER_MSEC, 5000 * USEC_PER_MSEC,
};

void
histogram_add(struct histogram *h, usec_t value)
{
	size_t i = 0;

	while (i < HISTOGRAM_BUCKETS && value > histogram_bounds[i])
		i++;
	h->bucket[i]++;
	h->count++;
	h->sum += value;
}

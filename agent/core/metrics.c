/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/metrics.h"

#include <assert.h>

#include "agent/core/reason.h"

/* clang-format off */
const struct metric_row metrics_table[METRIC_COUNT] = {
#define METRIC(name, type, scope, label, family, help)                         \
	{ METRIC_##type, METRIC_##scope, LABEL_##label, family, help },
#include "agent/core/metrics.def"
#undef METRIC
};

static const struct metric_label_row labels[] = {
	[LABEL_NONE] = { NULL, 1, { "" } },
	[LABEL_ROLE] = { "role", 4,
			 { "service", "normal", "prefill", "decode" } },
	[LABEL_LIMIT] = { "role", 5, { "service", "normal", "prefill",
				       "decode", "queue" } },
	[LABEL_REASON] = { "reason", REASON_COUNT, {
#define REASON(name, label, ...) label,
#include "agent/core/reason.def"
#undef REASON
	} },
	[LABEL_ANOMALY] = { "kind", 3, { "underflow", "unknown_permit",
					 "tenant_table_full" } },
	[LABEL_LINE] = { "result", 7, { "released", "cancelled", "early",
					"noted", "late", "unknown", "other" } },
	[LABEL_UNUSABLE] = { "cause", 4, { "message", "id", "argument",
					   "memory" } },
	[LABEL_LOOK] = { "result", 3, { "ok", "unreachable", "unparseable" } },
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

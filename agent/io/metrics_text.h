/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_METRICS_TEXT_H
#define AGENT_IO_METRICS_TEXT_H

/*
 * The metrics of a gate in the Prometheus text format 0.0.4: every family of
 * metrics.def in its order, live, with one set of series for each pool that
 * is not retired.
 */

#include <stddef.h>

#include "agent/core/base.h"

struct gate;

#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The caller frees it; it is terminated besides. NULL without memory. */
MUST_CHECK char *metrics_text(const struct gate *gate, size_t *len);

#endif

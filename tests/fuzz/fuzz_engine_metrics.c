/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>

#include "agent/core/engine_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What comes of a page does not depend on how it is cut. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text page = { (const char *)data, size };
	struct engine_metrics whole, parts;
	enum engine_result result;
	uint32_t a = 0, b = 0;

	engine_metrics_begin(&whole);
	engine_metrics_feed(&whole, page);
	engine_metrics_begin(&parts);
	for (size_t at = 0; at < size; at++)
		engine_metrics_feed(&parts, (struct text){ page.at + at, 1 });
	result = engine_metrics_end(&whole, &a);
	assert(engine_metrics_end(&parts, &b) == result);
	assert(a == b);
	assert(result == ENGINE_COUNTED || a == 0);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "agent/core/log_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
assert_inside(struct text part, struct text whole)
{
	if (part.len == 0)
		return;
	assert(part.at >= whole.at);
	assert(part.at + part.len <= whole.at + whole.len);
	assert(memchr(part.at, ' ', part.len) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text line = { (const char *)data, size };
	struct log_line out;

	log_line_dropped(line);
	if (!log_line_parse(line, &out))
		return 0;
	assert(out.id.len > 0);
	assert_inside(out.id, line);
	assert_inside(out.permit, line);
	assert_inside(out.verdict, line);
	return 0;
}

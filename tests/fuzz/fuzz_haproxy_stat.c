/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>

#include "agent/core/haproxy_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
assert_inside(struct text part, struct text whole)
{
	if (part.len == 0)
		return;
	assert(part.at >= whole.at);
	assert(part.at + part.len <= whole.at + whole.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text answer = { (const char *)data, size };
	struct haproxy_info info;
	struct haproxy_stat stat;
	struct haproxy_server server;
	bool whole = haproxy_answer_init(answer, &info, &stat);

	/* Without the info, the rest is tried all the same. */
	if (haproxy_info_parse(&answer, &info))
		assert(info.pid > 0);
	if (!haproxy_stat_init(&stat, answer))
		return 0;
	while (haproxy_stat_row(&stat, &server)) {
		assert(!stat.complete);
		assert(server.kind <= HAPROXY_LISTENER);
		assert_inside(server.backend, answer);
		assert_inside(server.server, answer);
		assert_inside(server.address, answer);
		assert_inside(server.status, answer);
	}
	assert(stat.complete || !whole);
	return 0;
}

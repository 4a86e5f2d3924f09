/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked is inside the payload, and only where it can be used. */
#include <assert.h>
#include <stdint.h>

#include "agent/io/admission_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
assert_inside(struct text text, const uint8_t *data, size_t size)
{
	const char *begin = (const char *)data;

	if (text.len == 0)
		return;
	assert(text.at >= begin);
	assert(text.len <= size);
	assert(text.at + text.len <= begin + size);
}

static void
assert_id(struct text id, const uint8_t *data, size_t size)
{
	assert(id.len > 0 && id.len <= REQUEST_ID_MAX);
	assert_inside(id, data, size);
}

static void
assert_request(const struct ask *ask, const uint8_t *data, size_t size)
{
	assert_id(ask->id, data, size);
	assert(ask->method.len > 0 && ask->query.path.len > 0);
	assert(ask->http >= 1 && ask->http <= 3);
	assert_inside(ask->method, data, size);
	assert_inside(ask->tenant, data, size);
	assert_inside(ask->query.path, data, size);
	assert_inside(ask->query.pool, data, size);
	assert_inside(ask->query.host, data, size);
	assert_inside(ask->query.model, data, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question q;
	int rc = admission_message_read((struct spop_bytes){ data, size }, &q);

	if (rc < 0 || !q.usable)
		return 0;
	assert(q.about != ABOUT_NOTHING);
	if (q.about == ABOUT_REQUEST)
		assert_request(&q.ask, data, size);
	else
		assert_id(q.response.id, data, size);
	return 0;
}

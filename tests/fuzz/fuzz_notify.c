/* SPDX-License-Identifier: Apache-2.0 */
/* Who passes arguments over must see the same messages as who reads them. */
#include <assert.h>
#include <stdint.h>

#include "spop/spop.h"
#include "tests/fuzz/value_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
assert_inside(struct spop_text text, const uint8_t *data, size_t size)
{
	const char *begin = (const char *)data;

	assert(text.at >= begin);
	assert(text.len <= size);
	assert(text.at + text.len <= begin + size);
}

/* Both return the number of messages, or the error. */
static int
read_all(const uint8_t *data, size_t size)
{
	struct spop_messages list = { .rest = { data, size } };
	struct spop_message message;
	struct spop_pair argument;
	int count = 0, rc;

	while ((rc = spop_message_next(&list, &message)) > 0) {
		unsigned arguments = 0;

		assert_inside(message.name, data, size);
		while ((rc = spop_argument_next(&list, &argument)) > 0) {
			assert_inside(argument.name, data, size);
			value_again(&argument.value);
			arguments++;
		}
		if (rc < 0)
			return rc;
		assert(arguments == message.arguments);
		count++;
	}
	return rc < 0 ? rc : count;
}

static int
pass_over(const uint8_t *data, size_t size)
{
	struct spop_messages list = { .rest = { data, size } };
	struct spop_message message;
	int count = 0, rc;

	while ((rc = spop_message_next(&list, &message)) > 0)
		count++;
	return rc < 0 ? rc : count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	assert(read_all(data, size) == pass_over(data, size));
	return 0;
}

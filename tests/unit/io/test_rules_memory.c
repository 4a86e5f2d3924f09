/* SPDX-License-Identifier: Apache-2.0 */
/* What memory there is for those who wait (contract rows 179 to 182). */
#include "agent/io/rules_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define GIB ((uint64_t)1 << 30)

/* What is read of a file with this text. */
static uint64_t
limit_in(const char *text)
{
	char path[] = "/tmp/rules-memory-XXXXXX";
	int fd = mkstemp(path);
	uint64_t limit;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	limit = rules_memory_limit(path);
	unlink(path);
	return limit;
}

static void
limit_of_a_group_is_read(void **state)
{
	(void)state;
	assert_true(limit_in("536870912\n") == GIB / 2);
	assert_true(limit_in("536870912") == GIB / 2);
	assert_true(limit_in("0\n") == 0);
	/* What version 1 says where there is none. */
	assert_true(limit_in("9223372036854771712\n") == 9223372036854771712U);
}

static void
what_is_no_number_is_no_limit(void **state)
{
	static const char *const texts[] = { "max\n",
					     "",
					     "\n",
					     "-1\n",
					     "12K\n",
					     " 1",
					     "1 2",
					     "99999999"
					     "9999999999"
					     "99999999\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_true(limit_in(texts[i]) == UINT64_MAX);
	assert_true(rules_memory_limit("/nonexistent/memory.max") ==
		    UINT64_MAX);
}

static void
node_has_what_the_system_has_at_most(void **state)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t bytes = rules_memory_of_node();

	(void)state;
	assert_true(bytes > 0);
	assert_true(bytes <= pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void
depth_is_half_of_the_memory(void **state)
{
	(void)state;
	assert_true(rules_memory_depth(8 * GIB, 1024) == 4096);
	assert_true(rules_memory_depth(8 * GIB, 1) == 4096 * 1024);
	assert_true(rules_memory_depth(8 * GIB - 1, 1024) == 4095);
	assert_true(rules_memory_depth(GIB, 1048576) == 0);
	/* Nothing is known of the node: no queue is too deep. */
	assert_true(rules_memory_depth(UINT64_MAX, 1048576) > 65536);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_of_a_group_is_read),
		cmocka_unit_test(what_is_no_number_is_no_limit),
		cmocka_unit_test(node_has_what_the_system_has_at_most),
		cmocka_unit_test(depth_is_half_of_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

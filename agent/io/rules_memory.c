/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/rules_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/log.h"

#define KIB ((uint64_t)1024)

/*
 * As a container sees its own group, of version 2 and 1. Elsewhere there is no
 * such file, or it has no limit: the group of a service manager is ours alone,
 * not HAProxy's.
 */
static const char *const limits[] = {
	"/sys/fs/cgroup/memory.max",
	"/sys/fs/cgroup/memory/memory.limit_in_bytes",
};

uint64_t
rules_memory_limit(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[32] = "";
	unsigned long long bytes;

	if (file == NULL)
		return UINT64_MAX;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	/* No limit is the word "max". */
	if (!text_number(text_of(line), UINT64_MAX, &bytes))
		return UINT64_MAX;
	return bytes;
}

static uint64_t
physical(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page_bytes = sysconf(_SC_PAGESIZE);

	if (pages <= 0 || page_bytes <= 0)
		return UINT64_MAX;
	return (uint64_t)pages * (uint64_t)page_bytes;
}

uint64_t
rules_memory_of_node(void)
{
	uint64_t least = physical();

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		uint64_t limit = rules_memory_limit(limits[i]);

		if (limit < least)
			least = limit;
	}
	return least;
}

uint64_t
rules_memory_depth(uint64_t node_bytes, uint32_t request_buffer_kib)
{
	return node_bytes / 2 / KIB / request_buffer_kib;
}

void
rules_memory_check(const struct gate *gate, const struct rule *rule)
{
	uint64_t half = gate->options.depth_of_half_memory;
	const struct service *s = rulebook_find(&gate->rules, rule);
	const struct pool *p = s != NULL ? s->pool : NULL;

	if (p == NULL || pool_queue_depth(p) <= half)
		return;
	log_warnx("rule: a full queue may park up to more than half of the "
		  "node's memory; connectionLimit and "
		  "LLB_PD_MAX_TOTAL_INFLIGHT bound it service=%s "
		  "fc_max_queue_depth=%" PRIu32 " half_of_memory=%" PRIu64,
		  p->service, pool_queue_depth(p), half);
}

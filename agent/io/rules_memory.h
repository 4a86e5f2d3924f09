/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_RULES_MEMORY_H
#define AGENT_IO_RULES_MEMORY_H

/*
 * Memory: a word where a full queue may hold more than half of what the node
 * has (contract rows 179 to 182). What a waiting request takes is taken in
 * HAProxy, which runs beside the agent.
 */

#include <stdint.h>

#include "agent/core/base.h"

struct gate;
struct rule;

/* The bytes that the file of a cgroup allows; UINT64_MAX where it does not. */
uint64_t rules_memory_limit(const char *path);

/* Physical memory in bytes, or the cgroup's limit where that is smaller. */
uint64_t rules_memory_of_node(void);

/* The deepest queue whose requests take no more than half of these bytes. */
uint64_t rules_memory_depth(uint64_t node_bytes, uint32_t request_buffer_kib);

/*
 * After a rule was applied: warns where its queue may be deeper than
 * depth_of_half_memory of the gate's options.
 */
void rules_memory_check(const struct gate *gate, const struct rule *rule);

#endif

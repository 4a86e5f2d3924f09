/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_BASE_H
#define AGENT_CORE_BASE_H

/* What every module of the core needs, and nothing else. */

#include <stdint.h>

/* Microseconds, monotonic. Read once a turn by agent/io/clock, then passed. */
typedef uint64_t usec_t;

#define USEC_NEVER UINT64_MAX
#define USEC_PER_MSEC ((usec_t)1000)
#define USEC_PER_SEC ((usec_t)1000000)

#define MUST_CHECK __attribute__((warn_unused_result))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The object that embeds a member, from the member's address. */
#define CONTAINER_OF(p, type, member)                                          \
	((type *)(void *)((char *)(p)-offsetof(type, member)))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/descriptors.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "agent/core/gate.h"
#include "agent/io/log.h"

uint64_t
descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_warn("descriptors: limit not raised");
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void
descriptors_check(const struct gate *gate, uint64_t limit)
{
	uint64_t depths = gate_queue_depths(gate);

	if (depths + DESCRIPTORS_RESERVE > limit)
		log_warnx("descriptors: too few for full queues "
			  "depths=%" PRIu64 " limit=%" PRIu64
			  " raise=LimitNOFILE",
			  depths, limit);
}

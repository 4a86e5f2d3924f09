/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/descriptors.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "agent/core/gate.h"
#include "agent/io/log.h"

void
descriptors_raise(struct descriptors *d)
{
	struct rlimit limit;

	*d = (struct descriptors){ .limit = 0 };
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_warn("descriptors: limit not raised");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		d->limit = limit.rlim_cur;
}

void
descriptors_check(struct descriptors *d, const struct gate *gate)
{
	uint64_t depths = gate_queue_depths(gate);
	bool few = depths + DESCRIPTORS_RESERVE > d->limit;

	if (few && !d->few)
		log_warnx("descriptors: too few for full queues "
			  "depths=%" PRIu64 " limit=%" PRIu64
			  " raise=LimitNOFILE",
			  depths, d->limit);
	if (!few && d->few)
		log_info("descriptors: enough for full queues "
			 "depths=%" PRIu64 " limit=%" PRIu64,
			 depths, d->limit);
	d->few = few;
}

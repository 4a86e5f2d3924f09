/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/patience.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <time.h>

usec_t
patience_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (usec_t)now.tv_sec * USEC_PER_SEC + (usec_t)now.tv_nsec / 1000;
}

usec_t
patience_end(void)
{
	return patience_now() + PATIENCE;
}

static int
poll_until(struct pollfd *fds, nfds_t count, usec_t deadline)
{
	for (;;) {
		usec_t now = patience_now();
		usec_t left = deadline > now ? deadline - now : 0;
		int ready = poll(fds, count, (int)((left + 999) / 1000));

		if (ready > 0 || (ready == 0 && patience_now() >= deadline))
			return ready;
		if (ready < 0 && errno != EINTR)
			return ready;
	}
}

bool
patience_wait(int fd, short events, usec_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll_until(&pfd, 1, deadline) > 0;
}

bool
patience_look_again(usec_t deadline)
{
	if (patience_now() >= deadline)
		return false;
	poll(NULL, 0, 1);
	return true;
}

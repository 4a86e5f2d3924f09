/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/turn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/io/clock.h"

struct hook {
	turn_fn fn; /* NULL: none */
	void *arg;  /* borrowed */
};

struct turn {
	struct event *end; /* owned; active from the beginning of a turn */
	struct hook first, last;
	bool entered;
	usec_t now;
};

static void
call(const struct hook *hook, usec_t now)
{
	if (hook->fn != NULL)
		hook->fn(hook->arg, now);
}

static void
on_end(evutil_socket_t fd, short what, void *arg)
{
	struct turn *turn = arg;

	(void)fd;
	(void)what;
	call(&turn->last, turn->now);
	turn->entered = false;
}

struct turn *
turn_open(struct event_base *base)
{
	struct turn *turn = calloc(1, sizeof(*turn));

	if (turn == NULL)
		return NULL;
	turn->end = event_new(base, -1, 0, on_end, turn);
	if (turn->end == NULL) {
		free(turn);
		return NULL;
	}
	return turn;
}

void
turn_close(struct turn **turn)
{
	if (*turn == NULL)
		return;
	event_free((*turn)->end);
	free(*turn);
	*turn = NULL;
}

void
turn_first(struct turn *turn, turn_fn fn, void *arg)
{
	turn->first = (struct hook){ fn, arg };
}

void
turn_last(struct turn *turn, turn_fn fn, void *arg)
{
	turn->last = (struct hook){ fn, arg };
}

usec_t
turn_enter(struct turn *turn)
{
	int saved = errno;

	if (turn->entered)
		return turn->now;
	turn->entered = true;
	turn->now = clock_now();
	/* Behind every event that is active already, so it ends the turn. */
	event_active(turn->end, EV_TIMEOUT, 0);
	call(&turn->first, turn->now);
	errno = saved;
	return turn->now;
}

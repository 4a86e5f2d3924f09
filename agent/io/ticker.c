/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/ticker.h"

#include <event2/event.h>
#include <stdlib.h>

#include "agent/core/gate.h"
#include "agent/io/turn.h"

/* The longest that a timer is set for; then the gate is asked again. */
#define LONGEST (60 * USEC_PER_SEC)

struct ticker {
	struct turn *turn;   /* borrowed */
	struct gate *gate;   /* borrowed */
	struct event *event; /* owned */
	usec_t at;           /* when it rings; USEC_NEVER: it is not set */
};

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct ticker *ticker = arg;

	(void)fd;
	(void)what;
	ticker->at = USEC_NEVER;
	gate_tick(ticker->gate, turn_enter(ticker->turn));
}

struct ticker *
ticker_open(struct event_base *base, struct turn *turn, struct gate *gate)
{
	struct ticker *ticker = malloc(sizeof(*ticker));

	if (ticker == NULL)
		return NULL;
	*ticker = (struct ticker){ turn, gate, NULL, USEC_NEVER };
	ticker->event = evtimer_new(base, on_time, ticker);
	if (ticker->event == NULL) {
		free(ticker);
		return NULL;
	}
	return ticker;
}

void
ticker_close(struct ticker **ticker)
{
	if (*ticker == NULL)
		return;
	event_free((*ticker)->event);
	free(*ticker);
	*ticker = NULL;
}

void
ticker_set(struct ticker *ticker, usec_t now)
{
	usec_t at = gate_wakeup(ticker->gate);
	usec_t wait;
	struct timeval tv;

	/* One that rings too early costs less than setting it again. */
	if (at >= ticker->at)
		return;
	wait = at > now ? at - now : 0;
	if (wait > LONGEST)
		wait = LONGEST;
	tv.tv_sec = (time_t)(wait / USEC_PER_SEC);
	tv.tv_usec = (suseconds_t)(wait % USEC_PER_SEC);
	if (evtimer_add(ticker->event, &tv) == 0)
		ticker->at = now + wait;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_LOOP_H
#define AGENT_IO_LOOP_H

/* What libevent has no word for. */

#include <event2/event.h>
#include <stddef.h>

/* As event_free(), but NULL is fine. */
static inline void
free_event(struct event *event)
{
	if (event != NULL)
		event_free(event);
}

#endif

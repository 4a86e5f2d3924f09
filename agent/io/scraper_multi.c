/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/scraper_multi.h"

#include <event2/event.h>
#include <string.h>

#include "agent/io/loop.h"

/* Connections that stay open between two scrapes. */
#define CONNECTIONS_KEPT 128L

static void
tell_ends(struct scraper_multi *m)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(m->curl, &left)) != NULL) {
		CURL *easy = message->easy_handle;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_multi_remove_handle(m->curl, easy);
		m->over(m->arg, easy, result);
	}
}

static void
act(struct scraper_multi *m, curl_socket_t fd, int what)
{
	int running;

	curl_multi_socket_action(m->curl, fd, what, &running);
	tell_ends(m);
}

static void
on_socket(evutil_socket_t fd, short what, void *arg)
{
	act(arg, fd,
	    (what & EV_READ ? CURL_CSELECT_IN : 0) |
		    (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

/*
 * One event for each socket, kept with it by curl. Where there is no memory
 * for it the transfer ends with its patience; a -1 would end all there ever
 * are.
 */
static int
/* NOLINTNEXTLINE(readability-function-size): the library's signature */
watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *kept)
{
	struct scraper_multi *m = arg;
	short events = (short)((what & CURL_POLL_IN ? EV_READ : 0) |
			       (what & CURL_POLL_OUT ? EV_WRITE : 0));
	struct event *event = NULL;

	(void)easy;
	free_event(kept);
	if (what != CURL_POLL_REMOVE) {
		event = event_new(m->base, fd, (short)(events | EV_PERSIST),
				  on_socket, m);
		if (event == NULL || event_add(event, NULL) != 0) {
			free_event(event);
			event = NULL;
		}
	}
	curl_multi_assign(m->curl, fd, event);
	return 0;
}

static int
set_timer(CURLM *curl, long msec, void *arg)
{
	struct scraper_multi *m = arg;
	struct timeval after = { msec / 1000, msec % 1000 * 1000 };

	(void)curl;
	if (msec < 0)
		event_del(m->timer);
	else
		event_add(m->timer, &after);
	return 0;
}

static bool
set_up(struct scraper_multi *m)
{
	return curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION,
				 watch_socket) == CURLM_OK &&
	       curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m) == CURLM_OK &&
	       curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, set_timer) ==
		       CURLM_OK &&
	       curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m) == CURLM_OK &&
	       curl_multi_setopt(m->curl, CURLMOPT_MAXCONNECTS,
				 CONNECTIONS_KEPT) == CURLM_OK;
}

bool
scraper_multi_init(struct scraper_multi *m, struct event_base *base,
		   scraper_over over, void *arg)
{
	*m = (struct scraper_multi){ .base = base, .over = over, .arg = arg };
	m->curl = curl_multi_init();
	m->timer = event_new(base, -1, 0, on_timer, m);
	if (m->curl != NULL && m->timer != NULL && set_up(m))
		return true;
	scraper_multi_fini(m);
	return false;
}

void
scraper_multi_fini(struct scraper_multi *m)
{
	/* Closes what it kept open, which takes the events of its sockets. */
	if (m->curl != NULL)
		curl_multi_cleanup(m->curl);
	free_event(m->timer);
	memset(m, 0, sizeof(*m));
}

bool
scraper_multi_add(struct scraper_multi *m, CURL *easy)
{
	return curl_multi_add_handle(m->curl, easy) == CURLM_OK;
}

void
scraper_multi_remove(struct scraper_multi *m, CURL *easy)
{
	curl_multi_remove_handle(m->curl, easy);
}

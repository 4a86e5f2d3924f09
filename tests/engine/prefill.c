/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/prefill.h"

#include <err.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BODY "{\"model\":\"stub\",\"max_tokens\":1}"
#define GOOD "HTTP/1.1 200 "

struct prefill {
	struct bufferevent *bev; /* owned */
	prefill_done done;
	void *arg;
};

static bool
is_good(struct bufferevent *bev)
{
	char start[sizeof(GOOD) - 1];

	return evbuffer_copyout(bufferevent_get_input(bev), start,
				sizeof(start)) == sizeof(start) &&
	       memcmp(start, GOOD, sizeof(start)) == 0;
}

/* The answer is whole when the other engine closes. */
static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct prefill *p = arg;

	if ((what & BEV_EVENT_CONNECTED) == 0)
		p->done(p->arg, (what & BEV_EVENT_EOF) != 0 && is_good(bev));
}

static void
write_request(struct evbuffer *out, const struct prefill_order *order)
{
	evbuffer_add_printf(out,
			    "POST %s HTTP/1.1\r\nHost: %s\r\n"
			    "Content-Type: application/json\r\n"
			    "Content-Length: %zu\r\nConnection: close\r\n",
			    order->path, order->address, sizeof(BODY) - 1);
	if (order->nonce != NULL)
		evbuffer_add_printf(out, "X-Test-Nonce: %s\r\n", order->nonce);
	if (order->hold)
		evbuffer_add_printf(out, "X-Test-Hold: 1\r\n");
	evbuffer_add_printf(out, "\r\n" BODY);
}

struct prefill *
prefill_begin(struct event_base *base, const struct prefill_order *order,
	      prefill_done done, void *arg)
{
	struct sockaddr_storage at;
	int len = sizeof(at);
	struct prefill *p;

	if (evutil_parse_sockaddr_port(order->address, (struct sockaddr *)&at,
				       &len) != 0)
		return NULL;
	p = malloc(sizeof(*p));
	if (p == NULL)
		err(1, "prefill");
	*p = (struct prefill){ .done = done, .arg = arg };
	p->bev = bufferevent_socket_new(
		base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	if (p->bev == NULL)
		err(1, "prefill");
	bufferevent_setcb(p->bev, NULL, NULL, on_event, p);
	bufferevent_enable(p->bev, EV_READ | EV_WRITE);
	write_request(bufferevent_get_output(p->bev), order);
	if (bufferevent_socket_connect(p->bev, (struct sockaddr *)&at, len) !=
	    0)
		prefill_drop(&p);
	return p;
}

void
prefill_drop(struct prefill **prefill)
{
	struct prefill *p = *prefill;

	*prefill = NULL;
	if (p == NULL)
		return;
	bufferevent_free(p->bev);
	free(p);
}

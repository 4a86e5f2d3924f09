/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/http_server.h"

#include <assert.h>
#include <err.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

/* What a client may send ahead while its answer is due. */
#define AHEAD_BYTES 65536
#define BACKLOG 4096

enum conn_state { READING, ANSWERING, ENDING };

struct http_conn {
	LIST_ENTRY(http_conn) link;
	struct http_server *server; /* borrowed, for as long as it lives */
	struct bufferevent *bev;    /* owned */
	enum conn_state state;
	struct http_request request;
	bool keep;     /* is to be used again after this answer */
	bool chunked;  /* the answer's body is sent in chunks */
	bool headless; /* the answer has no body, as one to HEAD */
	http_gone gone;
	void *gone_arg;
};

struct http_server {
	struct evconnlistener *listener; /* owned */
	http_handler handler;
	void *arg;
	LIST_HEAD(, http_conn) conns;
	size_t connections;
	unsigned long accepted;
};

static const struct {
	int status;
	const char *words;
} phrases[] = {
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 404, "Not Found" },
	{ 429, "Too Many Requests" },
	{ 500, "Internal Server Error" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
};

static const char *
phrase(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
		if (phrases[i].status == status)
			return phrases[i].words;
	}
	return "Because";
}

/* Every connection ends here. */
static void
conn_end(struct http_conn *c)
{
	if (c->state == ANSWERING && c->gone != NULL)
		c->gone(c->gone_arg);
	LIST_REMOVE(c, link);
	c->server->connections--;
	http_request_clear(&c->request);
	bufferevent_free(c->bev);
	free(c);
}

/* Lets the close that follows send a RST in the place of a FIN. */
static void
set_reset(const struct http_conn *c)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	if (setsockopt(bufferevent_getfd(c->bev), SOL_SOCKET, SO_LINGER,
		       &linger, sizeof(linger)) != 0)
		warn("SO_LINGER");
}

static void
refuse(struct http_conn *c)
{
	c->state = ANSWERING;
	c->gone = NULL;
	c->keep = false;
	http_status(c, 400);
	http_open(c, 0);
	http_finish(c);
}

static void
hand_over(struct http_conn *c)
{
	const struct http_request *r = &c->request;

	c->state = ANSWERING;
	c->gone = NULL;
	c->keep = http_request_keeps(r);
	c->headless = strcmp(r->method, "HEAD") == 0;
	c->server->handler(c, r, c->server->arg);
}

static void
let_continue(struct http_conn *c)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (!c->request.expects)
		return;
	c->request.expects = false;
	bufferevent_write(c->bev, line, sizeof(line) - 1);
}

static void
on_read(struct bufferevent *bev, void *arg)
{
	struct http_conn *c = arg;

	while (c->state == READING) {
		enum http_progress got = http_request_read(
			&c->request, bufferevent_get_input(bev));

		if (got == HTTP_READY) {
			hand_over(c);
		} else if (got == HTTP_BROKEN) {
			refuse(c);
		} else {
			let_continue(c);
			return;
		}
	}
}

/* Runs when all that was written has left, and once when there was nothing. */
static void
on_write(struct bufferevent *bev, void *arg)
{
	struct http_conn *c = arg;

	(void)bev;
	if (c->state == ENDING && http_unsent(c) == 0)
		conn_end(c);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	conn_end(arg);
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd,
	  struct sockaddr *addr, int addr_len, void *arg)
{
	struct http_server *s = arg;
	struct http_conn *c = calloc(1, sizeof(*c));
	int on = 1;

	(void)addr;
	(void)addr_len;
	if (c == NULL)
		err(1, "connection");
	c->server = s;
	c->bev = bufferevent_socket_new(evconnlistener_get_base(listener), fd,
					BEV_OPT_CLOSE_ON_FREE);
	if (c->bev == NULL)
		err(1, "connection");

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, AHEAD_BYTES);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	LIST_INSERT_HEAD(&s->conns, c, link);
	s->connections++;
	s->accepted++;
}

/* A stub that cannot accept makes its test wrong, so it is loud. */
static void
on_accept_error(struct evconnlistener *listener, void *arg)
{
	(void)listener;
	(void)arg;
	err(1, "accept");
}

struct http_server *
http_server_open(struct event_base *base, const struct sockaddr *addr,
		 int addr_len, http_handler handler, void *arg)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->handler = handler;
	s->arg = arg;
	LIST_INIT(&s->conns);
	s->listener = evconnlistener_new_bind(base, on_accept, s,
					      LEV_OPT_CLOSE_ON_FREE |
						      LEV_OPT_CLOSE_ON_EXEC |
						      LEV_OPT_REUSEABLE,
					      BACKLOG, addr, addr_len);
	if (s->listener == NULL) {
		free(s);
		return NULL;
	}
	evconnlistener_set_error_cb(s->listener, on_accept_error);
	return s;
}

void
http_server_close(struct http_server **server)
{
	struct http_server *s = *server;
	struct http_conn *c, *next;

	*server = NULL;
	if (s == NULL)
		return;
	evconnlistener_free(s->listener);
	for (c = LIST_FIRST(&s->conns); c != NULL; c = next) {
		next = LIST_NEXT(c, link);
		set_reset(c);
		conn_end(c);
	}
	free(s);
}

void
http_server_address(const struct http_server *s, char *text, size_t size)
{
	struct sockaddr_storage addr;
	struct sockaddr *sa = (struct sockaddr *)&addr;
	socklen_t len = sizeof(addr);
	char host[NI_MAXHOST], port[NI_MAXSERV];
	bool six;

	if (getsockname(evconnlistener_get_fd(s->listener), sa, &len) != 0 ||
	    getnameinfo(sa, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		errx(1, "the listener has no address");
	six = sa->sa_family == AF_INET6;
	snprintf(text, size, six ? "[%s]:%s" : "%s:%s", host, port);
}

size_t
http_server_connections(const struct http_server *s)
{
	return s->connections;
}

unsigned long
http_server_accepted(const struct http_server *s)
{
	return s->accepted;
}

void
http_on_gone(struct http_conn *c, http_gone fn, void *arg)
{
	assert(c->state == ANSWERING);
	c->gone = fn;
	c->gone_arg = arg;
}

void
http_status(struct http_conn *c, int status)
{
	assert(c->state == ANSWERING);
	evbuffer_add_printf(bufferevent_get_output(c->bev),
			    "HTTP/1.1 %d %s\r\n", status, phrase(status));
}

void
http_header(struct http_conn *c, const char *name, const char *value)
{
	evbuffer_add_printf(bufferevent_get_output(c->bev), "%s: %s\r\n", name,
			    value);
}

void
http_open(struct http_conn *c, size_t length)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	c->chunked = length == HTTP_CHUNKED && c->request.minor;
	if (c->chunked)
		evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
	else if (length == HTTP_CHUNKED)
		c->keep = false;
	else
		evbuffer_add_printf(out, "Content-Length: %zu\r\n", length);
	evbuffer_add_printf(out, "Connection: %s\r\n\r\n",
			    c->keep ? "keep-alive" : "close");
}

void
http_write(struct http_conn *c, const void *data, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	if (c->headless || len == 0)
		return;
	if (c->chunked)
		evbuffer_add_printf(out, "%zx\r\n", len);
	evbuffer_add(out, data, len);
	if (c->chunked)
		evbuffer_add(out, "\r\n", 2);
}

void
http_finish(struct http_conn *c)
{
	assert(c->state == ANSWERING);
	if (c->chunked && !c->headless)
		bufferevent_write(c->bev, "0\r\n\r\n", 5);
	http_request_clear(&c->request);
	c->gone = NULL;
	c->chunked = false;
	c->headless = false;
	c->state = c->keep ? READING : ENDING;

	/* What the client sent ahead raises no event of its own. */
	if (evbuffer_get_length(bufferevent_get_input(c->bev)) > 0)
		bufferevent_trigger(c->bev, EV_READ, BEV_TRIG_DEFER_CALLBACKS);
}

size_t
http_unsent(const struct http_conn *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->bev));
}

void
http_reset(struct http_conn *c)
{
	c->gone = NULL;
	c->state = ENDING;
	set_reset(c);
	bufferevent_disable(c->bev, EV_READ | EV_WRITE);
	/* Freed by its own event, since its read callback may have called. */
	bufferevent_trigger_event(c->bev, BEV_EVENT_ERROR,
				  BEV_TRIG_DEFER_CALLBACKS);
}

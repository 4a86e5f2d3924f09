/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/engine.h"

#include <assert.h>
#include <err.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/engine/http_server.h"
#include "tests/engine/prefill.h"
#include "tests/engine/shape.h"
#include "tests/engine/wish.h"

#define HOLD_MS 90000
#define WORDS 3

/* How long the peer has to read the half that comes before a reset. */
#define HALF_MS 50

/* An endless stream whose reader does not read stops growing here. */
#define UNSENT_MAX ((size_t)1 << 20)

typedef void (*job_step)(struct job *j);

/* One request in progress. */
struct job {
	TAILQ_ENTRY(job) link;
	struct jobs *in; /* the list that it is in */
	struct engine *engine;
	struct http_conn *conn; /* borrowed, until gone or answered */
	const struct shape *shape;
	struct wishes wish;
	char *nonce;             /* owned, or NULL */
	struct receipt *receipt; /* borrowed, until done */
	bool streams;
	uint32_t sent;           /* events of a streamed answer */
	struct prefill *prefill; /* owned, or NULL */
	struct event *timer;     /* owned; what it runs is next */
	job_step next;
};

static void
move(struct job *j, struct jobs *to)
{
	if (j->in != NULL)
		TAILQ_REMOVE(j->in, j, link);
	TAILQ_INSERT_TAIL(to, j, link);
	j->in = to;
}

/* The end of each job, however it ended. */
static void
job_end(struct job *j)
{
	TAILQ_REMOVE(j->in, j, link);
	if (j->shape != NULL && j->shape->inference)
		receipts_done(&j->engine->receipts, j->receipt);
	prefill_drop(&j->prefill);
	event_free(j->timer);
	free(j->nonce);
	free(j);
}

static void
on_gone(void *arg)
{
	job_end(arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;

	(void)fd;
	(void)what;
	j->next(j);
}

static void
after(struct job *j, uint32_t ms, job_step next)
{
	struct timeval delay = { .tv_sec = ms / 1000,
				 .tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	j->next = next;
	evtimer_add(j->timer, &delay);
}

static void
reset(struct job *j)
{
	http_reset(j->conn);
	job_end(j);
}

static void
finish(struct job *j)
{
	http_finish(j->conn);
	job_end(j);
}

static void
write_head(struct job *j, int status, const char *type, size_t length)
{
	http_status(j->conn, status);
	http_header(j->conn, "Content-Type", type);
	http_header(j->conn, "X-Test-Engine", j->engine->name);
	if (j->wish.spoof > 0) {
		http_header(j->conn, "X-Loxilb-Admission-Inflight", "999");
		http_header(j->conn, "X-Loxilb-Admission-Queued", "999");
		http_header(j->conn, "X-Loxilb-Admission-Limit", "999");
	}
	http_open(j->conn, length);
}

static void
write_text(struct job *j, const char *text)
{
	http_write(j->conn, text, strlen(text));
}

static void
answer_error(struct job *j, int status, const char *text)
{
	write_head(j, status, "application/json", strlen(text));
	write_text(j, text);
	finish(j);
}

static void
answer_whole(struct job *j)
{
	struct evbuffer *body = evbuffer_new();
	size_t len, part;

	if (body == NULL)
		err(1, "answer");
	shape_whole(j->shape, j->shape->inference ? j->wish.tokens : 0, body);
	len = evbuffer_get_length(body);
	part = j->wish.reset_mid > 0 ? len / 2 : len;
	write_head(j, 200, "application/json", len);
	http_write(j->conn, evbuffer_pullup(body, -1), part);
	evbuffer_free(body);

	if (part < len)
		after(j, HALF_MS, reset);
	else
		finish(j);
}

static void
end_stream(struct job *j)
{
	write_text(j, "data: [DONE]\n\n");
	finish(j);
}

/* Streams the next event, and those after it that have no time between. */
static void
stream(struct job *j)
{
	const struct wishes *w = &j->wish;
	uint32_t pause = w->forever > 0 && w->token_ms == 0 ? 1 : w->token_ms;

	do {
		if (http_unsent(j->conn) < UNSENT_MAX || w->forever == 0)
			write_text(j, j->shape->event);
		j->sent++;
		if (w->reset_mid > 0 && j->sent >= w->tokens / 2) {
			after(j, HALF_MS, reset);
			return;
		}
		if (w->forever == 0 && j->sent >= w->tokens) {
			end_stream(j);
			return;
		}
	} while (pause == 0);
	after(j, pause, stream);
}

static void
begin_stream(struct job *j)
{
	write_head(j, 200, "text/event-stream", HTTP_CHUNKED);
	if (j->wish.comment > 0)
		write_text(j, ": lorem\n\n");
	if (j->wish.token_ms > 0)
		after(j, j->wish.token_ms, stream);
	else
		stream(j);
}

static void
answer(struct job *j)
{
	const struct wishes *w = &j->wish;

	if (w->reset > 0)
		reset(j);
	else if (w->fail > 0)
		answer_error(j, w->fail >= 200 ? (int)w->fail : 500,
			     "{\"error\":\"as wished\"}");
	else if (j->shape == NULL)
		answer_error(j, 404, "{\"error\":\"no such path\"}");
	else if (j->streams)
		begin_stream(j);
	else
		answer_whole(j);
}

static void
delay(struct job *j)
{
	move(j, &j->engine->running);
	if (j->wish.delay_ms > 0)
		after(j, j->wish.delay_ms, answer);
	else
		answer(j);
}

static bool
asks_for_stream(const struct http_request *r)
{
	size_t len = evbuffer_get_length(r->body);
	const char *text = (const char *)evbuffer_pullup(r->body, -1);
	json_t *body = len > 0 ? json_loadb(text, len, 0, NULL) : NULL;
	bool asks = json_is_true(json_object_get(body, "stream"));

	json_decref(body);
	return asks;
}

static struct job *
job_new(struct engine *e, struct http_conn *c, const struct http_request *r)
{
	struct job *j = calloc(1, sizeof(*j));
	const char *nonce = http_request_header(r, "X-Test-Nonce");

	if (j == NULL || (j->timer = evtimer_new(e->base, on_timer, j)) == NULL)
		err(1, "request");
	j->engine = e;
	j->conn = c;
	j->shape = shape_find(r->method, r->path);
	j->nonce = nonce != NULL ? strdup(nonce) : NULL;
	j->wish.tokens = WORDS;
	if (j->shape != NULL && j->shape->inference) {
		j->wish.delay_ms = e->delay_ms;
		j->receipt = receipts_arrive(&e->receipts, nonce);
	}
	wishes_read(&j->wish, r);
	j->streams = j->shape != NULL && j->shape->inference &&
		     (j->shape->streams || j->wish.forever > 0 ||
		      asks_for_stream(r));
	move(j, &e->running);
	return j;
}

void
engine_init(struct engine *e, struct event_base *base)
{
	memset(e, 0, sizeof(*e));
	e->base = base;
	receipts_init(&e->receipts);
	TAILQ_INIT(&e->held);
	TAILQ_INIT(&e->running);
}

void
engine_fini(struct engine *e)
{
	assert(TAILQ_EMPTY(&e->held) && TAILQ_EMPTY(&e->running));
	receipts_fini(&e->receipts);
}

static void
begin(struct job *j)
{
	if (j->wish.hold > 0) {
		move(j, &j->engine->held);
		after(j, HOLD_MS, delay);
	} else {
		delay(j);
	}
}

static void
on_prefilled(void *arg, bool good)
{
	struct job *j = arg;

	prefill_drop(&j->prefill);
	if (good)
		begin(j);
	else
		answer_error(j, 502, "{\"error\":\"no prefill\"}");
}

/* The decode half of a P/D request: the other one goes first. */
static void
begin_pair(struct job *j, const struct http_request *r, const char *prefiller)
{
	struct prefill_order order = { .address = prefiller,
				       .path = r->path,
				       .nonce = j->nonce,
				       .hold = j->wish.prefill_hold > 0 };

	j->prefill = prefill_begin(j->engine->base, &order, on_prefilled, j);
	if (j->prefill == NULL)
		answer_error(j, 400, "{\"error\":\"no such prefiller\"}");
}

void
engine_serve(struct engine *e, struct http_conn *c,
	     const struct http_request *r)
{
	const char *prefiller = http_request_header(r, PREFILL_HEADER);
	struct job *j = job_new(e, c, r);

	http_on_gone(c, on_gone, j);
	if (prefiller != NULL)
		begin_pair(j, r, prefiller);
	else
		begin(j);
}

static bool
is_called(const struct job *j, const char *nonce)
{
	return nonce == NULL ||
	       (j->nonce != NULL && strcmp(j->nonce, nonce) == 0);
}

/* The job that follows in the list, since releasing j may end it. */
static struct job *
release(struct job *j, const char *nonce, unsigned *released)
{
	struct job *following = TAILQ_NEXT(j, link);
	bool held = j->in == &j->engine->held;

	if (!is_called(j, nonce) || (!held && j->wish.forever == 0))
		return following;
	++*released;
	j->wish.forever = 0;
	if (held) {
		evtimer_del(j->timer);
		delay(j);
	}
	return following;
}

unsigned
engine_release(struct engine *e, const char *nonce)
{
	unsigned released = 0;
	struct job *j;

	for (j = TAILQ_FIRST(&e->running); j != NULL;)
		j = release(j, nonce, &released);
	for (j = TAILQ_FIRST(&e->held); j != NULL;)
		j = release(j, nonce, &released);
	return released;
}

unsigned
engine_held(const struct engine *e)
{
	const struct job *j;
	unsigned held = 0;

	TAILQ_FOREACH (j, &e->held, link)
		held++;
	return held;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api.h"

#include <event2/event.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/io/api_call.h"
#include "agent/io/api_connection.h"
#include "agent/io/api_guard.h"
#include "agent/io/api_route.h"
#include "agent/io/api_write.h"
#include "agent/io/listener.h"
#include "agent/io/log.h"
#include "agent/io/loop.h"
#include "agent/io/turn.h"

#define CONNECTIONS_MAX 256
#define CONNECTION_IDLE_SECONDS 10

/* For a request or an answer as a whole, however it trickles. */
#define CONNECTION_PATIENCE (40 * USEC_PER_SEC)

/* Request line, headers and what is being written; bodies are apart. */
#define CONNECTION_BYTES 32768

#define LOG_LINE_MAX 256
#define BODY_FIRST_BYTES 4096

TAILQ_HEAD(exchanges, exchange);

struct api {
	struct MHD_Daemon *daemon; /* owned */
	struct event *readable;    /* owned; on the daemon's epoll */
	struct event *timer;       /* owned; for its idle connections */
	struct event *run;         /* owned; runs it, behind the turn */
	struct listener *listener; /* owned */
	struct api_options options;
	struct api_connections connections;
	struct api_writes writes;
	size_t suspended; /* connections whose write was not answered at once */
	struct exchanges waiting; /* whole, but one is served in a run */
	bool served;              /* one was, in this run */
	bool evicted;             /* one makes room, but is not gone yet */
	bool ready;
	usec_t now; /* while the daemon runs */
};

/* One HTTP request while it arrives, and while its write is under way. */
struct exchange {
	TAILQ_ENTRY(exchange) link;        /* while it waits */
	struct api *api;                   /* borrowed */
	struct MHD_Connection *connection; /* borrowed */
	struct api_call call;
	struct api_write write; /* its answer, also that of a read */
	bool suspended;         /* it was, until that was there */
	char *body;             /* owned */
	size_t len, cap;
	unsigned refused; /* a status: the body is not kept any more */
	bool begun;       /* its headers are read */
	char target[];
};

/* ---- connections ---- */

static struct api_connection *
connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info == NULL ? NULL : info->socket_context;
}

static void
on_connection(void *arg, struct MHD_Connection *mhd, void **context,
	      enum MHD_ConnectionNotificationCode code)
{
	struct api *api = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = api_connection_add(&api->connections, mhd);
	else
		api_connection_remove(&api->connections, *context);
}

static void
suspend(struct exchange *e)
{
	api_connection_hold(&e->api->connections, connection_of(e->connection));
	MHD_suspend_connection(e->connection);
}

/* ---- requests ---- */

/*
 * The target as it was sent: the library's own decoding would lose which
 * slashes separate parts.
 */
static void *
on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	size_t size = strlen(target) + 1;
	struct exchange *e = calloc(1, sizeof(*e) + size);

	if (e == NULL)
		return NULL;
	e->api = arg;
	e->connection = connection;
	memcpy(e->target, target, size);
	return e;
}

static void
on_completed(void *arg, struct MHD_Connection *connection, void **context,
	     enum MHD_RequestTerminationCode code)
{
	struct exchange *e = *context;
	struct api *api = arg;

	(void)code;
	api_connection_touch(&api->connections, connection_of(connection));
	if (e == NULL)
		return;
	if (e->suspended)
		api->suspended--;
	free(e->write.answer.body);
	free(e->body);
	free(e);
	*context = NULL;
}

static size_t
leave_escapes(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	return strlen(text);
}

static void
refuse_body(struct exchange *e, unsigned status)
{
	free(e->body);
	e->body = NULL;
	e->len = 0;
	e->cap = 0;
	e->refused = status;
}

static void
keep_body(struct exchange *e, const char *data, size_t len)
{
	size_t cap = e->cap == 0 ? BODY_FIRST_BYTES : e->cap;
	char *body;

	if (e->refused != 0)
		return;
	if (len > API_BODY_MAX - e->len) {
		refuse_body(e, MHD_HTTP_CONTENT_TOO_LARGE);
		return;
	}
	while (cap - e->len < len)
		cap *= 2;
	if (cap > e->cap) {
		body = realloc(e->body, cap);
		if (body == NULL) {
			refuse_body(e, MHD_HTTP_INTERNAL_SERVER_ERROR);
			return;
		}
		e->body = body;
		e->cap = cap;
	}
	memcpy(e->body + e->len, data, len);
	e->len += len;
}

/* ---- answers ---- */

static void
add_allow(struct MHD_Response *response, unsigned methods)
{
	char allow[64] = "";
	size_t len = 0;

	for (unsigned i = API_GET; i < API_OTHER; i++)
		if (methods & 1U << i)
			len += (size_t)snprintf(
				allow + len, sizeof(allow) - len, "%s%s",
				len == 0 ? "" : ", ",
				api_method_name((enum api_method)i));
	if (len > 0)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
}

static void
add_retry_after(struct MHD_Response *response, unsigned seconds)
{
	char text[16];

	if (seconds == 0)
		return;
	snprintf(text, sizeof(text), "%u", seconds);
	MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
}

/* Takes the answer's body. */
static enum MHD_Result
send_answer(struct exchange *e)
{
	struct api_answer *answer = &e->write.answer;
	struct MHD_Response *response;
	enum MHD_Result sent;

	if (answer->body == NULL)
		answer->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	response = MHD_create_response_from_buffer(answer->len, answer->body,
						   MHD_RESPMEM_MUST_FREE);
	if (response == NULL)
		return MHD_NO;
	answer->body = NULL;
	if (answer->type != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					answer->type);
	add_allow(response, answer->allow);
	add_retry_after(response, answer->retry_after);
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(
			response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	sent = MHD_queue_response(e->connection, answer->status, response);
	MHD_destroy_response(response);
	api_connection_touch(&e->api->connections,
			     connection_of(e->connection));
	return sent;
}

/* Whether there is an answer now; else there will be, of a write. */
static bool
route(struct api *api, struct exchange *e)
{
	struct api_write *write = &e->write;

	write->call = &e->call;
	write->route = api_route_find(&e->call, &write->answer);
	if (write->route == NULL ||
	    (write->route->changes &&
	     !api_guard_admits(&e->call, &write->answer)))
		return true;
	if (api_route_changes_rules(write->route))
		return api_writes_take(&api->writes, write);
	api_route_serve(write->route, &e->call, &write->answer);
	return true;
}

static struct text
header(const struct exchange *e, const char *name)
{
	return text_of(MHD_lookup_connection_value(e->connection,
						   MHD_HEADER_KIND, name));
}

/* The same. */
static bool
serve(struct api *api, struct exchange *e, const char *method)
{
	struct api_answer *answer = &e->write.answer;

	e->call = (struct api_call){
		.method = api_method_of(method),
		.body = { e->body, e->len },
		.options = &api->options,
		.ready = api->ready,
		.now = api->now,
		.authorization = header(e, MHD_HTTP_HEADER_AUTHORIZATION),
		.host = header(e, MHD_HTTP_HEADER_HOST),
		.origin = header(e, MHD_HTTP_HEADER_ORIGIN),
	};
	if (e->refused == MHD_HTTP_CONTENT_TOO_LARGE)
		api_answer_error(answer, e->refused,
				 "the body is larger than 1 MiB");
	else if (e->refused != 0)
		api_answer_error(answer, e->refused, "out of memory");
	else if (!api_call_target(&e->call, e->target))
		api_answer_error(answer, 400, "invalid query");
	else
		return route(api, e);
	return true;
}

static void
let_wait(struct api *api, struct exchange *e)
{
	TAILQ_INSERT_TAIL(&api->waiting, e, link);
	suspend(e);
}

/* The daemon deals with whom it resumes before it looks for others. */
static void
call_next(struct api *api)
{
	struct exchange *e = TAILQ_FIRST(&api->waiting);

	if (e == NULL)
		return;
	TAILQ_REMOVE(&api->waiting, e, link);
	MHD_resume_connection(e->connection);
}

/*
 * Until it has its turn, and again until its write is answered, the connection
 * is left alone. Once it goes on, it is here again.
 */
static enum MHD_Result
serve_or_suspend(struct api *api, struct exchange *e, const char *method)
{
	if (e->suspended)
		return send_answer(e);
	/* However many come at once, a decision waits for one of them. */
	if (api->served) {
		let_wait(api, e);
		return MHD_YES;
	}
	api->served = true;
	if (serve(api, e, method))
		return send_answer(e);
	e->suspended = true;
	api->suspended++;
	suspend(e);
	return MHD_YES;
}

static void
on_answered(struct api_write *write)
{
	struct exchange *e = CONTAINER_OF(write, struct exchange, write);

	MHD_resume_connection(e->connection);
	/* The daemon does not say of itself that it has to run then. */
	event_active(e->api->timer, EV_TIMEOUT, 0);
}

/* Whether the headers announce a body that would be refused. */
static bool
announces_too_much(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	unsigned long long announced;

	return length != NULL &&
	       !text_number(text_of(length), API_BODY_MAX, &announced);
}

/* Called once with the headers, for each piece of body, and at the end. */
static enum MHD_Result
/* NOLINTNEXTLINE(readability-function-size): the library's signature */
on_request(void *arg, struct MHD_Connection *connection, const char *url,
	   const char *method, const char *version, const char *data,
	   size_t *len, void **context)
{
	struct exchange *e = *context;

	(void)url;
	(void)version;
	if (e == NULL)
		return MHD_NO;
	if (!e->begun) {
		e->begun = true;
		if (!announces_too_much(connection))
			return MHD_YES;
		refuse_body(e, MHD_HTTP_CONTENT_TOO_LARGE);
		return serve_or_suspend(arg, e, method);
	}
	if (*len > 0) {
		keep_body(e, data, *len);
		*len = 0;
		return MHD_YES;
	}
	return serve_or_suspend(arg, e, method);
}

/* ---- the loop ---- */

static bool
is_full(const struct api *api)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(
		api->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info != NULL && info->num_connections >= CONNECTIONS_MAX;
}

/*
 * Who gets nowhere makes room. Where nobody is to blame, newcomers wait in the
 * backlog until somebody leaves.
 */
static void
mind_the_limit(struct api *api)
{
	bool full = is_full(api);

	if (full && !api->evicted)
		api->evicted = api_connections_evict(&api->connections);
	if (!full)
		api->evicted = false;

	if (full != api->listener->stopped)
		listener_stop(api->listener, full);
}

/*
 * When the daemon wants to run again. A timer that is over at once lets the
 * loop look at the other sockets before.
 */
static void
set_timer(struct api *api)
{
	MHD_UNSIGNED_LONG_LONG msec = 0;
	struct timeval after;

	if (TAILQ_EMPTY(&api->waiting) &&
	    MHD_get_timeout(api->daemon, &msec) != MHD_YES) {
		event_del(api->timer);
		return;
	}
	after.tv_sec = (time_t)(msec / 1000);
	after.tv_usec = (suseconds_t)(msec % 1000 * 1000);
	event_add(api->timer, &after);
}

/* Runs the daemon on what is ready. */
static void
on_run(evutil_socket_t fd, short what, void *arg)
{
	struct api *api = arg;

	(void)fd;
	(void)what;
	api->now = turn_enter(api->options.turn);
	api->served = false;
	call_next(api);
	MHD_run(api->daemon);
	mind_the_limit(api);
	listener_spare(api->listener);
	set_timer(api);
}

/* Decisions of this turn leave before: their answers are at its end. */
static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct api *api = arg;

	(void)fd;
	(void)what;
	turn_enter(api->options.turn);
	event_active(api->run, EV_TIMEOUT, 0);
}

static void
on_accepted(void *arg, int fd, struct sockaddr *from, socklen_t len)
{
	struct api *api = arg;

	/* Closes it where it cannot take it. */
	(void)MHD_add_connection(api->daemon, fd, from, len);
	mind_the_limit(api);
	event_active(api->timer, EV_TIMEOUT, 0);
}

static void on_fault(void *arg, const char *format, va_list args)
	PRINTF_LIKE(2, 0);

/* What the library has to say is mostly of clients that break off. */
static void
on_fault(void *arg, const char *format, va_list args)
{
	char line[LOG_LINE_MAX];

	(void)arg;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\r\n")] = '\0';
	log_debug("api: http said=\"%s\"", line);
}

static struct MHD_Daemon *
start(struct api *api)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET |
			MHD_ALLOW_SUSPEND_RESUME,
		0, NULL, NULL, on_request, api, MHD_OPTION_EXTERNAL_LOGGER,
		on_fault, NULL, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)CONNECTION_IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, api,
		MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, api,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, api,
		MHD_OPTION_END);
}

static bool
join_loop(struct api *api, struct event_base *base, int listener)
{
	const struct listener_user user = { "api", on_accepted, api,
					    .spare = true };
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(api->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	if (info == NULL)
		return false;
	api->readable = event_new(base, info->epoll_fd, EV_READ | EV_PERSIST,
				  on_event, api);
	api->timer = event_new(base, -1, 0, on_event, api);
	api->run = event_new(base, -1, 0, on_run, api);
	if (api->readable == NULL || api->timer == NULL || api->run == NULL ||
	    event_add(api->readable, NULL) != 0)
		return false;
	/* Last, for then nothing fails that would have to give it back. */
	api->listener = listener_open(base, api->options.turn, listener, &user);
	return api->listener != NULL;
}

struct api *
api_open(struct event_base *base, int listener,
	 const struct api_options *options)
{
	struct api *api = calloc(1, sizeof(*api));

	if (api == NULL)
		return NULL;
	api->options = *options;
	TAILQ_INIT(&api->waiting);
	api_writes_init(&api->writes, options->gate, options->turn,
			options->disk, on_answered);
	if (!api_connections_init(&api->connections, base, options->turn,
				  options->patience > 0
					  ? options->patience
					  : CONNECTION_PATIENCE)) {
		free(api);
		return NULL;
	}
	api->daemon = start(api);
	if (api->daemon == NULL || !join_loop(api, base, listener)) {
		log_err("api: HTTP cannot be started");
		api_close(&api);
		return NULL;
	}
	return api;
}

void
api_close(struct api **api)
{
	struct api *a = *api;

	if (a == NULL)
		return;
	listener_close(&a->listener);
	api_writes_fini(&a->writes);
	free_event(a->run);
	free_event(a->timer);
	free_event(a->readable);
	/* A connection that is suspended cannot be closed. */
	while (!TAILQ_EMPTY(&a->waiting))
		call_next(a);
	if (a->daemon != NULL)
		MHD_stop_daemon(a->daemon);
	api_connections_fini(&a->connections);
	free(a);
	*api = NULL;
}

bool
api_is_busy(const struct api *api)
{
	return api->suspended > 0 || !TAILQ_EMPTY(&api->waiting);
}

void
api_set_ready(struct api *api, bool ready)
{
	api->ready = ready;
}

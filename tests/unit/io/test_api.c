/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api.h"

#include <dirent.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/listen_text.h"
#include "agent/io/turn.h"
#include "tests/cmocka.h"

#define DEADLINE_SECONDS 20
#define MIB ((size_t)1 << 20)
#define CONNECTIONS 256

#define BASE "/netlox/v1"
#define RULES BASE "/config/loadbalancer"
#define ADDRESS "/externalipaddress/192.0.2.10/port/8080"
#define ENTRY RULES ADDRESS "/protocol/tcp"
#define SUCCESS "{\"result\":\"Success\"}"

#define ENDPOINTS                                                              \
	"\"endpoints\":[{\"endpointIP\":\"198.51.100.11\","                    \
	"\"targetPort\":8000,\"weight\":1}]"
#define RULE_AT(ip, more)                                                      \
	"{\"serviceArguments\":{\"externalIP\":\"" ip                          \
	"\",\"port\":8080,\"protocol\":\"tcp\"" more "}," ENDPOINTS "}"
#define RULE(more) RULE_AT("192.0.2.10", ",\"mode\":4,\"sse_mode\":true" more)

struct fixture {
	struct event_base *base;
	struct turn *turn;
	struct gate *gate;
	struct api *api;
	struct listen_address address;
	int descriptors; /* open before the rest was */
	usec_t patience; /* of the API; 0 is its own */

	struct evbuffer *received;
	bool ended;
	unsigned status;
	const char *body; /* in received */
};

static int
count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

static const char *
no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct gate *
gate_without_rules(void)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;

	settings_env_read(&env, no_environment);
	return gate_new(&options, &env, 0);
}

static void
open_at(struct fixture *f, const char *address)
{
	struct api_options options = { .version = "1.2.3",
				       .request_buffer_kib = 1024,
				       .patience = f->patience };
	const char *step;
	int listener;

	f->descriptors = count_descriptors();
	f->base = event_base_new();
	f->turn = turn_open(f->base);
	f->gate = gate_without_rules();
	f->received = evbuffer_new();
	options.gate = f->gate;
	options.turn = f->turn;

	assert_null(listen_address_parse(address, &f->address));
	listener = listen_open(&f->address, SOCK_STREAM, &step);
	assert_true(listener >= 0);
	assert_true(listen_bound(listener, &f->address));
	f->api = api_open(f->base, listener, &options);
	assert_non_null(f->api);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	open_at(f, "127.0.0.1:0");
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	api_close(&f->api);
	evbuffer_free(f->received);
	gate_free(&f->gate);
	turn_close(&f->turn);
	event_base_free(f->base);
	assert_int_equal(count_descriptors(), f->descriptors);
	free(f);
	return 0;
}

static void
on_data(struct bufferevent *client, void *arg)
{
	struct fixture *f = arg;

	bufferevent_read_buffer(client, f->received);
}

static void
on_end(struct bufferevent *client, short what, void *arg)
{
	struct fixture *f = arg;

	(void)client;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		f->ended = true;
		event_base_loopbreak(f->base);
	}
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

/* Turns the loop until the server has closed the connection. */
static void
run_until_end(struct fixture *f)
{
	const struct timeval deadline = { .tv_sec = DEADLINE_SECONDS };
	struct event *timer = event_new(f->base, -1, 0, on_deadline, f->base);

	event_add(timer, &deadline);
	f->ended = false;
	event_base_dispatch(f->base);
	event_free(timer);
	assert_true(f->ended);
}

/* Sends bytes on a connection of its own and takes the answer apart. */
static void
exchange(struct fixture *f, struct evbuffer *request)
{
	struct bufferevent *client =
		bufferevent_socket_new(f->base, -1, BEV_OPT_CLOSE_ON_FREE);
	const char *text;

	evbuffer_drain(f->received, evbuffer_get_length(f->received));
	bufferevent_setcb(client, on_data, NULL, on_end, f);
	bufferevent_write_buffer(client, request);
	bufferevent_enable(client, EV_READ | EV_WRITE);
	assert_int_equal(bufferevent_socket_connect(
				 client, (struct sockaddr *)&f->address.at,
				 (int)f->address.len),
			 0);
	run_until_end(f);
	bufferevent_free(client);
	evbuffer_free(request);

	evbuffer_add(f->received, "", 1);
	text = (const char *)evbuffer_pullup(f->received, -1);
	assert_int_equal(sscanf(text, "HTTP/1.1 %u ", &f->status), 1);
	f->body = strstr(text, "\r\n\r\n");
	assert_non_null(f->body);
	f->body += strlen("\r\n\r\n");
}

static bool
has_header(struct fixture *f, const char *line)
{
	const char *text = (const char *)evbuffer_pullup(f->received, -1);
	const char *found = strstr(text, line);

	return found != NULL && found < f->body;
}

static void
call(struct fixture *f, const char *method, const char *target,
     const char *body)
{
	struct evbuffer *request = evbuffer_new();

	evbuffer_add_printf(request,
			    "%s %s HTTP/1.1\r\nHost: agent\r\n"
			    "Connection: close\r\nContent-Length: %zu\r\n\r\n",
			    method, target, body == NULL ? 0 : strlen(body));
	if (body != NULL)
		evbuffer_add(request, body, strlen(body));
	exchange(f, request);
}

static void
expect(struct fixture *f, const char *method, const char *target,
       unsigned status)
{
	call(f, method, target, NULL);
	assert_int_equal(f->status, status);
}

static void
post(struct fixture *f, const char *body)
{
	call(f, "POST", RULES, body);
	assert_string_equal(f->body, SUCCESS);
	assert_int_equal(f->status, 200);
}

/* Row 141. */
static void
expect_error(struct fixture *f, unsigned status, const char *message,
	     const char *result)
{
	json_t *body = json_loads(f->body, 0, NULL);

	assert_int_equal(f->status, status);
	assert_int_equal(json_integer_value(json_object_get(body, "code")),
			 status);
	assert_string_equal(json_string_value(json_object_get(body, "message")),
			    message);
	assert_string_equal(json_string_value(json_object_get(body, "result")),
			    result);
	json_decref(body);
}

#define MALFORMED "Malformed arguments for API call"
#define NOT_FOUND "Resource not found"

/* Rows 82 to 84, 90, 134, 143. */
static void
rule_lives_and_dies(void **state)
{
	struct fixture *f = *state;

	expect(f, "GET", RULES "/all", 200);
	assert_string_equal(f->body, "{\"lbAttr\":[]}");

	post(f, RULE(""));
	expect(f, "GET", RULES "/all", 200);
	assert_non_null(strstr(f->body, "\"fc_effective\":{"));
	assert_true(has_header(f, "Content-Type: application/json\r\n"));
	expect(f, "GET", ENTRY, 200);
	assert_ptr_equal(strstr(f->body, "{\"endpoints\":["), f->body);
	post(f, RULE(",\"fc_mode\":\"observe\""));

	expect(f, "DELETE", ENTRY, 200);
	assert_string_equal(f->body, SUCCESS);
	expect(f, "GET", ENTRY, 404);
	expect_error(f, 404, NOT_FOUND, "no-rule error");
	expect(f, "DELETE", ENTRY, 404);
}

/* Row 135: a part of the key that is not named is one the rule has not. */
static void
delete_needs_the_whole_key(void **state)
{
	static const char *const partial[] = {
		ENTRY,
		ENTRY "?path_prefix=/v1&path_match_mode=prefix",
		ENTRY "?path_prefix=/v1&path_match_mode=prefix&model_name=a/b",
		RULES "/hosturl/llm.example" ADDRESS "/protocol/tcp",
		RULES "/hosturl/llm.example" ADDRESS
		      "/protocol/tcp?path_prefix=/v1&path_match_mode=exact"
		      "&model_name=a/b",
		RULES "/hosturl/llm.example" ADDRESS
		      "/protocol/udp?path_prefix=/v1&path_match_mode=prefix"
		      "&model_name=a/b",
	};
	struct fixture *f = *state;

	post(f, RULE(",\"host\":\"llm.example\",\"path_prefix\":\"/v1\","
		     "\"path_match_mode\":\"prefix\","
		     "\"model_name\":\"a/b\""));
	for (size_t i = 0; i < ARRAY_LEN(partial); i++) {
		expect(f, "DELETE", partial[i], 404);
		expect_error(f, 404, NOT_FOUND, "no-rule error");
	}
	expect(f, "GET", ENTRY, 200);
	expect(f, "GET", ENTRY "?model_name=other", 404);
	expect(f, "DELETE",
	       RULES "/hosturl/llm.example" ADDRESS
		     "/protocol/tcp?bgp=false&path_prefix=%2Fv1"
		     "&path_match_mode=prefix&model_name=a%2fb",
	       200);
	assert_int_equal(f->gate->rules.len, 0);
}

/* Contract 10: the path that the usual command line client deletes by. */
static void
client_made_delete_is_understood(void **state)
{
	struct fixture *f = *state;

	post(f, RULE(""));
	expect(f, "DELETE",
	       RULES "/hosturl/any" ADDRESS "/portmax/0/protocol/tcp"
		     "?bgp=false&block=0",
	       200);
	post(f, RULE(""));
	expect(f, "DELETE", RULES ADDRESS "/portmax/0/protocol/tcp", 200);
	assert_int_equal(f->gate->rules.len, 0);
}

static void
version_six_may_be_in_brackets(void **state)
{
	struct fixture *f = *state;

	post(f, RULE_AT("2001:db8::1", ""));
	expect(f, "GET",
	       RULES "/externalipaddress/%5B2001:DB8:0::1%5D/port/8080"
		     "/protocol/tcp",
	       200);
	expect(f, "DELETE",
	       RULES "/externalipaddress/2001:db8::1/port/8080/protocol/tcp",
	       200);
}

/* Rows 136 and 137. */
static void
many_rules_go_at_once(void **state)
{
	struct fixture *f = *state;

	post(f, RULE_AT("192.0.2.1", ",\"name\":\"my pool\""));
	post(f, RULE_AT("192.0.2.2", ",\"name\":\"my pool\""));
	post(f, RULE_AT("192.0.2.3", ""));
	post(f, RULE_AT("192.0.2.4", ",\"name\":\"other\""));
	expect(f, "DELETE", RULES "/name/my%20pool", 200);
	assert_int_equal(f->gate->rules.len, 2);
	expect(f, "DELETE", RULES "/name/my%20pool", 404);
	expect(f, "DELETE", RULES "/all", 200);
	assert_int_equal(f->gate->rules.len, 0);
	expect(f, "DELETE", RULES "/all", 200);
}

/* Rows 96 and 97. */
static void
patch_reaches_no_rule(void **state)
{
	struct fixture *f = *state;

	call(f, "PATCH", ENTRY, "{}");
	expect_error(f, 404, NOT_FOUND, "no-rule error");
	post(f, RULE(",\"fc_max_outstanding\":4"));
	call(f, "PATCH", ENTRY,
	     "{\"serviceArguments\":{\"fc_max_outstanding\":9}}");
	expect_error(f, 400, MALFORMED,
		     "a fullproxy (L7) rule cannot be patched: POST the "
		     "whole rule");
	assert_int_equal(pool_ceiling(TAILQ_FIRST(&f->gate->pools)), 4);
}

/* Rows 122, 124, 126 and 127. */
static void
faults_of_a_body_are_told(void **state)
{
	struct fixture *f = *state;

	call(f, "POST", RULES, "{\"serviceArguments\":");
	expect_error(f, 400, MALFORMED, "body is invalid JSON");
	call(f, "POST", RULES, "");
	expect_error(f, 400, MALFORMED, "body is invalid JSON");
	call(f, "POST", RULES, "{}");
	expect_error(f, 400, MALFORMED, "serviceArguments is required");
	call(f, "POST", RULES, RULE(",\"fc_max_outstanding\":100001"));
	expect_error(f, 400, MALFORMED,
		     "fc_max_outstanding must be within 0..100000");
	call(f, "POST", RULES, RULE(",\"fc_expose_headers\":\"yes\""));
	assert_int_equal(f->status, 422);
	assert_string_equal(f->body,
			    "{\"code\":606,\"message\":\"fc_expose_headers in "
			    "body should be one of [inherit off on]\"}");
	assert_int_equal(f->gate->rules.len, 0);
}

/* Rows 144 and 336, and interface 4. */
static void
process_tells_of_itself(void **state)
{
	struct fixture *f = *state;
	char *first;

	expect(f, "GET", BASE "/version", 200);
	assert_non_null(strstr(f->body, "\"version\":\"1.2.3\""));
	assert_non_null(strstr(f->body, "\"buildInfo\":\""));
	assert_non_null(strstr(f->body, "\"product\":\"spoa-admission\""));

	expect(f, "GET", "/metrics", 200);
	assert_true(has_header(f, "Content-Type: text/plain; version=0.0.4"));
	first = strdup(f->body);
	expect(f, "GET", BASE "/metrics", 200);
	assert_string_equal(f->body, first);
	free(first);

	expect(f, "GET", "/healthz", 200);
	expect(f, "GET", "/readyz", 503);
	api_set_ready(f->api, true);
	expect(f, "GET", "/readyz", 200);
}

static void
unknown_calls_are_refused(void **state)
{
	struct fixture *f = *state;

	expect(f, "GET", "/netlox/v1/nothing", 404);
	expect_error(f, 404, NOT_FOUND, "no such path");
	expect(f, "GET", "/", 404);
	expect(f, "GET", RULES "/hosturl//x", 404);

	expect(f, "PUT", RULES "/all", 405);
	expect_error(f, 405, "Method not allowed", "not with this method");
	assert_true(has_header(f, "Allow: GET, HEAD, DELETE\r\n"));
	expect(f, "OPTIONS", RULES, 405);
	assert_true(has_header(f, "Allow: POST\r\n"));

	expect(f, "GET", RULES "/externalipaddress/%zz/port/1/protocol/tcp",
	       400);
	expect(f, "DELETE", RULES "/name/a%00b", 400);
	expect(f, "GET", ENTRY "?model_name=%2", 400);
	expect(f, "DELETE", RULES "/externalipaddress/host/port/1/protocol/tcp",
	       400);
	expect(f, "DELETE",
	       RULES "/externalipaddress/::1/port/65536/protocol/tcp", 400);
	expect(f, "DELETE", ENTRY "?path_match_mode=some", 400);
	expect(f, "GET", ENTRY "?1&2&3&4&5&6&7&8&9&10&11&12&13&14&15&16&17",
	       400);
}

static void
head_is_get_without_a_body(void **state)
{
	struct fixture *f = *state;

	expect(f, "HEAD", "/healthz", 200);
	assert_string_equal(f->body, "");
	assert_true(has_header(f, "Content-Length: 16\r\n"));
	expect(f, "HEAD", RULES, 405);
}

/* A body of that many bytes, blanks but for a rule. */
static struct evbuffer *
padded(size_t size)
{
	static const char rule[] = RULE("");
	struct evbuffer *body = evbuffer_new();
	char blanks[1024];

	memset(blanks, ' ', sizeof(blanks));
	evbuffer_add(body, rule, strlen(rule));
	while (evbuffer_get_length(body) < size) {
		size_t rest = size - evbuffer_get_length(body);

		evbuffer_add(body, blanks,
			     rest < sizeof(blanks) ? rest : sizeof(blanks));
	}
	return body;
}

static void
post_padded(struct fixture *f, size_t size, bool chunked)
{
	struct evbuffer *request = evbuffer_new();
	struct evbuffer *body = padded(size);

	evbuffer_add_printf(request,
			    "POST " RULES " HTTP/1.1\r\nHost: agent\r\n"
			    "Connection: close\r\n");
	if (chunked)
		evbuffer_add_printf(request,
				    "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
				    size);
	else
		evbuffer_add_printf(request, "Content-Length: %zu\r\n\r\n",
				    size);
	evbuffer_add_buffer(request, body);
	if (chunked)
		evbuffer_add_printf(request, "\r\n0\r\n\r\n");
	evbuffer_free(body);
	exchange(f, request);
}

static void
bodies_are_bounded(void **state)
{
	struct fixture *f = *state;

	post_padded(f, MIB, false);
	assert_string_equal(f->body, SUCCESS);
	post_padded(f, MIB, true);
	assert_string_equal(f->body, SUCCESS);
	post_padded(f, MIB + 1, true);
	expect_error(f, 413, "Request body too large",
		     "the body is larger than 1 MiB");

	/* An announced one is refused before it is read. */
	struct evbuffer *request = evbuffer_new();

	evbuffer_add_printf(request,
			    "POST " RULES " HTTP/1.1\r\nHost: agent\r\n"
			    "Content-Length: %zu\r\n\r\n",
			    MIB + 1);
	exchange(f, request);
	expect_error(f, 413, "Request body too large",
		     "the body is larger than 1 MiB");
}

static void
one_connection_serves_many(void **state)
{
	struct fixture *f = *state;
	struct evbuffer *request = evbuffer_new();
	size_t answers = 0;

	for (size_t i = 0; i < 50; i++)
		evbuffer_add_printf(request, "GET /healthz HTTP/1.1\r\n"
					     "Host: agent\r\n\r\n");
	evbuffer_add_printf(request, "GET /readyz HTTP/1.1\r\nHost: agent\r\n"
				     "Connection: close\r\n\r\n");
	exchange(f, request);
	for (const char *at = f->body; at != NULL;
	     at = strstr(at + 1, "HTTP/1.1 200 "))
		answers++;
	assert_int_equal(answers, 50);
	assert_non_null(strstr(f->body, "HTTP/1.1 503 "));
}

static int
connect_to(const struct fixture *f)
{
	int fd = socket(f->address.at.ss_family, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&f->address.at,
				 f->address.len),
			 0);
	return fd;
}

static void
send_health_call(int fd)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\n"
				      "Host: agent\r\n\r\n";

	assert_int_equal(send(fd, request, strlen(request), 0),
			 strlen(request));
}

/* Turns the loop while there is something to do at once. */
static void
run_out(struct fixture *f)
{
	for (size_t i = 0; i < 2 * CONNECTIONS; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static bool
is_answered(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 1;
}

static bool
is_cut_off(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void
who_got_nowhere_the_longest_makes_room(void **state)
{
	struct fixture *f = *state;
	int idle[CONNECTIONS], late;

	for (size_t i = 0; i < CONNECTIONS - 1; i++)
		idle[i] = connect_to(f);
	run_out(f);
	/* Of the oldest two one has got somewhere meanwhile. */
	send_health_call(idle[0]);
	run_out(f);
	assert_true(is_answered(idle[0]));

	idle[CONNECTIONS - 1] = connect_to(f);
	late = connect_to(f);
	send_health_call(late);
	run_out(f);
	assert_true(is_answered(late));
	assert_true(is_cut_off(idle[1]));
	send_health_call(idle[0]);
	run_out(f);
	assert_true(is_answered(idle[0]));
	close(late);
	for (size_t i = 0; i < CONNECTIONS; i++)
		close(idle[i]);
}

#define SHORT_PATIENCE_MSEC 200

static int
setup_impatient(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->patience = SHORT_PATIENCE_MSEC * USEC_PER_MSEC;
	open_at(f, "127.0.0.1:0");
	return 0;
}

struct trickler {
	struct fixture *f;
	struct event *next;
	int fd;
	unsigned sent;
};

/* A byte each 10 ms is always soon enough for who looks at the last one. */
static void
on_trickle(evutil_socket_t fd, short what, void *arg)
{
	struct trickler *t = arg;

	(void)fd;
	(void)what;
	if (is_cut_off(t->fd) || t->sent == 10 * SHORT_PATIENCE_MSEC / 10)
		event_base_loopbreak(t->f->base);
	send(t->fd, "x", 1, MSG_NOSIGNAL);
	t->sent++;
}

static void
expect_cut_off(struct fixture *f, const char *head)
{
	const struct timeval often = { 0, 10000 };
	struct trickler t = { .f = f, .fd = connect_to(f) };

	assert_int_equal(send(t.fd, head, strlen(head), 0), strlen(head));
	t.next = event_new(f->base, -1, EV_PERSIST, on_trickle, &t);
	event_add(t.next, &often);
	event_base_dispatch(f->base);
	event_free(t.next);
	assert_in_range(t.sent, SHORT_PATIENCE_MSEC / 10 / 2,
			5 * SHORT_PATIENCE_MSEC / 10);
	close(t.fd);
}

static void
who_trickles_is_cut_off(void **state)
{
	expect_cut_off(*state, "POST " RULES " HTTP/1.1\r\nHost: agent\r\n"
			       "Content-Length: 100000\r\n\r\n");
	expect_cut_off(*state, "GET /healthz HTTP/1.1\r\nX: ");
	expect_cut_off(*state, "GET /");
	expect_cut_off(*state, "");
}

#define AT_ONCE 20

/* A write of each, all of them there before the loop turns. */
static void
write_at_once(struct fixture *f, int fds[AT_ONCE])
{
	for (int i = 0; i < AT_ONCE; i++) {
		char body[512], request[1024];

		snprintf(body, sizeof(body),
			 "{\"serviceArguments\":{\"externalIP\":\"192.0.2.10\","
			 "\"port\":%d,\"protocol\":\"tcp\"}," ENDPOINTS "}",
			 8000 + i);
		snprintf(request, sizeof(request),
			 "POST " RULES " HTTP/1.1\r\nHost: agent\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 strlen(body), body);
		fds[i] = connect_to(f);
		assert_int_equal(send(fds[i], request, strlen(request), 0),
				 strlen(request));
	}
}

struct rules_seen {
	const struct gate *gate;
	size_t before, most; /* rules, and those more of one turn */
};

static void
see_rules(void *arg, usec_t now)
{
	struct rules_seen *seen = arg;
	size_t more = seen->gate->rules.len - seen->before;

	(void)now;
	if (more > seen->most)
		seen->most = more;
	seen->before = seen->gate->rules.len;
}

/* So that a decision waits for one of them, not for all. */
static void
calls_at_once_are_served_one_a_turn(void **state)
{
	struct fixture *f = *state;
	struct rules_seen seen = { .gate = f->gate };
	int fds[AT_ONCE];

	turn_last(f->turn, see_rules, &seen);
	write_at_once(f, fds);
	run_out(f);
	assert_int_equal(f->gate->rules.len, AT_ONCE);
	assert_int_equal(seen.most, 1);
	for (int i = 0; i < AT_ONCE; i++) {
		assert_true(is_answered(fds[i]));
		close(fds[i]);
	}
}

/* Nobody is served before those who came earlier. */
static void
calls_are_served_in_their_order(void **state)
{
	struct fixture *f = *state;
	int fds[AT_ONCE], late;

	write_at_once(f, fds);
	while (f->gate->rules.len == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	late = connect_to(f);
	send_health_call(late);
	while (!is_answered(late))
		event_base_loop(f->base, EVLOOP_ONCE);
	assert_int_equal(f->gate->rules.len, AT_ONCE);
	close(late);
	for (int i = 0; i < AT_ONCE; i++)
		close(fds[i]);
}

static void
close_ends_those_who_wait_for_their_turn(void **state)
{
	struct fixture *f = *state;
	int fds[AT_ONCE];
	char byte;

	write_at_once(f, fds);
	while (f->gate->rules.len == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	api_close(&f->api);
	assert_true(f->gate->rules.len < AT_ONCE);
	for (int i = 0; i < AT_ONCE; i++) {
		while (recv(fds[i], &byte, 1, 0) > 0)
			;
		close(fds[i]);
	}
}

static void
count_turn(void *arg, usec_t now)
{
	unsigned *turns = arg;

	(void)now;
	++*turns;
}

static void
without_descriptors_it_waits_and_does_not_spin(void **state)
{
	struct fixture *f = *state;
	int first = socket(f->address.at.ss_family, SOCK_STREAM, 0);
	int client = socket(f->address.at.ss_family, SOCK_STREAM, 0);
	struct rlimit before, now;
	unsigned turns = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t)client + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	/* There is a spare one, once. */
	assert_int_equal(connect(first, (struct sockaddr *)&f->address.at,
				 f->address.len),
			 0);
	send_health_call(first);
	run_out(f);
	assert_true(is_answered(first));
	assert_int_equal(connect(client, (struct sockaddr *)&f->address.at,
				 f->address.len),
			 0);
	send_health_call(client);
	turn_last(f->turn, count_turn, &turns);
	run_out(f);
	assert_false(is_answered(client));
	assert_int_equal(turns, 1);

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < 10 && !is_answered(client); i++)
		event_base_loop(f->base, EVLOOP_ONCE);
	assert_in_range(turns, 2, 10);
	close(client);
	close(first);
}

static void
garbage_ends_its_connection(void **state)
{
	struct fixture *f = *state;
	struct evbuffer *request = evbuffer_new();

	evbuffer_add_printf(request, "\x16\x03\x01 no HTTP\r\n\r\n");
	exchange(f, request);
	assert_int_equal(f->status / 100, 4);
	expect(f, "GET", "/healthz", 200);
}

static enum verdict
ask(struct fixture *f, struct peer *peer, const char *id)
{
	const struct ask ask = {
		.id = text_of(id),
		.query = { .port = 8080,
			   .vip = { ADDRESS_V4, { 192, 0, 2, 10 } },
			   .path = text_of("/v1/completions") },
		.method = text_of("POST"),
		.http = 1,
		.asker = { .peer = peer },
	};
	struct answer answer;

	return gate_ask(f->gate, &ask, turn_enter(f->turn), &answer);
}

/* Rows 87, 98, 138 and 337. */
static void
changes_reach_those_who_wait(void **state)
{
	struct fixture *f = *state;
	struct peer peer = { LIST_HEAD_INITIALIZER(waiters) };
	struct asker to;
	struct answer answer;

	post(f, RULE(",\"fc_mode\":\"enforce\",\"fc_max_outstanding\":1,"
		     "\"fc_max_queue_depth\":4,"
		     "\"fc_max_queue_wait_ms\":60000"));
	assert_int_equal(ask(f, &peer, "a"), VERDICT_ADMIT);
	assert_int_equal(ask(f, &peer, "b"), VERDICT_WAIT);
	assert_int_equal(ask(f, &peer, "c"), VERDICT_WAIT);
	expect(f, "GET", ENTRY, 200);
	assert_non_null(strstr(f->body, "\"inflight\":1"));
	assert_non_null(strstr(f->body, "\"queued\":2"));
	expect(f, "GET", "/metrics", 200);

	post(f, RULE(",\"fc_max_outstanding\":2"));
	assert_true(gate_next_answer(f->gate, &to, &answer));
	assert_int_equal(answer.verdict, VERDICT_ADMIT);
	assert_false(gate_next_answer(f->gate, &to, &answer));

	expect(f, "DELETE", ENTRY, 200);
	assert_true(gate_next_answer(f->gate, &to, &answer));
	assert_int_equal(answer.reason, REASON_DRAINED);
	assert_false(gate_next_answer(f->gate, &to, &answer));
}

#define MAINTENANCE "/netlox/v1/maintenance"

/* Of a JSON answer, as a text that the test owns for as long as it asks on. */
static const char *
string_in(struct fixture *f, const char *name, char text[64])
{
	json_t *body = json_loads(f->body, 0, NULL);
	const char *found = json_string_value(json_object_get(body, name));

	snprintf(text, 64, "%s", found != NULL ? found : "");
	json_decref(body);
	return text;
}

static bool
says(const struct fixture *f, const char *member)
{
	return strstr(f->body, member) != NULL;
}

/* Rows 308, 311 to 314, 318, 319, 321 and 323. */
static void
maintenance_is_entered_and_left(void **state)
{
	struct fixture *f = *state;
	struct peer peer = { LIST_HEAD_INITIALIZER(waiters) };
	struct asker to;
	struct answer answer;
	char id[64], again[64];

	post(f, RULE(",\"fc_mode\":\"enforce\",\"fc_max_outstanding\":1,"
		     "\"fc_max_queue_depth\":4,"
		     "\"fc_max_queue_wait_ms\":60000"));
	expect(f, "GET", MAINTENANCE, 200);
	assert_true(says(f, "\"state\":\"active\"") &&
		    says(f, "\"in_flight_streams\":0") &&
		    !says(f, "operation_id") && !says(f, "in_flight_requests"));
	assert_int_equal(ask(f, &peer, "a"), VERDICT_ADMIT);
	assert_int_equal(ask(f, &peer, "b"), VERDICT_WAIT);

	call(f, "PUT", MAINTENANCE,
	     "{\"enabled\":true,\"drain_timeout_seconds\":60}");
	assert_int_equal(f->status, 200);
	assert_true(says(f, "\"state\":\"maintenance\"") &&
		    says(f, "\"refusing_new_config\":true") &&
		    says(f, "\"in_flight_requests\":1") &&
		    says(f, "\"drain_timeout_seconds\":60") &&
		    says(f, "\"drain_deadline_exceeded\":false") &&
		    says(f, "\"entered_at\":\"2"));
	assert_true(gate_next_answer(f->gate, &to, &answer));
	assert_int_equal(answer.reason, REASON_DRAINED);
	assert_int_equal(ask(f, &peer, "c"), VERDICT_REFUSE);
	string_in(f, "operation_id", id);
	assert_int_equal(strncmp(id, "maint-", 6), 0);

	call(f, "PUT", MAINTENANCE, "{\"enabled\":true}");
	assert_string_equal(string_in(f, "operation_id", again), id);
	assert_true(says(f, "\"drain_timeout_seconds\":60"));
	/* Row 324: it says that the window is over, and stays. */
	f->gate->maintenance.entered -= 60 * USEC_PER_SEC;
	expect(f, "GET", MAINTENANCE, 200);
	assert_true(says(f, "\"drain_deadline_exceeded\":true") &&
		    says(f, "\"state\":\"maintenance\""));

	call(f, "PUT", MAINTENANCE, "{\"enabled\":false}");
	assert_true(says(f, "\"state\":\"active\""));
	assert_string_equal(string_in(f, "operation_id", again), id);
	call(f, "PUT", MAINTENANCE, "{\"enabled\":false}");
	assert_false(says(f, "operation_id"));
	assert_int_equal(ask(f, &peer, "d"), VERDICT_WAIT);
	gate_peer_lost(f->gate, &peer);
}

/* Rows 310 and 320: it never claims a drain that does not happen. */
static void
maintenance_refuses_only_where_a_haproxy_is(void **state)
{
	struct fixture *f = *state;

	call(f, "PUT", MAINTENANCE, "{\"enabled\":true}");
	assert_true(says(f, "\"refusing_new_inference\":false"));
	gate_peer_greeted(f->gate, turn_enter(f->turn));
	expect(f, "GET", MAINTENANCE, 200);
	assert_true(says(f, "\"refusing_new_inference\":true"));
	/* A health check's connection is gone at once; it counts a while. */
	gate_peer_gone(f->gate);
	expect(f, "GET", MAINTENANCE, 200);
	assert_true(says(f, "\"refusing_new_inference\":true"));
	f->gate->greeted -= GATE_GREETING_TRUST;
	expect(f, "GET", MAINTENANCE, 200);
	assert_true(says(f, "\"refusing_new_inference\":false"));
}

/* Rows 309 and 322. */
static void
maintenance_freezes_the_rules(void **state)
{
	static const char *const faults[] = { "{}", "{\"enabled\":null}", "[]",
					      "x", "" };
	struct fixture *f = *state;

	post(f, RULE(""));
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		call(f, "PUT", MAINTENANCE, faults[i]);
		assert_int_equal(f->status, 400);
	}
	call(f, "PUT", MAINTENANCE, "{\"enabled\":1}");
	assert_int_equal(f->status, 422);

	call(f, "PUT", MAINTENANCE, "{\"enabled\":true}");
	call(f, "POST", RULES, RULE(",\"fc_mode\":\"off\""));
	assert_int_equal(f->status, 503);
	assert_true(has_header(f, "Retry-After: 5\r\n"));
	assert_true(says(f, "\"message\":\"Maintenance mode\""));
	expect(f, "DELETE", ENTRY, 503);
	expect(f, "DELETE", RULES "/all", 503);
	expect(f, "GET", ENTRY, 200);
	call(f, "PUT", MAINTENANCE, "{\"enabled\":false}");
	expect(f, "DELETE", ENTRY, 200);
}

/* A connection that is open when the agent ends is closed with it. */
static void
close_ends_connections(void **state)
{
	struct fixture *f = *state;
	struct bufferevent *client =
		bufferevent_socket_new(f->base, -1, BEV_OPT_CLOSE_ON_FREE);
	static const char half[] = "POST " RULES " HTTP/1.1\r\nHost: agent\r\n"
				   "Content-Length: 100\r\n\r\nhalf";

	bufferevent_setcb(client, on_data, NULL, on_end, f);
	bufferevent_write(client, half, strlen(half));
	bufferevent_enable(client, EV_READ | EV_WRITE);
	bufferevent_socket_connect(client, (struct sockaddr *)&f->address.at,
				   (int)f->address.len);
	expect(f, "GET", "/healthz", 200);
	api_close(&f->api);
	assert_null(f->api);
	run_until_end(f);
	bufferevent_free(client);
}

static void
unix_socket_serves_too(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char folder[] = "/tmp/test_api.XXXXXX";
	char address[64];
	void *inner = f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(address, sizeof(address), "unix:%s/api", folder);
	open_at(f, address);
	expect(f, "GET", "/healthz", 200);
	teardown(&inner);
	assert_int_equal(rmdir(folder), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rule_lives_and_dies),
		TEST(delete_needs_the_whole_key),
		TEST(client_made_delete_is_understood),
		TEST(version_six_may_be_in_brackets),
		TEST(many_rules_go_at_once),
		TEST(patch_reaches_no_rule),
		TEST(faults_of_a_body_are_told),
		TEST(process_tells_of_itself),
		TEST(unknown_calls_are_refused),
		TEST(head_is_get_without_a_body),
		TEST(bodies_are_bounded),
		TEST(one_connection_serves_many),
		TEST(who_got_nowhere_the_longest_makes_room),
		cmocka_unit_test_setup_teardown(who_trickles_is_cut_off,
						setup_impatient, teardown),
		TEST(calls_at_once_are_served_one_a_turn),
		TEST(calls_are_served_in_their_order),
		TEST(close_ends_those_who_wait_for_their_turn),
		TEST(without_descriptors_it_waits_and_does_not_spin),
		TEST(garbage_ends_its_connection),
		TEST(changes_reach_those_who_wait),
		TEST(maintenance_is_entered_and_left),
		TEST(maintenance_refuses_only_where_a_haproxy_is),
		TEST(maintenance_freezes_the_rules),
		TEST(close_ends_connections),
		cmocka_unit_test(unix_socket_serves_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

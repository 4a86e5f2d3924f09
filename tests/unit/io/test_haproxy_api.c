/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_api.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/clock.h"
#include "agent/io/listen_text.h"
#include "agent/io/log.h"
#include "agent/io/turn.h"
#include "tests/cmocka.h"

#define PATIENCE (30 * USEC_PER_SEC)
#define FAKES_MAX 2
#define SESSIONS_MAX 8
#define ROWS_MAX 32

/* While memory is short nobody gets as much as this in one piece. */
#define PIECE_MAX ((size_t)64 * 1024)

/* What a fake writes at a time. */
#define WRITE_MAX ((size_t)4096)

#define HEADER "# pxname,svname,qcur,scur,status,type,addr,\n"

struct fake;

/* One connection to a fake, and what it answers as. */
struct session {
	struct fake *fake;
	struct bufferevent *io; /* NULL: closed */
	char *answer;           /* owned; NULL says nothing */
	size_t questions;
};

/* Takes the place of one HAProxy. */
struct fake {
	struct fixture *fixture;
	struct listen_address address;
	int listener;
	struct event *accept;
	char *answer; /* owned; of sessions to come */
	struct session sessions[SESSIONS_MAX];
	size_t session_count;
};

/* What the gate was told at the last look. */
struct looks {
	size_t count;
	bool begun;
	bool complete;
	size_t rows;
	char row[ROWS_MAX][96];
};

struct fixture {
	struct event_base *base;
	struct event *tick;
	struct turn *turn;
	struct haproxy_api *api;
	struct gate gate;
	struct looks looks;
	char folder[32];
	struct fake fakes[FAKES_MAX];
};

/* ---- in place of the gate ---- */

void
gate_look_begin(struct gate *g, usec_t asked)
{
	struct fixture *f = CONTAINER_OF(g, struct fixture, gate);

	assert_false(f->looks.begun);
	assert_true(asked > 0 && asked <= clock_now());
	f->looks.begun = true;
	f->looks.rows = 0;
}

void
gate_look_server(struct gate *g, const struct server_look *look)
{
	struct fixture *f = CONTAINER_OF(g, struct fixture, gate);

	assert_true(f->looks.begun);
	assert_in_range(f->looks.rows, 0, ROWS_MAX - 1);
	snprintf(f->looks.row[f->looks.rows++], sizeof(f->looks.row[0]),
		 "%.*s/%.*s %u.%u:%u %s %u", (int)look->backend.len,
		 look->backend.at, (int)look->server.len, look->server.at,
		 look->address.bytes[0], look->address.bytes[3], look->port,
		 look->up ? "up" : "down", look->sessions);
}

size_t
gate_look_end(struct gate *g, bool complete, usec_t now)
{
	struct fixture *f = CONTAINER_OF(g, struct fixture, gate);

	assert_true(f->looks.begun);
	assert_true(now > 0);
	f->looks.begun = false;
	f->looks.complete = complete;
	f->looks.count++;
	return 0;
}

/* ---- in place of the system ---- */

static bool memory_is_short;

static void *
take_memory(size_t size)
{
	return memory_is_short && size >= PIECE_MAX ? NULL : malloc(size);
}

static void *
take_more_memory(void *old, size_t size)
{
	return memory_is_short && size >= PIECE_MAX ? NULL : realloc(old, size);
}

/* ---- in place of HAProxy ---- */

static void
reply(struct session *s)
{
	const char *at = s->answer == NULL ? "" : s->answer;
	size_t len = strlen(at);

	s->questions++;
	while (len > 0) {
		size_t piece = len < WRITE_MAX ? len : WRITE_MAX;

		bufferevent_write(s->io, at, piece);
		at += piece;
		len -= piece;
	}
}

static void
on_question(struct bufferevent *io, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(io);
	struct session *s = arg;
	char *line;

	while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF)) != NULL) {
		if (strcmp(line, "prompt") == 0)
			bufferevent_write(io, "\n> ", 3);
		if (strcmp(line, "show info;show stat -1 4 -1") == 0)
			reply(s);
		free(line);
	}
}

static void
hang_up(struct session *s)
{
	bufferevent_free(s->io);
	s->io = NULL;
}

static void
on_left(struct bufferevent *io, short what, void *arg)
{
	(void)io;
	(void)what;
	hang_up(arg);
}

static void
on_accept(evutil_socket_t listener, short what, void *arg)
{
	struct fake *fake = arg;
	struct session *s = &fake->sessions[fake->session_count++];
	int fd = accept(listener, NULL, NULL);

	(void)what;
	assert_true(fd >= 0);
	assert_in_range(fake->session_count, 1, SESSIONS_MAX);
	evutil_make_socket_nonblocking(fd);
	s->fake = fake;
	s->answer = fake->answer == NULL ? NULL : strdup(fake->answer);
	s->io = bufferevent_socket_new(fake->fixture->base, fd,
				       BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(s->io, on_question, NULL, on_left, s);
	bufferevent_enable(s->io, EV_READ | EV_WRITE);
}

static void
fake_listen(struct fake *fake)
{
	const char *step;

	fake->listener = listen_open(&fake->address, SOCK_STREAM, &step);
	assert_true(fake->listener >= 0);
	assert_true(listen_bound(fake->listener, &fake->address));
	fake->accept = event_new(fake->fixture->base, fake->listener,
				 EV_READ | EV_PERSIST, on_accept, fake);
	assert_int_equal(event_add(fake->accept, NULL), 0);
}

static void
set(char **answer, const char *text)
{
	free(*answer);
	*answer = text == NULL ? NULL : strdup(text);
}

static const char *
answer_of(char *text, size_t size, const char *info, const char *rows)
{
	snprintf(text, size, "%s\n" HEADER "%s\n\n> ", info, rows);
	return text;
}

static void
fake_says(struct fake *fake, const char *info, const char *rows)
{
	char text[1024];

	set(&fake->answer, answer_of(text, sizeof(text), info, rows));
}

static void
session_says(struct session *s, const char *info, const char *rows)
{
	char text[1024];

	set(&s->answer, answer_of(text, sizeof(text), info, rows));
}

static void
fake_end(struct fake *fake)
{
	for (size_t i = 0; i < fake->session_count; i++) {
		if (fake->sessions[i].io != NULL)
			hang_up(&fake->sessions[i]);
		free(fake->sessions[i].answer);
	}
	free(fake->answer);
	if (fake->accept != NULL)
		event_free(fake->accept);
	listen_close(fake->listener);
}

/* ---- the loop ---- */

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Runs the loop until the condition holds. */
#define RUN_UNTIL(f, condition)                                                \
	do {                                                                   \
		usec_t begun_ = clock_now();                                   \
		while (!(condition)) {                                         \
			assert_true(clock_now() - begun_ < PATIENCE);          \
			event_base_loop((f)->base, EVLOOP_ONCE);               \
		}                                                              \
	} while (0)

/* Runs it until so many more looks have ended. */
static void
run_looks(struct fixture *f, size_t more)
{
	size_t goal = f->looks.count + more;

	RUN_UNTIL(f, f->looks.count >= goal);
}

static int
begin(void **state)
{
	const struct timeval often = { .tv_usec = 5000 };
	struct fixture *f = calloc(1, sizeof(*f));
	char path[64];

	assert_non_null(f);
	*state = f;
	log_open(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	f->base = event_base_new();
	f->turn = turn_open(f->base);
	f->tick = event_new(f->base, -1, EV_PERSIST, on_tick, NULL);
	assert_int_equal(event_add(f->tick, &often), 0);
	strcpy(f->folder, "/tmp/haproxy-api-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(path, sizeof(path), "unix:%s/s", f->folder);
	assert_null(listen_address_parse(path, &f->fakes[0].address));
	assert_null(listen_address_parse(":0", &f->fakes[1].address));
	for (size_t i = 0; i < FAKES_MAX; i++) {
		f->fakes[i].fixture = f;
		f->fakes[i].listener = -1;
	}
	return 0;
}

static int
end(void **state)
{
	struct fixture *f = *state;

	haproxy_api_close(&f->api);
	assert_null(f->api);
	for (size_t i = 0; i < FAKES_MAX; i++)
		fake_end(&f->fakes[i]);
	turn_close(&f->turn);
	event_free(f->tick);
	event_base_free(f->base);
	assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

static void
look_at_first(struct fixture *f)
{
	f->api = haproxy_api_open(
		f->base, f->turn, &f->gate,
		&(struct haproxy_api_options){
			.addresses = &f->fakes[0].address, .count = 1 });
	assert_non_null(f->api);
}

static void
look_at_both(struct fixture *f)
{
	struct listen_address both[] = { f->fakes[0].address,
					 f->fakes[1].address };

	f->api = haproxy_api_open(
		f->base, f->turn, &f->gate,
		&(struct haproxy_api_options){ .addresses = both, .count = 2 });
	assert_non_null(f->api);
}

static void
assert_rows(const struct fixture *f, size_t count, const char *const *rows)
{
	assert_int_equal(f->looks.rows, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(f->looks.row[i], rows[i]);
}

#define ASSERT_ROWS(f, ...)                                                    \
	do {                                                                   \
		const char *const rows_[] = { __VA_ARGS__ };                   \
		assert_rows((f), ARRAY_LEN(rows_), rows_);                     \
	} while (0)

static uint64_t
looks_with(const struct fixture *f, enum look_result result)
{
	return f->gate.metrics.value[METRIC_haproxy_looks][result];
}

static uint64_t
dropped_lines(const struct fixture *f)
{
	return f->gate.metrics.value[METRIC_log_lines_dropped][0];
}

/* ---- tests ---- */

static void
look_tells_every_server(void **state)
{
	struct fixture *f = *state;

	fake_says(&f->fakes[0], "Pid: 7\n",
		  "b,s1,1,2,UP,2,10.0.0.1:80,\nb,s2,0,0,DOWN,2,10.0.0.2:80,\n"
		  "b,s3,0,1,UP,2,unix,\n");
	fake_listen(&f->fakes[0]);
	look_at_first(f);
	run_looks(f, 1);
	assert_true(f->looks.complete);
	ASSERT_ROWS(f, "b/s1 10.1:80 up 3", "b/s2 10.2:80 down 0");
	assert_int_equal(looks_with(f, LOOK_OK), 1);
}

static void
one_session_serves_every_look(void **state)
{
	struct fixture *f = *state;

	fake_says(&f->fakes[0], "Pid: 7\n", "");
	fake_listen(&f->fakes[0]);
	look_at_first(f);
	run_looks(f, 3);
	assert_true(f->looks.complete);
	assert_int_equal(f->fakes[0].session_count, 1);
	assert_int_equal(f->fakes[0].sessions[0].questions, 3);
}

static void
look_without_one_haproxy_is_not_complete(void **state)
{
	struct fixture *f = *state;

	fake_says(&f->fakes[1], "Pid: 7\n", "b,s,0,0,UP,2,10.0.0.1:80,\n");
	fake_listen(&f->fakes[1]);
	look_at_both(f);
	run_looks(f, 1);
	assert_false(f->looks.complete);
	ASSERT_ROWS(f, "b/s 10.1:80 up 0");
	assert_int_equal(looks_with(f, LOOK_UNREACHABLE), 1);

	fake_says(&f->fakes[0], "Pid: 8\n", "b,s,0,1,UP,2,10.0.0.1:80,\n");
	fake_listen(&f->fakes[0]);
	RUN_UNTIL(f, f->looks.complete);
	ASSERT_ROWS(f, "b/s 10.1:80 up 1", "b/s 10.1:80 up 0");
}

static void
silent_haproxy_holds_the_others_up_for_a_while_only(void **state)
{
	struct fixture *f = *state;

	fake_listen(&f->fakes[0]);
	fake_says(&f->fakes[1], "Pid: 7\n", "b,s,0,0,UP,2,10.0.0.1:80,\n");
	fake_listen(&f->fakes[1]);
	look_at_both(f);
	run_looks(f, 1);
	assert_false(f->looks.complete);
	ASSERT_ROWS(f, "b/s 10.1:80 up 0");
	/* It sent a prompt, so it is there, but makes no sense. */
	assert_int_equal(looks_with(f, LOOK_UNPARSEABLE), 1);
}

static void
garbage_is_not_understood(void **state)
{
	struct fixture *f = *state;
	size_t len = (size_t)17 << 20;
	char *garbage = malloc(len + 1);

	assert_non_null(garbage);
	memset(garbage, 'x', len);
	garbage[len] = '\0';
	set(&f->fakes[0].answer, garbage);
	free(garbage);
	fake_listen(&f->fakes[0]);
	look_at_first(f);
	RUN_UNTIL(f, f->looks.count > 0);
	assert_false(f->looks.complete);
	assert_int_equal(looks_with(f, LOOK_UNPARSEABLE), 1);
	RUN_UNTIL(f, f->fakes[0].sessions[0].io == NULL);
}

/* A look is lost, no more. */
static void
answer_that_finds_no_memory_is_none(void **state)
{
	struct fixture *f = *state;
	char *rows = calloc(1, 2 * PIECE_MAX);
	char *text = malloc(3 * PIECE_MAX);

	assert_non_null(rows);
	assert_non_null(text);
	while (strlen(rows) < PIECE_MAX)
		strcat(rows, "f,FRONTEND,0,0,OPEN,0,a-row-of-a-frontend,\n");
	strcat(rows, "b,s,0,0,UP,2,10.0.0.1:80,\n");
	set(&f->fakes[0].answer,
	    answer_of(text, 3 * PIECE_MAX, "Pid: 7\n", rows));
	free(rows);
	free(text);
	fake_listen(&f->fakes[0]);
	memory_is_short = true;
	look_at_first(f);
	run_looks(f, 1);
	assert_false(f->looks.complete);
	memory_is_short = false;
	RUN_UNTIL(f, f->looks.complete);
	ASSERT_ROWS(f, "b/s 10.1:80 up 0");
}

static void
lost_session_is_opened_again(void **state)
{
	struct fixture *f = *state;

	fake_says(&f->fakes[0], "Pid: 7\n", "");
	fake_listen(&f->fakes[0]);
	look_at_first(f);
	run_looks(f, 1);
	hang_up(&f->fakes[0].sessions[0]);
	run_looks(f, 1);
	assert_true(f->looks.complete);
	assert_int_equal(f->fakes[0].session_count, 2);
	assert_int_equal(looks_with(f, LOOK_UNREACHABLE), 0);
}

static void
replaced_process_is_followed_to_its_last_client(void **state)
{
	struct fixture *f = *state;
	struct fake *fake = &f->fakes[0];

	fake_says(fake, "Pid: 7\nCurrConns: 1\n",
		  "b,s,0,1,UP,2,10.0.0.1:80,\n");
	fake_listen(fake);
	look_at_first(f);
	run_looks(f, 1);

	/* A reload: the old one stops, the socket is the new one's. */
	fake_says(fake, "Pid: 8\n", "b,s,0,2,UP,2,10.0.0.1:80,\n");
	session_says(&fake->sessions[0], "Pid: 7\nCurrConns: 1\nStopping: 1\n",
		     "b,s,0,1,UP,2,10.0.0.1:80,\n");
	run_looks(f, 1);
	assert_false(f->looks.complete);
	assert_int_equal(f->looks.rows, 0);
	run_looks(f, 1);
	assert_true(f->looks.complete);
	ASSERT_ROWS(f, "b/s 10.1:80 down 1", "b/s 10.1:80 up 2");

	session_says(&fake->sessions[0], "Pid: 7\nCurrConns: 0\nStopping: 1\n",
		     "b,s,0,0,UP,2,10.0.0.1:80,\n");
	RUN_UNTIL(f, fake->sessions[0].io == NULL);
	run_looks(f, 1);
	assert_true(f->looks.complete);
	ASSERT_ROWS(f, "b/s 10.1:80 up 2");
	assert_int_equal(looks_with(f, LOOK_UNREACHABLE), 0);
}

static void
stopping_process_that_answers_twice_counts_once(void **state)
{
	struct fixture *f = *state;
	struct fake *fake = &f->fakes[0];

	fake_says(fake, "Pid: 7\nCurrConns: 1\nStopping: 1\n",
		  "b,s,0,1,UP,2,10.0.0.1:80,\n");
	fake_listen(fake);
	look_at_first(f);
	RUN_UNTIL(f, fake->session_count == 2);
	RUN_UNTIL(f, fake->sessions[1].io == NULL);
	assert_non_null(fake->sessions[0].io);
	assert_false(f->looks.complete);
	assert_int_equal(f->looks.rows, 0);
}

static void
lines_that_haproxy_dropped_are_counted(void **state)
{
	struct fixture *f = *state;
	struct fake *fake = &f->fakes[0];

	/* What it dropped before we came is not ours. */
	fake_says(fake, "Pid: 7\nDroppedLogs: 100\n", "");
	fake_listen(fake);
	look_at_first(f);
	run_looks(f, 1);
	assert_int_equal(dropped_lines(f), 0);
	session_says(&fake->sessions[0], "Pid: 7\nDroppedLogs: 103\n", "");
	run_looks(f, 1);
	assert_int_equal(dropped_lines(f), 3);

	/* In another session to the same process nothing counts again. */
	fake_says(fake, "Pid: 7\nDroppedLogs: 104\n", "");
	hang_up(&fake->sessions[0]);
	run_looks(f, 1);
	assert_int_equal(dropped_lines(f), 4);

	/* A new process begins at 0. */
	fake_says(fake, "Pid: 9\nDroppedLogs: 2\n", "");
	hang_up(&fake->sessions[1]);
	run_looks(f, 1);
	assert_int_equal(dropped_lines(f), 6);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(look_tells_every_server),
		TEST(one_session_serves_every_look),
		TEST(look_without_one_haproxy_is_not_complete),
		TEST(silent_haproxy_holds_the_others_up_for_a_while_only),
		TEST(garbage_is_not_understood),
		TEST(answer_that_finds_no_memory_is_none),
		TEST(lost_session_is_opened_again),
		TEST(replaced_process_is_followed_to_its_last_client),
		TEST(stopping_process_that_answers_twice_counts_once),
		TEST(lines_that_haproxy_dropped_are_counted),
	};

	event_set_mem_functions(take_memory, take_more_memory, free);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

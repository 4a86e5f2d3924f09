/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/log_receiver.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/core/log_frame.h"
#include "agent/io/clock.h"
#include "agent/io/listen_text.h"
#include "agent/io/log.h"
#include "agent/io/turn.h"
#include "tests/cmocka.h"

#define PATIENCE (20 * USEC_PER_SEC)

/* What the receiver told the gate. */
struct endings {
	size_t count;
	char id[32];
	char permit[64];
	char verdict[16];
};

struct fixture {
	struct event_base *base;
	struct event *tick;
	struct turn *turn;
	struct log_receiver *receiver;
	struct listen_address address;
	struct gate gate;
	struct endings seen;
	char folder[32];
};

static void
copy(char *to, size_t size, struct text from)
{
	assert_true(from.len < size);
	if (from.len > 0)
		memcpy(to, from.at, from.len);
	to[from.len] = '\0';
}

/* Takes the place of the gate. */
enum line_result
gate_end(struct gate *g, const struct ending *ending, usec_t now)
{
	struct fixture *f = CONTAINER_OF(g, struct fixture, gate);

	assert_true(now > 0);
	f->seen.count++;
	copy(f->seen.id, sizeof(f->seen.id), ending->id);
	copy(f->seen.permit, sizeof(f->seen.permit), ending->permit);
	copy(f->seen.verdict, sizeof(f->seen.verdict), ending->verdict);
	return LINE_RELEASED;
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

static struct fixture *
begin(void **state)
{
	const struct timeval often = { .tv_usec = 5000 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	log_open(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	f->base = event_base_new();
	assert_non_null(f->base);
	f->tick = event_new(f->base, -1, EV_PERSIST, on_tick, NULL);
	assert_non_null(f->tick);
	assert_int_equal(event_add(f->tick, &often), 0);
	f->turn = turn_open(f->base);
	assert_non_null(f->turn);
	return f;
}

static void
open_at(struct fixture *f, const char *address)
{
	const char *step;

	assert_null(listen_address_parse(address, &f->address));
	f->receiver = log_receiver_open(f->base, f->turn, &f->gate, &f->address,
					&step);
	assert_non_null(f->receiver);
	assert_null(listen_address_parse(log_receiver_address(f->receiver),
					 &f->address));
}

static int
on_a_port(void **state)
{
	open_at(begin(state), "127.0.0.1:0");
	return 0;
}

static int
on_a_path(void **state)
{
	struct fixture *f = begin(state);
	char address[64];

	strcpy(f->folder, "/tmp/log-receiver-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(address, sizeof(address), "unix:%s/s", f->folder);
	open_at(f, address);
	return 0;
}

static int
end(void **state)
{
	struct fixture *f = *state;

	log_receiver_close(&f->receiver);
	assert_null(f->receiver);
	turn_close(&f->turn);
	event_free(f->tick);
	event_base_free(f->base);
	if (f->folder[0] != '\0')
		assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

static int
connect_to(const struct fixture *f, int type)
{
	int fd = socket(f->address.at.ss_family, type, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&f->address.at,
				 f->address.len),
			 0);
	return fd;
}

static void
send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

static void
say(int fd, const char *text)
{
	send_all(fd, text, strlen(text));
}

/* Whether the other side has closed, without waiting for it. */
static bool
is_closed(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static uint64_t
other_lines(const struct fixture *f)
{
	return f->gate.metrics.value[METRIC_log_lines][LINE_OTHER];
}

static uint64_t
dropped_lines(const struct fixture *f)
{
	return f->gate.metrics.value[METRIC_log_lines_dropped][0];
}

/* ---- tests ---- */

static void
datagram_ends_its_request(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_DGRAM);

	say(fd, "<134>Nov 30 10:00:00 h haproxy[7]: 1.2.3.4:5 \"GET /\" "
		"admission id=h-7-3-9 permit=a-b verdict=admit state=---- "
		"status=200 server=e1\n");
	RUN_UNTIL(f, f->seen.count == 1);
	assert_string_equal(f->seen.id, "h-7-3-9");
	assert_string_equal(f->seen.permit, "a-b");
	assert_string_equal(f->seen.verdict, "admit");
	assert_int_equal(other_lines(f), 0);
	close(fd);
}

static void
stream_of_either_framing_ends_requests(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_STREAM);

	say(fd, "<134>h: admission id=one permit=- verdict=-\n");
	RUN_UNTIL(f, f->seen.count == 1);
	assert_string_equal(f->seen.id, "one");
	assert_string_equal(f->seen.permit, "");
	say(fd, "21 <134>admission id=two");
	RUN_UNTIL(f, f->seen.count == 2);
	assert_string_equal(f->seen.id, "two");
	say(fd, "<134>admission id=thr");
	say(fd, "ee permit=-\n<134>admission id=four\n");
	RUN_UNTIL(f, f->seen.count == 4);
	assert_string_equal(f->seen.id, "four");
	close(fd);
}

static void
lines_for_others_are_counted(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_DGRAM);

	say(fd, "<133>Nov 30 10:00:00 h haproxy[7]: Proxy fe stopped.");
	say(fd, "");
	say(fd, "\n");
	RUN_UNTIL(f, other_lines(f) == 2 || other_lines(f) == 3);
	assert_int_equal(f->seen.count, 0);
	close(fd);
}

static void
notice_of_loss_is_counted(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_STREAM);

	send_all(fd, "<133>1 - h haproxy 7 - - 12 events dropped\0\n", 44);
	RUN_UNTIL(f, dropped_lines(f) == 12);
	close(fd);
}

/* What the kernel dropped is said by the datagrams that come after. */
static void
overflow_is_counted(void **state)
{
	enum { LINES = 40000 };
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_DGRAM);
	char line[8000];

	memset(line, 'x', sizeof(line));
	memcpy(line + sizeof(line) - 18, " admission id=long", 18);
	for (int i = 0; i < LINES; i++)
		assert_int_equal(send(fd, line, sizeof(line), 0), sizeof(line));
	turn_enter(f->turn);
	assert_in_range(f->seen.count, 1, LINES - 1);

	say(fd, "admission id=last");
	RUN_UNTIL(f, strcmp(f->seen.id, "last") == 0 ||
			     f->seen.count + dropped_lines(f) >= LINES);
	say(fd, "admission id=last");
	RUN_UNTIL(f, strcmp(f->seen.id, "last") == 0);
	assert_true(dropped_lines(f) > 0);
	assert_in_range(f->seen.count + dropped_lines(f), LINES + 1, LINES + 2);
	close(fd);
}

static void
longest_datagram_is_not_cut(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_DGRAM);
	char line[LOG_LINE_MAX];

	memset(line, 'x', sizeof(line));
	memcpy(line + sizeof(line) - 18, " admission id=long", 18);
	send_all(fd, line, sizeof(line));
	RUN_UNTIL(f, f->seen.count == 1);
	assert_string_equal(f->seen.id, "long");
	close(fd);
}

/* Cut where a client wished, it would end another's request. */
static void
cut_datagram_ends_nothing(void **state)
{
	static const char forged[] = " admission id=forged";
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_DGRAM);
	char line[LOG_FRAME_MAX + 32];

	memset(line, 'x', sizeof(line));
	memcpy(line + LOG_FRAME_MAX - strlen(forged), forged, strlen(forged));
	send_all(fd, line, sizeof(line));
	say(fd, "admission id=next");
	RUN_UNTIL(f, f->seen.count > 0);
	assert_string_equal(f->seen.id, "next");
	assert_int_equal(other_lines(f), 1);
	close(fd);
}

static void
turn_begins_with_the_datagrams(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_DGRAM);

	say(fd, "admission id=first");
	turn_enter(f->turn);
	assert_string_equal(f->seen.id, "first");
	close(fd);
}

static void
port_that_is_taken_is_said(void **state)
{
	struct fixture *f = *state;
	const char *step = NULL;

	assert_null(log_receiver_open(f->base, f->turn, &f->gate, &f->address,
				      &step));
	assert_int_equal(errno, EADDRINUSE);
	assert_string_equal(step, "bind");
}

static void
garbage_closes_its_connection(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_STREAM);
	char garbage[4096];

	memset(garbage, 'x', sizeof(garbage));
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (!is_closed(fd)) {
		send_all(fd, garbage, sizeof(garbage));
		event_base_loop(f->base, EVLOOP_ONCE);
	}
	assert_int_equal(f->seen.count, 0);
	close(fd);

	fd = connect_to(f, SOCK_STREAM);
	say(fd, "admission id=after\n");
	RUN_UNTIL(f, f->seen.count == 1);
	close(fd);
}

static void
connections_are_bounded(void **state)
{
	enum { MOST = 64 };
	struct fixture *f = *state;
	int fds[MOST], extra;

	for (size_t i = 0; i < MOST; i++) {
		fds[i] = connect_to(f, SOCK_STREAM);
		say(fds[i], "admission id=x\n");
	}
	RUN_UNTIL(f, f->seen.count == MOST);
	extra = connect_to(f, SOCK_STREAM);
	RUN_UNTIL(f, is_closed(extra));
	close(extra);

	/* One that leaves makes room. */
	close(fds[0]);
	do {
		extra = connect_to(f, SOCK_STREAM);
		say(extra, "admission id=y\n");
		RUN_UNTIL(f, is_closed(extra) || f->seen.count > MOST);
		if (f->seen.count == MOST)
			close(extra);
	} while (f->seen.count == MOST);
	close(extra);
	for (size_t i = 1; i < MOST; i++)
		close(fds[i]);
}

static void
no_descriptors_do_not_spin(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f, SOCK_STREAM);
	int lowest = dup(fd);
	struct rlimit before, none;
	usec_t begun = clock_now();
	size_t turns = 0;

	say(fd, "admission id=late\n");
	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)lowest;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	while (clock_now() - begun < USEC_PER_SEC / 2) {
		event_base_loop(f->base, EVLOOP_ONCE);
		turns++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(f->seen.count, 0);
	assert_in_range(turns, 1, 300);

	RUN_UNTIL(f, f->seen.count == 1);
	close(fd);
}

int
main(void)
{
#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, end)
	const struct CMUnitTest tests[] = {
		TEST(datagram_ends_its_request, on_a_port),
		TEST(datagram_ends_its_request, on_a_path),
		TEST(stream_of_either_framing_ends_requests, on_a_port),
		TEST(lines_for_others_are_counted, on_a_port),
		TEST(notice_of_loss_is_counted, on_a_port),
		TEST(overflow_is_counted, on_a_port),
		TEST(longest_datagram_is_not_cut, on_a_port),
		TEST(cut_datagram_ends_nothing, on_a_port),
		TEST(longest_datagram_is_not_cut, on_a_path),
		TEST(turn_begins_with_the_datagrams, on_a_port),
		TEST(turn_begins_with_the_datagrams, on_a_path),
		TEST(port_that_is_taken_is_said, on_a_port),
		TEST(port_that_is_taken_is_said, on_a_path),
		TEST(garbage_closes_its_connection, on_a_port),
		TEST(connections_are_bounded, on_a_port),
		TEST(no_descriptors_do_not_spin, on_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

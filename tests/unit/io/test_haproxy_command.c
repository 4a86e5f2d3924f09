/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_command.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/io/listen_text.h"
#include "tests/cmocka.h"

/* More than is read of an answer. */
#define TOO_LONG ((size_t)128 << 10)

struct fixture {
	struct event_base *base;
	struct haproxy_command command;
	struct listen_address address;
	int listener, peer;
	struct event *accept;
	const char *answer; /* NULL: it says nothing */
	bool closes;
	unsigned said;
	char text[256];
	char failed[64];
};

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;

	(void)what;
	f->peer = accept(fd, NULL, NULL);
	evutil_make_socket_nonblocking(f->peer);
	if (f->answer != NULL)
		(void)!write(f->peer, f->answer, strlen(f->answer));
	if (f->closes) {
		char line[128];

		/* As who has read what it was sent. */
		(void)!read(f->peer, line, sizeof(line));
		close(f->peer);
		f->peer = -1;
	}
}

static void
on_said(void *arg, struct text answer, const char *failed)
{
	struct fixture *f = arg;

	f->said++;
	snprintf(f->text, sizeof(f->text), "%.*s", (int)answer.len, answer.at);
	snprintf(f->failed, sizeof(f->failed), "%s",
		 failed == NULL ? "" : failed);
	assert_false(haproxy_command_is_busy(&f->command));
	event_base_loopbreak(f->base);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *step;

	*state = f;
	f->base = event_base_new();
	f->peer = -1;
	assert_null(listen_address_parse("127.0.0.1:0", &f->address));
	f->listener = listen_open(&f->address, SOCK_STREAM, &step);
	assert_true(listen_bound(f->listener, &f->address));
	f->accept = event_new(f->base, f->listener, EV_READ | EV_PERSIST,
			      on_accept, f);
	event_add(f->accept, NULL);
	haproxy_command_init(&f->command, f->base, &f->address, on_said, f);
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	haproxy_command_fini(&f->command);
	event_free(f->accept);
	listen_close(f->listener);
	if (f->peer >= 0)
		close(f->peer);
	event_base_free(f->base);
	free(f);
	return 0;
}

static void
send_and_wait(struct fixture *f)
{
	assert_true(haproxy_command_send(&f->command, "show info\n"));
	assert_true(haproxy_command_is_busy(&f->command));
	event_base_dispatch(f->base);
	assert_int_equal(f->said, 1);
}

static void
answer_is_what_came_until_the_end(void **state)
{
	struct fixture *f = *state;

	f->answer = "New server registered.\n\n";
	f->closes = true;
	send_and_wait(f);
	assert_string_equal(f->text, f->answer);
	assert_string_equal(f->failed, "");
}

static void
silence_ends_it(void **state)
{
	struct fixture *f = *state;

	send_and_wait(f);
	assert_string_equal(f->failed, "no answer in time");
}

static void
flood_ends_it(void **state)
{
	struct fixture *f = *state;
	char *flood = malloc(TOO_LONG);

	memset(flood, 'x', TOO_LONG);
	flood[TOO_LONG - 1] = '\0';
	f->answer = flood;
	send_and_wait(f);
	assert_string_equal(f->failed, "the answer is too long");
	free(flood);
}

/* Nothing is told of one that was broken off. */
static void
it_is_broken_off(void **state)
{
	struct fixture *f = *state;

	assert_true(haproxy_command_send(&f->command, "show info\n"));
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	haproxy_command_fini(&f->command);
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(f->said, 0);
}

static void
complaints_are_told_from_good_news(void **state)
{
	struct text answer = text_of("\nNew server registered.\n\nServer "
				     "deleted.\nNo such backend.\n\nAlas.");
	struct text line;

	(void)state;
	assert_true(haproxy_command_complaint(&answer, &line));
	assert_true(text_is(line, "No such backend."));
	assert_true(haproxy_command_complaint(&answer, &line));
	assert_true(text_is(line, "Alas."));
	assert_false(haproxy_command_complaint(&answer, &line));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answer_is_what_came_until_the_end),
		TEST(silence_ends_it),
		TEST(flood_ends_it),
		TEST(it_is_broken_off),
		TEST(complaints_are_told_from_good_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

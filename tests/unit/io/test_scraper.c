/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/scraper.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
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
#include "tests/unit/core/kit.h"

#define PATIENCE_SECONDS 20
#define INTERVAL (50 * USEC_PER_MSEC)
#define ANSWER_PATIENCE (200 * USEC_PER_MSEC)

#define OK "HTTP/1.1 200 OK\r\n"
#define PAGE(n) "vllm:num_requests_waiting{a=\"b\"} " #n "\n"
#define LEN(n) "Content-Length: " #n "\r\n\r\n"

/* What the engine does with a question. */
struct behaviour {
	const char *answer; /* NULL: it says nothing */
	bool closes;        /* behind the answer */
	bool resets;        /* instead of an answer */
	bool endless;       /* the answer again and again */
};

struct fixture {
	struct event_base *base;
	struct turn *turn;
	struct gate *gate;
	struct scraper *scraper;

	int listener;
	struct event *accept;
	unsigned port;
	struct behaviour behaviour;
	size_t connections, open, questions;
	char question[512]; /* the last one */

	bool (*until)(const struct fixture *f);
};

/* ---- the engine ---- */

static void
hang_up(struct fixture *f, struct bufferevent *io)
{
	f->open--;
	bufferevent_free(io);
}

static void
on_written(struct bufferevent *io, void *arg)
{
	struct fixture *f = arg;
	const char *answer = f->behaviour.answer;

	if (f->behaviour.endless && f->questions > 0)
		bufferevent_write(io, answer, strlen(answer));
	else if (f->behaviour.closes && f->questions > 0)
		hang_up(f, io);
}

static void
reset(struct fixture *f, struct bufferevent *io)
{
	const struct linger none = { .l_onoff = 1 };

	setsockopt(bufferevent_getfd(io), SOL_SOCKET, SO_LINGER, &none,
		   sizeof(none));
	hang_up(f, io);
}

static void
on_question(struct bufferevent *io, void *arg)
{
	struct fixture *f = arg;
	struct evbuffer *in = bufferevent_get_input(io);
	size_t len = evbuffer_get_length(in);

	assert_true(len < sizeof(f->question));
	evbuffer_copyout(in, f->question, len);
	f->question[len] = '\0';
	if (strstr(f->question, "\r\n\r\n") == NULL)
		return;
	evbuffer_drain(in, len);
	f->questions++;
	if (f->behaviour.resets)
		reset(f, io);
	else if (f->behaviour.answer != NULL)
		bufferevent_write(io, f->behaviour.answer,
				  strlen(f->behaviour.answer));
}

static void
on_gone(struct bufferevent *io, short what, void *arg)
{
	(void)what;
	hang_up(arg, io);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;
	int peer = accept(fd, NULL, NULL);
	struct bufferevent *io;

	(void)what;
	if (peer < 0)
		return;
	evutil_make_socket_nonblocking(peer);
	f->connections++;
	f->open++;
	io = bufferevent_socket_new(f->base, peer, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(io, on_question, on_written, on_gone, f);
	bufferevent_enable(io, EV_READ | EV_WRITE);
}

/* ---- the gate and its rule ---- */

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
	return gate_new(&options, &env, clock_now());
}

/* The rule whose one endpoint is the engine. */
static void
put_rule(struct fixture *f, const char *words)
{
	char rule[256];

	snprintf(rule, sizeof(rule), "mode=enforce endpoints=127.0.0.1:%u %s",
		 f->port, words);
	assert_int_not_equal(gate_put(f->gate, kit_rule(rule), clock_now()),
			     GATE_NO_MEMORY);
	scraper_follow(f->scraper);
}

static const struct endpoint *
engine(const struct fixture *f)
{
	return &TAILQ_FIRST(&f->gate->pools)->endpoints[0];
}

static uint64_t
scrapes(const struct fixture *f, enum scrape_result result)
{
	return f->gate->metrics.value[METRIC_scrapes][result];
}

/* ---- the loop ---- */

static void
look(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;

	(void)fd;
	(void)what;
	if (f->until(f))
		event_base_loopbreak(f->base);
}

static void
give_up(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	fail_msg("it did not come");
}

static void
wait_until(struct fixture *f, bool (*condition)(const struct fixture *f))
{
	const struct timeval often = { 0, 2000 };
	const struct timeval late = { PATIENCE_SECONDS, 0 };
	struct event *again = event_new(f->base, -1, EV_PERSIST, look, f);
	struct event *end = event_new(f->base, -1, 0, give_up, f);

	f->until = condition;
	event_add(again, &often);
	event_add(end, &late);
	event_base_dispatch(f->base);
	event_free(again);
	event_free(end);
}

static bool
is_counted(const struct fixture *f)
{
	return scrapes(f, SCRAPE_OK) > 0;
}

/* ---- set up ---- */

static void
open_engine(struct fixture *f)
{
	struct listen_address address;
	const char *step;

	assert_null(listen_address_parse("127.0.0.1:0", &address));
	f->listener = listen_open(&address, SOCK_STREAM, &step);
	assert_true(f->listener >= 0);
	assert_true(listen_bound(f->listener, &address));
	f->port = listen_address_port(&address);
	f->accept = event_new(f->base, f->listener, EV_READ | EV_PERSIST,
			      on_accept, f);
	event_add(f->accept, NULL);
}

static int
setup(void **state)
{
	const struct scraper_options options = { INTERVAL, ANSWER_PATIENCE };
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->base = event_base_new();
	f->turn = turn_open(f->base);
	f->gate = gate_without_rules();
	f->scraper = scraper_open(f->base, f->turn, f->gate, &options);
	assert_non_null(f->scraper);
	open_engine(f);
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	scraper_close(&f->scraper);
	/* The engine sees that its connections are closed. */
	while (f->open > 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	event_free(f->accept);
	listen_close(f->listener);
	gate_free(&f->gate);
	turn_close(&f->turn);
	event_base_free(f->base);
	free(f);
	return 0;
}

/* ---- tests ---- */

/* Rows 210, 212, 213. */
static void
adaptive_rule_has_its_engines_asked(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(37) PAGE(17) "\n";
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, is_counted);
	assert_int_equal(engine(f)->waiting, 17);
	assert_true(engine(f)->reported > 0);
	assert_int_equal(strncmp(f->question, "GET /metrics HTTP/1.1\r\n", 23),
			 0);
}

static bool
is_asked_again(const struct fixture *f)
{
	return scrapes(f, SCRAPE_OK) >= 5;
}

/* One connection serves all of them. */
static void
engine_is_asked_again_and_again(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(36) PAGE(3) "\n";
	put_rule(f, "max_outstanding=8 adaptive=sample");
	wait_until(f, is_asked_again);
	assert_int_equal(engine(f)->waiting, 3);
	assert_int_equal(f->connections, 1);
}

static bool
is_time_enough(const struct fixture *f)
{
	static usec_t begun;

	if (begun == 0)
		begun = clock_now();
	(void)f;
	return clock_now() - begun > 4 * INTERVAL;
}

/* Row 211. */
static void
other_rules_have_nobody_asked(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(36) PAGE(3) "\n";
	put_rule(f, "max_outstanding=8");
	wait_until(f, is_time_enough);
	assert_int_equal(f->connections, 0);
	/* And once it adapts, it is at once. */
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, is_counted);
}

static void
expect(struct fixture *f, const char *answer, enum scrape_result result,
       bool (*condition)(const struct fixture *f))
{
	f->behaviour.answer = answer;
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, condition);
	assert_true(scrapes(f, result) > 0);
	assert_int_equal(engine(f)->reported, 0);
	assert_int_equal(scrapes(f, SCRAPE_OK), 0);
}

static bool
is_http_error(const struct fixture *f)
{
	return scrapes(f, SCRAPE_HTTP_ERROR) > 0;
}

static void
an_error_is_no_evidence(void **state)
{
	expect(*state, "HTTP/1.1 500 No\r\n" LEN(37) PAGE(17) "\n",
	       SCRAPE_HTTP_ERROR, is_http_error);
}

/* It would say where we go. */
static void
a_redirect_leads_nowhere(void **state)
{
	struct fixture *f = *state;

	expect(f, "HTTP/1.1 302 There\r\nLocation: /metrics\r\n" LEN(0),
	       SCRAPE_HTTP_ERROR, is_http_error);
	assert_true(f->questions <= scrapes(f, SCRAPE_HTTP_ERROR) + 1);
}

static bool
is_unknown(const struct fixture *f)
{
	return scrapes(f, SCRAPE_UNKNOWN) > 0;
}

static void
an_engine_that_we_do_not_know_is_no_evidence(void **state)
{
	expect(*state, OK LEN(9) "up 1\n\n\n\n\n", SCRAPE_UNKNOWN, is_unknown);
}

static bool
is_unparseable(const struct fixture *f)
{
	return scrapes(f, SCRAPE_UNPARSEABLE) > 0;
}

static void
a_page_that_is_none_is_unparseable(void **state)
{
	expect(*state, OK LEN(15) "<html></html>\n\n", SCRAPE_UNPARSEABLE,
	       is_unparseable);
}

static bool
is_body_error(const struct fixture *f)
{
	return scrapes(f, SCRAPE_BODY_ERROR) > 0;
}

static void
half_a_page_is_no_evidence(void **state)
{
	struct fixture *f = *state;

	f->behaviour.closes = true;
	expect(f, OK LEN(1000) PAGE(17), SCRAPE_BODY_ERROR, is_body_error);
}

static void
a_page_that_does_not_end_costs_its_patience(void **state)
{
	expect(*state, OK LEN(1000) PAGE(17), SCRAPE_BODY_ERROR, is_body_error);
}

static void
an_endless_page_costs_its_bound(void **state)
{
	struct fixture *f = *state;
	char *page = malloc(1 << 20);
	size_t len = (size_t)snprintf(page, 64, "%s\r\n", OK);

	memset(page + len, '#', (1 << 20) - len - 1);
	page[(1 << 20) - 1] = '\0';
	f->behaviour.endless = true;
	expect(f, page, SCRAPE_UNPARSEABLE, is_unparseable);
	f->behaviour.answer = OK;
	f->behaviour.endless = false;
	free(page);
}

static bool
is_unreachable(const struct fixture *f)
{
	return scrapes(f, SCRAPE_UNREACHABLE) > 0;
}

static void
a_silent_engine_is_unreachable(void **state)
{
	expect(*state, NULL, SCRAPE_UNREACHABLE, is_unreachable);
}

static void
a_reset_is_unreachable(void **state)
{
	struct fixture *f = *state;

	f->behaviour.resets = true;
	expect(f, NULL, SCRAPE_UNREACHABLE, is_unreachable);
}

static bool
is_asked(const struct fixture *f)
{
	return f->questions > 0;
}

/* Its rule goes while it is asked. */
static void
who_is_not_wanted_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, is_asked);
	gate_delete(f->gate, TAILQ_FIRST(&f->gate->rules.services),
		    clock_now());
	scraper_follow(f->scraper);
	/* What is freed twice or too early shows with the next one. */
	f->behaviour.answer = OK LEN(36) PAGE(3) "\n";
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, is_counted);
}

/* Nothing of what it has under way is left behind. */
static void
it_closes_amid_a_question(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, is_asked);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(adaptive_rule_has_its_engines_asked),
		TEST(engine_is_asked_again_and_again),
		TEST(other_rules_have_nobody_asked),
		TEST(an_error_is_no_evidence),
		TEST(a_redirect_leads_nowhere),
		TEST(an_engine_that_we_do_not_know_is_no_evidence),
		TEST(a_page_that_is_none_is_unparseable),
		TEST(half_a_page_is_no_evidence),
		TEST(a_page_that_does_not_end_costs_its_patience),
		TEST(an_endless_page_costs_its_bound),
		TEST(a_silent_engine_is_unreachable),
		TEST(a_reset_is_unreachable),
		TEST(who_is_not_wanted_is_not_waited_for),
		TEST(it_closes_amid_a_question),
	};

	log_open(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/scraper.h"

#include <curl/curl.h>
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

#define PATIENCE_SECONDS 8
#define INTERVAL (20 * USEC_PER_MSEC)
#define ANSWER_PATIENCE (100 * USEC_PER_MSEC)
#define LONG (60 * USEC_PER_SEC)
#define AT_ONCE 2
#define ENGINES 6

#define OK "HTTP/1.1 200 OK\r\n"
#define PAGE(n) "vllm:num_requests_waiting{a=\"b\"} " #n "\n"
#define LEN(n) "Content-Length: " #n "\r\n\r\n"

/* What the engines do with a question. */
struct behaviour {
	const char *answer; /* NULL: it says nothing */
	const char *more;   /* what follows it again and again, or NULL */
	bool closes;        /* behind the answer */
	bool resets;        /* instead of an answer */
};

struct engine {
	struct fixture *f;
	int listener;
	struct event *accept;
	unsigned port;
	size_t connections;
};

struct fixture {
	struct event_base *base;
	struct turn *turn;
	struct gate *gate;
	struct scraper *scraper;

	struct engine engines[ENGINES];
	struct behaviour behaviour;
	size_t connections, open, questions;
	char question[512]; /* the last one */

	usec_t begun;
	size_t wanted; /* of what is waited for */
	bool (*until)(const struct fixture *f);
	bool gave_up;
};

/* ---- memory that is short, for libevent ---- */

/* How many allocations from now the one that fails is; 0: none does. */
static size_t failing;

static bool
fails(void)
{
	return failing > 0 && --failing == 0;
}

static void *
take(size_t size)
{
	return fails() ? NULL : malloc(size);
}

static void *
take_more(void *at, size_t size)
{
	return fails() ? NULL : realloc(at, size);
}

/* ---- a curl that forgets ---- */

CURLMcode __real_curl_multi_socket_action(CURLM *curl, curl_socket_t fd,
					  int what, int *running);
CURLMcode __wrap_curl_multi_socket_action(CURLM *curl, curl_socket_t fd,
					  int what, int *running);

static bool forgetful;

CURLMcode
__wrap_curl_multi_socket_action(CURLM *curl, curl_socket_t fd, int what,
				int *running)
{
	if (forgetful)
		return CURLM_OUT_OF_MEMORY;
	return __real_curl_multi_socket_action(curl, fd, what, running);
}

/* ---- the engines ---- */

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
	const char *more = f->behaviour.more;

	if (more != NULL)
		bufferevent_write(io, more, strlen(more));
	else if (f->behaviour.closes)
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

static void on_question(struct bufferevent *io, void *arg);
static void on_gone(struct bufferevent *io, short what, void *arg);

static void
answer(struct fixture *f, struct bufferevent *io)
{
	const char *text = f->behaviour.answer;

	bufferevent_setcb(io, on_question, on_written, on_gone, f);
	bufferevent_write(io, text, strlen(text));
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
		answer(f, io);
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
	struct engine *engine = arg;
	struct fixture *f = engine->f;
	int peer = accept(fd, NULL, NULL);
	struct bufferevent *io;

	(void)what;
	if (peer < 0)
		return;
	evutil_make_socket_nonblocking(peer);
	io = bufferevent_socket_new(f->base, peer, BEV_OPT_CLOSE_ON_FREE);
	if (io == NULL) {
		close(peer);
		return;
	}
	engine->connections++;
	f->connections++;
	f->open++;
	bufferevent_setcb(io, on_question, NULL, on_gone, f);
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

static void
put_words(struct fixture *f, const char *words)
{
	assert_int_not_equal(gate_put(f->gate, kit_rule(words), clock_now()),
			     GATE_NO_MEMORY);
	scraper_follow(f->scraper);
}

/* The rule whose one endpoint is the first engine. */
static void
put_rule(struct fixture *f, const char *words)
{
	char rule[256];

	snprintf(rule, sizeof(rule), "mode=enforce endpoints=127.0.0.1:%u %s",
		 f->engines[0].port, words);
	put_words(f, rule);
}

#define HOW_IT_ADAPTS "mode=enforce max_outstanding=8 adaptive=on endpoints="

/* And the one that has these of them. */
static void
put_engines(struct fixture *f, size_t from, size_t to)
{
	char rule[256] = HOW_IT_ADAPTS;
	size_t len = strlen(rule);

	for (size_t i = from; i < to; i++)
		len += (size_t)snprintf(rule + len, sizeof(rule) - len,
					"%s127.0.0.1:%u", i > from ? "," : "",
					f->engines[i].port);
	put_words(f, rule);
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
	struct fixture *f = arg;

	(void)fd;
	(void)what;
	f->gave_up = true;
	event_base_loopbreak(f->base);
}

static void
wait_until(struct fixture *f, bool (*condition)(const struct fixture *f))
{
	const struct timeval often = { 0, 2000 };
	const struct timeval late = { PATIENCE_SECONDS, 0 };
	size_t failing_before = failing;
	struct event *again, *end;

	failing = 0;
	again = event_new(f->base, -1, EV_PERSIST, look, f);
	end = event_new(f->base, -1, 0, give_up, f);
	f->until = condition;
	event_add(again, &often);
	event_add(end, &late);
	failing = failing_before;
	event_base_dispatch(f->base);
	event_free(again);
	event_free(end);
	assert_false(f->gave_up);
}

static bool
is_counted(const struct fixture *f)
{
	return scrapes(f, SCRAPE_OK) > 0;
}

static bool
are_counted(const struct fixture *f)
{
	return scrapes(f, SCRAPE_OK) >= f->wanted;
}

static void
wait_until_counted(struct fixture *f, size_t more)
{
	f->wanted = scrapes(f, SCRAPE_OK) + more;
	wait_until(f, are_counted);
}

static bool
is_later(const struct fixture *f)
{
	return clock_now() - f->begun >= 4 * INTERVAL;
}

/* Some turns of the engines, had they any. */
static void
wait_turns(struct fixture *f)
{
	f->begun = clock_now();
	wait_until(f, is_later);
}

static usec_t
took(const struct fixture *f)
{
	return clock_now() - f->begun;
}

/* ---- set up ---- */

static bool
open_engine(struct engine *engine, const char *at)
{
	struct listen_address address;
	const char *step;

	assert_null(listen_address_parse(at, &address));
	engine->listener = listen_open(&address, SOCK_STREAM, &step);
	if (engine->listener < 0)
		return false;
	assert_true(listen_bound(engine->listener, &address));
	engine->port = listen_address_port(&address);
	engine->accept = event_new(engine->f->base, engine->listener,
				   EV_READ | EV_PERSIST, on_accept, engine);
	event_add(engine->accept, NULL);
	return true;
}

static void
close_engine(struct engine *engine)
{
	event_free(engine->accept);
	listen_close(engine->listener);
}

static void
open_scraper(struct fixture *f, usec_t interval, usec_t patience)
{
	const struct scraper_options options = { interval, patience, AT_ONCE };

	scraper_close(&f->scraper);
	f->scraper = scraper_open(f->base, f->turn, f->gate, &options);
	assert_non_null(f->scraper);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->base = event_base_new();
	f->turn = turn_open(f->base);
	f->gate = gate_without_rules();
	open_scraper(f, INTERVAL, ANSWER_PATIENCE);
	for (size_t i = 0; i < ENGINES; i++) {
		f->engines[i].f = f;
		assert_true(open_engine(&f->engines[i], "127.0.0.1:0"));
	}
	f->begun = clock_now();
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	failing = 0;
	scraper_close(&f->scraper);
	/* The engines see that their connections are closed. */
	while (f->open > 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	for (size_t i = 0; i < ENGINES; i++)
		close_engine(&f->engines[i]);
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

/* One connection serves all of them. */
static void
engine_is_asked_again_and_again(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(36) PAGE(3) "\n";
	put_rule(f, "max_outstanding=8 adaptive=sample");
	wait_until_counted(f, 5);
	assert_int_equal(engine(f)->waiting, 3);
	assert_int_equal(f->connections, 1);
}

/* Nothing is left of what they were asked either. */
static void
nobody_is_asked(struct fixture *f)
{
	size_t before = f->questions;

	wait_turns(f);
	assert_int_equal(f->questions, before);
	assert_int_equal(f->open, 0);
}

/* Row 211: a change of the rule is followed at once. */
static void
other_rules_have_nobody_asked(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	f->behaviour.closes = true;
	put_rule(f, "max_outstanding=8");
	nobody_is_asked(f);
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until_counted(f, 1);
	put_rule(f, "max_outstanding=8 adaptive=off");
	nobody_is_asked(f);
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until_counted(f, 1);
	put_rule(f, "mode=off max_outstanding=8 adaptive=on");
	nobody_is_asked(f);
}

/* Interface 6.27. */
static void
pairs_have_their_engines_asked(void **state)
{
	struct fixture *f = *state;
	char rule[128];

	f->behaviour.answer = OK LEN(35) PAGE(3);
	snprintf(rule, sizeof(rule),
		 "mode=enforce pd endpoints=127.0.0.1:%u@prefill,"
		 "127.0.0.1:%u@decode",
		 f->engines[0].port, f->engines[1].port);
	put_words(f, rule);
	wait_until_counted(f, 4);
	assert_int_equal(f->engines[0].connections, 1);
	assert_int_equal(f->engines[1].connections, 1);
}

/* Row 210: once in an interval, however many rules it is of. */
static void
an_engine_of_two_rules_is_asked_once(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	put_rule(f, "port=8081 max_outstanding=8 adaptive=on");
	put_rule(f, "port=8082 max_outstanding=8 adaptive=on");
	wait_until_counted(f, 6);
	assert_true(took(f) >= 5 * INTERVAL);
	assert_true(engine(f)->reported > 0);
	assert_true(TAILQ_NEXT(TAILQ_FIRST(&f->gate->pools), link)
			    ->endpoints[0]
			    .reported > 0);
}

static void
they_are_asked_one_after_the_other(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	open_scraper(f, 10 * INTERVAL, LONG);
	f->begun = clock_now();
	put_engines(f, 0, ENGINES);
	wait_until_counted(f, ENGINES);
	assert_true(took(f) >= 10 * INTERVAL * (ENGINES - 1) / ENGINES);
	for (size_t i = 0; i < ENGINES; i++)
		assert_int_equal(f->engines[i].connections, 1);
}

static bool
are_asked(const struct fixture *f)
{
	return f->questions >= f->wanted;
}

/* And nobody is left out: those that it cannot ask yet it asks later. */
static void
few_are_asked_at_the_same_time(void **state)
{
	struct fixture *f = *state;

	put_engines(f, 0, ENGINES);
	f->wanted = ENGINES;
	wait_until(f, are_asked);
	assert_true(took(f) >= ANSWER_PATIENCE * (ENGINES / AT_ONCE - 1));
	for (size_t i = 0; i < ENGINES; i++)
		assert_int_equal(f->engines[i].connections, 1);
}

/* And one that no rule has any more is let go. */
static void
who_comes_with_a_new_rule_is_asked_at_once(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	open_scraper(f, LONG, ANSWER_PATIENCE);
	for (size_t i = 0; i < 3; i++) {
		put_engines(f, i, i + 1);
		wait_until_counted(f, 1);
		assert_int_equal(f->engines[i].connections, 1);
	}
	assert_int_equal(f->questions, 3);
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
	open_scraper(*state, LONG, ANSWER_PATIENCE);
	expect(*state, OK LEN(1000) PAGE(17), SCRAPE_BODY_ERROR, is_body_error);
}

/* As long as many pieces are, all of them x. */
static char *
long_piece(void)
{
	size_t len = (size_t)1 << 20;
	char *piece = malloc(len);

	memset(piece, 'x', len - 1);
	piece[0] = '#';
	piece[len - 2] = '\n';
	piece[len - 1] = '\0';
	return piece;
}

static void
an_endless_page_costs_its_bound(void **state)
{
	struct fixture *f = *state;
	char *piece = long_piece();

	f->behaviour.more = piece;
	open_scraper(f, INTERVAL, LONG);
	expect(f, OK "\r\n", SCRAPE_BODY_ERROR, is_body_error);
	scraper_close(&f->scraper);
	f->behaviour.more = NULL;
	free(piece);
}

/* It is counted with the page, whose bound it so has. */
static void
an_endless_head_is_no_evidence(void **state)
{
	struct fixture *f = *state;

	f->behaviour.more = "A-Header: of-some-length\r\n";
	open_scraper(f, INTERVAL, LONG);
	expect(f, OK, SCRAPE_BODY_ERROR, is_body_error);
}

static void
a_page_comes_in_chunks(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK "Transfer-Encoding: chunked\r\n\r\n"
				 "14\r\nvllm:num_requests_wa\r\n"
				 "10\r\niting{a=\"b\"} 17\n\r\n0\r\n\r\n";
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until_counted(f, 2);
	assert_int_equal(engine(f)->waiting, 17);
	assert_int_equal(f->connections, 1);
}

static void
a_page_ends_where_its_connection_does(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = "HTTP/1.0 200 OK\r\n\r\n" PAGE(17);
	f->behaviour.closes = true;
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until_counted(f, 3);
	assert_int_equal(engine(f)->waiting, 17);
	assert_int_equal(scrapes(f, SCRAPE_UNREACHABLE), 0);
}

/* Nor does anything but HTTP. */
static void
another_protocol_is_no_evidence(void **state)
{
	struct fixture *f = *state;

	f->behaviour.closes = true;
	expect(f, PAGE(17), SCRAPE_HTTP_ERROR, is_http_error);
}

/* The environment sends us nowhere, and no coding is asked for. */
static void
an_engine_is_asked_itself_and_in_plain_text(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	setenv("http_proxy", "http://127.0.0.1:1/", 1);
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until_counted(f, 1);
	unsetenv("http_proxy");
	assert_int_equal(scrapes(f, SCRAPE_UNREACHABLE), 0);
	assert_null(strstr(f->question, "Encoding"));
}

static void
an_engine_may_have_an_address_of_ipv6(void **state)
{
	struct fixture *f = *state;
	struct engine six = { .f = f };
	char rule[128];

	if (!open_engine(&six, "[::1]:0"))
		skip();
	f->behaviour.answer = OK LEN(37) PAGE(17) "\n";
	snprintf(rule, sizeof(rule), HOW_IT_ADAPTS "[::1]:%u", six.port);
	put_words(f, rule);
	wait_until_counted(f, 1);
	assert_int_equal(engine(f)->waiting, 17);
	assert_int_equal(six.connections, 1);
	close_engine(&six);
}

static bool
is_unreachable(const struct fixture *f)
{
	return scrapes(f, SCRAPE_UNREACHABLE) > 0;
}

static void
a_silent_engine_is_unreachable(void **state)
{
	open_scraper(*state, LONG, ANSWER_PATIENCE);
	expect(*state, NULL, SCRAPE_UNREACHABLE, is_unreachable);
}

static void
a_reset_is_unreachable(void **state)
{
	struct fixture *f = *state;

	f->behaviour.resets = true;
	expect(f, NULL, SCRAPE_UNREACHABLE, is_unreachable);
}

static void
nobody_there_is_unreachable(void **state)
{
	struct fixture *f = *state;

	close_engine(&f->engines[0]);
	expect(f, NULL, SCRAPE_UNREACHABLE, is_unreachable);
	assert_true(open_engine(&f->engines[0], "127.0.0.1:0"));
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

/* ---- what is said of it ---- */

static size_t
lines_with(const char *text, const char *words)
{
	size_t count = 0;

	for (; (text = strstr(text, words)) != NULL; text += strlen(words))
		count++;
	return count;
}

static bool
is_often_an_error(const struct fixture *f)
{
	return scrapes(f, SCRAPE_HTTP_ERROR) >= 3;
}

static void
what_is_new_of_an_engine_is_said_once(void **state)
{
	struct fixture *f = *state;
	int before = dup(STDERR_FILENO);
	FILE *said = tmpfile();
	char text[4096];
	size_t len;

	dup2(fileno(said), STDERR_FILENO);
	log_open(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	f->behaviour.answer = "HTTP/1.1 500 No\r\n" LEN(0);
	put_rule(f, "max_outstanding=8 adaptive=on");
	wait_until(f, is_often_an_error);
	f->behaviour.answer = OK LEN(35) PAGE(3);
	wait_until_counted(f, 3);
	log_open(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	dup2(before, STDERR_FILENO);
	close(before);

	rewind(said);
	len = fread(text, 1, sizeof(text) - 1, said);
	text[len] = '\0';
	fclose(said);
	assert_int_equal(lines_with(text, "scraper: "), 2);
	assert_int_equal(lines_with(text, "result=http_error"), 1);
	assert_int_equal(lines_with(text, "counted again"), 1);
}

/* ---- without memory ---- */

static size_t
all_scrapes(const struct fixture *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < SCRAPE_COUNT; i++)
		sum += scrapes(f, (enum scrape_result)i);
	return sum;
}

static bool
is_over(const struct fixture *f)
{
	return all_scrapes(f) >= f->wanted;
}

/* That scrape may come to nothing; the next one does not. */
static void
an_allocation_that_fails_costs_a_scrape(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	put_rule(f, "max_outstanding=8 adaptive=on");
	for (size_t nth = 1; nth < 8; nth++) {
		open_scraper(f, INTERVAL, ANSWER_PATIENCE);
		f->wanted = all_scrapes(f) + 1;
		failing = nth;
		scraper_follow(f->scraper);
		wait_until(f, is_over);
		failing = 0;
		wait_until_counted(f, 1);
	}
}

/* As it does where it has no memory: no event and no timer is left. */
static void
a_scrape_that_curl_forgets_is_over_in_time(void **state)
{
	struct fixture *f = *state;

	f->behaviour.answer = OK LEN(35) PAGE(3);
	forgetful = true;
	put_engines(f, 0, ENGINES);
	f->wanted = AT_ONCE;
	wait_until(f, is_over);
	assert_int_equal(scrapes(f, SCRAPE_UNREACHABLE), f->wanted);
	forgetful = false;
	wait_until_counted(f, ENGINES);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(adaptive_rule_has_its_engines_asked),
		TEST(engine_is_asked_again_and_again),
		TEST(other_rules_have_nobody_asked),
		TEST(pairs_have_their_engines_asked),
		TEST(an_engine_of_two_rules_is_asked_once),
		TEST(they_are_asked_one_after_the_other),
		TEST(few_are_asked_at_the_same_time),
		TEST(who_comes_with_a_new_rule_is_asked_at_once),
		TEST(an_error_is_no_evidence),
		TEST(a_redirect_leads_nowhere),
		TEST(an_engine_that_we_do_not_know_is_no_evidence),
		TEST(a_page_that_is_none_is_unparseable),
		TEST(half_a_page_is_no_evidence),
		TEST(a_page_that_does_not_end_costs_its_patience),
		TEST(an_endless_page_costs_its_bound),
		TEST(an_endless_head_is_no_evidence),
		TEST(a_page_comes_in_chunks),
		TEST(a_page_ends_where_its_connection_does),
		TEST(another_protocol_is_no_evidence),
		TEST(an_engine_is_asked_itself_and_in_plain_text),
		TEST(an_engine_may_have_an_address_of_ipv6),
		TEST(nobody_there_is_unreachable),
		TEST(a_silent_engine_is_unreachable),
		TEST(a_reset_is_unreachable),
		TEST(who_is_not_wanted_is_not_waited_for),
		TEST(it_closes_amid_a_question),
		TEST(what_is_new_of_an_engine_is_said_once),
		TEST(an_allocation_that_fails_costs_a_scrape),
		TEST(a_scrape_that_curl_forgets_is_over_in_time),
	};

	event_set_mem_functions(take, take_more, free);
	log_open(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

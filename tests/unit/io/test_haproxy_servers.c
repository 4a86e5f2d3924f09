/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/haproxy_servers.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/haproxy_valve.h"
#include "agent/io/listen_text.h"
#include "agent/io/log.h"
#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

#define HEADER "# pxname,svname,qcur,scur,slim,status,type,addr\n"
#define POOL "pool,BACKEND,0,0,,UP,1,\n"
#define A1 "10.0.0.1:8000"
#define A2 "10.0.0.2:8000"

/* What is said to a server of ours that is added. */
#define ADDED(backend, at, limit, weight)                                      \
	"add server " backend "/adm_" at " " at " check inter 1s fall 2 "      \
	"rise 1" limit " weight " weight ";enable health " backend "/adm_" at  \
	";enable server " backend "/adm_" at

struct fixture {
	struct event_base *base;
	struct gate *gate;
	struct haproxy_servers servers;
	struct haproxy_valve valve;
	struct listen_address address;
	int listener;
	struct event *accept;
	const char *answer;
	char said[HAPROXY_COMMAND_MAX]; /* to HAProxy, without its end */
};

/* ---- in place of HAProxy ---- */

/* A line, its answer, and the end. */
static void
on_line(struct bufferevent *io, void *arg)
{
	struct fixture *f = arg;
	struct evbuffer *in = bufferevent_get_input(io);
	char *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);

	if (line == NULL)
		return;
	snprintf(f->said, sizeof(f->said), "%s", line);
	free(line);
	(void)!write(bufferevent_getfd(io), f->answer, strlen(f->answer));
	bufferevent_free(io);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;
	int peer = accept(fd, NULL, NULL);
	struct bufferevent *io;

	(void)what;
	evutil_make_socket_nonblocking(peer);
	io = bufferevent_socket_new(f->base, peer, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(io, on_line, NULL, NULL, f);
	bufferevent_enable(io, EV_READ);
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

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *step;

	*state = f;
	f->base = event_base_new();
	f->gate = gate_without_rules();
	f->answer = "\n";
	assert_null(listen_address_parse("127.0.0.1:0", &f->address));
	f->listener = listen_open(&f->address, SOCK_STREAM, &step);
	assert_true(listen_bound(f->listener, &f->address));
	f->accept = event_new(f->base, f->listener, EV_READ | EV_PERSIST,
			      on_accept, f);
	event_add(f->accept, NULL);
	haproxy_servers_init(&f->servers, f->gate, f->base, &f->address);
	haproxy_valve_init(&f->valve, f->gate, f->base, &f->address,
			   &(struct haproxy_valve_options){ .bound = 7 });
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	haproxy_servers_fini(&f->servers);
	haproxy_valve_fini(&f->valve);
	event_free(f->accept);
	listen_close(f->listener);
	gate_free(&f->gate);
	event_base_free(f->base);
	free(f);
	return 0;
}

static void
put_rule(struct fixture *f, const char *words)
{
	assert_int_not_equal(gate_put(f->gate, kit_rule(words), 0),
			     GATE_NO_MEMORY);
}

static struct haproxy_stat
rows_of(const char *text)
{
	struct haproxy_stat stat;

	assert_true(haproxy_stat_init(&stat, text_of(text)));
	return stat;
}

/* What is sent for these rows; "" for nothing. */
static const char *
look_at(struct fixture *f, const char *rows, usec_t now)
{
	f->said[0] = '\0';
	haproxy_servers_look(&f->servers, rows_of(rows), now);
	while (haproxy_command_is_busy(&f->servers.command))
		event_base_loop(f->base, EVLOOP_ONCE);
	return f->said;
}

/* ---- endpoints ---- */

static void
who_is_missing_is_added_like_the_others(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "endpoints=" A1 "," A2 "*9");
	assert_string_equal(look_at(f,
				    HEADER POOL
				    "pool,a,0,0,64,UP,2," A1 "\n"
				    "other,b,0,0,99,UP,2,10.0.0.9:1\n\n",
				    1),
			    ADDED("pool", A2, " maxconn 64", "9"));
}

static void
nothing_is_said_where_all_are_there(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "endpoints=" A1);
	assert_string_equal(
		look_at(f, HEADER POOL "pool,x,0,3,,DOWN,2," A1 "\n\n", 1), "");
}

/* A rule's name is its backend, where there is such a one. */
static void
each_backend_has_its_own(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "name=chat endpoints=" A1);
	put_rule(f, "port=8081 name=none endpoints=" A2);
	assert_string_equal(
		look_at(f, HEADER POOL "chat,BACKEND,0,0,,UP,1,\n\n", 1),
		ADDED("chat", A1, "", "1") ";" ADDED("pool", A2, "", "1"));
}

static void
rules_that_share_an_endpoint_want_it_once(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "endpoints=" A1);
	put_rule(f, "port=8081 endpoints=" A1);
	assert_string_equal(look_at(f, HEADER POOL "\n", 1),
			    ADDED("pool", A1, "", "1"));
}

static void
a_name_has_no_brackets_and_a_weight_its_bound(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "endpoints=[fd00::1]:80*999");
	assert_string_equal(
		look_at(f, HEADER POOL "\n", 1),
		"add server pool/adm__fd00::1_:80 [fd00::1]:80 check inter 1s "
		"fall 2 rise 1 weight 256;enable health "
		"pool/adm__fd00::1_:80;enable server pool/adm__fd00::1_:80");
}

/* What went half way is gone on with. */
static void
ours_are_enabled_until_they_are(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "endpoints=" A1);
	assert_string_equal(
		look_at(f, HEADER POOL "pool,adm_x,0,0,,MAINT,2," A1 "\n\n", 1),
		"enable health pool/adm_x;enable server pool/adm_x");
	assert_string_equal(
		look_at(f, HEADER POOL "pool,adm_x,0,0,,DRAIN,2," A1 "\n\n", 2),
		"set server pool/adm_x state ready");
	assert_string_equal(
		look_at(f, HEADER POOL "pool,x,0,0,,MAINT,2," A1 "\n\n", 3),
		"");
}

static void
whom_nobody_wants_drains_and_goes(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(
		look_at(f, HEADER POOL "pool,adm_x,1,1,,UP,2," A1 "\n\n", 1),
		"set server pool/adm_x state drain");
	assert_string_equal(
		look_at(f, HEADER POOL "pool,adm_x,0,2,,DRAIN,2," A1 "\n\n", 2),
		"");
	assert_string_equal(
		look_at(f, HEADER POOL "pool,adm_x,0,0,,DRAIN,2," A1 "\n\n", 3),
		"set server pool/adm_x state maint;del server pool/adm_x");
	/* Not ours, so it stays. */
	assert_string_equal(
		look_at(f, HEADER POOL "pool,x,0,0,,UP,2," A1 "\n\n", 4), "");
}

static void
a_complaint_is_kept_and_gives_pause(void **state)
{
	struct fixture *f = *state;

	put_rule(f, "endpoints=" A1);
	f->answer = "No such backend.\n";
	assert_string_not_equal(look_at(f, HEADER "\n", 1), "");
	assert_string_equal(f->servers.fault, "No such backend.");
	assert_string_equal(look_at(f, HEADER "\n", 2), "");
	assert_string_equal(f->servers.fault, "No such backend.");
	f->answer = "New server registered.\n";
	assert_string_not_equal(look_at(f, HEADER "\n", 30 * USEC_PER_SEC), "");
	assert_string_equal(f->servers.fault, "");
}

/* More than one line holds comes with the next looks; nobody goes meanwhile. */
static void
many_come_one_line_after_the_other(void **state)
{
	enum { MANY = RULE_ENDPOINTS_MAX };
	struct fixture *f = *state;
	char words[MANY * 24] = "endpoints=";
	size_t len = strlen(words);

	for (unsigned i = 0; i < MANY; i++)
		len += (size_t)snprintf(words + len, sizeof(words) - len,
					"%s10.1.0.%u:8000", i > 0 ? "," : "",
					i + 1);
	put_rule(f, words);
	look_at(f, HEADER POOL "pool,adm_old,0,0,,UP,2,10.9.9.9:1\n\n", 1);
	assert_true(strlen(f->said) > HAPROXY_COMMAND_MAX / 2);
	assert_non_null(strstr(f->said, "pool/adm_10.1.0.1:8000 "));
	assert_null(strstr(f->said, "adm_old"));
	/* No command is cut. */
	assert_non_null(strrchr(f->said, ';'));
	assert_int_equal(
		strncmp(strrchr(f->said, ';'), ";enable server pool/adm_", 24),
		0);
}

/* ---- the valve ---- */

static struct haproxy_valve_look
turn(struct fixture *f, const char *rows)
{
	struct haproxy_valve_look look;

	f->said[0] = '\0';
	haproxy_valve_look(&f->valve, rows_of(rows), &look);
	while (haproxy_command_is_busy(&f->valve.command))
		event_base_loop(f->base, EVLOOP_ONCE);
	return look;
}

/* Rows 339 and 341. */
static void
only_the_public_frontend_is_bound(void **state)
{
	struct fixture *f = *state;

	turn(f, HEADER "gate,FRONTEND,,1,100,OPEN,0,\n"
		       "public,FRONTEND,,1,100,OPEN,0,\n\n");
	assert_string_equal(f->said, "set maxconn frontend public 7");
	turn(f, HEADER "gate,FRONTEND,,1,100,OPEN,0,\n\n");
	assert_string_equal(f->said, "set maxconn frontend gate 7");
	turn(f, HEADER "gate,FRONTEND,,1,7,OPEN,0,\n\n");
	assert_string_equal(f->said, "");
	turn(f, HEADER "mine,FRONTEND,,1,100,OPEN,0,\n\n");
	assert_string_equal(f->said, "");
}

static void
a_valve_that_cannot_be_set_is_tried_again_and_said_once(void **state)
{
	static const char rows[] = HEADER "gate,FRONTEND,,1,100,OPEN,0,\n\n";
	struct fixture *f = *state;

	f->answer = "Permission denied\n";
	turn(f, rows);
	assert_true(f->valve.complained);
	turn(f, rows);
	assert_string_equal(f->said, "set maxconn frontend gate 7");
	turn(f, HEADER "gate,FRONTEND,,1,7,OPEN,0,\n\n");
	assert_false(f->valve.complained);
}

/* Each has its part, and no other is touched. */
static void
named_frontends_share_the_bound(void **state)
{
	static const char *const names[] = { "b", "none", "a" };
	struct fixture *f = *state;

	f->valve.options.frontends = names;
	f->valve.options.count = ARRAY_LEN(names);
	turn(f, HEADER "a,FRONTEND,,1,100,OPEN,0,\n"
		       "public,FRONTEND,,1,100,OPEN,0,\n"
		       "b,FRONTEND,,1,100,OPEN,0,\n\n");
	assert_string_equal(
		f->said, "set maxconn frontend a 4;set maxconn frontend b 3");
	turn(f, HEADER "a,FRONTEND,,1,4,OPEN,0,\nb,FRONTEND,,1,9,OPEN,0,\n\n");
	assert_string_equal(f->said, "set maxconn frontend b 3");
	turn(f, HEADER "public,FRONTEND,,1,100,OPEN,0,\n\n");
	assert_string_equal(f->said, "");
	assert_true(f->valve.complained);
}

/* One that is full is a pause, though the other has room. */
static void
any_frontend_at_its_part_is_a_pause(void **state)
{
	static const char *const names[] = { "a", "b" };
	struct fixture *f = *state;

	f->valve.options.frontends = names;
	f->valve.options.count = ARRAY_LEN(names);
	assert_true(turn(f, HEADER "a,FRONTEND,,4,4,OPEN,0,\n"
				   "b,FRONTEND,,0,3,OPEN,0,\n\n")
			    .paused);
	assert_false(turn(f, HEADER "a,FRONTEND,,4,4,OPEN,0,\n"
				    "b,FRONTEND,,3,3,OPEN,0,\n\n")
			     .paused);
}

static void
parts_of_a_bound_add_up_and_are_never_none(void **state)
{
	(void)state;
	assert_int_equal(haproxy_valve_part(0, 3, 0), 0);
	assert_int_equal(haproxy_valve_part(7, 1, 0), 7);
	assert_int_equal(haproxy_valve_part(7, 2, 0), 4);
	assert_int_equal(haproxy_valve_part(7, 2, 1), 3);
	assert_int_equal(haproxy_valve_part(1, 2, 1), 1);
}

/* Rows 338 and 340. */
static void
contexts_and_pauses_are_counted(void **state)
{
	static const char full[] = HEADER "gate,FRONTEND,,7,7,OPEN,0,\n"
					  "agents,agent,0,5,,UP,2,10.0.0.8:1\n"
					  "hop,gate,0,5,,UP,2,10.0.0.9:1\n"
					  "pool,a,1,3,,UP,2," A1 "\n\n";
	struct fixture *f = *state;

	assert_int_equal(turn(f, full).contexts, 7 + 4);
	f->valve.at_bound = false;
	assert_true(turn(f, full).paused);
	assert_false(turn(f, full).paused);
	assert_false(turn(f, HEADER "gate,FRONTEND,,6,7,OPEN,0,\n\n").paused);
	assert_true(turn(f, full).paused);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_missing_is_added_like_the_others),
		TEST(nothing_is_said_where_all_are_there),
		TEST(each_backend_has_its_own),
		TEST(rules_that_share_an_endpoint_want_it_once),
		TEST(a_name_has_no_brackets_and_a_weight_its_bound),
		TEST(ours_are_enabled_until_they_are),
		TEST(whom_nobody_wants_drains_and_goes),
		TEST(a_complaint_is_kept_and_gives_pause),
		TEST(many_come_one_line_after_the_other),
		TEST(only_the_public_frontend_is_bound),
		TEST(a_valve_that_cannot_be_set_is_tried_again_and_said_once),
		TEST(named_frontends_share_the_bound),
		TEST(any_frontend_at_its_part_is_a_pause),
		TEST(parts_of_a_bound_add_up_and_are_never_none),
		TEST(contexts_and_pauses_are_counted),
	};

	log_open(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of contents: settings, core, adapters, ready, run, and all of it
 * closed in reverse.
 */

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/core/gate.h"
#include "agent/io/api.h"
#include "agent/io/descriptors.h"
#include "agent/io/disk_writer.h"
#include "agent/io/haproxy_api.h"
#include "agent/io/listen_text.h"
#include "agent/io/log.h"
#include "agent/io/log_receiver.h"
#include "agent/io/loop.h"
#include "agent/io/scraper.h"
#include "agent/io/spop_server.h"
#include "agent/io/state_folder.h"
#include "agent/io/ticker.h"
#include "agent/io/turn.h"
#include "agent/rules_at_start.h"

/* How long answers may take to leave once the program was told to end. */
#define FAREWELL_SECONDS 2

static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

struct app {
	struct config config;
	struct event_base *base;
	struct turn *turn;
	struct gate *gate;
	struct state_folder *state; /* NULL: rules are not kept */
	struct disk_writer *disk;   /* of its rules; NULL likewise */
	struct ticker *ticker;
	struct spop_server *spop;
	struct log_receiver *lines;
	struct haproxy_api *haproxy;
	struct scraper *scraper;
	struct api *api;
	struct event *on_signal[ARRAY_LEN(signals)];
	struct descriptors descriptors;
	uint64_t rule_changes; /* that were looked at */
	bool ending;
};

/* ---- adapters ---- */

static bool
cannot_listen(const char *what, const char *text, const char *step)
{
	log_err("%s-listen: cannot listen value=\"%s\" step=%s error=\"%s\"",
		what, text, step, strerror(errno));
	return false;
}

static int
open_listener(const char *what, const char *text,
	      const struct listen_address *at)
{
	struct listen_address bound;
	char bound_text[LISTEN_TEXT_MAX];
	const char *step;
	int fd = listen_open(at, SOCK_STREAM, &step);

	if (fd < 0) {
		cannot_listen(what, text, step);
		return -1;
	}
	if (listen_bound(fd, &bound)) {
		listen_address_format(&bound, bound_text);
		log_info("listening %s=%s", what, bound_text);
	}
	return fd;
}

static bool
open_spop(struct app *app)
{
	const struct option_list *list = &app->config.options.spop_listen;

	app->spop = spop_server_open(app->base, app->turn, app->gate);
	if (app->spop == NULL)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		int fd = open_listener("spop", list->value[i],
				       &app->config.spop[i]);

		if (fd < 0)
			return false;
		if (!spop_server_listen(app->spop, fd)) {
			listen_close(fd);
			return false;
		}
	}
	return true;
}

static bool
open_lines(struct app *app)
{
	const char *step;

	app->lines = log_receiver_open(app->base, app->turn, app->gate,
				       &app->config.log, &step);
	if (app->lines == NULL)
		return cannot_listen("log", app->config.options.log_listen,
				     step);
	log_info("listening log=%s", log_receiver_address(app->lines));
	return true;
}

static bool
open_disk(struct app *app)
{
	if (app->state == NULL)
		return true;
	app->disk = disk_writer_open(
		app->base, state_folder_descriptor(app->state), STATE_RULES);
	if (app->disk == NULL)
		log_err("state: no thread for the disk error=\"%s\"",
			strerror(errno));
	return app->disk != NULL;
}

static const char *
problem_of_haproxy(const void *haproxy)
{
	return haproxy_api_problem(haproxy);
}

static bool
open_api(struct app *app)
{
	struct api_options options = {
		.gate = app->gate,
		.turn = app->turn,
		.version = SPOA_VERSION,
		.request_buffer_kib = app->config.options.request_buffer_kib,
		.disk = app->disk,
		.problem = app->haproxy == NULL ? NULL : problem_of_haproxy,
		.problem_arg = app->haproxy,
		.token = app->config.token.len > 0 ? &app->config.token : NULL,
	};
	int fd = open_listener("api", app->config.options.api_listen,
			       &app->config.api);

	if (fd < 0)
		return false;
	app->api = api_open(app->base, fd, &options);
	if (app->api == NULL)
		listen_close(fd);
	return app->api != NULL;
}

static bool
open_haproxy(struct app *app)
{
	const struct options *o = &app->config.options;
	const struct haproxy_api_options options = {
		.addresses = app->config.haproxy,
		.count = o->haproxy_sockets.count,
		.manage = o->haproxy_manage,
		.valve = { .bound = app->config.accept_bound,
			   .frontends = o->haproxy_frontends.value,
			   .count = o->haproxy_frontends.count },
	};

	if (options.count == 0)
		return true;
	app->haproxy =
		haproxy_api_open(app->base, app->turn, app->gate, &options);
	return app->haproxy != NULL;
}

static bool
open_scraper(struct app *app)
{
	const struct scraper_options options = {
		.interval = app->config.options.scrape_interval
	};

	app->scraper = scraper_open(app->base, app->turn, app->gate, &options);
	return app->scraper != NULL;
}

/* ---- running ---- */

static void
look_at_rules(struct app *app)
{
	if (app->rule_changes == app->gate->rules.changes)
		return;
	app->rule_changes = app->gate->rules.changes;
	descriptors_check(&app->descriptors, app->gate);
	scraper_follow(app->scraper);
}

static void
end_turn(void *arg, usec_t now)
{
	struct app *app = arg;

	look_at_rules(app);
	spop_server_deliver(app->spop);
	log_receiver_hurry(app->lines, gate_has_waiters(app->gate));
	ticker_set(app->ticker, now);
	if (app->ending && !spop_server_is_busy(app->spop) &&
	    !api_is_busy(app->api))
		event_base_loopbreak(app->base);
}

static void
end(struct app *app, int number)
{
	struct timeval longest = { FAREWELL_SECONDS, 0 };
	usec_t now = turn_enter(app->turn);

	if (app->ending)
		return;
	log_info("ending: waiters are told signal=%d", number);
	app->ending = true;
	api_set_ready(app->api, false);
	spop_server_stop_listening(app->spop);
	gate_drain(app->gate, now);
	event_base_loopexit(app->base, &longest);
}

/* The files that may have changed are read again. */
static void
hang_up(struct app *app)
{
	if (app->config.options.api_token_file == NULL)
		log_info("hangup: no file to read again");
	else if (config_read_token(&app->config))
		log_info("hangup: token read again");
	else
		log_warnx("hangup: the token stays as it was");
}

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	if (number == SIGHUP)
		hang_up(arg);
	else
		end(arg, (int)number);
}

static bool
watch_signals(struct app *app)
{
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		app->on_signal[i] =
			evsignal_new(app->base, signals[i], on_signal, app);
		if (app->on_signal[i] == NULL ||
		    evsignal_add(app->on_signal[i], NULL) != 0)
			return false;
	}
	return true;
}

static bool
open_loop(struct app *app)
{
	app->base = event_base_new();
	if (app->base == NULL)
		return false;
	app->turn = turn_open(app->base);
	if (app->turn == NULL)
		return false;
	app->ticker = ticker_open(app->base, app->turn, app->gate);
	turn_last(app->turn, end_turn, app);
	return app->ticker != NULL && watch_signals(app);
}

static bool
serve(struct app *app)
{
	if (!open_loop(app) || !open_spop(app) || !open_lines(app) ||
	    !open_disk(app) || !open_haproxy(app) || !open_api(app) ||
	    !open_scraper(app))
		return false;
	look_at_rules(app);
	api_set_ready(app->api, true);
	log_info("ready");
	return event_base_dispatch(app->base) >= 0;
}

/* Once the loop no longer sees them, a second one would kill us half closed. */
static void
block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
}

/* So that no socket of ours gets the number that the log is written to. */
static void
open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void
close_all(struct app *app)
{
	block_signals();
	scraper_close(&app->scraper);
	haproxy_api_close(&app->haproxy);
	api_close(&app->api);
	disk_writer_close(&app->disk);
	log_receiver_close(&app->lines);
	spop_server_close(&app->spop);
	for (size_t i = 0; i < ARRAY_LEN(app->on_signal); i++)
		free_event(app->on_signal[i]);
	ticker_close(&app->ticker);
	turn_close(&app->turn);
	gate_free(&app->gate);
	state_folder_close(&app->state);
	if (app->base != NULL)
		event_base_free(app->base);
}

int
main(int argc, char **argv)
{
	struct app app = { .ending = false };
	bool ok;

	open_standard_descriptors();
	switch (config_read(&app.config, argc, argv, SPOA_VERSION)) {
	case OPTIONS_DONE:
		return EXIT_SUCCESS;
	case OPTIONS_WRONG:
		return EXIT_FAILURE;
	case OPTIONS_RUN:
		break;
	}
	descriptors_raise(&app.descriptors);
	ok = config_judge(&app.config);
	app.gate = config_make_gate(&app.config);
	ok = app.gate != NULL &&
	     rules_at_start(&app.config, app.gate, &app.state) && ok;
	if (ok && !app.config.options.check)
		ok = serve(&app);
	close_all(&app);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub-engine: an OpenAI-like server for tests, which does nothing and does it
 * as slowly, as wrongly and as observably as a request wishes.
 */
#include <err.h>
#include <event2/event.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/engine/control.h"
#include "tests/engine/engine.h"
#include "tests/engine/http_server.h"
#include "tests/engine/prefill.h"
#include "tests/engine/wish.h"

struct options {
	const char *listen;
	const char *name;
	uint32_t delay_ms;
};

static void
print_help(void)
{
	printf("usage: stub-engine [--listen ADDR] [--delay-ms N]"
	       " [--name NAME]\n\nRequest headers:\n");
	for (size_t i = 0; i < wish_count; i++)
		printf("  %-24s  %s\n", wish_table[i].header,
		       wish_table[i].help);
	printf("  %-24s  %s\n", "X-Test-Nonce",
	       "The name of the request, for the paths below.");
	printf("  %-24s  %s\n", PREFILL_HEADER,
	       "The engine that does the prefill first; 502 if it fails.");
	printf("\nControl paths, GET or POST; a number or JSON comes back:\n");
	control_print(stdout);
}

static struct options
read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "delay-ms", required_argument, NULL, 'd' },
		{ "name", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct options o = { .listen = "127.0.0.1:0", .name = "stub" };
	int got;

	while ((got = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (got == 'l') {
			o.listen = optarg;
		} else if (got == 'd') {
			o.delay_ms = (uint32_t)strtoul(optarg, NULL, 10);
		} else if (got == 'n') {
			o.name = optarg;
		} else {
			print_help();
			exit(got == 'h' ? 0 : 1);
		}
	}
	return o;
}

/* Thousands of held requests are thousands of descriptors. */
static void
raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(1, "RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		warn("RLIMIT_NOFILE");
}

static void
on_request(struct http_conn *c, const struct http_request *r, void *arg)
{
	if (!control_serve(arg, c, r))
		engine_serve(arg, c, r);
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopexit(arg, NULL);
}

/* host:port or [host]:port; the caller frees. */
static struct addrinfo *
parse_address(const char *text)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					       .ai_flags = AI_NUMERICHOST |
							   AI_NUMERICSERV };
	const char *port = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char host[64] = "";
	size_t len;

	if (port == NULL)
		errx(1, "%s: no port", text);
	len = (size_t)(port - text);
	if (text[0] == '[' && len >= 2) {
		text++;
		len -= 2;
	}
	if (len < sizeof(host))
		memcpy(host, text, len);
	if (getaddrinfo(host, port + 1, &hints, &found) != 0)
		errx(1, "%s: no address", text);
	return found;
}

static struct http_server *
listen_at(struct event_base *base, const char *text, struct engine *e)
{
	struct addrinfo *at = parse_address(text);
	struct http_server *server = http_server_open(
		base, at->ai_addr, (int)at->ai_addrlen, on_request, e);
	char bound[64];

	if (server == NULL)
		err(1, "%s", text);
	freeaddrinfo(at);
	http_server_address(server, bound, sizeof(bound));
	printf("listening %s\n", bound);
	fflush(stdout);
	return server;
}

int
main(int argc, char **argv)
{
	struct options o = read_options(argc, argv);
	struct event_base *base = event_base_new();
	struct engine engine;
	struct event *stop[2];

	if (base == NULL)
		err(1, "event loop");
	raise_limit();
	signal(SIGPIPE, SIG_IGN);
	engine_init(&engine, base);
	engine.name = o.name;
	engine.delay_ms = o.delay_ms;
	engine.server = listen_at(base, o.listen, &engine);
	stop[0] = evsignal_new(base, SIGTERM, on_signal, base);
	stop[1] = evsignal_new(base, SIGINT, on_signal, base);
	event_add(stop[0], NULL);
	event_add(stop[1], NULL);

	event_base_dispatch(base);

	event_free(stop[0]);
	event_free(stop[1]);
	http_server_close(&engine.server);
	engine_fini(&engine);
	/* One pass more: libevent frees a bufferevent in the loop. */
	event_base_loop(base, EVLOOP_NONBLOCK);
	event_base_free(base);
	return 0;
}

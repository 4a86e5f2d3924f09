/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/control.h"

#include <err.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/engine/engine.h"
#include "tests/engine/http_server.h"

#define METRICS_TYPE "text/plain; version=0.0.4"

/* What follows the name and a slash is arg: "" when nothing does. */
typedef void (*control_fn)(struct engine *e, struct http_conn *c,
			   const char *arg);

static void
reply(struct http_conn *c, int status, const char *type, const char *text)
{
	http_status(c, status);
	http_header(c, "Content-Type", type);
	http_open(c, strlen(text));
	http_write(c, text, strlen(text));
	http_finish(c);
}

static void
reply_number(struct http_conn *c, unsigned long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu\n", number);
	reply(c, 200, "application/json", text);
}

static void
reply_json(struct http_conn *c, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	if (text == NULL)
		errx(1, "no JSON");
	reply(c, 200, "application/json", text);
	free(text);
}

/* The tally of one nonce, or of all requests. */
static struct tally
tally_of(const struct engine *e, const char *nonce)
{
	return nonce[0] != '\0' ? receipts_find(&e->receipts, nonce)
				: e->receipts.total;
}

static void
on_receipts(struct engine *e, struct http_conn *c, const char *arg)
{
	json_t *counts;

	if (arg[0] != '\0') {
		reply_number(c, tally_of(e, arg).received);
		return;
	}
	counts = receipts_counts(&e->receipts);
	reply_json(c, counts);
	json_decref(counts);
}

static void
on_order(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	reply_json(c, e->receipts.order);
}

static void
on_received(struct engine *e, struct http_conn *c, const char *arg)
{
	reply_number(c, tally_of(e, arg).received);
}

static void
on_active(struct engine *e, struct http_conn *c, const char *arg)
{
	reply_number(c, tally_of(e, arg).active);
}

static void
on_peak(struct engine *e, struct http_conn *c, const char *arg)
{
	reply_number(c, tally_of(e, arg).peak);
}

static void
on_held(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	reply_number(c, engine_held(e));
}

static void
on_accepted(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	reply_number(c, http_server_accepted(e->server));
}

static void
on_connections(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	reply_number(c, http_server_connections(e->server));
}

static void
on_scrapes(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	reply_number(c, e->scrapes);
}

static void
on_release(struct engine *e, struct http_conn *c, const char *arg)
{
	reply_number(c, engine_release(e, arg));
}

static void
on_release_all(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	reply_number(c, engine_release(e, NULL));
}

static void
on_reset(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)arg;
	receipts_forget(&e->receipts);
	e->scrapes = 0;
	reply_number(c, e->receipts.total.active);
}

static void
on_waiting(struct engine *e, struct http_conn *c, const char *arg)
{
	e->waiting = (uint32_t)strtoul(arg, NULL, 10);
	reply_number(c, e->waiting);
}

static void
on_delay(struct engine *e, struct http_conn *c, const char *arg)
{
	e->delay_ms = (uint32_t)strtoul(arg, NULL, 10);
	reply_number(c, e->delay_ms);
}

static void
on_switch(struct engine *e, struct http_conn *c, const char *arg)
{
	e->metrics_off = strcmp(arg, "off") == 0;
	reply_number(c, !e->metrics_off);
}

static void
on_health_switch(struct engine *e, struct http_conn *c, const char *arg)
{
	e->ill = strcmp(arg, "off") == 0;
	reply_number(c, !e->ill);
}

static void
on_die(struct engine *e, struct http_conn *c, const char *arg)
{
	(void)c;
	(void)arg;
	event_base_loopexit(e->base, NULL);
}

static void
on_metrics(struct engine *e, struct http_conn *c, const char *arg)
{
	char text[512];

	(void)arg;
	e->scrapes++;
	if (e->metrics_off) {
		reply(c, 503, "text/plain", "off\n");
		return;
	}
	snprintf(text, sizeof(text),
		 "# HELP vllm:num_requests_running Requests in execution.\n"
		 "# TYPE vllm:num_requests_running gauge\n"
		 "vllm:num_requests_running{model_name=\"stub\"} %lu\n"
		 "# HELP vllm:num_requests_waiting Requests that wait.\n"
		 "# TYPE vllm:num_requests_waiting gauge\n"
		 "vllm:num_requests_waiting{model_name=\"stub\"} %" PRIu32 "\n",
		 e->receipts.total.active, e->waiting);
	reply(c, 200, METRICS_TYPE, text);
}

static const struct {
	const char *name;
	const char *arg;
	control_fn fn;
	const char *help;
} controls[] = {
	{ "metrics", "", on_metrics, "Prometheus text." },
	{ "__receipts", "[/NONCE]", on_receipts,
	  "How many requests came with a nonce; an object of all." },
	{ "__order", "", on_order, "The nonces in order of arrival." },
	{ "__received", "[/NONCE]", on_received, "How many requests came." },
	{ "__active", "[/NONCE]", on_active, "In progress now." },
	{ "__peak", "[/NONCE]", on_peak, "Most in progress at once." },
	{ "__held", "", on_held, "Held now." },
	{ "__accepted", "", on_accepted, "Connections ever accepted." },
	{ "__connections", "", on_connections, "Connections open now." },
	{ "__scrapes", "", on_scrapes, "How often /metrics was read." },
	{ "__release", "/NONCE", on_release,
	  "Let go what is held; says how many." },
	{ "__release_all", "", on_release_all, "Let go all that is held." },
	{ "__reset", "", on_reset,
	  "Forget receipts, order, peaks and scrapes." },
	{ "__waiting", "/N", on_waiting, "What /metrics says is waiting." },
	{ "__delay", "/MS", on_delay, "Set --delay-ms anew." },
	{ "__metrics", "/on|off", on_switch, "/metrics works, or is 503." },
	{ "__health", "/on|off", on_health_switch,
	  "/health works, or is 503." },
	{ "__die", "", on_die, "Reset all connections and exit." },
};

/* What follows name in the path, or NULL when the path is another one. */
static const char *
argument(const char *path, const char *name)
{
	size_t len = strlen(name);

	if (path[0] != '/' || strncmp(path + 1, name, len) != 0)
		return NULL;
	path += 1 + len;
	if (path[0] == '/')
		return path + 1;
	return path[0] == '\0' ? path : NULL;
}

bool
control_serve(struct engine *e, struct http_conn *c,
	      const struct http_request *r)
{
	if (e->ill && strcmp(r->path, "/health") == 0) {
		reply(c, 503, "text/plain", "ill\n");
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
		const char *arg = argument(r->path, controls[i].name);

		if (arg != NULL) {
			controls[i].fn(e, c, arg);
			return true;
		}
	}
	return false;
}

void
control_print(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
		char path[40];

		snprintf(path, sizeof(path), "/%s%s", controls[i].name,
			 controls[i].arg);
		fprintf(out, "  %-24s  %s\n", path, controls[i].help);
	}
}

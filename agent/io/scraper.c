/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/scraper.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/core/engine_metrics.h"
#include "agent/core/gate.h"
#include "agent/core/index.h"
#include "agent/io/log.h"
#include "agent/io/loop.h"
#include "agent/io/scraper_multi.h"
#include "agent/io/turn.h"

#define INTERVAL (10 * USEC_PER_SEC)
#define PATIENCE (2 * USEC_PER_SEC)
#define ANSWER_MAX ((size_t)4 << 20)

/* With the connections that are kept these are 256 descriptors. */
#define AT_ONCE 128

/* However many there are and however short the interval is. */
#define CLOSEST USEC_PER_MSEC

#define URL_MAX (ENDPOINT_TARGET_MAX + 32)

/* One engine, however many rules it serves. */
struct target {
	TAILQ_ENTRY(target) link;
	struct index_node node;
	struct address address;
	uint16_t port;
	char name[ENDPOINT_TARGET_MAX]; /* "address:port" */
	struct scrape *scrape;          /* owned; while it is asked */
	bool wanted;                    /* by a rule, at the last look */
	bool asked;                     /* before: last is what came of it */
	enum scrape_result last;
};

TAILQ_HEAD(targets, target);

/* One question under way. */
struct scrape {
	struct scraper *scraper; /* borrowed */
	struct target *target;   /* borrowed */
	CURL *easy;              /* owned */
	usec_t begun;
	size_t bytes;
	struct engine_metrics page;
};

struct scraper {
	struct turn *turn; /* borrowed */
	struct gate *gate; /* borrowed */
	struct scraper_options options;
	struct scraper_multi multi;
	struct event *next;     /* owned; asks the first in line */
	struct targets targets; /* owned; who waits longest is first */
	struct index by_address;
	size_t count;
	size_t at_once;
};

/* ---- what came of it ---- */

static enum scrape_result
read_page(struct scrape *s, usec_t now)
{
	const struct target *t = s->target;
	uint32_t waiting;

	switch (engine_metrics_end(&s->page, &waiting)) {
	case ENGINE_COUNTED:
		gate_report(s->scraper->gate, &t->address, t->port, waiting,
			    now);
		return SCRAPE_OK;
	case ENGINE_UNKNOWN:
		return SCRAPE_UNKNOWN;
	case ENGINE_UNPARSEABLE:
		break;
	}
	return SCRAPE_UNPARSEABLE;
}

static enum scrape_result
judge(struct scrape *s, CURLcode result, usec_t now)
{
	long status = 0;

	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	switch ((int)result) {
	case CURLE_OK:
		return status == 200 ? read_page(s, now) : SCRAPE_HTTP_ERROR;
	case CURLE_UNSUPPORTED_PROTOCOL: /* it speaks something else */
	case CURLE_WEIRD_SERVER_REPLY:
		return SCRAPE_HTTP_ERROR;
	case CURLE_URL_MALFORMAT:
	case CURLE_FAILED_INIT:
		return SCRAPE_BAD_REQUEST;
	default:
		return status > 0 ? SCRAPE_BODY_ERROR : SCRAPE_UNREACHABLE;
	}
}

/* What is new of an engine is said once. */
static void
say(const struct target *t, enum scrape_result result)
{
	const char *word = metric_label_row(LABEL_SCRAPE)->values[result];

	if (t->asked && t->last == result)
		return;
	if (result != SCRAPE_OK)
		log_warnx("scraper: no count of waiting requests engine=%s "
			  "result=%s",
			  t->name, word);
	else if (t->asked)
		log_info("scraper: its waiting requests are counted again "
			 "engine=%s",
			 t->name);
}

static void
note(struct scraper *s, struct target *t, enum scrape_result result)
{
	metrics_count(&s->gate->metrics, METRIC_scrapes, result);
	say(t, result);
	t->asked = true;
	t->last = result;
}

/* ---- asking ---- */

static void
free_scrape(struct scrape *s)
{
	s->target->scrape = NULL;
	s->scraper->at_once--;
	curl_easy_cleanup(s->easy);
	free(s);
}

static void
on_over(void *arg, CURL *easy, CURLcode result)
{
	struct scraper *scraper = arg;
	usec_t now = turn_enter(scraper->turn);
	struct scrape *s = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&s);
	note(scraper, s->target, judge(s, result, now));
	free_scrape(s);
}

/* False where it is more than we read. */
static bool
count_bytes(struct scrape *s, size_t len)
{
	if (len > ANSWER_MAX - s->bytes)
		return false;
	s->bytes += len;
	return true;
}

static size_t
on_head(char *bytes, size_t size, size_t count, void *arg)
{
	(void)bytes;
	return count_bytes(arg, size * count) ? size * count : 0;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct scrape *s = arg;
	size_t len = size * count;

	if (!count_bytes(s, len))
		return 0;
	engine_metrics_feed(&s->page, (struct text){ bytes, len });
	return len;
}

static bool
prepare(struct scrape *s)
{
	long msec = (long)(s->scraper->options.patience / USEC_PER_MSEC);
	char url[URL_MAX];
	CURL *easy = s->easy;

	snprintf(url, sizeof(url), "http://%s/metrics", s->target->name);
	return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_PRIVATE, s) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head) ==
		       CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_HEADERDATA, s) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) ==
		       CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_WRITEDATA, s) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, msec) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_NETRC, 0L) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_USERAGENT, "spoa-admission") ==
		       CURLE_OK;
}

static struct scrape *
new_scrape(struct scraper *scraper, struct target *t, usec_t now)
{
	struct scrape *s = malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	s->scraper = scraper;
	s->target = t;
	s->begun = now;
	s->bytes = 0;
	engine_metrics_begin(&s->page);
	s->easy = curl_easy_init();
	scraper->at_once++;
	t->scrape = s;
	if (s->easy != NULL && prepare(s))
		return s;
	free_scrape(s);
	return NULL;
}

static void
ask(struct scraper *scraper, struct target *t, usec_t now)
{
	struct scrape *s = new_scrape(scraper, t, now);

	if (s != NULL && scraper_multi_add(&scraper->multi, s->easy))
		return;
	note(scraper, t, SCRAPE_BAD_REQUEST);
	if (s != NULL)
		free_scrape(s);
}

/* In an interval it is the turn of each once. */
static void
set_timer(struct scraper *s, usec_t after)
{
	struct timeval tv = { 0 };

	if (after < CLOSEST)
		after = CLOSEST;
	tv.tv_sec = (time_t)(after / USEC_PER_SEC);
	tv.tv_usec = (suseconds_t)(after % USEC_PER_SEC);
	event_add(s->next, &tv);
}

/* Curl forgets a transfer for which it found no memory. */
static void
end_forgotten(struct scraper *s, usec_t now)
{
	struct target *t;

	TAILQ_FOREACH (t, &s->targets, link)
		if (t->scrape != NULL &&
		    now - t->scrape->begun > 2 * s->options.patience)
			break;
	if (t == NULL)
		return;
	scraper_multi_remove(&s->multi, t->scrape->easy);
	note(s, t, judge(t->scrape, CURLE_OPERATION_TIMEDOUT, now));
	free_scrape(t->scrape);
}

static void
on_next(evutil_socket_t fd, short what, void *arg)
{
	struct scraper *s = arg;
	struct target *t = TAILQ_FIRST(&s->targets);
	usec_t now = turn_enter(s->turn);

	(void)fd;
	(void)what;
	if (t == NULL)
		return;
	set_timer(s, s->options.interval / s->count);
	if (t->scrape != NULL || s->at_once == s->options.at_once)
		end_forgotten(s, now);
	/* Nobody loses a turn to those that keep us waiting. */
	if (t->scrape == NULL && s->at_once == s->options.at_once)
		return;
	TAILQ_REMOVE(&s->targets, t, link);
	TAILQ_INSERT_TAIL(&s->targets, t, link);
	if (t->scrape == NULL)
		ask(s, t, now);
}

/* ---- whom to ask ---- */

static uint64_t
hash_of(const struct scraper *s, const struct address *address, uint16_t port)
{
	const uint64_t *key = s->gate->options.hash_key;

	return index_hash(address->bytes, sizeof(address->bytes),
			  (const uint64_t[2]){ key[0], key[1] ^ port });
}

static struct target *
find(const struct scraper *s, const struct endpoint *e)
{
	struct index_node *node =
		index_first(&s->by_address, hash_of(s, &e->address, e->port));

	for (; node != NULL; node = index_next(node)) {
		struct target *t = CONTAINER_OF(node, struct target, node);

		if (t->port == e->port &&
		    address_equals(&t->address, &e->address))
			return t;
	}
	return NULL;
}

/* Whom nobody has asked yet is next. */
static struct target *
add(struct scraper *s, const struct endpoint *e)
{
	struct target *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->address = e->address;
	t->port = e->port;
	memcpy(t->name, e->target, sizeof(t->name));
	TAILQ_INSERT_HEAD(&s->targets, t, link);
	index_add(&s->by_address, &t->node, hash_of(s, &t->address, t->port));
	s->count++;
	return t;
}

static void
drop(struct scraper *s, struct target *t)
{
	if (t->scrape != NULL) {
		scraper_multi_remove(&s->multi, t->scrape->easy);
		free_scrape(t->scrape);
	}
	TAILQ_REMOVE(&s->targets, t, link);
	index_remove(&s->by_address, &t->node);
	s->count--;
	free(t);
}

/* Returns whether there is a new one. */
static bool
want(struct scraper *s, const struct endpoint *e)
{
	struct target *t = find(s, e);
	bool is_new = t == NULL;

	if (is_new)
		t = add(s, e);
	if (t == NULL)
		return false;
	t->wanted = true;
	return is_new;
}

static bool
want_pool(struct scraper *s, const struct pool *p)
{
	bool any = false;

	for (size_t i = 0; i < p->endpoint_count && pool_is_scraped(p); i++)
		any = want(s, &p->endpoints[i]) || any;
	return any;
}

static void
drop_unwanted(struct scraper *s)
{
	struct target *t = TAILQ_FIRST(&s->targets);

	while (t != NULL) {
		struct target *next = TAILQ_NEXT(t, link);

		if (!t->wanted)
			drop(s, t);
		t = next;
	}
}

void
scraper_follow(struct scraper *scraper)
{
	const struct pool *p;
	struct target *t;
	bool any = false;

	TAILQ_FOREACH (t, &scraper->targets, link)
		t->wanted = false;
	TAILQ_FOREACH (p, &scraper->gate->pools, link)
		any = want_pool(scraper, p) || any;
	drop_unwanted(scraper);
	if (any)
		set_timer(scraper, 0);
}

/* ---- opening and closing ---- */

struct scraper *
scraper_open(struct event_base *base, struct turn *turn, struct gate *gate,
	     const struct scraper_options *options)
{
	struct scraper *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->turn = turn;
	s->gate = gate;
	s->options = *options;
	if (s->options.interval == 0)
		s->options.interval = INTERVAL;
	if (s->options.patience == 0)
		s->options.patience = PATIENCE;
	if (s->options.at_once == 0)
		s->options.at_once = AT_ONCE;
	TAILQ_INIT(&s->targets);
	s->next = event_new(base, -1, 0, on_next, s);
	if (s->next == NULL || !index_init(&s->by_address)) {
		free_event(s->next);
		free(s);
		return NULL;
	}
	/* No TLS: an engine is asked over HTTP. */
	if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK ||
	    !scraper_multi_init(&s->multi, base, on_over, s))
		scraper_close(&s);
	return s;
}

void
scraper_close(struct scraper **scraper)
{
	struct scraper *s = *scraper;

	if (s == NULL)
		return;
	while (!TAILQ_EMPTY(&s->targets))
		drop(s, TAILQ_FIRST(&s->targets));
	scraper_multi_fini(&s->multi);
	curl_global_cleanup();
	free_event(s->next);
	index_fini(&s->by_address);
	free(s);
	*scraper = NULL;
}

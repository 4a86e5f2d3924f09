/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_SCRAPER_MULTI_H
#define AGENT_IO_SCRAPER_MULTI_H

/* libcurl's transfers in our loop. */

#include <curl/curl.h>
#include <stdbool.h>

#include "agent/core/base.h"

struct event;
struct event_base;

/* A transfer is over, and out of the multi. */
typedef void (*scraper_over)(void *arg, CURL *easy, CURLcode result);

struct scraper_multi {
	struct event_base *base; /* borrowed */
	CURLM *curl;             /* owned */
	struct event *timer;     /* owned */
	scraper_over over;
	void *arg;
};

/* m must stay where it is. False, and nothing owed, without memory. */
MUST_CHECK bool scraper_multi_init(struct scraper_multi *m,
				   struct event_base *base, scraper_over over,
				   void *arg);

/* Every transfer must have been removed. */
void scraper_multi_fini(struct scraper_multi *m);

/* Begins a transfer; over is called from the loop. */
MUST_CHECK bool scraper_multi_add(struct scraper_multi *m, CURL *easy);

/* Breaks it off; over is not called. */
void scraper_multi_remove(struct scraper_multi *m, CURL *easy);

#endif

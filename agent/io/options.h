/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_OPTIONS_H
#define AGENT_IO_OPTIONS_H

/*
 * What the program is started with (interface 1): the command line over the
 * environment over the default.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/io/log.h"

/* How often a repeatable option may be given. */
#define OPTIONS_LIST_MAX 16

struct option_list {
	const char *value[OPTIONS_LIST_MAX]; /* borrowed of argv, environ */
	size_t count;
};

struct options {
	struct option_list spop_listen;
	struct option_list haproxy_sockets;
	const char *log_listen;
	const char *api_listen;
	const char *api_token_file; /* NULL for none */
	const char *rules;          /* NULL for none */
	const char *state_dir;      /* NULL for none */
	const char *haproxy_backend;
	struct option_list haproxy_frontends; /* none: the shipped ones */
	bool haproxy_manage;
	usec_t unit_max_age;
	usec_t scrape_interval;
	uint32_t request_buffer_kib;
	enum log_level log_level;
	enum log_format log_format;
	bool api_open; /* beyond loopback without a token */
	bool check;    /* only say what is wrong */
};

enum options_result {
	OPTIONS_RUN,
	OPTIONS_DONE,  /* help or version was asked for and printed */
	OPTIONS_WRONG, /* said on stderr, with the way out */
};

/* argv and the environment must outlive *options. */
MUST_CHECK enum options_result options_read(struct options *options, int argc,
					    char **argv, const char *version);

#endif

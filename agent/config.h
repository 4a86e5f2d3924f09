/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

/*
 * All that the program is told from outside as it starts: options, addresses,
 * the environment, the token. What is wrong with it is said in the log.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/settings.h"
#include "agent/io/api_token.h"
#include "agent/io/listen_text.h"
#include "agent/io/options.h"

struct gate;

struct config {
	struct options options;

	/* The options' addresses, each in the place of its text. */
	struct listen_address spop[OPTIONS_LIST_MAX];
	struct listen_address log, api;
	struct listen_address haproxy[OPTIONS_LIST_MAX];

	struct settings_env env;
	uint32_t accept_bound;  /* of the accept valve; 0: it is off */
	struct api_token token; /* of no length: none is asked for */
};

/* argv and the environment must outlive *c. The log is open from then on. */
MUST_CHECK enum options_result config_read(struct config *c, int argc,
					   char **argv, const char *version);

/* Reads the rest. Says each fault, not only the first; false for any. */
MUST_CHECK bool config_judge(struct config *c);

/* Again, since the file may be another; the token stays where it is bad. */
MUST_CHECK bool config_read_token(struct config *c);

/* A gate without rules; NULL without memory. */
MUST_CHECK struct gate *config_make_gate(const struct config *c);

#endif

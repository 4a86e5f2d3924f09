/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_HAPROXY_STAT_H
#define AGENT_CORE_HAPROXY_STAT_H

/*
 * What HAProxy's runtime API answers to "show info" and "show stat". All texts
 * are views into the answer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "agent/core/text.h"

struct haproxy_info {
	uint64_t pid;
	uint64_t dropped_logs;
	uint64_t connections; /* of clients */
	bool stopping;
};

/*
 * Either answer may stand behind empty lines and prompts. Of what follows its
 * end nothing is read, so one can be read behind the other.
 */

/*
 * Reads "Name: value" lines up to the empty one that ends them and leaves
 * *answer behind it. False when the end or the pid is not there.
 */
MUST_CHECK bool haproxy_info_parse(struct text *answer,
				   struct haproxy_info *info);

/* The columns that are read, by their name in the header. */
enum haproxy_column {
	HAPROXY_PXNAME,
	HAPROXY_SVNAME,
	HAPROXY_QCUR,
	HAPROXY_SCUR,
	HAPROXY_SLIM,
	HAPROXY_STATUS,
	HAPROXY_TYPE,
	HAPROXY_ADDR,
	HAPROXY_COLUMNS
};

struct haproxy_stat {
	struct text rest;
	unsigned column[HAPROXY_COLUMNS];
	bool complete; /* the empty line that ends the rows was seen */
};

/* What a row is of; the numbers are HAProxy's. */
enum haproxy_kind {
	HAPROXY_FRONTEND,
	HAPROXY_BACKEND,
	HAPROXY_SERVER,
	HAPROXY_LISTENER
};

/* One server of one backend, or a frontend or a backend as a whole. */
struct haproxy_server {
	enum haproxy_kind kind;
	struct text backend; /* of a frontend its name */
	struct text server;
	struct text address; /* "10.0.0.1:80", "unix", or empty */
	struct text status;  /* "UP", "MAINT", "DRAIN", ... */
	bool up;             /* checked and up, or not checked */
	uint32_t sessions;   /* running and queued on it */
	uint32_t limit;      /* of sessions; 0 is none */
};

/*
 * Begins to read a CSV answer. False when it does not begin with a header
 * that names every column of ours.
 */
MUST_CHECK bool haproxy_stat_init(struct haproxy_stat *stat,
				  struct text answer);

/*
 * The next row, whatever it is of. False at the end; the answer was cut, or is
 * none, where stat->complete is not set.
 */
bool haproxy_stat_row(struct haproxy_stat *stat, struct haproxy_server *row);

/* The next server; all other rows are passed over. */
bool haproxy_stat_next(struct haproxy_stat *stat,
		       struct haproxy_server *server);

/*
 * Begins to read the answer to "show info;show stat". False while it is not
 * whole: each row is looked at before the first is given.
 */
MUST_CHECK bool haproxy_answer_init(struct text answer,
				    struct haproxy_info *info,
				    struct haproxy_stat *stat);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_WRITE_H
#define AGENT_IO_API_WRITE_H

/*
 * Writes of the rules, one after the other in the order in which they came:
 * planned against the rules of the moment, kept on disk where there is one,
 * and only then carried out and answered.
 *
 * A change that is on disk cannot fail any more, for its plan has all the
 * memory it takes. One that the disk refuses is not carried out; where the
 * disk may show it all the same, after a failure in the very last step, the
 * rules that are in force are written once more before it is answered.
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "agent/core/base.h"
#include "agent/io/api_call.h"
#include "agent/io/log.h"
#include "agent/io/rules_json.h"

struct api_route;
struct disk_writer;
struct gate;
struct turn;

/* One write; whoever made it keeps it until it is answered. */
struct api_write {
	TAILQ_ENTRY(api_write) link;
	const struct api_route *route; /* borrowed */
	struct api_call *call;         /* borrowed */
	struct api_answer answer;      /* status 0: there is none yet */
	struct rules_change change;
};

TAILQ_HEAD(api_write_list, api_write);

typedef void (*api_answered)(struct api_write *write);

struct api_writes {
	struct gate *gate;          /* borrowed */
	struct turn *turn;          /* borrowed */
	struct disk_writer *disk;   /* borrowed; NULL: rules are not kept */
	api_answered answered;      /* each that was not answered at once */
	struct api_write_list list; /* the first is under way */
	struct log_limit refused;
};

void api_writes_init(struct api_writes *w, struct gate *gate, struct turn *turn,
		     struct disk_writer *disk, api_answered answered);

/*
 * Gives up on those that are not answered, each by a call of answered. What
 * the disk is at work on it may finish.
 */
void api_writes_fini(struct api_writes *w);

/* Whether it is answered at once; else it will be from the loop. */
MUST_CHECK bool api_writes_take(struct api_writes *w, struct api_write *write);

#endif

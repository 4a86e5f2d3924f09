/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_write.h"

#include <assert.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/api_route.h"
#include "agent/io/disk_writer.h"
#include "agent/io/rules_text.h"
#include "agent/io/turn.h"

void
api_writes_init(struct api_writes *w, struct gate *gate, struct turn *turn,
		struct disk_writer *disk, api_answered answered)
{
	*w = (struct api_writes){
		.gate = gate, .turn = turn, .disk = disk, .answered = answered
	};
	TAILQ_INIT(&w->list);
}

/* ---- on disk ---- */

static void go_on(struct api_writes *w);

/* Writes the rules as they will be; false without memory. */
static bool
keep(struct api_writes *w, const struct rules_change *change, disk_done done)
{
	struct disk_job job = { .seal = rules_text_seal };

	job.bytes = rules_text_write(w->gate, change, &job.len);
	if (job.bytes == NULL)
		return false;
	disk_writer_start(w->disk, &job, done, w);
	return true;
}

static void
on_mended(void *arg, const struct disk_result *result)
{
	struct api_writes *w = arg;

	turn_enter(w->turn);
	if (result->failed != NULL)
		log_warnx("state: a restart may find a refused write, until "
			  "the next one step=\"%s\" error=\"%s\"",
			  result->failed, strerror(result->error));
	go_on(w);
}

/* Puts back what is in force. Whether that is under way. */
static bool
mend(struct api_writes *w)
{
	const struct rules_change none = { .kind = RULES_STAY };

	return keep(w, &none, on_mended);
}

static void
refuse(struct api_writes *w, struct api_write *write,
       const struct disk_result *result)
{
	const char *why = strerror(result->error);
	struct fault fault;

	rules_drop(&write->change);
	if (log_limit(&w->refused, turn_enter(w->turn)))
		log_warnx("state: rules cannot be kept, the write is refused "
			  "step=\"%s\" error=\"%s\" skipped=%lu",
			  result->failed, why, w->refused.skipped);
	fault_set(&fault, 500, "the rules cannot be kept on disk: %s: %s",
		  result->failed, why);
	api_answer_fault(&write->answer, &fault);
}

static void
carry_out(struct api_writes *w, struct api_write *write)
{
	rules_carry_out(w->gate, &write->change, turn_enter(w->turn));
	api_answer_success(&write->answer);
}

static void
on_kept(void *arg, const struct disk_result *result)
{
	struct api_writes *w = arg;
	struct api_write *write = TAILQ_FIRST(&w->list);

	turn_enter(w->turn);
	if (result->failed == NULL) {
		carry_out(w, write);
	} else {
		refuse(w, write, result);
		if (result->replaced && mend(w))
			return;
	}
	go_on(w);
}

/* ---- in order ---- */

/* Whether it is under way; else it is answered. */
static bool
begin(struct api_writes *w, struct api_write *write)
{
	write->call->now = turn_enter(w->turn);
	write->call->change = &write->change;
	api_route_serve(write->route, write->call, &write->answer);
	if (write->answer.status != 0)
		return false;
	if (w->disk == NULL || write->change.kind == RULES_STAY) {
		carry_out(w, write);
		return false;
	}
	if (keep(w, &write->change, on_kept))
		return true;
	rules_drop(&write->change);
	api_answer_error(&write->answer, 500, "out of memory");
	return false;
}

/* The first is answered; so are those after it, as far as they are at once. */
static void
go_on(struct api_writes *w)
{
	struct api_write *write = TAILQ_FIRST(&w->list);

	do {
		TAILQ_REMOVE(&w->list, write, link);
		w->answered(write);
		write = TAILQ_FIRST(&w->list);
	} while (write != NULL && !begin(w, write));
}

bool
api_writes_take(struct api_writes *w, struct api_write *write)
{
	bool first = TAILQ_EMPTY(&w->list);

	assert(write->answer.status == 0);
	write->change.kind = RULES_STAY;
	TAILQ_INSERT_TAIL(&w->list, write, link);
	if (!first || begin(w, write))
		return false;
	TAILQ_REMOVE(&w->list, write, link);
	return true;
}

void
api_writes_fini(struct api_writes *w)
{
	struct api_write *write;

	while ((write = TAILQ_FIRST(&w->list)) != NULL) {
		TAILQ_REMOVE(&w->list, write, link);
		rules_drop(&write->change);
		w->answered(write);
	}
}

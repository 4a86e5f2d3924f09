/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_ADAPTIVE_H
#define AGENT_CORE_ADAPTIVE_H

/*
 * The service ceiling as it follows what the engines report (rows 188 to
 * 222): between a quarter of what is configured, at least one, and all of it.
 */

#include <stdbool.h>
#include <stdint.h>

/* What it does, and in the same order the words for it. */
enum adapt_state {
	ADAPT_OFF,
	ADAPT_OPEN,
	ADAPT_TIGHTENED,
	ADAPT_FROZEN,
	ADAPT_STATES
};
#define ADAPT_STATE_WORDS "off", "open", "tightened", "frozen"

/* And why. */
enum adapt_reason {
	ADAPT_NONE,
	ADAPT_QUEUED, /* requests wait in an engine */
	ADAPT_TTFT,   /* its first tokens come too late */
	ADAPT_CLEAR,
	ADAPT_STALE,
	ADAPT_REASONS
};
#define ADAPT_REASON_WORDS "none", "queued", "ttft", "clear", "stale"

enum adapt_move { ADAPT_DOWN, ADAPT_UP, ADAPT_MOVES };

struct adaptive {
	enum adapt_state state;
	enum adapt_reason reason;
	uint32_t configured; /* 0 is no ceiling, so nothing to adapt */
	uint32_t ceiling;    /* in force */
	uint64_t moves[ADAPT_MOVES];
};

/* What the engines have said within the window that they are trusted. */
struct adapt_evidence {
	bool fresh; /* anything at all */
	bool queued;
	bool late; /* time to first token above the target */
};

/*
 * A ceiling that is tightened stays so, as far as the new one allows; one that
 * was open is open.
 */
void adaptive_configure(struct adaptive *a, bool on, uint32_t configured);

/* One step, where it is on. Returns whether the ceiling in force rose. */
bool adaptive_step(struct adaptive *a, const struct adapt_evidence *evidence);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_REASON_H
#define AGENT_CORE_REASON_H

/* Every decision and refusal, from reason.def. */

#include <stdbool.h>

enum reason {
#define REASON(name, ...) REASON_##name,
#include "agent/core/reason.def"
#undef REASON
	REASON_COUNT
};

enum retry_rule { RETRY_ONE, RETRY_MEAN, RETRY_FIVE };
enum body_kind { BODY_NOTHING, BODY_JITTER, BODY_MESSAGE, BODY_QUEUED };

struct reason_row {
	const char *label;   /* of the decisions counter */
	const char *error;   /* the client's error word, NULL for no refusal */
	const char *message; /* of BODY_MESSAGE, else NULL */
	const char *when;    /* a sentence for the reader of the counter */
	unsigned status;     /* HTTP, 0 for no refusal */
	enum retry_rule retry;
	enum body_kind body;
	bool keep; /* the connection survives when the body was buffered */
};

/* The constant that the product documents (contract 13, A1). */
#define REASON_JITTER_HINT_MS 250

extern const struct reason_row reason_table[REASON_COUNT];

#endif

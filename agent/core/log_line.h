/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_LOG_LINE_H
#define AGENT_CORE_LOG_LINE_H

/*
 * The line that HAProxy logs at the end of a request (interface 3).
 *
 * What the client chose, such as the path, may stand in the fields of the
 * access log before the word "admission", never behind it. So the last such
 * word is the gate's, and no client can forge the end of another's request.
 */

#include <stdbool.h>

#include "agent/core/text.h"

/* Views of the line; empty where it has none. */
struct log_line {
	struct text id;
	struct text permit;
	struct text verdict;
	struct text state;
	struct text status;
	struct text server;
};

/*
 * False, and *out untouched, where the line is not for the gate: it has not
 * the word, or it was cut before the end of the id.
 */
bool log_line_parse(struct text line, struct log_line *out);

/* How many lines this one says were dropped: "12 events dropped". */
unsigned long long log_line_dropped(struct text line);

#endif

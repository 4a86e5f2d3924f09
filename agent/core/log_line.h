/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_LOG_LINE_H
#define AGENT_CORE_LOG_LINE_H

/*
 * The line that HAProxy logs at the end of a request (interface 3).
 *
 * What the client chose, such as a header, may stand in the fields of the
 * access log before the word "admission", never behind it. So the last such
 * word is the gate's, and only fields may follow it, none of the gate's own
 * twice: a client cannot forge the end of another's request, not even in the
 * line of a request that the gate was never asked about. The other fields are
 * for whoever reads the log.
 */

#include <stdbool.h>

#include "agent/core/text.h"

/* Views of the line; empty where it has none. */
struct log_line {
	struct text id;
	struct text permit;
	struct text verdict;
};

/* Without the newlines, CRs and NULs at its end. */
struct text log_line_trim(struct text line);

/*
 * False, and *out untouched, where the line is not for the gate or has no id.
 */
bool log_line_parse(struct text line, struct log_line *out);

/* How many lines this one says were dropped: "12 events dropped". */
unsigned long long log_line_dropped(struct text line);

#endif

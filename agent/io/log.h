/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_LOG_H
#define AGENT_IO_LOG_H

/*
 * The agent's own log, on stderr: one event a line, "who: what key=value …".
 * The text is fixed and data go in the values, so that one can grep.
 */

#include <stdbool.h>

#include "agent/core/base.h"

#define PRINTF_LIKE(format_at, first)                                          \
	__attribute__((format(printf, format_at, first)))

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* The levels' words, by their number, and NULL. */
extern const char *const log_level_words[];

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* Once, before the first line. */
void log_open(enum log_level level, enum log_format format);

void log_err(const char *format, ...) PRINTF_LIKE(1, 2);

/* Appends what errno says; log_warnx() does not. */
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warnx(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

/*
 * A fault that repeats: one line a second at most. Set it to zero, ask
 * log_limit() before the line and name skipped in it.
 */
struct log_limit {
	usec_t next;
	unsigned long skipped;  /* between the last two lines */
	unsigned long skipping; /* since the last line */
};

/* Whether to write now; counts as skipped where not. */
bool log_limit(struct log_limit *limit, usec_t now);

#endif

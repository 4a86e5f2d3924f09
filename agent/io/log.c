/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/text.h"
#include "agent/io/clock.h"

/* The longest line; longer ones are cut. A pipe takes it whole or not. */
#define LINE_MAX_BYTES 2048

/* Kept free for what ends a line in either format. */
#define LINE_TAIL_BYTES 3

/* What a message is before it is written: escapes can only lengthen it. */
#define MESSAGE_MAX 1024

/* The longest escape of a character, terminated. */
#define ESCAPE_MAX 8

/* U+FFFD, for bytes that are no UTF-8. */
#define REPLACEMENT "\xef\xbf\xbd"

/*
 * The one mutable static of the program: passing a log to every function that
 * may want to complain would say less.
 */
static struct {
	enum log_level level;
	enum log_format format;
} options = { LOG_LEVEL_INFO, LOG_FORMAT_TEXT };

const char *const log_level_words[] = {
	[LOG_LEVEL_ERROR] = "error",  [LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",    [LOG_LEVEL_DEBUG] = "debug",
	[LOG_LEVEL_DEBUG + 1] = NULL,
};

struct line {
	char bytes[LINE_MAX_BYTES];
	size_t len;
};

void
log_open(enum log_level level, enum log_format format)
{
	options.level = level;
	options.format = format;
}

/* All of it or, where the line is full, nothing. */
static bool
put(struct line *line, const char *bytes, size_t len)
{
	if (len > sizeof(line->bytes) - LINE_TAIL_BYTES - line->len)
		return false;
	memcpy(line->bytes + line->len, bytes, len);
	line->len += len;
	return true;
}

static bool
put_string(struct line *line, const char *string)
{
	return put(line, string, strlen(string));
}

static void
put_time(struct line *line)
{
	struct timespec now = clock_wall();
	struct tm utc;
	char text[64];
	size_t len;

	gmtime_r(&now.tv_sec, &utc);
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	put(line, text, len);
	snprintf(text, sizeof(text), ".%03ldZ", now.tv_nsec / 1000000);
	put_string(line, text);
}

/* Whether the second byte may follow the first, which asks for one. */
static bool
goes_on(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0; /* less is written longer than need be */
	case 0xed:
		return second < 0xa0; /* more is a surrogate */
	case 0xf0:
		return second >= 0x90;
	case 0xf4:
		return second < 0x90; /* more is beyond the last character */
	default:
		return true;
	}
}

/* How many bytes the UTF-8 character at the front has; 0 where it is none. */
static size_t
character_len(struct text t)
{
	const unsigned char *at = (const unsigned char *)t.at;
	size_t len;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	len = at[0] < 0xe0 ? 2 : 3;
	if (at[0] >= 0xf0)
		len = 4;
	if (len > t.len || !goes_on(at[0], at[1]))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* What stands in a line for a character that must not; "" for all others. */
static void
escape(unsigned char c, char out[ESCAPE_MAX])
{
	out[0] = '\0';
	if (options.format == LOG_FORMAT_TEXT) {
		if (c < ' ' || c == 0x7f)
			snprintf(out, ESCAPE_MAX, "?");
		return;
	}
	if (c < ' ')
		snprintf(out, ESCAPE_MAX, "\\u%04x", c);
	if (c == '"' || c == '\\')
		snprintf(out, ESCAPE_MAX, "\\%c", c);
}

/* One character of a message; returns how many bytes of it, 0 when full. */
static size_t
put_character(struct line *line, struct text message)
{
	size_t len = character_len(message);
	char escaped[ESCAPE_MAX];

	if (len == 0)
		return put_string(line, REPLACEMENT) ? 1 : 0;
	escape((unsigned char)message.at[0], escaped);
	if (escaped[0] != '\0')
		return put_string(line, escaped) ? 1 : 0;
	return put(line, message.at, len) ? len : 0;
}

static void
put_message(struct line *line, struct text message)
{
	while (message.len > 0) {
		size_t len = put_character(line, message);

		if (len == 0)
			return;
		message.at += len;
		message.len -= len;
	}
}

/*
 * A line that stderr would not take at once is lost: a log that nobody reads
 * must not stop the gate.
 */
static void
write_out(struct line *line, const char *tail)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t written;

	memcpy(line->bytes + line->len, tail, strlen(tail));
	line->len += strlen(tail);
	if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT)) {
		written = write(STDERR_FILENO, line->bytes, line->len);
		(void)written;
	}
}

static void
write_line(enum log_level level, struct text message)
{
	struct line line = { .len = 0 };
	bool json = options.format == LOG_FORMAT_JSON;

	if (json)
		put_string(&line, "{\"ts\":\"");
	put_time(&line);
	put_string(&line, json ? "\",\"level\":\"" : " ");
	put_string(&line, log_level_words[level]);
	put_string(&line, json ? "\",\"msg\":\"" : " ");
	put_message(&line, message);
	write_out(&line, json ? "\"}\n" : "\n");
}

/* error is appended where it is not 0. errno stays what it was. */
static void __attribute__((format(printf, 3, 0)))
log_list(enum log_level level, int error, const char *format, va_list args)
{
	int saved = errno;
	char message[MESSAGE_MAX];
	size_t len;
	int n;

	if (level > options.level)
		return;
	n = vsnprintf(message, sizeof(message), format, args);
	len = n < 0 ? 0 : (size_t)n;
	if (len >= sizeof(message))
		len = sizeof(message) - 1;
	if (error != 0) {
		n = snprintf(message + len, sizeof(message) - len,
			     " error=\"%s\"", strerror(error));
		len += n < 0 ? 0 : (size_t)n;
	}
	if (len >= sizeof(message))
		len = sizeof(message) - 1;
	write_line(level, (struct text){ message, len });
	errno = saved;
}

#define LOG_LIST(level, error, format)                                         \
	do {                                                                   \
		va_list args;                                                  \
		va_start(args, format);                                        \
		log_list(level, error, format, args);                          \
		va_end(args);                                                  \
	} while (0)

void
log_err(const char *format, ...)
{
	LOG_LIST(LOG_LEVEL_ERROR, 0, format);
}

void
log_warn(const char *format, ...)
{
	LOG_LIST(LOG_LEVEL_WARN, errno, format);
}

void
log_warnx(const char *format, ...)
{
	LOG_LIST(LOG_LEVEL_WARN, 0, format);
}

void
log_info(const char *format, ...)
{
	LOG_LIST(LOG_LEVEL_INFO, 0, format);
}

void
log_debug(const char *format, ...)
{
	LOG_LIST(LOG_LEVEL_DEBUG, 0, format);
}

bool
log_limit(struct log_limit *limit, usec_t now)
{
	if (now < limit->next) {
		limit->skipping++;
		return false;
	}
	limit->next = now + USEC_PER_SEC;
	limit->skipped = limit->skipping;
	limit->skipping = 0;
	return true;
}

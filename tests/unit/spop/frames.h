/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SPOP_FRAMES_H
#define TESTS_UNIT_SPOP_FRAMES_H

/*
 * Frames as a peer of any manners may write them: each function puts one in
 * the writer and fails the test when it does not fit.
 */

#include <string.h>

#include "spop/spop.h"
#include "tests/cmocka.h"

#define FRAMES_MAX 1024 /* bytes that a test needs */

struct frames {
	uint8_t buf[FRAMES_MAX];
	uint8_t fed[FRAMES_MAX]; /* what the last event points into */
	struct spop_writer w;
};

static inline void
frames_init(struct frames *f)
{
	spop_writer_init(&f->w, f->buf, sizeof(f->buf));
}

/* A frame of any kind; payload is a terminated string. */
static inline void
frames_add(struct frames *f, uint8_t type, uint32_t flags, uint64_t id,
	   const char *payload)
{
	struct spop_frame frame = {
		.type = type,
		.flags = flags,
		.stream_id = id,
		.frame_id = id,
		.payload = { (const uint8_t *)payload, strlen(payload) },
	};
	int total;

	spop_frame_begin(&f->w, &frame, FRAMES_MAX);
	total = spop_frame_end(&f->w);
	assert_true(total > 0);
}

static inline void
frames_notify(struct frames *f, uint64_t id, const char *payload)
{
	frames_add(f, SPOP_FRAME_NOTIFY, SPOP_FRAME_FIN, id, payload);
}

/* A control frame of items; those without a name are left out. */
static inline void
frames_control(struct frames *f, uint8_t type, const struct spop_pair *items,
	       size_t count)
{
	struct spop_frame frame = { .type = type, .flags = SPOP_FRAME_FIN };
	int total;

	spop_frame_begin(&f->w, &frame, FRAMES_MAX);
	for (size_t i = 0; i < count; i++)
		if (items[i].name.len > 0)
			spop_pair_encode(&f->w, items[i].name.at,
					 items[i].value);
	total = spop_frame_end(&f->w);
	assert_true(total > 0);
}

/* What HAProxy says first. */
static inline void
frames_hello(struct frames *f, int64_t max_frame_size)
{
	const struct spop_pair items[] = {
		{ spop_text_of("supported-versions"),
		  spop_value_string("2.0") },
		{ spop_text_of("max-frame-size"),
		  spop_value_int(max_frame_size) },
		{ spop_text_of("capabilities"),
		  spop_value_string("pipelining,async") },
		{ spop_text_of("engine-id"), spop_value_string("e-1") },
	};

	frames_control(f, SPOP_FRAME_HAPROXY_HELLO, items, 4);
}

static inline void
frames_disconnect(struct frames *f, uint8_t type, int64_t status,
		  const char *message)
{
	const struct spop_pair items[] = {
		{ spop_text_of("status-code"), spop_value_int(status) },
		{ spop_text_of("message"), spop_value_string(message) },
	};

	frames_control(f, type, items, 2);
}

/*
 * Feeds one frame, byte for byte more until it is complete, and takes it out.
 * Returns what the session made of it; the event lives until the next call.
 */
static inline int
frames_feed(struct frames *f, struct spop_session *s, struct spop_event *event)
{
	int used = 0;

	memcpy(f->fed, f->buf, f->w.len);
	for (size_t len = 0; used == 0 && len <= f->w.len; len++)
		used = spop_session_feed(s, f->fed, len, event);
	if (used > 0) {
		f->w.len -= (size_t)used;
		memmove(f->buf, f->buf + used, f->w.len);
	}
	return used;
}

/* An agent's session that is open for frames of at most max bytes. */
static inline void
frames_open_agent(struct spop_session *s, uint32_t max)
{
	struct frames f;
	struct spop_event event;
	int used;

	frames_init(&f);
	frames_hello(&f, max);
	used = frames_feed(&f, s, &event);
	assert_true(used > 0);
	used = spop_session_hello_agent(s, &f.w);
	assert_true(used > 0);
	assert_true(spop_session_is_open(s));
}

#endif

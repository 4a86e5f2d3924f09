/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session makes of a stream of bytes must not depend on how these are
 * cut: it gets them whole, byte by byte, and in steps of a size that the
 * input chooses, and must tell the same each time.
 *
 * The first byte of the input says which role the session has and whether it
 * gathers fragments, the second is the step.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spop/spop.h"

#define CLIENT 1
#define GATHERS 2
#define LEAVES 4 /* says DISCONNECT at the first chance */
#define GATHER_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct spop_session session;
	struct spop_writer out;
	uint8_t options;
	uint64_t digest; /* of all that was told */
	uint8_t gathered[GATHER_MAX];
	uint8_t buf[512];
};

/* FNV-1a, for it is short. */
static void
note(struct run *r, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++)
		r->digest = (r->digest ^ at[i]) * 0x100000001b3;
}

static void
note_number(struct run *r, uint64_t number)
{
	note(r, &number, sizeof(number));
}

static void
run_init(struct run *r, uint8_t options)
{
	static const struct spop_hello hello = {
		.max_frame_size = 4096,
		.capabilities = SPOP_CAPABILITY_PIPELINING,
	};
	bool client = (options & CLIENT) != 0;
	int written = 1;

	*r = (struct run){ .options = options };
	spop_writer_init(&r->out, r->buf, sizeof(r->buf));
	spop_session_init(&r->session, client ? SPOP_CLIENT : SPOP_AGENT);
	if ((options & GATHERS) != 0)
		spop_session_gather(&r->session, r->gathered, GATHER_MAX);
	if (client)
		written =
			spop_session_hello_client(&r->session, &r->out, &hello);
	assert(written > 0);
}

/* Answers as a caller would. */
static void
answer(struct run *r, const struct spop_event *event)
{
	int written = 1;

	r->out.len = 0;
	if (event->type == SPOP_EVENT_HELLO && (r->options & CLIENT) == 0)
		written = spop_session_hello_agent(&r->session, &r->out);
	else if (spop_session_is_open(&r->session) &&
		 event->type != SPOP_EVENT_HELLO && (r->options & LEAVES) != 0)
		written = spop_session_disconnect(&r->session, &r->out,
						  SPOP_STATUS_NORMAL, NULL);
	assert(written > 0);
	note(r, r->buf, r->out.len);
}

static void
tell(struct run *r, const struct spop_event *event)
{
	note_number(r, event->type);
	note_number(r, event->stream_id);
	note_number(r, event->frame_id);
	note_number(r, event->aborted);
	switch (event->type) {
	case SPOP_EVENT_HELLO:
		note_number(r, event->hello.max_frame_size);
		note_number(r, event->hello.capabilities);
		note_number(r, event->hello.healthcheck);
		note(r, event->hello.engine_id.at, event->hello.engine_id.len);
		break;
	case SPOP_EVENT_NOTIFY:
	case SPOP_EVENT_ACK:
		note(r, event->payload.at, event->payload.len);
		break;
	case SPOP_EVENT_DISCONNECT:
		note_number(r, event->disconnect.status);
		note(r, event->disconnect.message.at,
		     event->disconnect.message.len);
		break;
	case SPOP_EVENT_FRAGMENT:
	case SPOP_EVENT_ABORT:
	case SPOP_EVENT_IGNORED:
		break;
	}
	answer(r, event);
}

/* A refusal changes nothing, and one more try ends the same way. */
static void
refused(struct run *r, const uint8_t *data, size_t len, int error)
{
	struct spop_session before = r->session;
	struct spop_event event;
	int again = spop_session_feed(&r->session, data, len, &event);

	assert(again == error);
	assert(memcmp(&before, &r->session, sizeof(before)) == 0);
	note_number(r, (uint64_t)error);
}

/* Takes as many frames as there are; returns the bytes used, or an error. */
static int
take(struct run *r, const uint8_t *data, size_t len)
{
	size_t at = 0;
	int used;

	do {
		struct spop_event event;

		used = spop_session_feed(&r->session, data + at, len - at,
					 &event);
		assert(used <= 0 || (size_t)used <= len - at);
		if (used > 0) {
			tell(r, &event);
			at += (size_t)used;
		}
	} while (used > 0);
	if (used == 0)
		return (int)at;
	refused(r, data + at, len - at, used);
	return used;
}

static uint64_t
run_in_steps(const uint8_t *data, size_t size, size_t step, uint8_t options)
{
	size_t done = 0, have = 0;
	struct run r;

	run_init(&r, options);
	while (have < size) {
		int used;

		have = step < size - have ? have + step : size;
		used = take(&r, data + done, have - done);
		if (used < 0)
			break;
		done += (size_t)used;
	}
	note_number(&r, done == have);
	note_number(&r, r.session.state);
	return r.digest;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t options, step;
	uint64_t digest;

	if (size < 2)
		return 0;
	options = data[0];
	step = data[1] > 1 ? data[1] : 2;
	data += 2;
	size -= 2;

	digest = run_in_steps(data, size, size > 0 ? size : 1, options);
	assert(run_in_steps(data, size, 1, options) == digest);
	assert(run_in_steps(data, size, step, options) == digest);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/asker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"

#define OUT_BYTES ((size_t)512 * 1024)
#define MAX_FRAME_SIZE 16380 /* what HAProxy says by default */

/* ---- reading ---- */

enum form { WORD, NUMBER, FLAG };

static const struct variable {
	const char *name;
	enum form form;
	enum reply_variable bit;
	size_t offset, size;
} variables[] = {
#define VARIABLE(form, name, bit)                                              \
	{                                                                      \
#name, form, bit, offsetof(struct reply, name),                \
			sizeof(((struct reply *)NULL)->name)                   \
	}
	VARIABLE(WORD, verdict, REPLY_VERDICT),
	VARIABLE(WORD, permit, REPLY_PERMIT),
	VARIABLE(WORD, server, REPLY_SERVER),
	VARIABLE(WORD, backend, REPLY_BACKEND),
	VARIABLE(NUMBER, status, REPLY_STATUS),
	VARIABLE(WORD, error, REPLY_ERROR),
	VARIABLE(WORD, body, REPLY_BODY),
	VARIABLE(NUMBER, retry_after, REPLY_RETRY_AFTER),
	VARIABLE(FLAG, close, REPLY_CLOSE),
	VARIABLE(NUMBER, inflight, REPLY_INFLIGHT),
	VARIABLE(NUMBER, queued, REPLY_QUEUED),
	VARIABLE(NUMBER, limit, REPLY_LIMIT),
	VARIABLE(FLAG, noted, REPLY_NOTED),
	VARIABLE(WORD, prefill, REPLY_PREFILL),
	VARIABLE(FLAG, respond, REPLY_RESPOND),
#undef VARIABLE
};

static void
store(struct reply *reply, const struct variable *v,
      const struct spop_value *value)
{
	char *field = (char *)reply + v->offset;
	struct spop_text text;

	switch (v->form) {
	case WORD:
		assert_int_equal(value->type, SPOP_STRING);
		assert_true(spop_value_to_text(value, &text));
		assert_true(text.len < v->size);
		memcpy(field, text.at, text.len);
		field[text.len] = '\0';
		return;
	case NUMBER:
		assert_true(spop_value_to_int(value, (int64_t *)(void *)field));
		return;
	case FLAG:
		assert_true(spop_value_to_bool(value, (bool *)field));
		return;
	}
}

static void
read_action(struct reply *reply, const struct spop_action *action)
{
	assert_int_equal(action->type, SPOP_SET_VAR);
	assert_int_equal(action->scope, SPOP_SCOPE_TRANSACTION);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const struct variable *v = &variables[i];

		if (!spop_text_is(action->name, v->name))
			continue;
		assert_false(reply->set & v->bit);
		reply->set |= v->bit;
		store(reply, v, &action->value);
		return;
	}
	fail_msg("unknown variable %.*s", (int)action->name.len,
		 action->name.at);
}

static void
on_ack(struct asker *a, const struct spop_event *event)
{
	struct spop_bytes list = event->payload;
	struct spop_action action;
	struct reply *reply;
	int rc;

	if (a->count == a->cap) {
		a->cap = a->cap * 2 + 16;
		a->replies = realloc(a->replies, a->cap * sizeof(*a->replies));
		assert_non_null(a->replies);
	}
	reply = &a->replies[a->count++];
	memset(reply, 0, sizeof(*reply));
	reply->stream = event->stream_id;
	reply->frame = event->frame_id;
	reply->at = patience_now();
	while ((rc = spop_action_next(&list, &action)) > 0)
		read_action(reply, &action);
	assert_int_equal(rc, 0);
	/* An empty one hangs HAProxy 3.1.0. */
	assert_int_not_equal(reply->set, 0);
}

static void
on_event(struct asker *a, const struct spop_event *event)
{
	switch (event->type) {
	case SPOP_EVENT_ACK:
		on_ack(a, event);
		break;
	case SPOP_EVENT_DISCONNECT:
		a->goodbye = true;
		a->status = event->disconnect.status;
		break;
	case SPOP_EVENT_HELLO:
	case SPOP_EVENT_NOTIFY:
	case SPOP_EVENT_FRAGMENT:
	case SPOP_EVENT_ABORT:
	case SPOP_EVENT_IGNORED:
		break;
	}
}

/* Takes in what has come; false when nothing comes in time. */
static bool
pump(struct asker *a, usec_t deadline)
{
	struct wire *w = a->wire;
	struct spop_event event;
	int rc;

	if (!wire_fill(w, deadline))
		return false;
	while (w->used < w->len) {
		rc = spop_session_feed(&a->session, w->buf + w->used,
				       w->len - w->used, &event);
		if (rc < 0)
			fail_msg("the daemon sent: %s", spop_strerror(rc));
		if (rc == 0)
			break;
		w->used += (size_t)rc;
		on_event(a, &event);
	}
	return true;
}

/* ---- asking ---- */

static void
greet(struct asker *a, uint32_t max_frame_size)
{
	struct spop_hello hello = {
		.max_frame_size = max_frame_size,
		.capabilities = SPOP_CAPABILITY_PIPELINING,
		.engine_id = spop_text_of("engine"),
	};
	usec_t deadline = patience_end();

	assert_true(spop_session_hello_client(&a->session, &a->out, &hello) >
		    0);
	asker_flush(a);
	while (!spop_session_is_open(&a->session))
		assert_true(pump(a, deadline));
}

/* Takes the connection over. */
static struct asker *
begin(struct wire *wire, uint32_t max_frame_size)
{
	struct asker *a = calloc(1, sizeof(*a));
	uint8_t *out = malloc(OUT_BYTES);

	assert_non_null(a);
	assert_non_null(out);
	spop_writer_init(&a->out, out, OUT_BYTES);
	spop_session_init(&a->session, SPOP_CLIENT);
	a->wire = wire;
	greet(a, max_frame_size);
	return a;
}

struct asker *
asker_open(const struct agent *agent)
{
	return begin(wire_open(agent->spop), MAX_FRAME_SIZE);
}

struct asker *
asker_open_large(const struct agent *agent, uint32_t max_frame_size)
{
	return begin(wire_open(agent->spop), max_frame_size);
}

struct asker *
asker_open_narrow(const struct agent *agent)
{
	return begin(wire_open_narrow(agent->spop), MAX_FRAME_SIZE);
}

struct asker *
asker_open_unix(const char *path)
{
	return begin(wire_open_unix(path), MAX_FRAME_SIZE);
}

void
asker_close(struct asker **asker)
{
	if (*asker == NULL)
		return;
	wire_close(&(*asker)->wire);
	free((*asker)->out.buf);
	free((*asker)->replies);
	free(*asker);
	*asker = NULL;
}

void
id_make(char id[ID_BYTES], const char *who, int number)
{
	snprintf(id, ID_BYTES, "%s-%d", who, number);
}

void
fields_set(struct fields *fields, const char *name, struct spop_value value)
{
	size_t i = 0;

	while (i < fields->count && strcmp(fields->at[i].name, name) != 0)
		i++;
	if (i == fields->count)
		fields->count++;
	assert_true(fields->count <= FIELDS_MAX);
	fields->at[i].name = name;
	fields->at[i].value = value;
}

void
fields_drop(struct fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (strcmp(fields->at[i].name, name) == 0)
			fields->at[i] = fields->at[--fields->count];
}

void
fields_usual(struct fields *fields, const char *id)
{
	fields->count = 0;
	fields_set(fields, "id", spop_value_string(id));
	fields_set(fields, "pool", spop_value_string("chat"));
	fields_set(fields, "method", spop_value_string("POST"));
	fields_set(fields, "path", spop_value_string("/v1/chat/completions"));
	fields_set(fields, "http", spop_value_int(1));
	fields_set(fields, "body_len", spop_value_int(100));
	fields_set(fields, "body_size", spop_value_int(100));
}

void
asker_begin(struct asker *asker)
{
	spop_session_notify(&asker->session, &asker->out, ++asker->asked, 1);
}

void
asker_add(struct asker *asker, const char *message, const struct fields *fields)
{
	spop_message_begin(&asker->out, message);
	for (size_t i = 0; i < fields->count; i++)
		spop_argument_put(&asker->out, fields->at[i].name,
				  fields->at[i].value);
}

uint64_t
asker_end(struct asker *asker)
{
	assert_true(spop_frame_end(&asker->out) > 0);
	return asker->asked;
}

uint64_t
asker_put(struct asker *asker, const char *message, const struct fields *fields)
{
	asker_begin(asker);
	asker_add(asker, message, fields);
	return asker_end(asker);
}

uint64_t
asker_put_usual(struct asker *asker, const char *id)
{
	struct fields fields;

	fields_usual(&fields, id);
	return asker_put(asker, "admission-request", &fields);
}

void
asker_flush(struct asker *asker)
{
	assert_true(wire_send(asker->wire, asker->out.buf, asker->out.len));
	asker->out.len = 0;
}

uint64_t
asker_ask(struct asker *asker, const char *id)
{
	uint64_t stream = asker_put_usual(asker, id);

	asker_flush(asker);
	return stream;
}

uint64_t
asker_ask_fields(struct asker *asker, const struct fields *fields)
{
	uint64_t stream = asker_put(asker, "admission-request", fields);

	asker_flush(asker);
	return stream;
}

/* ---- answers ---- */

bool
asker_read(struct asker *asker)
{
	return pump(asker, 0);
}

static bool
take_received(struct asker *a, uint64_t stream, struct reply *reply)
{
	for (size_t i = 0; i < a->count; i++) {
		if (a->replies[i].stream != stream)
			continue;
		*reply = a->replies[i];
		a->count--;
		memmove(&a->replies[i], &a->replies[i + 1],
			(a->count - i) * sizeof(*a->replies));
		return true;
	}
	return false;
}

bool
asker_take(struct asker *asker, uint64_t stream, struct reply *reply,
	   usec_t deadline)
{
	while (!take_received(asker, stream, reply))
		if (!pump(asker, deadline))
			return false;
	return true;
}

struct reply
asker_reply(struct asker *asker, uint64_t stream)
{
	struct reply reply;

	if (!asker_take(asker, stream, &reply, patience_end()))
		fail_msg("no answer to stream %u", (unsigned)stream);
	return reply;
}

struct reply
asker_decide(struct asker *asker, const char *id)
{
	return asker_reply(asker, asker_ask(asker, id));
}

struct reply
asker_decide_fields(struct asker *asker, const struct fields *fields)
{
	return asker_reply(asker, asker_ask_fields(asker, fields));
}

struct reply
asker_respond_fields(struct asker *asker, const struct fields *fields)
{
	uint64_t stream = asker_put(asker, "admission-response", fields);

	asker_flush(asker);
	return asker_reply(asker, stream);
}

struct reply
asker_respond(struct asker *asker, const char *id, bool streamed)
{
	struct fields fields = { .count = 0 };

	fields_set(&fields, "id", spop_value_string(id));
	fields_set(&fields, "status", spop_value_int(200));
	fields_set(&fields, "streamed", spop_value_bool(streamed));
	fields_set(&fields, "server", spop_value_string("10.1.0.1:9000"));
	fields_set(&fields, "head",
		   spop_value_string(streamed ? "data: {}" : "{}"));
	return asker_respond_fields(asker, &fields);
}

void
asker_catch_up(struct asker *asker)
{
	/* One that nobody can use is answered at once, behind all others. */
	static const struct fields none = { .count = 0 };
	uint64_t stream = asker_put(asker, "catch-up", &none);

	asker_flush(asker);
	assert_true(asker_reply(asker, stream).set == REPLY_NOTED);
}

void
asker_expects_nothing(struct asker *asker)
{
	asker_catch_up(asker);
	if (asker->count > 0)
		fail_msg("stream %u got \"%s\" %d",
			 (unsigned)asker->replies[0].stream,
			 asker->replies[0].verdict,
			 (int)asker->replies[0].status);
}

bool
asker_is_dismissed(struct asker *asker, uint32_t status)
{
	usec_t deadline = patience_end();

	while (pump(asker, deadline))
		;
	return asker->goodbye && asker->status == status && asker->wire->ended;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/admission_message.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/permit.h"
#include "agent/core/reason.h"

#define REQUEST "admission-request"
#define RESPONSE "admission-response"

/* Room for the longest refusal body: all words and numbers are ours. */
#define BODY_MAX 256

/* The arguments as they came; an absent one is zero. */
struct fields {
	struct text id, pool, host, method, path, model, role, tenant;
	struct text server;
	struct address vip;
	int64_t vport, http, waited_ms;
	int64_t body_len, body_size;
	bool has_body_len, has_body_size;
	bool chunked, streamed;
	struct text head;
};

enum kind { TEXT, NUMBER, FLAG, ADDRESS, BYTES };

#define NO_MARK SIZE_MAX

/* What each argument is; a mark is set where one was there at all. */
static const struct argument {
	struct spop_text name;
	enum kind kind;
	size_t offset;
	size_t mark;
} arguments[] = {
#define NAME(name)                                                             \
	{                                                                      \
#name, sizeof(#name) - 1                                       \
	}
#define FIELD(name, kind)                                                      \
	{                                                                      \
		NAME(name), kind, offsetof(struct fields, name), NO_MARK       \
	}
#define MARKED(name, kind)                                                     \
	{                                                                      \
		NAME(name), kind, offsetof(struct fields, name),               \
			offsetof(struct fields, has_##name)                    \
	}
	FIELD(id, TEXT),           FIELD(pool, TEXT),
	FIELD(vip, ADDRESS),       FIELD(vport, NUMBER),
	FIELD(host, TEXT),         FIELD(method, TEXT),
	FIELD(path, TEXT),         FIELD(http, NUMBER),
	FIELD(model, TEXT),        MARKED(body_len, NUMBER),
	MARKED(body_size, NUMBER), FIELD(chunked, FLAG),
	FIELD(role, TEXT),         FIELD(waited_ms, NUMBER),
	FIELD(tenant, TEXT),       FIELD(streamed, FLAG),
	FIELD(head, BYTES),        FIELD(server, TEXT),
#undef FIELD
#undef MARKED
#undef NAME
};

static bool
to_text(const struct spop_value *value, struct text *text)
{
	struct spop_text view;

	if (!spop_value_to_text(value, &view))
		return false;
	*text = (struct text){ view.at, view.len };
	return true;
}

/* What HAProxy has as bytes may come as a string too. */
static bool
to_bytes(const struct spop_value *value, struct text *bytes)
{
	if (value->type != SPOP_BINARY)
		return to_text(value, bytes);
	*bytes = (struct text){ value->text.at, value->text.len };
	return true;
}

/* An IPv4 client of an IPv6 socket is an IPv4 client. */
static void
unmap(struct address *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(address->bytes, mapped, sizeof(mapped)) != 0)
		return;
	address->family = ADDRESS_V4;
	memmove(address->bytes, address->bytes + sizeof(mapped), 4);
}

static bool
to_address(const struct spop_value *value, struct address *address)
{
	*address = (struct address){ ADDRESS_NONE, { 0 } };
	if (value->type == SPOP_IPV4) {
		address->family = ADDRESS_V4;
		memcpy(address->bytes, value->ipv4, sizeof(value->ipv4));
		return true;
	}
	if (value->type != SPOP_IPV6)
		return false;
	address->family = ADDRESS_V6;
	memcpy(address->bytes, value->ipv6, sizeof(value->ipv6));
	unmap(address);
	return true;
}

static bool
store(void *field, enum kind kind, const struct spop_value *value)
{
	switch (kind) {
	case TEXT:
		return to_text(value, field);
	case NUMBER:
		return spop_value_to_int(value, field);
	case FLAG:
		return spop_value_to_bool(value, field);
	case ADDRESS:
		return to_address(value, field);
	case BYTES:
		return to_bytes(value, field);
	}
	return false;
}

static const struct argument *
argument_named(struct spop_text name)
{
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++) {
		const struct argument *a = &arguments[i];

		if (name.len == a->name.len &&
		    memcmp(name.at, a->name.at, name.len) == 0)
			return a;
	}
	return NULL;
}

/* False for a value of a wrong type; an argument we do not know is right. */
static bool
take(struct fields *fields, const struct spop_pair *pair)
{
	const struct argument *a = argument_named(pair->name);
	char *base = (char *)fields;

	if (a == NULL || pair->value.type == SPOP_NULL)
		return true;
	if (a->mark != NO_MARK)
		*(bool *)(base + a->mark) = true;
	return store(base + a->offset, a->kind, &pair->value);
}

static bool
is_streamed(const struct fields *f)
{
	if (f->chunked)
		return true;
	return f->has_body_len && f->has_body_size &&
	       f->body_len < f->body_size;
}

/* A number that counts from 0 and is held to a bound. */
static uint64_t
clamp(int64_t number, uint64_t max)
{
	if (number < 0)
		return 0;
	return (uint64_t)number > max ? max : (uint64_t)number;
}

/* 0, which no rule has, for what is no port. */
static uint16_t
to_port(int64_t number)
{
	return number < 0 || number > UINT16_MAX ? 0 : (uint16_t)number;
}

static enum role
role_of(struct text word)
{
	if (text_is(word, "prefill"))
		return ROLE_PREFILL;
	return text_is(word, "decode") ? ROLE_DECODE : ROLE_NORMAL;
}

/* The longest wait that a rule can ask for. */
#define WAITED_MS_MAX 3600000

static void
fill_ask(struct ask *ask, const struct fields *f)
{
	*ask = (struct ask){
		.id = f->id,
		.query = { .pool = f->pool,
			   .vip = f->vip,
			   .port = to_port(f->vport),
			   .host = f->host,
			   .path = f->path,
			   .model = f->model },
		.method = f->method,
		.http = f->http < 1 ? 1 : (unsigned)clamp(f->http, 3),
		.streamed = is_streamed(f),
		.leg = role_of(f->role),
		.tenant = f->tenant,
		.waited = clamp(f->waited_ms, WAITED_MS_MAX) * USEC_PER_MSEC,
	};
}

/* Whether HAProxy's log line can bring it back (log_line.h). */
static bool
is_id(struct text id)
{
	if (id.len == 0 || id.len > REQUEST_ID_MAX || text_is(id, "-"))
		return false;
	for (size_t i = 0; i < id.len; i++) {
		unsigned char c = (unsigned char)id.at[i];

		if (c <= ' ' || c == 0x7f)
			return false;
	}
	return true;
}

/*
 * The first event says that the prefill is done. A comment says nothing of it,
 * and of an answer in one piece only its end is known.
 */
static bool
has_begun(const struct fields *f)
{
	return f->streamed && (f->head.len == 0 || f->head.at[0] != ':');
}

static void
fill_response(struct response *response, const struct fields *f)
{
	*response = (struct response){ .id = f->id,
				       .server = f->server,
				       .begun = has_begun(f) };
}

static void
judge(struct question *q, const struct fields *f, bool typed)
{
	q->usable = false;
	q->why = UNUSABLE_ARGUMENT;
	if (!is_id(f->id)) {
		q->why = UNUSABLE_ID;
		return;
	}
	if (!typed)
		return;
	if (q->about == ABOUT_RESPONSE) {
		fill_response(&q->response, f);
		q->usable = true;
	} else if (f->method.len > 0 && f->path.len > 0) {
		fill_ask(&q->ask, f);
		q->usable = true;
	}
}

static int
read_arguments(struct spop_messages *list, struct question *q)
{
	struct fields fields = { .http = 1 };
	struct spop_pair pair;
	bool typed = true;
	int rc;

	while ((rc = spop_argument_next(list, &pair)) > 0)
		typed = take(&fields, &pair) && typed;
	if (rc < 0)
		return rc;
	judge(q, &fields, typed);
	return 0;
}

/* Messages behind the first request mean nothing. */
static int
read_message(struct spop_messages *list, const struct spop_message *message,
	     struct question *q)
{
	if (spop_text_is(message->name, REQUEST) && q->about != ABOUT_REQUEST) {
		q->about = ABOUT_REQUEST;
		return read_arguments(list, q);
	}
	if (spop_text_is(message->name, RESPONSE) &&
	    q->about == ABOUT_NOTHING) {
		q->about = ABOUT_RESPONSE;
		return read_arguments(list, q);
	}
	return 0;
}

int
admission_message_read(struct spop_bytes payload, struct question *question)
{
	struct spop_messages list = { .rest = payload };
	struct spop_message message;
	int rc;

	*question = (struct question){ .why = UNUSABLE_MESSAGE };
	while ((rc = spop_message_next(&list, &message)) > 0) {
		rc = read_message(&list, &message, question);
		if (rc < 0)
			break;
	}
	return rc;
}

/* ---- ACKs ---- */

static void
set(struct spop_writer *w, const char *name, struct spop_value value)
{
	spop_action_set_var(w, SPOP_SCOPE_TRANSACTION, name, value);
}

static void
set_string(struct spop_writer *w, const char *name, const char *string)
{
	if (string != NULL)
		set(w, name, spop_value_string(string));
}

static void
set_number(struct spop_writer *w, const char *name, uint32_t number)
{
	set(w, name, spop_value_int(number));
}

static void
write_body(struct spop_writer *w, const struct answer *a)
{
	const struct reason_row *row = &reason_table[a->reason];
	char extra[BODY_MAX / 2] = "";
	char body[BODY_MAX];

	switch (row->body) {
	case BODY_NOTHING:
		break;
	case BODY_JITTER:
		snprintf(extra, sizeof(extra), ",\"jitter_hint_ms\":%d",
			 REASON_JITTER_HINT_MS);
		break;
	case BODY_MESSAGE:
		snprintf(extra, sizeof(extra), ",\"message\":\"%s\"",
			 row->message);
		break;
	case BODY_QUEUED:
		snprintf(extra, sizeof(extra), ",\"queued_ms\":%u",
			 a->queued_ms);
		break;
	}
	snprintf(body, sizeof(body), "{\"error\":\"%s\",\"retry_after\":%u%s}",
		 row->error, a->retry_after, extra);
	set_string(w, "body", body);
}

static void
write_refusal(struct spop_writer *w, const struct answer *a, bool whole)
{
	const struct reason_row *row = &reason_table[a->reason];

	set_string(w, "verdict", "refuse");
	set_number(w, "status", row->status);
	set_string(w, "error", row->error);
	set_number(w, "retry_after", a->retry_after);
	set(w, "close", spop_value_bool(a->close));
	if (!whole)
		return;
	set_number(w, "inflight", a->inflight);
	set_number(w, "queued", a->queued);
	set_number(w, "limit", a->limit);
	write_body(w, a);
}

static void
write_admission(struct spop_writer *w, const struct answer *a, uint64_t epoch,
		bool whole)
{
	struct permit permit = { epoch, a->permit };
	char text[PERMIT_TEXT_MAX];

	permit_format(text, &permit);
	set_string(w, "verdict", "admit");
	set_string(w, "permit", text);
	set(w, "close", spop_value_bool(a->close));
	if (a->respond)
		set(w, "respond", spop_value_bool(true));
	if (!whole)
		return;
	set_string(w, "server", a->server);
	set_string(w, "backend", a->backend);
	set_string(w, "prefill", a->prefill);
}

static void
write_actions(struct spop_writer *w, const struct answer *a, uint64_t epoch,
	      bool whole)
{
	switch (a->verdict) {
	case VERDICT_ADMIT:
		write_admission(w, a, epoch, whole);
		break;
	case VERDICT_REFUSE:
		write_refusal(w, a, whole);
		break;
	case VERDICT_BYPASS:
	case VERDICT_WAIT:
		set_string(w, "verdict", "bypass");
		break;
	}
}

int
admission_message_answer(const struct spop_session *session,
			 struct spop_writer *w, const struct asker *to,
			 const struct answer *answer, uint64_t epoch)
{
	bool whole = true;
	int rc;

	for (;;) {
		spop_session_ack(session, w, to->stream, to->frame);
		write_actions(w, answer, epoch, whole);
		rc = spop_frame_end(w);
		if (rc != SPOP_ETOOBIG || !whole)
			return rc;
		whole = false;
	}
}

int
admission_message_expose(const struct spop_session *session,
			 struct spop_writer *w, const struct asker *to,
			 const struct exposure *exposure)
{
	spop_session_ack(session, w, to->stream, to->frame);
	set(w, "noted", spop_value_bool(true));
	if (exposure->exposed) {
		set_number(w, "inflight", exposure->inflight);
		set_number(w, "queued", exposure->queued);
		set_number(w, "limit", exposure->limit);
	}
	return spop_frame_end(w);
}

int
admission_message_note(const struct spop_session *session,
		       struct spop_writer *w, const struct asker *to,
		       const struct question *question)
{
	spop_session_ack(session, w, to->stream, to->frame);
	if (question->about == ABOUT_REQUEST)
		set_string(w, "verdict", "bypass");
	else
		set(w, "noted", spop_value_bool(false));
	return spop_frame_end(w);
}

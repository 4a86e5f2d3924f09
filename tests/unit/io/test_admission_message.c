/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/admission_message.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka.h"

#define FRAME_SIZE 16380

/* A NOTIFY that is being written, and what it says once it is read. */
struct desk {
	uint8_t buf[4096];
	struct spop_writer w;
	struct spop_session client;
	struct question question;
};

static void
begin(struct desk *d)
{
	spop_session_init(&d->client, SPOP_CLIENT);
	d->client.state = SPOP_STATE_OPEN;
	d->client.max_frame_size = FRAME_SIZE;
	spop_writer_init(&d->w, d->buf, sizeof(d->buf));
	spop_session_notify(&d->client, &d->w, 1, 1);
}

static void
put_text(struct desk *d, const char *name, const char *text)
{
	spop_argument_put(&d->w, name, spop_value_string(text));
}

static void
put_int(struct desk *d, const char *name, int64_t number)
{
	spop_argument_put(&d->w, name, spop_value_int(number));
}

static void
begin_response(struct desk *d)
{
	begin(d);
	spop_message_begin(&d->w, "admission-response");
}

/* What no question can do without. */
static void
begin_request(struct desk *d)
{
	begin(d);
	spop_message_begin(&d->w, "admission-request");
	put_text(d, "id", "one");
	put_text(d, "method", "POST");
	put_text(d, "path", "/v1/completions");
}

static int
read(struct desk *d)
{
	struct spop_frame frame;

	assert_true(spop_frame_end(&d->w) > 0);
	assert_true(spop_frame_decode(d->buf, d->w.len, FRAME_SIZE, &frame) >
		    0);
	return admission_message_read(frame.payload, &d->question);
}

static void
all_arguments_arrive(void **state)
{
	struct spop_value vip = { .type = SPOP_IPV4, .ipv4 = { 10, 0, 0, 1 } };
	const struct ask *ask;
	struct desk d;

	(void)state;
	begin_request(&d);
	put_text(&d, "pool", "chat");
	spop_argument_put(&d.w, "vip", vip);
	put_int(&d, "vport", 8000);
	put_text(&d, "host", "example.com");
	put_int(&d, "http", 2);
	put_text(&d, "model", "llama");
	put_text(&d, "role", "decode");
	put_text(&d, "tenant", "acme");
	put_int(&d, "waited_ms", 1500);
	assert_int_equal(read(&d), 0);
	assert_true(d.question.usable);
	assert_int_equal(d.question.about, ABOUT_REQUEST);

	ask = &d.question.ask;
	assert_true(text_is(ask->id, "one"));
	assert_true(text_is(ask->query.pool, "chat"));
	assert_int_equal(ask->query.vip.family, ADDRESS_V4);
	assert_memory_equal(ask->query.vip.bytes, vip.ipv4, 4);
	assert_int_equal(ask->query.port, 8000);
	assert_true(text_is(ask->query.host, "example.com"));
	assert_true(text_is(ask->query.path, "/v1/completions"));
	assert_true(text_is(ask->query.model, "llama"));
	assert_true(text_is(ask->method, "POST"));
	assert_int_equal(ask->http, 2);
	assert_int_equal(ask->leg, ROLE_DECODE);
	assert_true(text_is(ask->tenant, "acme"));
	assert_false(ask->streamed);
	assert_int_equal(ask->waited, 1500 * USEC_PER_MSEC);
}

/* An IPv4 client of an IPv6 socket is an IPv4 client. */
static void
mapped_address_is_ipv4(void **state)
{
	struct spop_value mapped = {
		.type = SPOP_IPV6, .ipv6 = { [10] = 0xff, 0xff, 10, 0, 0, 1 }
	};
	struct spop_value other = { .type = SPOP_IPV6, .ipv6 = { [15] = 1 } };
	struct desk d;

	(void)state;
	begin_request(&d);
	spop_argument_put(&d.w, "vip", mapped);
	assert_int_equal(read(&d), 0);
	assert_int_equal(d.question.ask.query.vip.family, ADDRESS_V4);
	assert_memory_equal(d.question.ask.query.vip.bytes, "\x0a\0\0\1", 4);

	begin_request(&d);
	spop_argument_put(&d.w, "vip", other);
	assert_int_equal(read(&d), 0);
	assert_int_equal(d.question.ask.query.vip.family, ADDRESS_V6);
	assert_memory_equal(d.question.ask.query.vip.bytes, other.ipv6, 16);
}

/* Interface 2 and 6.3: when a body is fully buffered. */
static void
body_is_streamed_or_not(void **state)
{
	static const struct {
		int64_t len, size; /* -1 is not said */
		int chunked;
		bool streamed;
	} rows[] = {
		{ -1, -1, -1, false }, { 10, 10, 0, false },
		{ 11, 10, 0, false },  { 9, 10, 0, true },
		{ 10, 10, 1, true },   { -1, -1, 1, true },
		{ 9, -1, 0, false },   { -1, 10, 0, false },
		{ 0, 10, -1, true },   { 0, 0, -1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct desk d;

		begin_request(&d);
		if (rows[i].len >= 0)
			put_int(&d, "body_len", rows[i].len);
		if (rows[i].size >= 0)
			put_int(&d, "body_size", rows[i].size);
		if (rows[i].chunked >= 0)
			spop_argument_put(&d.w, "chunked",
					  spop_value_bool(rows[i].chunked));
		assert_int_equal(read(&d), 0);
		assert_int_equal(d.question.ask.streamed, rows[i].streamed);
	}
}

static void
numbers_are_held_to_their_bounds(void **state)
{
	static const struct {
		int64_t said;
		unsigned http;
		usec_t waited;
	} rows[] = {
		{ -1, 1, 0 },
		{ 0, 1, 0 },
		{ 1, 1, 1 * USEC_PER_MSEC },
		{ 3, 3, 3 * USEC_PER_MSEC },
		{ 4, 3, 4 * USEC_PER_MSEC },
		{ 3600001, 3, 3600 * USEC_PER_SEC },
		{ INT64_MAX, 3, 3600 * USEC_PER_SEC },
		{ INT64_MIN, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct desk d;

		begin_request(&d);
		put_int(&d, "http", rows[i].said);
		put_int(&d, "waited_ms", rows[i].said);
		assert_int_equal(read(&d), 0);
		assert_int_equal(d.question.ask.http, rows[i].http);
		assert_int_equal(d.question.ask.waited, rows[i].waited);
	}
}

/* A port that is none must not become another rule's. */
static void
port_beyond_all_ports_is_none(void **state)
{
	static const int64_t ports[] = { -1, 65536, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		struct desk d;

		begin_request(&d);
		put_int(&d, "vport", ports[i]);
		assert_int_equal(read(&d), 0);
		assert_int_equal(d.question.ask.query.port, 0);
	}
}

/* A word that is no role makes it a whole request. */
static void
role_is_one_of_two_words(void **state)
{
	static const struct {
		const char *word;
		enum role leg;
	} rows[] = {
		{ "prefill", ROLE_PREFILL }, { "decode", ROLE_DECODE },
		{ "", ROLE_NORMAL },         { "Decode", ROLE_NORMAL },
		{ "normal", ROLE_NORMAL },   { "decode ", ROLE_NORMAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct desk d;

		begin_request(&d);
		put_text(&d, "role", rows[i].word);
		assert_int_equal(read(&d), 0);
		assert_int_equal(d.question.ask.leg, rows[i].leg);
	}
}

/* ---- responses ---- */

static void
put_bytes(struct desk *d, const char *name, const char *bytes)
{
	struct spop_value value = spop_value_string(bytes);

	value.type = SPOP_BINARY;
	spop_argument_put(&d->w, name, value);
}

/* Only the first event of a stream says so; NULL and -1 are not said. */
static void
answer_has_begun_or_not(void **state)
{
	static const struct {
		int streamed;
		const char *head;
		bool begun;
	} rows[] = {
		{ -1, NULL, false },        { 0, NULL, false },
		{ 1, NULL, true },          { 1, "", true },
		{ 1, "data: x", true },     { 1, "\n: x", true },
		{ 1, ": ping", false },     { 1, ":", false },
		{ 0, "{\"id\":1}", false }, { -1, "data: x", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct desk d;

		begin_response(&d);
		put_text(&d, "id", "one");
		put_text(&d, "server", "s1");
		if (rows[i].streamed >= 0)
			spop_argument_put(&d.w, "streamed",
					  spop_value_bool(rows[i].streamed));
		if (rows[i].head != NULL)
			put_bytes(&d, "head", rows[i].head);
		assert_int_equal(read(&d), 0);
		assert_true(d.question.usable);
		assert_int_equal(d.question.about, ABOUT_RESPONSE);
		assert_true(text_is(d.question.response.id, "one"));
		assert_true(text_is(d.question.response.server, "s1"));
		assert_int_equal(d.question.response.begun, rows[i].begun);
	}
}

/* What HAProxy has as bytes may come as text; what is NULL was not said. */
static void
head_may_be_text_or_null(void **state)
{
	struct desk d;

	(void)state;
	begin_response(&d);
	put_text(&d, "id", "one");
	spop_argument_put(&d.w, "streamed", spop_value_bool(true));
	put_text(&d, "head", ": ping");
	assert_int_equal(read(&d), 0);
	assert_true(d.question.usable);
	assert_false(d.question.response.begun);

	begin_response(&d);
	put_text(&d, "id", "one");
	spop_argument_put(&d.w, "streamed",
			  (struct spop_value){ .type = SPOP_NULL });
	spop_argument_put(&d.w, "head",
			  (struct spop_value){ .type = SPOP_NULL });
	assert_int_equal(read(&d), 0);
	assert_true(d.question.usable);
	assert_false(d.question.response.begun);
}

/* Of both messages in a NOTIFY the request is answered. */
static void
request_goes_before_response(void **state)
{
	struct desk d;

	(void)state;
	begin_response(&d);
	put_text(&d, "id", "other");
	spop_message_begin(&d.w, "admission-request");
	put_text(&d, "id", "one");
	put_text(&d, "method", "POST");
	put_text(&d, "path", "/");
	spop_message_begin(&d.w, "admission-response");
	assert_int_equal(read(&d), 0);
	assert_true(d.question.usable);
	assert_int_equal(d.question.about, ABOUT_REQUEST);
	assert_true(text_is(d.question.ask.id, "one"));
}

/* ---- what cannot be used ---- */

static void
is_unusable(struct desk *d, enum question_about about, enum unusable why)
{
	assert_int_equal(read(d), 0);
	assert_false(d->question.usable);
	assert_int_equal(d->question.about, about);
	assert_int_equal(d->question.why, why);
}

static void
without_an_id_there_is_no_question(void **state)
{
	static const char *const bad[] = { NULL, "", "-", "a b", "a\x7f" };
	char longest[REQUEST_ID_MAX + 2];
	struct desk d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		begin_response(&d);
		if (bad[i] != NULL)
			put_text(&d, "id", bad[i]);
		spop_argument_put(&d.w, "streamed", spop_value_bool(true));
		is_unusable(&d, ABOUT_RESPONSE, UNUSABLE_ID);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	begin_response(&d);
	put_text(&d, "id", longest);
	is_unusable(&d, ABOUT_RESPONSE, UNUSABLE_ID);

	longest[sizeof(longest) - 2] = '\0';
	begin_response(&d);
	put_text(&d, "id", longest);
	assert_int_equal(read(&d), 0);
	assert_true(d.question.usable);
}

/* Whichever it is, and however right the others are. */
static void
argument_of_a_wrong_type_is_not_used(void **state)
{
	static const char *const texts[] = {
		"host",   "model",  "role", "pool",
		"tenant", "method", "path", "vip"
	};
	static const char *const others[] = { "vport",     "http",
					      "waited_ms", "body_len",
					      "body_size", "chunked",
					      "vip",       "streamed" };
	struct desk d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		begin_request(&d);
		put_int(&d, texts[i], 1);
		is_unusable(&d, ABOUT_REQUEST, UNUSABLE_ARGUMENT);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		begin_request(&d);
		put_text(&d, others[i], "1");
		is_unusable(&d, ABOUT_REQUEST, UNUSABLE_ARGUMENT);
	}
	begin_response(&d);
	put_text(&d, "id", "one");
	put_int(&d, "head", 1);
	is_unusable(&d, ABOUT_RESPONSE, UNUSABLE_ARGUMENT);
}

/* Of any type; they are for agents after this one. */
static void
unknown_arguments_are_passed_over(void **state)
{
	struct desk d;

	(void)state;
	begin_response(&d);
	put_text(&d, "status", "fine");
	put_int(&d, "serving", 1);
	put_bytes(&d, "Id", "other");
	put_text(&d, "id", "one");
	assert_int_equal(read(&d), 0);
	assert_true(d.question.usable);
	assert_true(text_is(d.question.response.id, "one"));
}

static void
what_breaks_the_protocol_is_an_error(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "\1m", 2 },
		{ "\1m\1", 3 },
		{ "\1m\1\1a\x0f", 6 },
		{ "\5m", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct spop_bytes payload = { (const uint8_t *)rows[i].bytes,
					      rows[i].len };
		struct question q;

		assert_int_equal(admission_message_read(payload, &q),
				 SPOP_EINVAL);
	}
}

/* ---- ACKs ---- */

/* Which variables an ACK sets, as a list of words. */
static void
names_of(const uint8_t *bytes, size_t len, char names[256])
{
	struct spop_action action;
	struct spop_frame frame;
	int at = 0;

	assert_true(spop_frame_decode(bytes, len, FRAME_SIZE, &frame) > 0);
	while (spop_action_next(&frame.payload, &action) > 0)
		at += snprintf(names + at, 256 - (size_t)at, "%.*s ",
			       (int)action.name.len, action.name.at);
}

/* Answers a peer with frames of that size. */
static void
answer(uint32_t frame_size, const struct answer *a, char names[256])
{
	struct spop_session session = { .role = SPOP_AGENT,
					.state = SPOP_STATE_OPEN,
					.max_frame_size = frame_size };
	struct asker to = { NULL, UINT64_MAX, UINT64_MAX };
	uint8_t buf[8192];
	struct spop_writer w;
	int rc;

	spop_writer_init(&w, buf, sizeof(buf));
	rc = admission_message_answer(&session, &w, &to, a, 1);
	assert_true(rc > 0);
	assert_int_equal(rc, w.len);
	assert_true(w.len <= frame_size + SPOP_FRAME_PREFIX);
	names_of(buf, w.len, names);
}

/* The pair is named, and the answer is asked for. */
static void
admission_of_a_pair(void **state)
{
	struct answer a = { .verdict = VERDICT_ADMIT,
			    .permit = 1,
			    .server = "10.1.0.2:9000",
			    .prefill = "10.1.0.1:9000",
			    .respond = true };
	char names[256];

	(void)state;
	answer(FRAME_SIZE, &a, names);
	assert_string_equal(names, "verdict permit close respond server "
				   "prefill ");
}

/* The ACK of a response: what is exposed, and what was understood. */
static void
response_is_noted(void **state)
{
	struct spop_session session = { .role = SPOP_AGENT,
					.state = SPOP_STATE_OPEN,
					.max_frame_size = SPOP_FRAME_SIZE_MIN };
	struct exposure all = { true, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	struct exposure none = { .inflight = 7 };
	struct question unusable = { .about = ABOUT_RESPONSE };
	struct asker to = { NULL, UINT64_MAX, UINT64_MAX };
	struct spop_action action;
	struct spop_frame frame;
	uint8_t buf[SPOP_FRAME_SIZE_MIN + SPOP_FRAME_PREFIX];
	struct spop_writer w;
	char names[256];

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	assert_true(admission_message_expose(&session, &w, &to, &all) > 0);
	names_of(buf, w.len, names);
	assert_string_equal(names, "noted inflight queued limit ");

	w.len = 0;
	assert_true(admission_message_expose(&session, &w, &to, &none) > 0);
	names_of(buf, w.len, names);
	assert_string_equal(names, "noted ");

	w.len = 0;
	assert_true(admission_message_note(&session, &w, &to, &unusable) > 0);
	assert_true(spop_frame_decode(buf, w.len, FRAME_SIZE, &frame) > 0);
	assert_true(spop_action_next(&frame.payload, &action) > 0);
	assert_true(spop_text_is(action.name, "noted"));
	assert_int_equal(action.value.type, SPOP_BOOL);
	assert_false(action.value.boolean);
	assert_int_equal(spop_action_next(&frame.payload, &action), 0);
}

/* Fits any peer, and says at least what HAProxy cannot do without. */
static void
large_answer_is_cut_for_small_frames(void **state)
{
	char backend[300];
	struct answer admission = { .verdict = VERDICT_ADMIT,
				    .permit = 1,
				    .server = "10.1.0.1:9000",
				    .backend = backend,
				    .prefill = "10.1.0.2:9000",
				    .respond = true };
	char names[256];

	(void)state;
	memset(backend, 'b', sizeof(backend));
	backend[sizeof(backend) - 1] = '\0';
	answer(FRAME_SIZE, &admission, names);
	assert_string_equal(names, "verdict permit close respond server "
				   "backend prefill ");
	answer(SPOP_FRAME_SIZE_MIN, &admission, names);
	assert_string_equal(names, "verdict permit close respond ");
}

/* Refusals too: at worst without what only informs. */
static void
large_refusal_is_cut_for_small_frames(void **state)
{
	struct answer refusal = { .verdict = VERDICT_REFUSE,
				  .reason = REASON_DRAINING,
				  .retry_after = 5 };
	char names[256];

	(void)state;
	answer(SPOP_FRAME_SIZE_MIN, &refusal, names);
	assert_string_equal(names, "verdict status error retry_after close "
				   "inflight queued limit body ");
	refusal.inflight = refusal.queued = refusal.limit = UINT32_MAX;
	answer(SPOP_FRAME_SIZE_MIN, &refusal, names);
	assert_string_equal(names, "verdict status error retry_after close ");
}

/* A writer without room stays as it was, so that the caller can empty it. */
static void
no_room_writes_nothing(void **state)
{
	struct spop_session session = { .role = SPOP_AGENT,
					.state = SPOP_STATE_OPEN,
					.max_frame_size = FRAME_SIZE };
	struct answer a = { .verdict = VERDICT_ADMIT, .permit = 1 };
	struct asker to = { NULL, 7, 1 };
	uint8_t buf[32];
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	assert_int_equal(admission_message_answer(&session, &w, &to, &a, 1),
			 SPOP_ENOSPACE);
	assert_int_equal(w.len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_arguments_arrive),
		cmocka_unit_test(mapped_address_is_ipv4),
		cmocka_unit_test(body_is_streamed_or_not),
		cmocka_unit_test(numbers_are_held_to_their_bounds),
		cmocka_unit_test(port_beyond_all_ports_is_none),
		cmocka_unit_test(role_is_one_of_two_words),
		cmocka_unit_test(answer_has_begun_or_not),
		cmocka_unit_test(head_may_be_text_or_null),
		cmocka_unit_test(request_goes_before_response),
		cmocka_unit_test(without_an_id_there_is_no_question),
		cmocka_unit_test(argument_of_a_wrong_type_is_not_used),
		cmocka_unit_test(unknown_arguments_are_passed_over),
		cmocka_unit_test(what_breaks_the_protocol_is_an_error),
		cmocka_unit_test(admission_of_a_pair),
		cmocka_unit_test(response_is_noted),
		cmocka_unit_test(large_answer_is_cut_for_small_frames),
		cmocka_unit_test(large_refusal_is_cut_for_small_frames),
		cmocka_unit_test(no_room_writes_nothing),
	};

	return cmocka_run_group_tests_name("admission_message", tests, NULL,
					   NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/hello.h"

#include <string.h>

#include "spop/error.h"
#include "spop/frame.h"
#include "spop/pair.h"
#include "spop/writer.h"
#include "tests/cmocka.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum { VERSION, SIZE, CAPABILITIES, EXTRA, ITEMS };

/* A list of items to spoil: one without a name is left out. */
struct list {
	struct {
		const char *name;
		struct spop_value value;
	} item[ITEMS];
	uint8_t buf[256];
};

static struct list
haproxy_list(void)
{
	return (struct list){ .item = {
				      [VERSION] = { "supported-versions",
						    spop_value_string("2.0") },
				      [SIZE] = { "max-frame-size",
						 spop_value_int(16380) },
				      [CAPABILITIES] = { "capabilities",
							 spop_value_string(
								 "") },
			      } };
}

static struct list
agent_list(void)
{
	struct list list = haproxy_list();

	list.item[VERSION].name = "version";
	return list;
}

static struct spop_bytes
encode(struct list *list)
{
	struct spop_writer w;

	spop_writer_init(&w, list->buf, sizeof(list->buf));
	for (size_t i = 0; i < ITEMS; i++)
		if (list->item[i].name != NULL)
			spop_pair_encode(&w, list->item[i].name,
					 list->item[i].value);
	assert_int_equal(w.error, 0);
	return (struct spop_bytes){ list->buf, w.len };
}

/* Both decoders, which differ in what they call the version. */
static int
decode_haproxy(struct list list)
{
	struct spop_hello hello = { .max_frame_size = 77 };
	int rc = spop_hello_decode_haproxy(encode(&list), &hello);

	assert_int_equal(hello.max_frame_size == 77, rc != 0);
	return rc;
}

static int
decode_agent(struct list list)
{
	struct spop_hello hello = { .max_frame_size = 77 };
	int rc = spop_hello_decode_agent(encode(&list), &hello);

	assert_int_equal(hello.max_frame_size == 77, rc != 0);
	return rc;
}

static void
versions_are_chosen_from(void **state)
{
	static const struct {
		const char *versions;
		int rc;
	} table[] = {
		{ "2.0", 0 },
		{ "1.0, 2.0", 0 },
		{ "1.0,2.0,3.0", 0 },
		{ " 2.0 ", 0 },
		{ "\t2.0\t,1.5", 0 },
		{ "2.5, 1.5", 0 },
		{ "nonsense, 2.0", 0 },
		{ ",,2.0,", 0 },
		{ "", SPOP_EVERSION },
		{ ",", SPOP_EVERSION },
		{ "1.0", SPOP_EVERSION },
		{ "3.0", SPOP_EVERSION },
		{ "12.0", SPOP_EVERSION },
		{ "2", SPOP_EVERSION },
		{ "2.", SPOP_EVERSION },
		{ "20", SPOP_EVERSION },
		{ "2.x", SPOP_EVERSION },
		{ "2.0x", SPOP_EVERSION },
		{ "2.0 1.0", SPOP_EVERSION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct list list = haproxy_list();

		list.item[VERSION].value = spop_value_string(table[i].versions);
		assert_int_equal(decode_haproxy(list), table[i].rc);
	}
}

static void
the_agent_must_choose_our_version(void **state)
{
	static const struct {
		const char *version;
		int rc;
	} table[] = {
		{ "2.0", 0 },
		{ " 2.0 ", 0 },
		{ "2.1", SPOP_EVERSION },
		{ "1.0", SPOP_EVERSION },
		{ "", SPOP_EVERSION },
		{ "2.0, 1.0", SPOP_EVERSION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct list list = agent_list();

		list.item[VERSION].value = spop_value_string(table[i].version);
		assert_int_equal(decode_agent(list), table[i].rc);
	}
}

static void
the_size_has_two_ends(void **state)
{
	static const struct {
		int64_t size;
		int rc;
	} table[] = {
		{ INT64_MIN, SPOP_ESIZE },
		{ -1, SPOP_ESIZE },
		{ 0, SPOP_ESIZE },
		{ 255, SPOP_ESIZE },
		{ 256, 0 },
		{ 65532, 0 },
		{ 16 << 20, 0 },
		{ (16 << 20) + 1, SPOP_ESIZE },
		{ (int64_t)UINT32_MAX + 257, SPOP_ESIZE },
		{ INT64_MAX, SPOP_ESIZE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct list haproxy = haproxy_list(), agent = agent_list();

		haproxy.item[SIZE].value = spop_value_int(table[i].size);
		agent.item[SIZE].value = spop_value_int(table[i].size);
		assert_int_equal(decode_haproxy(haproxy), table[i].rc);
		assert_int_equal(decode_agent(agent), table[i].rc);
	}
}

static void
each_mandatory_item_is_missed(void **state)
{
	static const int errors[] = { SPOP_ENOVERSION, SPOP_ENOSIZE,
				      SPOP_ENOCAPABILITIES };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct list haproxy = haproxy_list(), agent = agent_list();

		haproxy.item[i].name = NULL;
		agent.item[i].name = "unknown";
		assert_int_equal(decode_haproxy(haproxy), errors[i]);
		assert_int_equal(decode_agent(agent), errors[i]);
	}
}

static void
each_item_has_its_type(void **state)
{
	(void)state;
	for (size_t i = VERSION; i <= CAPABILITIES; i++) {
		struct list haproxy = haproxy_list(), agent = agent_list();

		haproxy.item[i].value = spop_value_bool(true);
		agent.item[i].value = spop_value_bool(true);
		assert_int_equal(decode_haproxy(haproxy), SPOP_EINVAL);
		assert_int_equal(decode_agent(agent), SPOP_EINVAL);
	}
}

static void
optional_items_have_their_types_too(void **state)
{
	struct list list = haproxy_list();

	(void)state;
	list.item[EXTRA].name = "healthcheck";
	list.item[EXTRA].value = spop_value_string("yes");
	assert_int_equal(decode_haproxy(list), SPOP_EINVAL);
	list.item[EXTRA].name = "engine-id";
	list.item[EXTRA].value = spop_value_int(1);
	assert_int_equal(decode_haproxy(list), SPOP_EINVAL);
	list.item[EXTRA].name = "engine-ID";
	assert_int_equal(decode_haproxy(list), 0);
}

static void
a_health_check_is_told_apart(void **state)
{
	struct list list = haproxy_list();
	struct spop_hello hello;

	(void)state;
	assert_int_equal(spop_hello_decode_haproxy(encode(&list), &hello), 0);
	assert_false(hello.healthcheck);
	assert_int_equal(hello.engine_id.len, 0);

	list.item[EXTRA].name = "healthcheck";
	list.item[EXTRA].value = spop_value_bool(true);
	assert_int_equal(spop_hello_decode_haproxy(encode(&list), &hello), 0);
	assert_true(hello.healthcheck);

	list.item[EXTRA].value = spop_value_bool(false);
	assert_int_equal(spop_hello_decode_haproxy(encode(&list), &hello), 0);
	assert_false(hello.healthcheck);
}

static void
capabilities_are_picked_out(void **state)
{
	static const struct {
		const char *list;
		unsigned bits;
	} table[] = {
		{ "", 0 },
		{ " ", 0 },
		{ "pipelining", SPOP_CAPABILITY_PIPELINING },
		{ "pipelining,async",
		  SPOP_CAPABILITY_PIPELINING | SPOP_CAPABILITY_ASYNC },
		{ " async , fragmentation,teleportation,",
		  SPOP_CAPABILITY_ASYNC | SPOP_CAPABILITY_FRAGMENTATION },
		{ "pipelining async", 0 },
		{ "Pipelining,pipelinin,pipeliningg", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct list list = haproxy_list();
		struct spop_hello hello;

		list.item[CAPABILITIES].value =
			spop_value_string(table[i].list);
		assert_int_equal(
			spop_hello_decode_haproxy(encode(&list), &hello), 0);
		assert_int_equal(hello.capabilities, table[i].bits);
	}
}

static void
of_one_that_comes_twice_the_last_counts(void **state)
{
	struct list list = haproxy_list();
	struct spop_hello hello;

	(void)state;
	list.item[EXTRA].name = "max-frame-size";
	list.item[EXTRA].value = spop_value_int(1000);
	assert_int_equal(spop_hello_decode_haproxy(encode(&list), &hello), 0);
	assert_int_equal(hello.max_frame_size, 1000);
}

static void
trailing_garbage_is_refused(void **state)
{
	struct list list = haproxy_list();
	struct spop_bytes payload = encode(&list);
	struct spop_hello hello;

	(void)state;
	list.buf[payload.len] = 'x';
	payload.len++;
	assert_int_equal(spop_hello_decode_haproxy(payload, &hello),
			 SPOP_EINVAL);
}

static void
a_hello_is_written_as_others_write_it(void **state)
{
	static const char expected[] = "\7version\10\0032.0"
				       "\16max-frame-size\3\xfc\xf0\6"
				       "\14capabilities\10\20pipelining,async";
	const struct spop_hello hello = {
		.max_frame_size = 16380,
		.capabilities =
			SPOP_CAPABILITY_PIPELINING | SPOP_CAPABILITY_ASYNC,
	};
	uint8_t buf[128];
	struct spop_writer w;

	(void)state;
	spop_writer_init(&w, buf, sizeof(buf));
	spop_hello_encode_agent(&w, &hello);
	assert_int_equal(w.len, sizeof(expected) - 1);
	assert_memory_equal(buf, expected, w.len);
}

static void
a_hello_survives(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 8; bits++) {
		struct spop_hello ours = {
			.max_frame_size = SPOP_FRAME_SIZE_MAX,
			.capabilities = bits,
			.healthcheck = bits % 2,
			.engine_id = spop_text_of(bits % 2 ? "" : "e-1"),
		};
		struct spop_hello theirs;
		uint8_t buf[256];
		struct spop_writer w;

		spop_writer_init(&w, buf, sizeof(buf));
		spop_hello_encode_haproxy(&w, &ours);
		assert_int_equal(w.error, 0);
		assert_int_equal(
			spop_hello_decode_haproxy(
				(struct spop_bytes){ buf, w.len }, &theirs),
			0);
		assert_int_equal(theirs.max_frame_size, SPOP_FRAME_SIZE_MAX);
		assert_int_equal(theirs.capabilities, bits);
		assert_int_equal(theirs.healthcheck, ours.healthcheck);
		assert_true(spop_text_is(theirs.engine_id, ours.engine_id.at));

		w.len = 0;
		spop_hello_encode_agent(&w, &ours);
		assert_int_equal(
			spop_hello_decode_agent(
				(struct spop_bytes){ buf, w.len }, &theirs),
			0);
		assert_int_equal(theirs.capabilities, bits);
	}
}

static void
each_status_survives_a_disconnect(void **state)
{
	static const uint32_t statuses[] = { 0,  1,  2,  3,  4,         5,
					     6,  7,  8,  9,  10,        11,
					     12, 13, 99, 14, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct spop_disconnect ours = {
			statuses[i],
			spop_text_of(spop_status_text(statuses[i])),
		};
		struct spop_disconnect theirs;
		uint8_t buf[128];
		struct spop_writer w;

		spop_writer_init(&w, buf, sizeof(buf));
		spop_disconnect_encode(&w, &ours);
		assert_int_equal(w.error, 0);
		assert_int_equal(
			spop_disconnect_decode(
				(struct spop_bytes){ buf, w.len }, &theirs),
			0);
		assert_true(theirs.status == statuses[i]);
		assert_true(spop_text_is(theirs.message, ours.message.at));
	}
}

static void
a_disconnect_without_status_or_message_is_refused(void **state)
{
	struct list list = { .item = {
				     { "status-code", spop_value_int(0) },
				     { "message", spop_value_string("") },
			     } };
	struct spop_disconnect disconnect = { .status = 77 };
	int64_t bad[] = { -1, (int64_t)UINT32_MAX + 1 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct list less = list;

		less.item[i].name = NULL;
		assert_int_equal(
			spop_disconnect_decode(encode(&less), &disconnect),
			SPOP_EINVAL);
		less = list;
		less.item[0].value = spop_value_int(bad[i]);
		assert_int_equal(
			spop_disconnect_decode(encode(&less), &disconnect),
			SPOP_EINVAL);
	}
	assert_int_equal(disconnect.status, 77);
	assert_int_equal(spop_disconnect_decode(encode(&list), &disconnect), 0);
	assert_int_equal(disconnect.status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_chosen_from),
		cmocka_unit_test(the_agent_must_choose_our_version),
		cmocka_unit_test(the_size_has_two_ends),
		cmocka_unit_test(each_mandatory_item_is_missed),
		cmocka_unit_test(each_item_has_its_type),
		cmocka_unit_test(optional_items_have_their_types_too),
		cmocka_unit_test(a_health_check_is_told_apart),
		cmocka_unit_test(capabilities_are_picked_out),
		cmocka_unit_test(of_one_that_comes_twice_the_last_counts),
		cmocka_unit_test(trailing_garbage_is_refused),
		cmocka_unit_test(a_hello_is_written_as_others_write_it),
		cmocka_unit_test(a_hello_survives),
		cmocka_unit_test(each_status_survives_a_disconnect),
		cmocka_unit_test(
			a_disconnect_without_status_or_message_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

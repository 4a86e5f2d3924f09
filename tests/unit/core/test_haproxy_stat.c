/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/haproxy_stat.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/cmocka.h"

#define ANSWER_MAX 65536
#define HEADER "# pxname,svname,qcur,scur,status,type,addr,\n"

static bool
server_is(const struct haproxy_server *s, const char *backend,
	  const char *server, const char *address)
{
	return text_is(s->backend, backend) && text_is(s->server, server) &&
	       text_is(s->address, address);
}

/* ---- answers of real processes ---- */

static struct text
read_file(const char *path, char *bytes)
{
	FILE *file = fopen(path, "rb");
	struct text text = { bytes, 0 };

	assert_non_null(file);
	text.len = fread(bytes, 1, ANSWER_MAX, file);
	fclose(file);
	assert_in_range(text.len, 1, ANSWER_MAX - 1);
	return text;
}

static void
answers_of_real_processes_are_read(void **state)
{
	static const char *const files[] = {
		TEST_DATA "/haproxy-2.6-stat.txt",
		TEST_DATA "/haproxy-3.4-stat.txt",
	};
	static const struct {
		const char *backend, *server, *address;
		bool up;
		uint32_t sessions;
	} rows[] = {
		{ "pool", "127.0.0.1:18001", "127.0.0.1:18001", true, 1 },
		{ "pool", "e2", "127.0.0.1:18002", false, 0 },
		{ "pool", "e3", "[::1]:18003", false, 0 },
		{ "pool", "e4", "unix", true, 0 },
		{ "pool", "e5", "127.0.0.1:18001", true, 0 },
		{ "pool", "e6", "127.0.0.1:18001", true, 0 },
		{ "other-pool", "x", "0.0.0.0:0", true, 0 },
	};
	char *bytes = malloc(ANSWER_MAX);

	(void)state;
	assert_non_null(bytes);
	for (size_t f = 0; f < ARRAY_LEN(files); f++) {
		struct text answer = read_file(files[f], bytes);
		struct haproxy_info info;
		struct haproxy_stat stat;
		struct haproxy_server s;

		assert_true(haproxy_info_parse(&answer, &info));
		assert_int_not_equal(info.pid, 0);
		assert_int_equal(info.dropped_logs, 0);
		assert_int_equal(info.connections, 1);
		assert_false(info.stopping);

		assert_true(haproxy_stat_init(&stat, answer));
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			assert_true(haproxy_stat_next(&stat, &s));
			assert_true(server_is(&s, rows[i].backend,
					      rows[i].server, rows[i].address));
			assert_int_equal(s.up, rows[i].up);
			assert_int_equal(s.sessions, rows[i].sessions);
		}
		assert_false(haproxy_stat_next(&stat, &s));
		assert_true(stat.complete);
	}
	free(bytes);
}

/* Frontends and backends, too, and servers that were added at run time. */
static void
rows_of_all_kinds_are_read(void **state)
{
	static const struct {
		enum haproxy_kind kind;
		const char *backend, *server, *status;
		bool up;
		uint32_t limit;
	} rows[] = {
		{ HAPROXY_FRONTEND, "public", "FRONTEND", "OPEN", false, 7 },
		{ HAPROXY_SERVER, "pool", "e1", "no check", true, 9 },
		{ HAPROXY_SERVER, "pool", "adm_up", "UP", true, 9 },
		{ HAPROXY_SERVER, "pool", "adm_drained", "DRAIN", false, 9 },
		{ HAPROXY_SERVER, "pool", "adm_down", "DOWN", false, 9 },
		{ HAPROXY_SERVER, "pool", "adm_down_drained", "DOWN", false,
		  9 },
		{ HAPROXY_SERVER, "pool", "adm_maint", "MAINT", false, 9 },
		{ HAPROXY_BACKEND, "pool", "BACKEND", "UP", true, 1 },
	};
	char *bytes = malloc(ANSWER_MAX);
	struct haproxy_info info;
	struct haproxy_stat stat;
	struct haproxy_server row;

	(void)state;
	assert_non_null(bytes);
	assert_true(haproxy_answer_init(
		read_file(TEST_DATA "/haproxy-3.2-stat.txt", bytes), &info,
		&stat));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(haproxy_stat_row(&stat, &row));
		assert_int_equal(row.kind, rows[i].kind);
		assert_true(text_is(row.backend, rows[i].backend));
		assert_true(text_is(row.server, rows[i].server));
		assert_true(text_is(row.status, rows[i].status));
		assert_int_equal(row.up, rows[i].up);
		assert_int_equal(row.sessions, 0);
		assert_int_equal(row.limit, rows[i].limit);
	}
	assert_false(haproxy_stat_row(&stat, &row));
	assert_true(stat.complete);
	free(bytes);
}

static void
answer_is_whole_only_at_its_end(void **state)
{
	char *bytes = malloc(ANSWER_MAX);
	struct haproxy_info info;
	struct haproxy_stat stat;
	struct haproxy_server s;
	struct text whole;

	(void)state;
	assert_non_null(bytes);
	whole = read_file(TEST_DATA "/haproxy-2.6-stat.txt", bytes);
	for (size_t len = 0; len < whole.len; len++)
		assert_false(haproxy_answer_init((struct text){ whole.at, len },
						 &info, &stat));
	assert_true(haproxy_answer_init(whole, &info, &stat));
	assert_int_not_equal(info.pid, 0);
	assert_true(haproxy_stat_next(&stat, &s));
	assert_true(text_is(s.server, "127.0.0.1:18001"));
	free(bytes);
}

/* ---- show info ---- */

static void
info_is_read_and_left_behind(void **state)
{
	struct text answer = text_of("\n> Name: HAProxy\nPid: 7\nDroppedLogs: 3"
				     "\nStopping: 1\nBuild info: a: b\n\nrest");
	struct haproxy_info info;

	(void)state;
	assert_true(haproxy_info_parse(&answer, &info));
	assert_true(text_is(answer, "rest"));
	assert_int_equal(info.pid, 7);
	assert_int_equal(info.dropped_logs, 3);
	assert_int_equal(info.connections, 0);
	assert_true(info.stopping);
}

static void
what_is_no_info_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"\n> ",
		"Permission denied\n\n",
		"Name: HAProxy\n\n",
		"Pid: 7\n",
		"Pid: 7",
		"Pid: x\n\n",
		"Pid: 0\n\n",
		"Pid: 99999999999999999999\n\n",
		"Pid: 7\nStopping: maybe\n\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct text answer = text_of(cases[i]);
		struct haproxy_info info;

		assert_false(haproxy_info_parse(&answer, &info));
		assert_true(text_is(answer, cases[i]));
	}
}

/* ---- show stat ---- */

static bool
up_with(const char *status)
{
	char answer[256];
	struct haproxy_stat stat;
	struct haproxy_server s;

	snprintf(answer, sizeof(answer), HEADER "b,s,0,0,%s,2,a,\n\n", status);
	assert_true(haproxy_stat_init(&stat, text_of(answer)));
	assert_true(haproxy_stat_next(&stat, &s));
	return s.up;
}

static void
only_up_and_unchecked_are_up(void **state)
{
	(void)state;
	assert_true(up_with("UP"));
	assert_true(up_with("UP 1/3"));
	assert_true(up_with("no check"));
	assert_false(up_with("DOWN"));
	assert_false(up_with("DOWN 1/2"));
	assert_false(up_with("DOWN (agent)"));
	assert_false(up_with("MAINT"));
	assert_false(up_with("MAINT (via b/s)"));
	assert_false(up_with("DRAIN"));
	assert_false(up_with("NOLB"));
	assert_false(up_with("STOPPED"));
	assert_false(up_with(""));
}

static void
columns_are_found_by_name(void **state)
{
	struct text answer = text_of("> # addr,type,later,scur,svname,status,"
				     "pxname,qcur\n\"1:2\",2,\"a,\"\"b\n\",3,s,"
				     "UP,b,4\n\n");
	struct haproxy_stat stat;
	struct haproxy_server s;

	(void)state;
	assert_true(haproxy_stat_init(&stat, answer));
	assert_true(haproxy_stat_next(&stat, &s));
	assert_true(server_is(&s, "b", "s", "1:2"));
	assert_int_equal(s.sessions, 7);
	assert_false(haproxy_stat_next(&stat, &s));
	assert_true(stat.complete);
}

static void
header_without_a_column_is_refused(void **state)
{
	struct haproxy_stat stat;

	(void)state;
	assert_false(haproxy_stat_init(&stat, text_of("")));
	assert_false(haproxy_stat_init(&stat, text_of("# ")));
	assert_false(haproxy_stat_init(&stat, text_of("Unknown command\n")));
	assert_false(haproxy_stat_init(
		&stat, text_of("# pxname,svname,qcur,scur,status,type,\n")));
	assert_false(haproxy_stat_init(
		&stat, text_of("# pxname,svname,qcur,scur,status,type,addr")));
}

static size_t
count_servers(struct text answer, bool *complete)
{
	struct haproxy_stat stat;
	struct haproxy_server s;
	size_t count = 0;

	*complete = false;
	if (!haproxy_stat_init(&stat, answer))
		return 0;
	while (haproxy_stat_next(&stat, &s))
		count++;
	*complete = stat.complete;
	return count;
}

static void
malformed_rows_are_not_complete(void **state)
{
	static const char *const cases[] = {
		HEADER "b,s,0,x,UP,2,a,\n\n",
		HEADER "b,s,0,,UP,2,a,\n\n",
		HEADER "b,s,0,4294967295,UP,2,a,\n\n",
		HEADER "b,s,0,0,UP,2,a,\n",
		HEADER "b,s,0,0,UP,\"2,a,\n\n",
		HEADER "b,s,0,0,UP,4,a,\n\n",
		HEADER "f,FRONTEND,,x,OPEN,0,,\n\n",
		"# pxname,svname,qcur,scur,slim,status,type,addr,\n"
		"b,s,0,0,-1,UP,2,a,\n\n",
		HEADER,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool complete;

		count_servers(text_of(cases[i]), &complete);
		assert_false(complete);
	}
}

static void
no_server_is_a_complete_answer_too(void **state)
{
	bool complete;

	(void)state;
	assert_int_equal(count_servers(text_of(HEADER "\n"), &complete), 0);
	assert_true(complete);
	assert_int_equal(
		count_servers(text_of(HEADER "f,FRONTEND,,1,OPEN,0,,\n\n"),
			      &complete),
		0);
	assert_true(complete);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_real_processes_are_read),
		cmocka_unit_test(rows_of_all_kinds_are_read),
		cmocka_unit_test(answer_is_whole_only_at_its_end),
		cmocka_unit_test(info_is_read_and_left_behind),
		cmocka_unit_test(what_is_no_info_is_refused),
		cmocka_unit_test(only_up_and_unchecked_are_up),
		cmocka_unit_test(columns_are_found_by_name),
		cmocka_unit_test(header_without_a_column_is_refused),
		cmocka_unit_test(malformed_rows_are_not_complete),
		cmocka_unit_test(no_server_is_a_complete_answer_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

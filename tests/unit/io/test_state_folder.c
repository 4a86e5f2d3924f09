/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of --state-dir: made, locked, read, written, or refused. */
#include "agent/io/state_folder.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/rules_json.h"
#include "tests/cmocka.h"

struct place {
	char above[32];
	char path[48]; /* not there at first */
};

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->above, "/tmp/state-test-XXXXXX");
	assert_non_null(mkdtemp(p->above));
	snprintf(p->path, sizeof(p->path), "%s/state", p->above);
	*state = p;
	return 0;
}

static void
name_in(const struct place *p, const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", p->path, name);
}

static int
teardown(void **state)
{
	static const char *const names[] = { "lock", STATE_RULES };
	struct place *p = *state;
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		name_in(p, names[i], path);
		unlink(path);
	}
	rmdir(p->path);
	/* Nothing else was left. */
	assert_int_equal(rmdir(p->above), 0);
	free(p);
	return 0;
}

static const char *
no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct gate *
new_gate(void)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;
	struct gate *gate;

	settings_env_read(&env, no_environment);
	gate = gate_new(&options, &env, 0);
	assert_non_null(gate);
	return gate;
}

static void
put(struct gate *gate, const char *host)
{
	json_t *body = json_pack("{s:{s:s,s:i,s:s,s:s},s:[{s:s,s:i,s:i}]}",
				 "serviceArguments", "externalIP", "192.0.2.1",
				 "port", 80, "protocol", "tcp", "host", host,
				 "endpoints", "endpointIP", "198.51.100.1",
				 "targetPort", 8000, "weight", 1);
	struct fault fault;

	assert_true(rules_put(gate, body, 0, &fault));
	json_decref(body);
}

static void
write_file(const struct place *p, const char *name, const char *text)
{
	char path[64];
	FILE *f;

	name_in(p, name, path);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	fclose(f);
}

static bool
exists(const struct place *p, const char *name)
{
	char path[64];

	name_in(p, name, path);
	return access(path, F_OK) == 0;
}

static struct state_folder *
open_it(const struct place *p)
{
	struct state_folder *folder = state_folder_open(p->path, false);

	assert_non_null(folder);
	return folder;
}

static enum state_found
load(const struct state_folder *folder, size_t *count)
{
	struct gate *gate = new_gate();
	enum state_found found = state_folder_load(folder, gate, 0);

	*count = gate->rules.len;
	gate_free(&gate);
	return found;
}

static void
folder_is_made_for_its_owner(void **state)
{
	const struct place *p = *state;
	struct state_folder *folder = open_it(p);
	struct stat about;
	size_t count;

	assert_int_equal(stat(p->path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0700);
	assert_int_equal(load(folder, &count), STATE_EMPTY);
	assert_false(exists(p, STATE_RULES));
	state_folder_close(&folder);
	/* And taken as it is where it is there. */
	folder = open_it(p);
	state_folder_close(&folder);
}

static void
only_one_level_is_made(void **state)
{
	const struct place *p = *state;
	char path[64];

	name_in(p, "deeper", path);
	assert_null(state_folder_open(path, false));
	assert_null(state_folder_open(path, true));
}

static void
what_is_no_folder_is_refused(void **state)
{
	(void)state;
	assert_null(state_folder_open("/dev/null", false));
	assert_null(state_folder_open("/dev/null", true));
}

static void
kept_rules_are_loaded_in_order(void **state)
{
	static const char *const hosts[] = { "c", "a", "b" };
	const struct place *p = *state;
	struct state_folder *folder = open_it(p);
	struct gate *gate = new_gate();
	const struct service *s;
	size_t i = 0;

	for (size_t n = 0; n < ARRAY_LEN(hosts); n++)
		put(gate, hosts[n]);
	assert_true(state_folder_keep(folder, gate));
	gate_free(&gate);
	state_folder_close(&folder);

	folder = open_it(p);
	gate = new_gate();
	assert_int_equal(state_folder_load(folder, gate, 0), STATE_LOADED);
	TAILQ_FOREACH (s, &gate->rules.services, link)
		assert_string_equal(s->rule->host, hosts[i++]);
	assert_int_equal(i, ARRAY_LEN(hosts));
	gate_free(&gate);
	state_folder_close(&folder);
}

/* All were deleted: that is not the same as that there never were any. */
static void
no_rules_are_loaded_too(void **state)
{
	const struct place *p = *state;
	struct state_folder *folder = open_it(p);
	struct gate *gate = new_gate();
	size_t count;

	assert_true(state_folder_keep(folder, gate));
	gate_free(&gate);
	assert_int_equal(load(folder, &count), STATE_LOADED);
	assert_int_equal(count, 0);
	state_folder_close(&folder);
}

static void
folder_has_one_agent(void **state)
{
	const struct place *p = *state;
	struct state_folder *folder = open_it(p);
	struct state_folder *check;

	assert_null(state_folder_open(p->path, false));
	/* Who only checks does not mind. */
	check = state_folder_open(p->path, true);
	assert_non_null(check);
	state_folder_close(&check);
	state_folder_close(&folder);
	folder = open_it(p);
	state_folder_close(&folder);
}

static void
leftovers_go_unless_it_is_only_checked(void **state)
{
	const struct place *p = *state;
	struct state_folder *folder = open_it(p);

	state_folder_close(&folder);
	write_file(p, STATE_RULES ".new", "half");
	folder = state_folder_open(p->path, true);
	assert_non_null(folder);
	state_folder_close(&folder);
	assert_true(exists(p, STATE_RULES ".new"));
	folder = open_it(p);
	assert_false(exists(p, STATE_RULES ".new"));
	state_folder_close(&folder);
}

static void
damaged_rules_are_refused_and_kept(void **state)
{
	const struct place *p = *state;
	struct state_folder *folder = open_it(p);
	size_t count;

	write_file(p, STATE_RULES, "{\"lbAttr\":[]}");
	assert_int_equal(load(folder, &count), STATE_REFUSED);
	assert_int_equal(count, 0);
	assert_true(exists(p, STATE_RULES));
	state_folder_close(&folder);
}

static void
check_makes_nothing(void **state)
{
	const struct place *p = *state;
	struct state_folder *folder = state_folder_open(p->path, true);
	size_t count;

	assert_non_null(folder);
	assert_int_equal(load(folder, &count), STATE_EMPTY);
	assert_int_not_equal(access(p->path, F_OK), 0);
	state_folder_close(&folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folder_is_made_for_its_owner),
		TEST(only_one_level_is_made),
		TEST(what_is_no_folder_is_refused),
		TEST(kept_rules_are_loaded_in_order),
		TEST(no_rules_are_loaded_too),
		TEST(folder_has_one_agent),
		TEST(leftovers_go_unless_it_is_only_checked),
		TEST(damaged_rules_are_refused_and_kept),
		TEST(check_makes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of the rules: in order, on disk before they are in force. */
#include "agent/io/api_write.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/api.h"
#include "agent/io/api_route.h"
#include "agent/io/disk_writer.h"
#include "agent/io/turn.h"
#include "tests/cmocka.h"

#define NAME "rules.json"
#define RULES "/netlox/v1/config/loadbalancer"
#define WRITES_MAX 4

/* ---- the system: the linker sends the calls of everybody here ---- */

/* The disk is at work until it is let go. */
static sem_t go;
static bool held;

/* The errno of those that come: of a file, and of a folder. */
static int sync_error, folder_error;
static unsigned folder_failures; /* how many more of them do fail */
static unsigned folder_syncs;

static bool armed;
static unsigned asked, fail_at;

/* The linker's names. NOLINTBEGIN(readability-identifier-naming) */
int __real_fsync(int fd);
int __wrap_fsync(int fd);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static int
fail_with(int error)
{
	errno = error;
	return -1;
}

int
__wrap_fsync(int fd)
{
	struct stat about;

	assert_int_equal(fstat(fd, &about), 0);
	if (S_ISDIR(about.st_mode)) {
		folder_syncs++;
		if (folder_failures == 0)
			return __real_fsync(fd);
		folder_failures--;
		return fail_with(folder_error);
	}
	if (held)
		sem_wait(&go);
	return sync_error != 0 ? fail_with(sync_error) : __real_fsync(fd);
}

void *
__wrap_malloc(size_t size)
{
	if (armed && ++asked == fail_at)
		return NULL;
	return __real_malloc(size);
}
/* NOLINTEND(readability-identifier-naming) */

/* ---- a gate, a disk, and who writes ---- */

struct call {
	struct api_write write;
	struct api_call call;
	char target[128];
	char body[512];
	bool answered;
};

struct fixture {
	char path[32];
	int folder;
	struct event_base *base;
	struct turn *turn;
	struct gate *gate;
	struct disk_writer *disk;
	struct api_options options;
	struct api_writes writes;
	struct call calls[WRITES_MAX];
	size_t count;
};

/* Who is answered, one after the other. */
static struct call *order[WRITES_MAX];
static size_t answered;

static void
on_answered(struct api_write *write)
{
	struct call *call = CONTAINER_OF(write, struct call, write);

	assert_false(call->answered);
	call->answered = true;
	order[answered++] = call;
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

	settings_env_read(&env, no_environment);
	return gate_new(&options, &env, 0);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->path, "/tmp/write-test-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->folder = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->base = event_base_new();
	f->turn = turn_open(f->base);
	f->gate = new_gate();
	f->disk = disk_writer_open(f->base, f->folder, NAME);
	assert_non_null(f->disk);
	f->options.gate = f->gate;
	api_writes_init(&f->writes, f->gate, f->turn, f->disk, on_answered);

	held = false;
	sem_init(&go, 0, 0);
	sync_error = folder_error = 0;
	folder_failures = folder_syncs = 0;
	asked = fail_at = 0;
	answered = 0;
	*state = f;
	return 0;
}

static void
forget_calls(struct fixture *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->calls[i].write.answer.body);
	memset(f->calls, 0, sizeof(f->calls));
	f->count = 0;
	answered = 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	api_writes_fini(&f->writes);
	disk_writer_close(&f->disk);
	forget_calls(f);
	unlinkat(f->folder, NAME, 0);
	close(f->folder);
	assert_int_equal(rmdir(f->path), 0);
	gate_free(&f->gate);
	turn_close(&f->turn);
	event_base_free(f->base);
	sem_destroy(&go);
	free(f);
	return 0;
}

/* Whether it is answered at once. */
static bool
take(struct fixture *f, enum api_method method, const char *target,
     const char *body)
{
	struct call *c = &f->calls[f->count++];

	assert_true(f->count <= WRITES_MAX);
	snprintf(c->target, sizeof(c->target), "%s", target);
	snprintf(c->body, sizeof(c->body), "%s", body);
	c->call = (struct api_call){ .method = method,
				     .body = text_of(c->body),
				     .options = &f->options };
	assert_true(api_call_target(&c->call, c->target));
	c->write.call = &c->call;
	c->write.route = api_route_find(&c->call, &c->write.answer);
	assert_non_null(c->write.route);
	return api_writes_take(&f->writes, &c->write);
}

static bool
take_put(struct fixture *f, const char *host, unsigned ceiling)
{
	char body[512];

	snprintf(body, sizeof(body),
		 "{\"serviceArguments\":{\"externalIP\":\"10.0.0.1\","
		 "\"port\":80,\"protocol\":\"tcp\",\"host\":\"%s\","
		 "\"mode\":4,\"sse_mode\":true,\"fc_max_outstanding\":%u},"
		 "\"endpoints\":[{\"endpointIP\":\"10.1.0.1\","
		 "\"targetPort\":9000,\"weight\":1}]}",
		 host, ceiling);
	return take(f, API_POST, RULES, body);
}

static bool
take_delete(struct fixture *f, const char *host)
{
	char target[128];

	snprintf(target, sizeof(target),
		 RULES "/hosturl/%s/externalipaddress/10.0.0.1/port/80"
		       "/protocol/tcp",
		 host);
	return take(f, API_DELETE, target, "");
}

/* Turns the loop until so many are answered that were not at once. */
static void
run_until(struct fixture *f, size_t count)
{
	while (answered < count)
		assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
}

static void
put_and_wait(struct fixture *f, const char *host, unsigned ceiling)
{
	assert_false(take_put(f, host, ceiling));
	run_until(f, 1);
	assert_int_equal(f->calls[0].write.answer.status, 200);
	forget_calls(f);
}

/* The ceiling of the one rule there is; 0 where there is none. */
static unsigned
ceiling(const struct fixture *f)
{
	const struct service *s = TAILQ_FIRST(&f->gate->rules.services);

	assert_true(f->gate->rules.len <= 1);
	return s == NULL ? 0 : s->rule->declared.max_outstanding;
}

/* The same, of the rule that is kept. */
static unsigned
kept_ceiling(const struct fixture *f)
{
	size_t len;
	char *text = disk_file_read(f->folder, NAME, &len);
	const char *found = NULL;
	unsigned number = 0;

	if (text != NULL)
		found = strstr(text, "\"fc_max_outstanding\":");
	if (found != NULL)
		number = (unsigned)strtoul(strchr(found, ':') + 1, NULL, 10);
	free(text);
	return number;
}

static void
assert_says(const struct call *call, const char *text)
{
	if (strstr(call->write.answer.body, text) == NULL)
		fail_msg("said %s", call->write.answer.body);
}

/* ---- tests ---- */

static void
write_is_in_force_once_it_is_kept(void **state)
{
	struct fixture *f = *state;

	held = true;
	assert_false(take_put(f, "a", 5));
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	assert_int_equal(ceiling(f), 0);
	assert_int_equal(answered, 0);
	sem_post(&go);
	run_until(f, 1);
	assert_int_equal(f->calls[0].write.answer.status, 200);
	assert_int_equal(ceiling(f), 5);
	assert_int_equal(kept_ceiling(f), 5);
}

/* Each is planned on what the one before has left. */
static void
writes_come_one_after_the_other(void **state)
{
	static const unsigned statuses[] = { 200, 200, 200, 404 };
	struct fixture *f = *state;

	held = true;
	assert_false(take_put(f, "a", 5));
	assert_false(take_put(f, "a", 6));
	assert_false(take_delete(f, "a"));
	assert_false(take_delete(f, "a"));
	for (size_t i = 0; i < 3; i++)
		sem_post(&go);
	run_until(f, ARRAY_LEN(statuses));
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		assert_ptr_equal(order[i], &f->calls[i]);
		assert_int_equal(order[i]->write.answer.status, statuses[i]);
	}
	assert_int_equal(f->gate->rules.len, 0);
	assert_int_equal(folder_syncs, 3);
}

static void
maintenance_freezes_what_has_not_begun(void **state)
{
	struct fixture *f = *state;

	held = true;
	assert_false(take_put(f, "a", 5));
	assert_false(take_put(f, "a", 6));
	assert_true(gate_enter_maintenance(f->gate, 0, 0, 0));
	sem_post(&go);
	run_until(f, 2);
	assert_int_equal(f->calls[0].write.answer.status, 200);
	assert_int_equal(f->calls[1].write.answer.status, 503);
	assert_int_equal(ceiling(f), 5);
}

static void
what_the_disk_refuses_is_not_in_force(void **state)
{
	struct fixture *f = *state;

	put_and_wait(f, "a", 5);
	sync_error = EIO;
	assert_false(take_put(f, "a", 6));
	assert_false(take_delete(f, "a"));
	run_until(f, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(f->calls[i].write.answer.status, 500);
		assert_says(&f->calls[i], strerror(EIO));
	}
	assert_int_equal(ceiling(f), 5);
	assert_int_equal(kept_ceiling(f), 5);

	forget_calls(f);
	sync_error = 0;
	put_and_wait(f, "a", 7);
	assert_int_equal(ceiling(f), 7);
	assert_int_equal(kept_ceiling(f), 7);
}

/* The disk may show it by then; what is in force is put back. */
static void
failure_of_the_last_step_is_taken_back(void **state)
{
	struct fixture *f = *state;

	put_and_wait(f, "a", 5);
	folder_syncs = 0;
	folder_error = EIO;
	folder_failures = 1;
	assert_false(take_put(f, "a", 6));
	assert_false(take_put(f, "a", 8));
	run_until(f, 1);
	assert_int_equal(f->calls[0].write.answer.status, 500);
	assert_says(&f->calls[0], "sync of the folder");
	assert_int_equal(ceiling(f), 5);
	/* Those that wait go on behind that. */
	run_until(f, 2);
	assert_int_equal(f->calls[1].write.answer.status, 200);
	assert_int_equal(folder_syncs, 3);
	assert_int_equal(ceiling(f), 8);
	assert_int_equal(kept_ceiling(f), 8);
}

static void
what_was_taken_back_is_kept_again(void **state)
{
	struct fixture *f = *state;

	put_and_wait(f, "a", 5);
	folder_error = EIO;
	folder_failures = 1;
	assert_false(take_put(f, "a", 6));
	run_until(f, 1);
	assert_int_equal(f->calls[0].write.answer.status, 500);
	assert_int_equal(kept_ceiling(f), 5);
}

static void
what_cannot_be_taken_back_the_next_write_mends(void **state)
{
	struct fixture *f = *state;

	put_and_wait(f, "a", 5);
	folder_error = EIO;
	folder_failures = 2;
	assert_false(take_put(f, "a", 6));
	run_until(f, 1);
	assert_int_equal(f->calls[0].write.answer.status, 500);
	assert_int_equal(ceiling(f), 5);
	forget_calls(f);
	put_and_wait(f, "a", 7);
	assert_int_equal(ceiling(f), 7);
	assert_int_equal(kept_ceiling(f), 7);
}

static void
what_changes_nothing_needs_no_disk(void **state)
{
	struct fixture *f = *state;

	put_and_wait(f, "a", 5);
	sync_error = EIO;
	assert_true(take_put(f, "a", 5));
	assert_int_equal(f->calls[0].write.answer.status, 200);
	/* Nor does what is refused anyhow. */
	assert_true(take_delete(f, "b"));
	assert_int_equal(f->calls[1].write.answer.status, 404);
	assert_true(take(f, API_POST, RULES, "{"));
	assert_int_equal(f->calls[2].write.answer.status, 400);
	assert_int_equal(answered, 0);
}

static void
without_a_disk_each_is_answered_at_once(void **state)
{
	struct fixture *f = *state;

	api_writes_init(&f->writes, f->gate, f->turn, NULL, on_answered);
	assert_true(take_put(f, "a", 5));
	assert_int_equal(f->calls[0].write.answer.status, 200);
	assert_int_equal(ceiling(f), 5);
	assert_true(take_delete(f, "a"));
	assert_int_equal(ceiling(f), 0);
	assert_int_equal(folder_syncs, 0);
}

static void
without_memory_nothing_is_begun(void **state)
{
	struct fixture *f = *state;
	bool now = true;

	put_and_wait(f, "a", 5);
	for (fail_at = 1; now; fail_at++) {
		forget_calls(f);
		asked = 0;
		armed = true;
		now = take_put(f, "a", 6);
		armed = false;
		if (now)
			assert_int_equal(f->calls[0].write.answer.status, 500);
		assert_int_equal(ceiling(f), 5);
	}
	assert_true(fail_at > 2);
	run_until(f, 1);
	assert_int_equal(ceiling(f), 6);
}

static void
end_gives_up_on_those_that_are_not_answered(void **state)
{
	struct fixture *f = *state;

	held = true;
	assert_false(take_put(f, "a", 5));
	assert_false(take_put(f, "a", 6));
	api_writes_fini(&f->writes);
	assert_int_equal(answered, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(f->calls[i].write.answer.status, 0);
	assert_int_equal(ceiling(f), 0);
	sem_post(&go);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(write_is_in_force_once_it_is_kept),
		TEST(writes_come_one_after_the_other),
		TEST(maintenance_freezes_what_has_not_begun),
		TEST(what_the_disk_refuses_is_not_in_force),
		TEST(failure_of_the_last_step_is_taken_back),
		TEST(what_was_taken_back_is_kept_again),
		TEST(what_cannot_be_taken_back_the_next_write_mends),
		TEST(what_changes_nothing_needs_no_disk),
		TEST(without_a_disk_each_is_answered_at_once),
		TEST(without_memory_nothing_is_begun),
		TEST(end_gives_up_on_those_that_are_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

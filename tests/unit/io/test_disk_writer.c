/* SPDX-License-Identifier: Apache-2.0 */
/* A file is replaced whole or not at all, and nobody waits for that. */
#include "agent/io/disk_writer.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define NAME "file"

/* ---- the system: the linker sends the calls of everybody here ---- */

enum call { CALL_WRITE, CALL_SYNC, CALL_RENAME, CALL_SYNC_FOLDER, CALLS };

static char order[64];    /* the first letter of each call that was made */
static int errors[CALLS]; /* what each fails with; 0: it does not */
static size_t at_once;    /* the most that one write takes; 0: all */

/* The linker's names. NOLINTBEGIN(readability-identifier-naming) */
ssize_t __real_write(int fd, const void *bytes, size_t len);
int __real_fsync(int fd);
int __real_renameat(int from, const char *old, int to, const char *new);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
int __wrap_fsync(int fd);
int __wrap_renameat(int from, const char *old, int to, const char *new);

static bool
fails(enum call call)
{
	size_t len = strlen(order);

	assert_true(len + 1 < sizeof(order));
	order[len] = "wsrf"[call];
	order[len + 1] = '\0';
	if (errors[call] == 0)
		return false;
	errno = errors[call];
	return true;
}

static bool
is(int fd, mode_t kind)
{
	struct stat about;

	return fstat(fd, &about) == 0 && (about.st_mode & S_IFMT) == kind;
}

ssize_t
__wrap_write(int fd, const void *bytes, size_t len)
{
	if (is(fd, S_IFREG) && fails(CALL_WRITE))
		return -1;
	if (is(fd, S_IFREG) && at_once > 0 && len > at_once)
		len = at_once;
	return __real_write(fd, bytes, len);
}

int
__wrap_fsync(int fd)
{
	if (fails(is(fd, S_IFDIR) ? CALL_SYNC_FOLDER : CALL_SYNC))
		return -1;
	return __real_fsync(fd);
}

int
__wrap_renameat(int from, const char *old, int to, const char *new)
{
	if (fails(CALL_RENAME))
		return -1;
	return __real_renameat(from, old, to, new);
}
/* NOLINTEND(readability-identifier-naming) */

/* ---- a folder ---- */

struct place {
	char path[32];
	int folder;
	struct event_base *base;
};

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->path, "/tmp/disk-test-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->folder = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->folder >= 0);
	p->base = event_base_new();
	assert_non_null(p->base);
	order[0] = '\0';
	memset(errors, 0, sizeof(errors));
	at_once = 0;
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;

	unlinkat(p->folder, NAME, 0);
	close(p->folder);
	/* Nothing else was left. */
	assert_int_equal(rmdir(p->path), 0);
	event_base_free(p->base);
	free(p);
	return 0;
}

static size_t
files_in(const struct place *p)
{
	DIR *dir = opendir(p->path);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

static void
assert_holds(const struct place *p, const char *expected)
{
	size_t len = 0;
	char *bytes = disk_file_read(p->folder, NAME, &len);

	assert_non_null(bytes);
	assert_string_equal(bytes, expected);
	assert_int_equal(len, strlen(expected));
	free(bytes);
	assert_int_equal(files_in(p), 1);
}

static struct disk_result
replace(const struct place *p, const char *text)
{
	return disk_file_replace(p->folder, NAME, text_of(text));
}

/* ---- the file ---- */

static void
what_is_written_is_there(void **state)
{
	const struct place *p = *state;
	struct stat about;

	assert_null(replace(p, "one").failed);
	assert_holds(p, "one");
	assert_null(replace(p, "another").failed);
	assert_holds(p, "another");
	assert_null(replace(p, "").failed);
	assert_holds(p, "");
	assert_int_equal(fstatat(p->folder, NAME, &about, 0), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
}

/* Else a crash may leave a name without its bytes, or the old name. */
static void
each_step_is_on_disk_before_the_next(void **state)
{
	const struct place *p = *state;
	struct disk_result result = replace(p, "one");

	assert_null(result.failed);
	assert_true(result.replaced);
	assert_string_equal(order, "wsrf");
}

static void
long_write_goes_on_where_it_was(void **state)
{
	const struct place *p = *state;

	at_once = 2;
	assert_null(replace(p, "abcde").failed);
	assert_holds(p, "abcde");
	assert_string_equal(order, "wwwsrf");
}

static void
failed_step_is_named_and_leaves_the_old_file(void **state)
{
	static const struct {
		enum call call;
		int error;
		const char *step;
	} steps[] = {
		{ CALL_WRITE, ENOSPC, "write" },
		{ CALL_SYNC, EIO, "sync" },
		{ CALL_RENAME, EROFS, "rename" },
	};
	const struct place *p = *state;

	assert_null(replace(p, "old").failed);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct disk_result result;

		errors[steps[i].call] = steps[i].error;
		result = replace(p, "new");
		assert_string_equal(result.failed, steps[i].step);
		assert_int_equal(result.error, steps[i].error);
		assert_false(result.replaced);
		errors[steps[i].call] = 0;
		assert_holds(p, "old");
	}
	assert_null(replace(p, "new").failed);
	assert_holds(p, "new");
}

/* Then a crash may show either; the caller is told so. */
static void
folder_that_is_not_synced_is_told_apart(void **state)
{
	const struct place *p = *state;
	struct disk_result result;

	errors[CALL_SYNC_FOLDER] = EIO;
	result = replace(p, "new");
	assert_string_equal(result.failed, "sync of the folder");
	assert_true(result.replaced);
	assert_holds(p, "new");
}

static void
file_that_cannot_be_made_is_named(void **state)
{
	const struct place *p = *state;
	struct disk_result result;

	assert_int_equal(mkdirat(p->folder, NAME ".new", 0700), 0);
	result = replace(p, "new");
	assert_string_equal(result.failed, "create");
	assert_int_equal(result.error, EISDIR);
	assert_int_equal(unlinkat(p->folder, NAME ".new", AT_REMOVEDIR), 0);
}

static void
what_a_crash_left_is_tidied(void **state)
{
	const struct place *p = *state;
	int fd = openat(p->folder, NAME ".new", O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
	disk_file_tidy(p->folder, NAME);
	assert_int_equal(files_in(p), 0);
	disk_file_tidy(p->folder, NAME);
}

static void
what_cannot_be_read_is_no_file(void **state)
{
	const struct place *p = *state;
	size_t len;

	assert_null(disk_file_read(p->folder, NAME, &len));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(mkdirat(p->folder, NAME, 0700), 0);
	assert_null(disk_file_read(p->folder, NAME, &len));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(unlinkat(p->folder, NAME, AT_REMOVEDIR), 0);
}

/* ---- the thread ---- */

struct report {
	unsigned count;
	struct disk_result result;
	pthread_t by;
	struct event_base *base;
};

static void
on_done(void *arg, const struct disk_result *result)
{
	struct report *report = arg;

	report->count++;
	report->result = *result;
	report->by = pthread_self();
	event_base_loopbreak(report->base);
}

static void
start(struct disk_writer *w, const char *text,
      void (*seal)(char *bytes, size_t len), struct report *report)
{
	struct disk_job job = { strdup(text), strlen(text), seal };

	assert_non_null(job.bytes);
	assert_false(disk_writer_is_busy(w));
	disk_writer_start(w, &job, on_done, report);
	assert_true(disk_writer_is_busy(w));
}

static struct disk_writer *
open_writer(const struct place *p)
{
	struct disk_writer *w = disk_writer_open(p->base, p->folder, NAME);

	assert_non_null(w);
	return w;
}

static void
job_is_done_and_reported_by_the_loop(void **state)
{
	const struct place *p = *state;
	struct disk_writer *w = open_writer(p);
	struct report report = { .base = p->base };

	start(w, "one", NULL, &report);
	event_base_dispatch(p->base);
	assert_int_equal(report.count, 1);
	assert_null(report.result.failed);
	assert_true(pthread_equal(report.by, pthread_self()));
	assert_holds(p, "one");

	start(w, "two", NULL, &report);
	event_base_dispatch(p->base);
	assert_int_equal(report.count, 2);
	assert_holds(p, "two");
	disk_writer_close(&w);
	assert_null(w);
}

static void
failure_is_reported_and_the_next_job_works(void **state)
{
	const struct place *p = *state;
	struct disk_writer *w = open_writer(p);
	struct report report = { .base = p->base };

	errors[CALL_WRITE] = ENOSPC;
	start(w, "one", NULL, &report);
	event_base_dispatch(p->base);
	assert_string_equal(report.result.failed, "write");
	assert_int_equal(report.result.error, ENOSPC);
	assert_int_equal(files_in(p), 0);

	errors[CALL_WRITE] = 0;
	start(w, "two", NULL, &report);
	event_base_dispatch(p->base);
	assert_null(report.result.failed);
	assert_holds(p, "two");
	disk_writer_close(&w);
}

static sem_t looped;
static pthread_t sealed_by;
static bool signals_blocked;

static void
seal_when_looped(char *bytes, size_t len)
{
	sigset_t set;

	sem_wait(&looped);
	sealed_by = pthread_self();
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	signals_blocked = sigismember(&set, SIGTERM) == 1 &&
			  sigismember(&set, SIGHUP) == 1;
	memset(bytes, 'x', len);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	sem_post(&looped);
}

/* The job waits until the loop has turned: were it the other way round, this
 * would wait forever.
 */
static void
loop_goes_on_while_the_disk_works(void **state)
{
	const struct place *p = *state;
	struct disk_writer *w = open_writer(p);
	struct report report = { .base = p->base };
	struct event *timer = evtimer_new(p->base, on_time, NULL);
	const struct timeval soon = { .tv_usec = 1000 };

	sem_init(&looped, 0, 0);
	start(w, "one", seal_when_looped, &report);
	evtimer_add(timer, &soon);
	event_base_dispatch(p->base);
	assert_int_equal(report.count, 1);
	assert_holds(p, "xxx");
	assert_false(pthread_equal(sealed_by, pthread_self()));
	assert_true(signals_blocked);
	event_free(timer);
	disk_writer_close(&w);
	sem_destroy(&looped);
}

static void
close_waits_for_the_job_and_calls_nobody(void **state)
{
	const struct place *p = *state;

	for (unsigned i = 0; i < 20; i++) {
		struct disk_writer *w = open_writer(p);
		struct report report = { .base = p->base };
		char text[16];

		order[0] = '\0';
		snprintf(text, sizeof(text), "%u", i);
		start(w, text, NULL, &report);
		disk_writer_close(&w);
		assert_holds(p, text);
		event_base_loop(p->base, EVLOOP_NONBLOCK);
		assert_int_equal(report.count, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_there),
		TEST(each_step_is_on_disk_before_the_next),
		TEST(long_write_goes_on_where_it_was),
		TEST(failed_step_is_named_and_leaves_the_old_file),
		TEST(folder_that_is_not_synced_is_told_apart),
		TEST(file_that_cannot_be_made_is_named),
		TEST(what_a_crash_left_is_tidied),
		TEST(what_cannot_be_read_is_no_file),
		TEST(job_is_done_and_reported_by_the_loop),
		TEST(failure_is_reported_and_the_next_job_works),
		TEST(loop_goes_on_while_the_disk_works),
		TEST(close_waits_for_the_job_and_calls_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

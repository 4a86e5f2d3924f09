/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cmocka.h"

#define WORDS_MAX 64
#define RUNNING_MAX 8

/* Those that run now, for agent_kill_all(). */
static struct agent *running[RUNNING_MAX];

/* ---- what it is started with ---- */

static void
add_words(const char **list, size_t *count, const char *const *words)
{
	for (; words != NULL && *words != NULL; words++) {
		assert_true(*count < WORDS_MAX);
		list[(*count)++] = *words;
	}
	list[*count] = NULL;
}

/* Sanitizers are told in the environment what to do. */
static void
add_passed_on(const char **list, size_t *count)
{
	static char text[3][512];
	static const char *const names[] = { "ASAN_OPTIONS", "UBSAN_OPTIONS",
					     "LSAN_OPTIONS" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value == NULL)
			continue;
		snprintf(text[i], sizeof(text[i]), "%s=%s", names[i], value);
		list[(*count)++] = text[i];
	}
	list[*count] = NULL;
}

static void
limit_descriptors(unsigned descriptors)
{
	struct rlimit limit = { descriptors, descriptors };

	if (descriptors > 0 && setrlimit(RLIMIT_NOFILE, &limit) != 0)
		_exit(127);
}

static void
close_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
}

static void
become_daemon(const struct agent_setup *setup, const char **options, int err)
{
	const char *environment[WORDS_MAX + 1];
	size_t count = 0;

	add_passed_on(environment, &count);
	add_words(environment, &count, setup->environment);
	/* A test that dies takes its daemon along. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(err, STDERR_FILENO);
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
	limit_descriptors(setup->descriptors);
	if (setup->mute)
		close_standard_descriptors();
	execve(AGENT, (char *const *)(uintptr_t)options,
	       (char *const *)(uintptr_t)environment);
	_exit(127);
}

static struct agent *
launch(const struct agent_setup *setup, const char **options)
{
	struct agent *a = calloc(1, sizeof(*a));
	int ends[2];

	assert_non_null(a);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	/* Not all that it says is read while it says it. */
	(void)fcntl(ends[1], F_SETPIPE_SZ, 1024 * 1024);
	a->pid = fork();
	assert_true(a->pid >= 0);
	if (a->pid == 0)
		become_daemon(setup, options, ends[1]);
	close(ends[1]);
	a->stderr_fd = ends[0];
	a->log = calloc(1, 1);
	assert_non_null(a->log);
	return a;
}

/* ---- its log ---- */

/* False at its end, and when nothing came in time. */
static bool
read_log(struct agent *a, usec_t deadline)
{
	char chunk[4096];
	ssize_t n;

	if (a->stderr_over || !patience_wait(a->stderr_fd, POLLIN, deadline))
		return false;
	n = read(a->stderr_fd, chunk, sizeof(chunk));
	if (n <= 0) {
		a->stderr_over = true;
		return false;
	}
	a->log = realloc(a->log, a->log_len + (size_t)n + 1);
	assert_non_null(a->log);
	memcpy(a->log + a->log_len, chunk, (size_t)n);
	a->log_len += (size_t)n;
	a->log[a->log_len] = '\0';
	return true;
}

bool
agent_logs(struct agent *agent, const char *text)
{
	usec_t deadline = patience_end();

	while (strstr(agent->log, text) == NULL)
		if (!read_log(agent, deadline))
			return false;
	return true;
}

static unsigned
logged_port(const struct agent *a, const char *what)
{
	const char *at = strstr(a->log, what);
	size_t len;

	if (at == NULL)
		return 0;
	at += strlen(what);
	len = strcspn(at, " \n\"");
	while (len > 0 && at[len - 1] >= '0' && at[len - 1] <= '9')
		len--;
	return (unsigned)strtoul(at + len, NULL, 10);
}

/* ---- its life ---- */

static void
enlist(struct agent *a)
{
	for (size_t i = 0; i < RUNNING_MAX; i++) {
		if (running[i] == NULL) {
			running[i] = a;
			return;
		}
	}
	fail_msg("too many daemons");
}

static void
forget(struct agent **agent)
{
	for (size_t i = 0; i < RUNNING_MAX; i++)
		if (running[i] == *agent)
			running[i] = NULL;
	close((*agent)->stderr_fd);
	free((*agent)->log);
	free(*agent);
	*agent = NULL;
}

struct agent *
agent_start(const struct agent_setup *setup)
{
	static const struct agent_setup nothing = { .options = NULL };
	static const char *const usual[] = { AGENT,         "--spop-listen",
					     "127.0.0.1:0", "--log-listen",
					     "127.0.0.1:0", "--api-listen",
					     "127.0.0.1:0", NULL };
	const char *options[WORDS_MAX + 1];
	size_t count = 0;
	struct agent *a;

	if (setup == NULL)
		setup = &nothing;
	add_words(options, &count, usual);
	add_words(options, &count, setup->options);
	a = launch(setup, options);
	enlist(a);
	if (!setup->mute && !agent_logs(a, "ready"))
		fail_msg("not ready; it said:\n%s", a->log);
	a->spop = logged_port(a, "listening spop=");
	a->lines = logged_port(a, "listening log=");
	a->api = logged_port(a, "listening api=");
	return a;
}

static int
wait_for_end(struct agent *a)
{
	usec_t deadline = patience_end();
	int status = 0;

	while (read_log(a, deadline))
		;
	if (!a->stderr_over)
		kill(a->pid, SIGKILL);
	assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
	a->pid = 0;
	return status;
}

usec_t
agent_stop(struct agent **agent)
{
	usec_t begin = patience_now();
	usec_t took;
	int status;

	kill((*agent)->pid, SIGTERM);
	status = wait_for_end(*agent);
	took = patience_now() - begin;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("ended with status %x; it said:\n%s", (unsigned)status,
			 (*agent)->log);
	forget(agent);
	return took;
}

void
agent_crash(struct agent **agent)
{
	kill((*agent)->pid, SIGKILL);
	wait_for_end(*agent);
	forget(agent);
}

int
agent_run(const struct agent_setup *setup, char **log)
{
	const char *options[WORDS_MAX + 1] = { AGENT };
	size_t count = 1;
	struct agent *a;
	int status;

	add_words(options, &count, setup->options);
	a = launch(setup, options);
	enlist(a);
	status = wait_for_end(a);
	*log = strdup(a->log);
	forget(&a);
	if (!WIFEXITED(status))
		fail_msg("ended by signal; it said:\n%s", *log);
	return WEXITSTATUS(status);
}

int
agent_kill_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < RUNNING_MAX; i++) {
		struct agent *a = running[i];

		if (a == NULL)
			continue;
		if (a->pid > 0) {
			kill(a->pid, SIGKILL);
			wait_for_end(a);
		}
		print_error("the daemon had said:\n%s", a->log);
		forget(&a);
	}
	return 0;
}

/* ---- what the system knows of it ---- */

size_t
agent_descriptors(const struct agent *agent)
{
	char path[64];
	size_t count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)agent->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

static void
read_proc(const struct agent *agent, const char *name, char text[1024])
{
	char path[64];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)agent->pid, name);
	f = fopen(path, "re");
	assert_non_null(f);
	len = fread(text, 1, 1023, f);
	text[len] = '\0';
	fclose(f);
}

/* The n-th number of a text, counted from 0. */
static unsigned long long
number_at(const char *text, unsigned n)
{
	for (; n > 0; n--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return strtoull(text, NULL, 10);
}

size_t
agent_rss_bytes(const struct agent *agent)
{
	char text[1024];

	read_proc(agent, "statm", text);
	return number_at(text, 1) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t
agent_mapped_bytes(const struct agent *agent)
{
	char text[1024];

	read_proc(agent, "statm", text);
	return number_at(text, 0) * (size_t)sysconf(_SC_PAGESIZE);
}

usec_t
agent_cpu(const struct agent *agent)
{
	usec_t tick = USEC_PER_SEC / (usec_t)sysconf(_SC_CLK_TCK);
	const char *behind_name;
	char text[1024];

	/* "pid (name) state ...": utime and stime are fields 14 and 15. */
	read_proc(agent, "stat", text);
	behind_name = strrchr(text, ')');
	assert_non_null(behind_name);
	return (number_at(behind_name + 2, 11) +
		number_at(behind_name + 2, 12)) *
	       tick;
}

void
agent_settles(const struct agent *agent, size_t descriptors)
{
	usec_t deadline = patience_end();

	while (agent_descriptors(agent) > descriptors)
		if (!patience_look_again(deadline))
			fail_msg("%zu descriptors are open, not %zu",
				 agent_descriptors(agent), descriptors);
}

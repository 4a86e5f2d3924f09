/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules survive whatever ends the daemon (--state-dir): a write that was
 * answered is there again, and one that the disk refuses never was.
 */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/rest.h"
#include "tests/integration/wire.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define RULES "/netlox/v1/config/loadbalancer"
#define REQUEST_BYTES 1024
#define PATH_BYTES 96

/* ---- a folder of its own for each test ---- */

static char folder[32]; /* holds it */
static char dir[PATH_BYTES];

static int
make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/agent-state-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(dir, sizeof(dir), "%s/state", folder);
	return 0;
}

static void
path_of(char path[PATH_BYTES], const char *name)
{
	snprintf(path, PATH_BYTES, "%.40s/%s", dir, name);
}

static int
remove_folder(void **state)
{
	static const char *const names[] = { "rules.json", "rules.json.new",
					     "lock", "filler" };
	char path[PATH_BYTES];
	int status = agent_kill_all(state);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		path_of(path, names[i]);
		unlink(path);
	}
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	snprintf(path, sizeof(path), "%s/seed", folder);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	return status;
}

static struct agent *
start(void)
{
	return agent_start(
		&(struct agent_setup){ .options = WORDS("--state-dir", dir) });
}

static char *
read_rules(void)
{
	char path[PATH_BYTES];
	char *text = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(text);
	path_of(path, "rules.json");
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

static void
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	fclose(f);
}

static bool
exists(const char *name)
{
	char path[PATH_BYTES];

	path_of(path, name);
	return access(path, F_OK) == 0;
}

/* ---- rules ---- */

/* Rule n declares this ceiling; more are further arguments. */
static void
body_of(char body[REQUEST_BYTES], unsigned n, unsigned ceiling,
	const char *more)
{
	snprintf(body, REQUEST_BYTES,
		 "{\"serviceArguments\":{\"externalIP\":\"10.0.0.%u\","
		 "\"port\":8000,\"protocol\":\"tcp\",\"mode\":4,"
		 "\"sse_mode\":true,\"name\":\"pool-%u\","
		 "\"fc_max_outstanding\":%u%s},"
		 "\"endpoints\":[{\"endpointIP\":\"10.1.0.1\","
		 "\"targetPort\":9000,\"weight\":1}]}",
		 n, n % 3, ceiling, more);
}

static unsigned
try_put(const struct agent *agent, unsigned n, unsigned ceiling, char **answer)
{
	char body[REQUEST_BYTES];

	body_of(body, n, ceiling, "");
	return rest_call(agent, "POST " RULES, body, answer);
}

static void
put(const struct agent *agent, unsigned n, unsigned ceiling)
{
	assert_int_equal(try_put(agent, n, ceiling, NULL), 200);
}

static char *
shown(const struct agent *agent)
{
	char *text;

	assert_int_equal(rest_call(agent, "GET " RULES "/all", "", &text), 200);
	return text;
}

/* The ceiling that rule n declares; 0 where there is no such rule. */
static unsigned
ceiling_of(const struct agent *agent, unsigned n)
{
	char *text = shown(agent);
	json_t *root = json_loads(text, 0, NULL);
	char ip[16];
	json_t *entry;
	size_t i;
	unsigned ceiling = 0;

	assert_non_null(root);
	snprintf(ip, sizeof(ip), "10.0.0.%u", n);
	json_array_foreach (json_object_get(root, "lbAttr"), i, entry) {
		const json_t *arguments =
			json_object_get(entry, "serviceArguments");

		if (strcmp(json_string_value(
				   json_object_get(arguments, "externalIP")),
			   ip) == 0)
			ceiling = (unsigned)json_integer_value(json_object_get(
				arguments, "fc_max_outstanding"));
	}
	json_decref(root);
	free(text);
	return ceiling;
}

static void
assert_shows(const struct agent *agent, const char *expected)
{
	char *text = shown(agent);

	assert_string_equal(text, expected);
	free(text);
}

/* It is killed and started again: the same rules, byte for byte. */
static void
assert_survives(struct agent **agent)
{
	char *before = shown(*agent);

	agent_crash(agent);
	*agent = start();
	assert_shows(*agent, before);
	free(before);
}

/* ---- writes without waiting ---- */

static void
send_put(struct wire *wire, unsigned n, unsigned ceiling)
{
	char request[2 * REQUEST_BYTES];
	char body[REQUEST_BYTES];

	body_of(body, n, ceiling, "");
	snprintf(request, sizeof(request),
		 "POST " RULES " HTTP/1.1\r\nHost: localhost\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	assert_true(wire_send(wire, request, strlen(request)));
}

/* The answer's status, or 0 where none came: the daemon has gone. */
static unsigned
take_status(struct wire *wire)
{
	usec_t deadline = patience_end();
	char text[2048];
	char *head_end, *length;
	size_t whole;

	for (;;) {
		size_t have = wire->len - wire->used;

		assert_true(have < sizeof(text));
		if (have > 0)
			memcpy(text, wire->buf + wire->used, have);
		text[have] = '\0';
		head_end = strstr(text, "\r\n\r\n");
		length = strstr(text, "Content-Length: ");
		if (head_end != NULL && length != NULL) {
			whole = (size_t)(head_end + 4 - text) +
				strtoul(length + 16, NULL, 10);
			if (have >= whole)
				break;
		}
		if (!wire_fill(wire, deadline))
			return 0;
	}
	wire->used += whole;
	return (unsigned)strtoul(text + strlen("HTTP/1.1 "), NULL, 10);
}

/* ---- tests ---- */

static void
rules_survive_a_kill_as_they_were(void **state)
{
	struct agent *agent = start();
	char body[REQUEST_BYTES];

	(void)state;
	put(agent, 3, 30);
	put(agent, 1, 10);
	put(agent, 2, 20);
	/* Kept, though the gate does not know it. */
	body_of(body, 4, 40,
		",\"own\":{\"x\":[1.5,\"\\u00e9\\\"\\n\"]},"
		"\"fc_mode\":\"observe\",\"fc_max_queue_depth\":3,"
		"\"fc_max_queue_wait_ms\":100,\"fc_adaptive\":\"on\"");
	assert_int_equal(rest_call(agent, "POST " RULES, body, NULL), 200);
	assert_survives(&agent);
	/* Changed in place, a rule keeps its place. */
	put(agent, 1, 11);
	assert_survives(&agent);
	assert_int_equal(ceiling_of(agent, 1), 11);
	agent_stop(&agent);
	agent = start();
	assert_int_equal(ceiling_of(agent, 1), 11);
	agent_stop(&agent);
}

static void
each_way_to_delete_survives(void **state)
{
	static const char *const calls[] = {
		"DELETE " RULES "/externalipaddress/10.0.0.1/port/8000"
		"/protocol/tcp",
		"DELETE " RULES "/name/pool-2",
		"DELETE " RULES "/all",
	};
	static const size_t left[] = { 5, 3, 0 };
	struct agent *agent = start();

	(void)state;
	for (unsigned n = 1; n <= 6; n++)
		put(agent, n, n);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		char *text;
		json_t *root;

		assert_int_equal(rest_call(agent, calls[i], "", NULL), 200);
		assert_survives(&agent);
		text = shown(agent);
		root = json_loads(text, 0, NULL);
		assert_int_equal(
			json_array_size(json_object_get(root, "lbAttr")),
			left[i]);
		json_decref(root);
		free(text);
	}
	/* With an empty list of endpoints, too. */
	put(agent, 1, 1);
	assert_int_equal(rest_call(agent, "POST " RULES,
				   "{\"serviceArguments\":{\"externalIP\":"
				   "\"10.0.0.1\",\"port\":8000,\"protocol\":"
				   "\"tcp\"},\"endpoints\":[]}",
				   NULL),
			 200);
	assert_survives(&agent);
	assert_int_equal(ceiling_of(agent, 1), 0);
	agent_stop(&agent);
}

#define WRITERS 4

/* Writes on and on until so many are answered; then it is killed. */
struct stream {
	struct wire *wires[WRITERS];
	unsigned sent[WRITERS], answered[WRITERS];
};

static void
write_until(struct stream *s, unsigned answers)
{
	for (unsigned i = 0; i < WRITERS; i++)
		send_put(s->wires[i], i + 1, ++s->sent[i]);
	for (unsigned n = 0; n < answers; n++) {
		unsigned i = n % WRITERS;

		assert_int_equal(take_status(s->wires[i]), 200);
		s->answered[i] = s->sent[i];
		send_put(s->wires[i], i + 1, ++s->sent[i]);
	}
}

/* What was answered is there; what was not may be, whole. */
static void
look_after_kill(struct stream *s, const struct agent *agent)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		unsigned there = ceiling_of(agent, i + 1);

		if (there != s->answered[i] && there != s->sent[i])
			fail_msg("%u is there; %u was answered, %u sent", there,
				 s->answered[i], s->sent[i]);
		s->answered[i] = s->sent[i] = there;
	}
}

/* The last answers may have come while it was killed. */
static void
take_last_answers(struct stream *s)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		while (s->answered[i] < s->sent[i] &&
		       take_status(s->wires[i]) == 200)
			s->answered[i]++;
		wire_close(&s->wires[i]);
	}
}

static void
answered_writes_survive_a_kill_at_any_moment(void **state)
{
	enum { ROUNDS = 30 };
	struct stream s = { .sent = { 0 } };

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct agent *agent = start();

		look_after_kill(&s, agent);
		for (unsigned i = 0; i < WRITERS; i++)
			s.wires[i] = wire_open(agent->api);
		write_until(&s, round * 7 % 12);
		/* Anywhere between two steps at the disk. */
		usleep(round * 1009 % 3000);
		agent_crash(&agent);
		take_last_answers(&s);
	}
}

static void
many_writers_are_all_right(void **state)
{
	enum { MANY = 16, EACH = 20 };
	struct agent *agent = start();
	struct wire *wires[MANY];

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		wires[i] = wire_open(agent->api);
	for (unsigned n = 1; n <= EACH; n++) {
		for (unsigned i = 0; i < MANY; i++)
			send_put(wires[i], i + 1, n);
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(take_status(wires[i]), 200);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(ceiling_of(agent, i + 1), EACH);
		wire_close(&wires[i]);
	}
	assert_survives(&agent);
	agent_stop(&agent);
}

static void
writes_of_one_connection_keep_their_order(void **state)
{
	enum { WRITES = 20 };
	struct agent *agent = start();
	struct wire *wire = wire_open(agent->api);

	(void)state;
	for (unsigned n = 1; n <= WRITES; n++)
		send_put(wire, 1, n);
	for (unsigned n = 1; n <= WRITES; n++)
		assert_int_equal(take_status(wire), 200);
	assert_int_equal(ceiling_of(agent, 1), WRITES);
	wire_close(&wire);
	agent_stop(&agent);
}

/* Looks at the disk and not at the daemon, which has nothing else to do. */
static bool
is_kept(unsigned n)
{
	char *text = exists("rules.json") ? read_rules() : strdup("");
	char ip[24];
	bool found;

	assert_non_null(text);
	snprintf(ip, sizeof(ip), "\"10.0.0.%u\"", n);
	found = strstr(text, ip) != NULL;
	free(text);
	return found;
}

/* A write that was begun counts, whether or not its client is still there. */
static void
write_of_a_client_that_has_gone_counts(void **state)
{
	enum { CLIENTS = 20 };
	struct agent *agent = start();
	usec_t deadline = patience_end();
	size_t descriptors = agent_descriptors(agent);

	(void)state;
	for (unsigned n = 1; n <= CLIENTS; n++) {
		struct wire *wire = wire_open(agent->api);

		send_put(wire, n, n);
		wire_close(&wire);
		while (!is_kept(n))
			assert_true(patience_look_again(deadline));
	}
	agent_settles(agent, descriptors);
	for (unsigned n = 1; n <= CLIENTS; n++)
		assert_int_equal(ceiling_of(agent, n), n);
	assert_survives(&agent);
	agent_stop(&agent);
}

static void
end_amid_writes_is_clean(void **state)
{
	struct agent *agent = start();
	struct stream s = { .sent = { 0 } };

	(void)state;
	for (unsigned i = 0; i < WRITERS; i++)
		s.wires[i] = wire_open(agent->api);
	write_until(&s, 20);
	agent_stop(&agent);
	agent = start();
	for (unsigned i = 0; i < WRITERS; i++) {
		unsigned status = take_status(s.wires[i]);

		if (status != 0)
			assert_int_equal(status, 200);
		if (status == 200)
			s.answered[i] = s.sent[i];
		assert_true(ceiling_of(agent, i + 1) >= s.answered[i]);
		wire_close(&s.wires[i]);
	}
	agent_stop(&agent);
}

/* Row 319 and before: what has not begun when it is entered is frozen. */
static void
maintenance_freezes_those_that_wait(void **state)
{
	enum { MANY = 32 };
	struct agent *agent = start();
	struct wire *wires[MANY];
	unsigned statuses[MANY];

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		wires[i] = wire_open(agent->api);
		send_put(wires[i], i + 1, 7);
	}
	assert_int_equal(rest_call(agent, "PUT /netlox/v1/maintenance",
				   "{\"enabled\":true}", NULL),
			 200);
	for (unsigned i = 0; i < MANY; i++) {
		statuses[i] = take_status(wires[i]);
		assert_true(statuses[i] == 200 || statuses[i] == 503);
		wire_close(&wires[i]);
	}
	assert_int_equal(try_put(agent, 100, 1, NULL), 503);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(ceiling_of(agent, i + 1),
				 statuses[i] == 200 ? 7 : 0);
	assert_survives(&agent);
	agent_stop(&agent);
}

/* ---- a disk that refuses ---- */

static void
assert_refused(struct agent *agent, const char *says)
{
	char *before = shown(agent);
	char *kept = read_rules();
	char *after;
	char *answer;

	assert_int_equal(try_put(agent, 1, 99, &answer), 500);
	if (strstr(answer, "\"result\"") == NULL ||
	    strstr(answer, says) == NULL)
		fail_msg("said %s", answer);
	free(answer);
	assert_int_equal(try_put(agent, 50, 99, NULL), 500);
	assert_int_equal(rest_call(agent, "DELETE " RULES "/all", "", NULL),
			 500);
	assert_shows(agent, before);
	/* What changes nothing needs no disk. */
	assert_int_equal(try_put(agent, 1, 1, NULL), 200);
	after = read_rules();
	assert_string_equal(after, kept);
	assert_false(exists("rules.json.new"));
	free(before);
	free(kept);
	free(after);
}

static void
assert_writes_again(struct agent **agent)
{
	put(*agent, 1, 2);
	assert_survives(agent);
	assert_int_equal(ceiling_of(*agent, 1), 2);
}

static void
limit_files(const struct agent *agent, rlim_t bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	assert_int_equal(prlimit(agent->pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void
refused_write_changes_nothing(void **state)
{
	struct agent *agent = start();
	struct asker *asker = asker_open(agent);

	(void)state;
	put(agent, 1, 1);
	put(agent, 2, 1);
	limit_files(agent, 20);
	assert_refused(agent, "write: File too large");
	/* Traffic goes on. */
	asker_catch_up(asker);
	limit_files(agent, RLIM_INFINITY);
	asker_close(&asker);
	assert_writes_again(&agent);
	agent_stop(&agent);
}

/* Needs to be root; false, and nothing to see, where one is not. */
static bool
mount_small(unsigned long flags)
{
	mkdir(dir, 0700);
	return mount("tmpfs", dir, "tmpfs", flags, "size=16k") == 0;
}

static void
fill_disk(void)
{
	char path[PATH_BYTES];
	char block[4096] = { 0 };
	int fd;

	path_of(path, "filler");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	close(fd);
}

static void
full_disk_refuses_writes_until_there_is_room(void **state)
{
	struct agent *agent;
	char path[PATH_BYTES];

	(void)state;
	if (!mount_small(0))
		skip();
	agent = start();
	put(agent, 1, 1);
	put(agent, 2, 1);
	fill_disk();
	assert_refused(agent, "No space left on device");
	path_of(path, "filler");
	assert_int_equal(unlink(path), 0);
	assert_writes_again(&agent);
	agent_stop(&agent);
}

static void
read_only_disk_refuses_writes_and_has_its_rules(void **state)
{
	struct agent *agent;

	(void)state;
	if (!mount_small(0))
		skip();
	agent = start();
	put(agent, 1, 1);
	put(agent, 2, 1);
	agent_stop(&agent);
	assert_true(mount_small(MS_REMOUNT | MS_RDONLY));
	agent = start();
	assert_int_equal(ceiling_of(agent, 1), 1);
	assert_refused(agent, "Read-only file system");
	assert_true(mount_small(MS_REMOUNT));
	assert_writes_again(&agent);
	agent_stop(&agent);
}

/* ---- starts ---- */

static void
assert_exits(const char *const *options, int status, const char *says,
	     const char *says_too)
{
	char *log;
	int ended =
		agent_run(&(struct agent_setup){ .options = options }, &log);

	if (ended != status || strstr(log, says) == NULL ||
	    strstr(log, says_too) == NULL)
		fail_msg("exit status %d, said: %s", ended, log);
	assert_null(strstr(log, "ready"));
	free(log);
}

static void
damaged_rules_are_refused_in_one_line(void **state)
{
	struct agent *agent = start();
	char path[PATH_BYTES], says[2 * PATH_BYTES];
	char *text, *again;

	(void)state;
	put(agent, 1, 5);
	agent_stop(&agent);
	path_of(path, "rules.json");
	text = read_rules();
	*strchr(strstr(text, "fc_max"), '5') = '6';
	write_text(path, text);
	snprintf(says, sizeof(says), "file=\"%s\" why=\"", path);
	assert_exits(WORDS("--state-dir", dir), 1, says, "move the file away");
	assert_exits(WORDS("--state-dir", dir, "--check"), 1, says, "digest");
	/* It stays for whoever looks into it. */
	again = read_rules();
	assert_string_equal(again, text);
	free(again);
	free(text);
	unlink(path);
	agent = start();
	agent_stop(&agent);
}

static void
half_a_file_beside_it_is_nothing(void **state)
{
	struct agent *agent = start();
	char path[PATH_BYTES];

	(void)state;
	put(agent, 1, 5);
	agent_crash(&agent);
	path_of(path, "rules.json.new");
	write_text(path, "{\"version\":1,");
	agent = start();
	assert_int_equal(ceiling_of(agent, 1), 5);
	assert_false(exists("rules.json.new"));
	agent_stop(&agent);
}

static void
folder_is_had_by_one(void **state)
{
	struct agent *agent = start();

	(void)state;
	assert_exits(WORDS("--state-dir", dir, "--spop-listen", "127.0.0.1:0",
			   "--log-listen", "127.0.0.1:0", "--api-listen",
			   "127.0.0.1:0"),
		     1, "another agent", dir);
	/* To look at it is fine. */
	put(agent, 1, 5);
	assert_exits(WORDS("--state-dir", dir, "--check"), 0, "rules=1", dir);
	assert_survives(&agent);
	agent_stop(&agent);
}

static const char *
write_seed(unsigned n)
{
	static char path[PATH_BYTES];
	char body[REQUEST_BYTES];

	body_of(body, n, n, "");
	snprintf(path, sizeof(path), "%s/seed", folder);
	write_text(path, body);
	return path;
}

static struct agent *
start_with_seed(unsigned n)
{
	return agent_start(&(struct agent_setup){
		.options =
			WORDS("--state-dir", dir, "--rules", write_seed(n)) });
}

static void
file_of_rules_seeds_what_is_empty(void **state)
{
	struct agent *agent = start_with_seed(1);

	(void)state;
	assert_int_equal(ceiling_of(agent, 1), 1);
	assert_survives(&agent);
	assert_int_equal(ceiling_of(agent, 1), 1);
	agent_stop(&agent);

	/* Then the folder is what counts. */
	agent = start_with_seed(2);
	assert_true(agent_logs(agent, "the state folder holds some"));
	assert_int_equal(ceiling_of(agent, 1), 1);
	assert_int_equal(ceiling_of(agent, 2), 0);

	/* Also that there is no rule any more. */
	assert_int_equal(rest_call(agent, "DELETE " RULES "/all", "", NULL),
			 200);
	agent_crash(&agent);
	agent = start_with_seed(2);
	assert_int_equal(ceiling_of(agent, 2), 0);
	agent_stop(&agent);
}

static void
refused_seed_leaves_nothing(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	snprintf(path, sizeof(path), "%s/seed", folder);
	write_text(path, "[{}]");
	assert_exits(WORDS("--state-dir", dir, "--rules", path), 1,
		     "rules:", path);
	assert_false(exists("rules.json"));
}

/* GET's answer and the kept rules are both files of rules. */
static void
kept_rules_can_be_given_as_a_file(void **state)
{
	struct agent *agent = start();
	char path[PATH_BYTES], other[PATH_BYTES];
	char *before;

	(void)state;
	put(agent, 2, 20);
	put(agent, 1, 10);
	before = shown(agent);
	agent_stop(&agent);
	path_of(path, "rules.json");
	snprintf(other, sizeof(other), "%s/seed", folder);
	assert_int_equal(rename(path, other), 0);
	agent = agent_start(&(struct agent_setup){
		.options = WORDS("--state-dir", dir, "--rules", other) });
	assert_shows(agent, before);
	free(before);
	agent_stop(&agent);
}

static void
check_reads_all_and_writes_nothing(void **state)
{
	char path[PATH_BYTES];
	struct agent *agent;

	(void)state;
	assert_exits(
		WORDS("--check", "--state-dir", dir, "--rules", write_seed(1)),
		0, "", "");
	assert_int_not_equal(access(dir, F_OK), 0);
	assert_exits(WORDS("--check", "--state-dir", "/nonexistent/state"), 1,
		     "/nonexistent/state", "No such file");
	assert_exits(WORDS("--check", "--state-dir", "/dev/null"), 1,
		     "/dev/null", "Not a directory");

	/* Both are looked at, though one start needs one. */
	agent = start();
	put(agent, 2, 2);
	agent_stop(&agent);
	assert_exits(
		WORDS("--check", "--state-dir", dir, "--rules", write_seed(1)),
		0, "", "");
	snprintf(path, sizeof(path), "%s/seed", folder);
	write_text(path, "[{}]");
	assert_exits(WORDS("--check", "--state-dir", dir, "--rules", path), 1,
		     "rules:", path);
}

/* A start needs the folder that it is given. */
static void
folder_that_cannot_be_made_is_said(void **state)
{
	(void)state;
	assert_exits(WORDS("--state-dir", "/nonexistent/state"), 1,
		     "/nonexistent/state", "No such file");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_survive_a_kill_as_they_were),
		TEST(each_way_to_delete_survives),
		TEST(answered_writes_survive_a_kill_at_any_moment),
		TEST(many_writers_are_all_right),
		TEST(writes_of_one_connection_keep_their_order),
		TEST(write_of_a_client_that_has_gone_counts),
		TEST(end_amid_writes_is_clean),
		TEST(maintenance_freezes_those_that_wait),
		TEST(refused_write_changes_nothing),
		TEST(full_disk_refuses_writes_until_there_is_room),
		TEST(read_only_disk_refuses_writes_and_has_its_rules),
		TEST(damaged_rules_are_refused_in_one_line),
		TEST(half_a_file_beside_it_is_nothing),
		TEST(folder_is_had_by_one),
		TEST(file_of_rules_seeds_what_is_empty),
		TEST(refused_seed_leaves_nothing),
		TEST(kept_rules_can_be_given_as_a_file),
		TEST(check_reads_all_and_writes_nothing),
		TEST(folder_that_cannot_be_made_is_said),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}

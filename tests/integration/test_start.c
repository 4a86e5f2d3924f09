/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it is started with, and what it says of what it cannot be started with
 * (interface 1).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char rule_text[] =
	"{\"serviceArguments\":{\"externalIP\":\"10.0.0.1\",\"port\":8000,"
	"\"protocol\":\"tcp\",\"mode\":4,\"sse_mode\":true,\"name\":\"chat\","
	"\"fc_mode\":\"enforce\",\"fc_max_outstanding\":1},"
	"\"endpoints\":[{\"endpointIP\":\"10.1.0.1\",\"targetPort\":9000,"
	"\"weight\":1}]}";

/* Fails to start, with exit status 1, and says each of these. */
static void
does_not_start(const char *const *options, const char *says,
	       const char *says_too)
{
	char *log;
	int status =
		agent_run(&(struct agent_setup){ .options = options }, &log);

	if (status != 1 || strstr(log, says) == NULL ||
	    strstr(log, says_too) == NULL)
		fail_msg("exit status %d, said: %s", status, log);
	assert_null(strstr(log, "ready"));
	free(log);
}

static void
unknown_option_shows_usage(void **state)
{
	(void)state;
	does_not_start(WORDS("--no-such-option"), "usage:", "no-such-option");
	does_not_start(WORDS("word"), "usage:", "word");
	does_not_start(WORDS("--log-level"), "usage:", "log-level");
}

static void
help_and_version_succeed(void **state)
{
	static const char *const words[] = { "--help", "--version" };
	char *log;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		assert_int_equal(
			agent_run(&(struct agent_setup){ .options = WORDS(
								 words[i]) },
				  &log),
			0);
		free(log);
	}
}

/* The option is named, or its variable where the value came from there. */
static void
bad_value_is_named(void **state)
{
	static const struct {
		const char *option, *variable, *value;
	} rows[] = {
		{ "--log-level", "SPOA_ADMISSION_LOG_LEVEL", "loud" },
		{ "--log-format", "SPOA_ADMISSION_LOG_FORMAT", "xml" },
		{ "--unit-max-age", "SPOA_ADMISSION_UNIT_MAX_AGE", "long" },
		{ "--request-buffer-kib", "SPOA_ADMISSION_REQUEST_BUFFER_KIB",
		  "-1" },
		{ "--spop-listen", "SPOA_ADMISSION_SPOP_LISTEN", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char variable[128];
		char *log;

		does_not_start(WORDS(rows[i].option, rows[i].value),
			       rows[i].option, rows[i].value);
		snprintf(variable, sizeof(variable), "%s=%s", rows[i].variable,
			 rows[i].value);
		assert_int_equal(
			agent_run(&(struct agent_setup){ .environment = WORDS(
								 variable) },
				  &log),
			1);
		assert_non_null(strstr(log, rows[i].variable));
		free(log);
	}
}

/* All that is wrong is said at once. */
static void
check_says_each_fault(void **state)
{
	static const char *const says[] = { "--log-level", "--unit-max-age",
					    "SPOA_ADMISSION_LOG_FORMAT" };
	char *log;

	(void)state;
	assert_int_equal(
		agent_run(
			&(struct agent_setup){
				.options =
					WORDS("--check", "--log-level", "loud",
					      "--unit-max-age", "long"),
				.environment =
					WORDS("SPOA_ADMISSION_LOG_FORMAT=x") },
			&log),
		1);
	for (size_t i = 0; i < ARRAY_LEN(says); i++)
		assert_non_null(strstr(log, says[i]));
	free(log);

	does_not_start(
		WORDS("--check", "--spop-listen", "x", "--api-listen", "y"),
		"spop-listen", "api-listen");
}

static void
bad_address_is_named(void **state)
{
	static const char *const options[] = { "--spop-listen", "--log-listen",
					       "--api-listen",
					       "--haproxy-socket" };
	static const char *const values[] = { "127.0.0.1", "127.0.0.1:99999",
					      "unix:", "[::1:1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		for (size_t j = 0; j < ARRAY_LEN(values); j++) {
			const char *others[] = { "--spop-listen",
						 ":0",
						 "--log-listen",
						 ":0",
						 "--api-listen",
						 ":0",
						 options[i],
						 values[j],
						 NULL };

			does_not_start(others, options[i] + 2, values[j]);
			/* The same before it starts anything. */
			does_not_start(WORDS("--check", options[i], values[j]),
				       options[i] + 2, values[j]);
		}
	}
}

/* A socket that is bound, of a port that is then taken. */
static int
take_port(int type, char address[32])
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	snprintf(address, 32, "127.0.0.1:%u", ntohs(at.sin_port));
	return fd;
}

static void
taken_port_is_one_line_and_the_end(void **state)
{
	static const struct {
		const char *option;
		int type;
	} rows[] = { { "--spop-listen", SOCK_STREAM },
		     { "--log-listen", SOCK_STREAM },
		     { "--log-listen", SOCK_DGRAM },
		     { "--api-listen", SOCK_STREAM } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char address[32];
		int taken = take_port(rows[i].type, address);
		const char *options[] = { "--log-level",
					  "error",
					  "--spop-listen",
					  ":0",
					  "--log-listen",
					  ":0",
					  "--api-listen",
					  ":0",
					  NULL,
					  NULL,
					  NULL };
		char *log;

		for (size_t j = 2; options[j] != NULL; j += 2)
			if (strcmp(options[j], rows[i].option) == 0)
				options[j + 1] = address;
		assert_int_equal(
			agent_run(&(struct agent_setup){ .options = options },
				  &log),
			1);
		assert_non_null(strstr(log, rows[i].option + 2 /* -- */));
		assert_non_null(strstr(log, address));
		assert_non_null(strstr(log, "in use"));
		/* One line. */
		assert_ptr_equal(strchr(log, '\n'), log + strlen(log) - 1);
		free(log);
		close(taken);
	}
}

/* A file with this text; the caller unlinks and frees the path. */
static char *
write_file(const char *text)
{
	char *path = strdup("/tmp/agent-test-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void
rules_file_is_in_force(void **state)
{
	static const char *const forms[] = { "%s", "[%s]",
					     "{\"lbAttr\":[%s]}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		char text[1024];
		const char *sign = strchr(forms[i], '%');
		struct agent *agent;
		struct asker *asker;
		char *path;

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(sign - forms[i]),
			 forms[i], rule_text, sign + 2);
		path = write_file(text);
		agent = agent_start(&(struct agent_setup){
			.options = WORDS("--rules", path) });
		asker = asker_open(agent);
		assert_string_equal(asker_decide(asker, "one").verdict,
				    "admit");
		assert_string_equal(asker_decide(asker, "two").verdict,
				    "refuse");
		asker_close(&asker);
		agent_stop(&agent);
		unlink(path);
		free(path);
	}
}

static void
bad_rules_file_is_said(void **state)
{
	char *no_json = write_file("{");
	char *bad = write_file("[{\"serviceArguments\":{},\"endpoints\":[]}]");

	(void)state;
	does_not_start(WORDS("--rules", "/nonexistent/rules.json"), "rules",
		       "No such file");
	does_not_start(WORDS("--rules", no_json), "rules", no_json);
	does_not_start(WORDS("--rules", bad), "rules", "externalIP");
	/* The same when it is only asked. */
	does_not_start(WORDS("--check", "--rules", no_json), "rules", no_json);
	does_not_start(WORDS("--check", "--rules", bad), "rules", "externalIP");
	unlink(no_json);
	unlink(bad);
	free(no_json);
	free(bad);
}

static int
check(const char *variable, const char *rules, const char *says)
{
	char *log;
	int status = agent_run(
		&(struct agent_setup){
			.options = WORDS("--check", "--rules", rules),
			.environment = WORDS(variable) },
		&log);

	if (strstr(log, says) == NULL)
		fail_msg("did not say %s: %s", says, log);
	free(log);
	return status;
}

/* A bad variable counts as not set, an unknown member as nothing; both show. */
static void
what_is_ignored_is_said(void **state)
{
	char *good = write_file(rule_text);
	char *misspelt = write_file(
		"{\"serviceArguments\":{\"externalIP\":\"0.0.0.0\","
		"\"port\":8080,\"protocol\":\"tcp\",\"mode\":4,"
		"\"fc_max_queue_dept\":4},\"endpoints\":[{\"endpointIP\":"
		"\"127.0.0.1\",\"targetPort\":8000,\"weight\":1}]}");

	(void)state;
	assert_int_equal(check("LLB_FC_MODE=enforced", good, "LLB_FC_MODE"), 1);
	assert_int_equal(
		check("LLB_FC_MODE=enforce", misspelt, "fc_max_queue_dept"), 0);
	unlink(good);
	unlink(misspelt);
	free(good);
	free(misspelt);
}

/* It binds nothing: the ports of another are no fault. */
static void
check_of_good_options_succeeds(void **state)
{
	char address[32];
	int taken = take_port(SOCK_STREAM, address);
	char *rules = write_file(rule_text);
	char *log;

	(void)state;
	assert_int_equal(
		agent_run(
			&(struct agent_setup){
				.options = WORDS("--check", "--rules", rules,
						 "--spop-listen", address) },
			&log),
		0);
	assert_null(strstr(log, "ready"));
	free(log);
	unlink(rules);
	free(rules);
	close(taken);
}

static void
variable_is_used_unless_the_option_is_given(void **state)
{
	struct agent *agent;
	char *rules = write_file(rule_text);
	char variable[64];
	struct asker *asker;

	(void)state;
	snprintf(variable, sizeof(variable), "SPOA_ADMISSION_RULES=%s", rules);
	agent = agent_start(&(struct agent_setup){
		.environment =
			WORDS(variable, "SPOA_ADMISSION_SPOP_LISTEN=nonsense",
			      "SPOA_ADMISSION_LOG_FORMAT=json") });
	assert_int_equal(agent->log[0], '{');
	asker = asker_open(agent);
	assert_string_equal(asker_decide(asker, "one").verdict, "admit");
	asker_close(&asker);
	agent_stop(&agent);
	unlink(rules);
	free(rules);
}

/* LLB_FC_* are read once at start (contract 3). */
static void
environment_is_the_default_of_rules(void **state)
{
	struct agent *agent = agent_start(&(struct agent_setup){
		.environment = WORDS("LLB_FC_MAX_OUTSTANDING=1") });
	struct asker *asker = asker_open(agent);

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 0 });
	assert_string_equal(asker_decide(asker, "one").verdict, "admit");
	assert_int_equal(asker_decide(asker, "two").limit, 1);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Several listeners, one of them a unix socket. */
static void
spop_listens_at_many(void **state)
{
	char folder[] = "/tmp/agent-test-XXXXXX";
	char option[64];
	struct agent *agent;
	struct asker *asker;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(option, sizeof(option), "unix:%s/spop", folder);
	agent = agent_start(&(struct agent_setup){
		.options = WORDS("--spop-listen", option) });
	assert_true(agent_logs(agent, option));
	asker = asker_open(agent);
	asker_catch_up(asker);
	asker_close(&asker);
	asker = asker_open_unix(option + strlen("unix:"));
	asker_catch_up(asker);
	agent_stop(&agent);
	assert_true(asker_is_dismissed(asker, SPOP_STATUS_NORMAL));
	asker_close(&asker);
	/* It has taken its socket away. */
	assert_int_equal(rmdir(folder), 0);
}

/* A connection to the path, once somebody listens there. */
static int
connect_when_ready(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	usec_t deadline = patience_end();

	assert_true(fd >= 0);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	while (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		assert_true(patience_look_again(deadline));
	return fd;
}

/* What it writes to its log must not go to a peer. */
static void
no_socket_is_a_standard_descriptor(void **state)
{
	char folder[] = "/tmp/agent-test-XXXXXX";
	char option[64];
	const char *path = option + strlen("unix:");
	struct agent *agent;
	struct asker *asker;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(option, sizeof(option), "unix:%s/spop", folder);
	agent = agent_start(
		&(struct agent_setup){ .options = WORDS("--spop-listen", option,
							"--log-level", "debug"),
				       .mute = true });
	close(connect_when_ready(path));
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		char name[64], target[64] = "";

		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)agent->pid,
			 fd);
		assert_true(readlink(name, target, sizeof(target) - 1) > 0);
		assert_string_equal(target, "/dev/null");
	}
	asker = asker_open_unix(path);
	asker_catch_up(asker);
	agent_stop(&agent);
	asker_close(&asker);
	assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(unknown_option_shows_usage),
		AGENT_TEST(help_and_version_succeed),
		AGENT_TEST(bad_value_is_named),
		AGENT_TEST(check_says_each_fault),
		AGENT_TEST(bad_address_is_named),
		AGENT_TEST(taken_port_is_one_line_and_the_end),
		AGENT_TEST(rules_file_is_in_force),
		AGENT_TEST(bad_rules_file_is_said),
		AGENT_TEST(what_is_ignored_is_said),
		AGENT_TEST(check_of_good_options_succeeds),
		AGENT_TEST(variable_is_used_unless_the_option_is_given),
		AGENT_TEST(environment_is_the_default_of_rules),
		AGENT_TEST(spop_listens_at_many),
		AGENT_TEST(no_socket_is_a_standard_descriptor),
	};

	return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}

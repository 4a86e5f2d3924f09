/* SPDX-License-Identifier: Apache-2.0 */
/* How the daemon ends (interface 1): everybody is told, soon, and exit 0. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define SOON (3 * USEC_PER_SEC)
#define ENDING "ending: "

static const struct rest_rule narrow = { .ceiling = 1,
					 .depth = 1000,
					 .wait_ms = 600000 };

static void
waiters_are_told(void **state)
{
	enum { WAITERS = 50 };
	struct agent *agent = agent_start(NULL);
	struct asker *askers[3];

	(void)state;
	rest_put_rule(agent, &narrow);
	for (size_t i = 0; i < ARRAY_LEN(askers); i++)
		askers[i] = asker_open(agent);
	asker_decide(askers[0], "runs");
	for (int i = 0; i < WAITERS; i++) {
		char id[ID_BYTES];

		id_make(id, "waits", i);
		asker_ask(askers[1], id);
	}
	asker_expects_nothing(askers[1]);

	assert_true(agent_stop(&agent) < SOON);
	assert_true(asker_is_dismissed(askers[1], SPOP_STATUS_NORMAL));
	for (uint64_t stream = 1; stream <= WAITERS; stream++) {
		struct reply reply = asker_reply(askers[1], stream);

		assert_int_equal(reply.set, REPLY_OF_REFUSE);
		assert_int_equal(reply.status, 503);
		assert_string_equal(reply.error, "admission_drained");
		assert_int_equal(reply.retry_after, 5);
		assert_true(reply.close);
	}
	assert_true(asker_is_dismissed(askers[0], SPOP_STATUS_NORMAL));
	assert_true(asker_is_dismissed(askers[2], SPOP_STATUS_NORMAL));
	for (size_t i = 0; i < ARRAY_LEN(askers); i++)
		asker_close(&askers[i]);
}

/* One that does not read cannot hold up the end. */
static void
deaf_peer_does_not_hold_it_up(void **state)
{
	enum { REFUSALS = 3584 };
	struct agent *agent = agent_start(NULL);
	struct asker *deaf = asker_open_narrow(agent);
	struct asker *other = asker_open(agent);

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	asker_decide(other, "runs");
	/* More than the system keeps of its answers, less than is borne. */
	for (uint64_t i = 1; i <= REFUSALS; i++) {
		asker_put_usual(deaf, "refused");
		if (i % 256 == 0)
			asker_flush(deaf);
	}
	rest_metric_becomes(agent, "decisions_total",
			    "reason=\"capacity_shed\"", REFUSALS);
	assert_true(agent_stop(&agent) < SOON);
	asker_close(&deaf);
	asker_close(&other);
}

/* What came and is not read any more must not cost a peer its goodbye. */
static void
goodbye_is_no_reset(void **state)
{
	enum { MUCH = 150000 };
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open_large(agent, SPOP_FRAME_SIZE_MAX);
	uint8_t *half = calloc(1, MUCH);

	(void)state;
	assert_non_null(half);
	/* The first of 2 MiB. */
	half[1] = 0x20;
	kill(agent->pid, SIGSTOP);
	assert_true(wire_send(asker->wire, half, MUCH));
	kill(agent->pid, SIGTERM);
	kill(agent->pid, SIGCONT);
	assert_true(asker_is_dismissed(asker, SPOP_STATUS_NORMAL));
	assert_false(asker->wire->reset);
	assert_true(agent_stop(&agent) < SOON);
	asker_close(&asker);
	free(half);
}

static void
interrupt_ends_it_too(void **state)
{
	struct agent *agent = agent_start(NULL);

	(void)state;
	kill(agent->pid, SIGINT);
	assert_true(agent_logs(agent, "ending"));
	assert_true(agent_stop(&agent) < SOON);
}

/* Again and again, until it has closed everything; it says so once. */
static void
asking_again_while_it_closes_changes_nothing(void **state)
{
	enum { STARTS = 40 };

	(void)state;
	for (int i = 0; i < STARTS; i++) {
		struct agent *agent = agent_start(NULL);

		rest_put_rule(agent, &narrow);
		/* It closes the pipe by its end and by nothing else. */
		while (!patience_wait(agent->stderr_fd, 0, 0))
			kill(agent->pid, SIGTERM);
		assert_true(agent_logs(agent, ENDING));
		assert_null(strstr(strstr(agent->log, ENDING) + 1, ENDING));
		agent_stop(&agent);
	}
}

static void
hangup_ends_nothing(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *asker = asker_open(agent);

	(void)state;
	kill(agent->pid, SIGHUP);
	assert_true(agent_logs(agent, "hangup"));
	asker_catch_up(asker);
	asker_close(&asker);
	agent_stop(&agent);
}

/* Whatever is open: no leak, no descriptor that hinders. */
static void
ends_amid_everything(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct wire *half = wire_open(agent->spop);
	struct wire *line = wire_open(agent->lines);
	struct wire *http = wire_open(agent->api);
	struct asker *asker = asker_open(agent);
	char text[] = "POST /netlox/v1/config/loadbalancer HTTP/1.1\r\n";

	(void)state;
	rest_put_rule(agent, &narrow);
	asker_decide(asker, "runs");
	asker_put_usual(asker, "half");
	assert_true(wire_send(asker->wire, asker->out.buf, 20));
	assert_true(wire_send(half, "\0\0", 2));
	assert_true(wire_send(line, "<13>half a line", 15));
	assert_true(wire_send(http, text, strlen(text)));
	assert_int_equal(rest_call(agent, "GET /healthz", "", NULL), 200);
	assert_true(agent_stop(&agent) < SOON);
	asker_close(&asker);
	wire_close(&half);
	wire_close(&line);
	wire_close(&http);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(waiters_are_told),
		AGENT_TEST(deaf_peer_does_not_hold_it_up),
		AGENT_TEST(goodbye_is_no_reset),
		AGENT_TEST(interrupt_ends_it_too),
		AGENT_TEST(asking_again_while_it_closes_changes_nothing),
		AGENT_TEST(hangup_ends_nothing),
		AGENT_TEST(ends_amid_everything),
	};

	return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}

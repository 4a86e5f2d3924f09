/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that does not read its answers is dropped when they are too many,
 * and the others go on (spop_server.h, SPOP_SERVER_UNREAD_MAX).
 */
#include "agent/io/spop_server.h"
#include "tests/cmocka.h"
#include "tests/integration/asker.h"
#include "tests/integration/rest.h"

/* Questions in one go, each answered with some 300 bytes. */
#define GO 256

/* Far beyond the bound and what the system keeps of a connection. */
#define GOES_MAX 2000

/* False once the daemon takes no more. */
static bool
ask_without_reading(struct asker *deaf)
{
	for (int i = 0; i < GO; i++)
		asker_put_usual(deaf, "refused");
	if (!wire_send(deaf->wire, deaf->out.buf, deaf->out.len))
		return false;
	deaf->out.len = 0;
	return true;
}

static void
deaf_peer_is_dropped(void **state)
{
	struct agent *agent = agent_start(NULL);
	struct asker *other = asker_open(agent);
	size_t descriptors = agent_descriptors(agent);
	struct asker *deaf = asker_open(agent);
	size_t memory = agent_rss_bytes(agent);
	int goes = 0;

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	asker_decide(other, "runs");
	while (goes < GOES_MAX && ask_without_reading(deaf)) {
		usec_t asked = patience_now();

		/* The others are served all the while. */
		asker_decide(other, "refused");
		assert_true(patience_now() - asked < 2 * USEC_PER_SEC);
		/* What is kept for it is bounded. */
		assert_true(agent_rss_bytes(agent) <
			    memory + 8 * SPOP_SERVER_UNREAD_MAX);
		goes++;
	}
	assert_true(goes < GOES_MAX);
	assert_true(agent_logs(agent, "does not read its answers"));
	assert_int_equal(
		rest_metric(agent, "spop_refused_connections_total", ""), 1);
	agent_settles(agent, descriptors);
	asker_catch_up(other);
	asker_close(&deaf);
	asker_close(&other);
	agent_stop(&agent);
}

/* One that reads late, but does read, loses nothing. */
static void
slow_peer_gets_all(void **state)
{
	enum { QUESTIONS = 14 * GO };
	struct agent *agent = agent_start(NULL);
	struct asker *slow = asker_open_narrow(agent);
	struct asker *other = asker_open(agent);

	(void)state;
	rest_put_rule(agent, &(struct rest_rule){ .ceiling = 1 });
	asker_decide(other, "runs");
	for (int i = 0; i < QUESTIONS / GO; i++)
		assert_true(ask_without_reading(slow));
	rest_metric_becomes(agent, "decisions_total",
			    "reason=\"capacity_shed\"", QUESTIONS);
	for (uint64_t stream = 1; stream <= QUESTIONS; stream++)
		assert_int_equal(asker_reply(slow, stream).status, 429);
	asker_expects_nothing(slow);
	asker_close(&slow);
	asker_close(&other);
	agent_stop(&agent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(deaf_peer_is_dropped),
		AGENT_TEST(slow_peer_gets_all),
	};

	return cmocka_run_group_tests_name("backpressure", tests, NULL, NULL);
}

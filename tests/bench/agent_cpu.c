/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request costs the agent: agent_cpu [requests [window]]
 *
 * Each is a NOTIFY, its ACK and its log line over UDP; where its rule exposes
 * headers, the NOTIFY and ACK of its answer come between. Some connections keep
 * a window of questions under way, and what the daemon took of the processor
 * meanwhile is read from /proc. This program is the slower of the two, so its
 * requests a second say little; the time of the agent for each is the result.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/agent.h"
#include "tests/integration/asker.h"
#include "tests/integration/line.h"
#include "tests/integration/rest.h"

#define REQUESTS 200000
#define CONNECTIONS 8
#define WINDOW 32

/* Far above what it takes: an accident in the code, not in the machine. */
#define GUARD_USEC 50

/* A daemon that is slow on purpose is not measured. */
#if defined(__SANITIZE_ADDRESS__)
#define GUARDED false
#else
#define GUARDED true
#endif

/* More than are ever under way on a connection. */
#define PENDING 4096

/* An admitted request whose answer was told; its log line is next. */
struct pending {
	uint64_t first; /* stream of its question */
	char permit[48];
};

struct bench {
	struct agent *agent;
	struct asker *askers[CONNECTIONS];
	struct pending pending[CONNECTIONS][PENDING]; /* by stream */
	int lines;
	uint64_t wanted, asked, answered;
};

static uint64_t requests = REQUESTS;
static unsigned window = WINDOW;

/* The id is that of the stream on its connection. */
static void
make_id(char id[ID_BYTES], size_t connection, uint64_t stream)
{
	snprintf(id, ID_BYTES, "host-%zu-%08" PRIx64 "-66aabbcc", connection,
		 stream);
}

static void
ask_some(struct bench *b, size_t connection, unsigned count)
{
	struct asker *asker = b->askers[connection];
	char id[ID_BYTES];

	for (unsigned i = 0; i < count && b->asked < b->wanted; i++) {
		make_id(id, connection, asker->asked + 1);
		asker_put_usual(asker, id);
		b->asked++;
	}
	if (asker->out.len > 0)
		asker_flush(asker);
}

static void
put_response(struct bench *b, size_t connection, const struct reply *reply)
{
	struct asker *asker = b->askers[connection];
	struct fields fields = { .count = 0 };
	char id[ID_BYTES];
	struct pending *p;

	make_id(id, connection, reply->stream);
	fields_set(&fields, "id", spop_value_string(id));
	fields_set(&fields, "status", spop_value_int(200));
	fields_set(&fields, "streamed", spop_value_bool(true));
	fields_set(&fields, "server", spop_value_string("10.1.0.1:9000"));
	fields_set(&fields, "head", spop_value_string("data: {}"));
	p = &b->pending[connection]
		       [asker_put(asker, "admission-response", &fields) %
			PENDING];
	p->first = reply->stream;
	memcpy(p->permit, reply->permit, sizeof(p->permit));
}

static void
end_one(struct bench *b, size_t connection, uint64_t stream, const char *permit)
{
	char id[ID_BYTES];

	make_id(id, connection, stream);
	line_end(b->lines, id, permit);
	b->answered++;
}

/* Returns whether that was the last of it; each is at its end at once. */
static bool
on_reply(struct bench *b, size_t connection, const struct reply *reply)
{
	const struct pending *p;

	if (reply->set & REPLY_NOTED) {
		assert_true(reply->set & REPLY_LIMIT);
		p = &b->pending[connection][reply->stream % PENDING];
		end_one(b, connection, p->first, p->permit);
		return true;
	}
	assert_string_equal(reply->verdict, "admit");
	if (reply->respond)
		put_response(b, connection, reply);
	else
		end_one(b, connection, reply->stream, reply->permit);
	return !reply->respond;
}

static void
on_answered(struct bench *b, size_t connection)
{
	struct asker *asker = b->askers[connection];
	unsigned ended = 0;

	for (size_t i = 0; i < asker->count; i++)
		ended += on_reply(b, connection, &asker->replies[i]);
	asker->count = 0;
	ask_some(b, connection, ended);
}

static void
run(struct bench *b)
{
	struct pollfd fds[CONNECTIONS];

	for (size_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = (struct pollfd){ .fd = b->askers[i]->wire->fd,
					  .events = POLLIN };
		ask_some(b, i, window);
	}
	while (b->answered < b->wanted) {
		assert_true(poll(fds, CONNECTIONS, 10000) > 0);
		for (size_t i = 0; i < CONNECTIONS; i++) {
			if (fds[i].revents == 0)
				continue;
			assert_true(asker_read(b->askers[i]));
			on_answered(b, i);
		}
	}
}

static void
report(const struct bench *b, usec_t cpu, usec_t time)
{
	double each = (double)cpu / (double)b->wanted;

	print_message("requests %" PRIu64 " seconds %.2f requests/s %.0f "
		      "agent CPU us/request %.2f\n",
		      b->wanted, (double)time / 1e6,
		      (double)b->wanted * 1e6 / (double)time, each);
	assert_true(!GUARDED || each < GUARD_USEC);
}

static void
measure(bool exposes)
{
	struct bench *b = calloc(1, sizeof(*b));
	usec_t cpu, begin;

	assert_non_null(b);
	b->agent = agent_start(NULL);
	b->wanted = requests;
	rest_put_rule(b->agent, &(struct rest_rule){ .ceiling = 100000,
						     .exposes = exposes });
	b->lines = line_open_udp(b->agent);
	for (size_t i = 0; i < CONNECTIONS; i++)
		b->askers[i] = asker_open(b->agent);

	begin = patience_now();
	cpu = agent_cpu(b->agent);
	run(b);
	rest_metric_becomes(b->agent, "inflight", "role=\"service\"", 0);
	report(b, agent_cpu(b->agent) - cpu, patience_now() - begin);

	for (size_t i = 0; i < CONNECTIONS; i++)
		asker_close(&b->askers[i]);
	close(b->lines);
	agent_stop(&b->agent);
	free(b);
}

static void
request_is_cheap(void **state)
{
	(void)state;
	measure(false);
}

static void
exposed_answer_is_cheap(void **state)
{
	(void)state;
	measure(true);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(request_is_cheap),
		AGENT_TEST(exposed_answer_is_cheap),
	};

	if (argc > 1)
		requests = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		window = (unsigned)strtoul(argv[2], NULL, 10);
	if (requests == 0 || window == 0 || window > PENDING / 4) {
		fputs("usage: agent_cpu [requests [window]]\n", stderr);
		return EXIT_FAILURE;
	}
	return cmocka_run_group_tests_name("agent_cpu", tests, NULL, NULL);
}

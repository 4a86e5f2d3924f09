/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator in a hurry: rule_writer PORT CONNECTIONS WRITES SECONDS
 *
 * Each connection creates its share of the rules, changes their settings in
 * place, makes them anew and deletes them, over and over, the next write as
 * soon as the last is answered. It ends after that many writes of all
 * connections together and that many seconds, whichever is later, and prints
 * how many writes there were in how many microseconds.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/integration/wire.h"

#define CONNECTIONS_MAX 64
#define RULES 256
#define FIRST_PORT 20000

enum step { CREATE, CHANGE, ANEW, DELETE, STEPS };

struct writer {
	struct wire *wires[CONNECTIONS_MAX];
	uint64_t written[CONNECTIONS_MAX]; /* asked for, by connection */
	unsigned connections;
	uint64_t answered;
};

static void
format_rule(char *body, size_t size, unsigned rule, enum step step)
{
	snprintf(body, size,
		 "{\"serviceArguments\":{\"externalIP\":\"10.0.0.2\","
		 "\"port\":%u,\"protocol\":\"tcp\",\"mode\":4,"
		 "\"sse_mode\":true,\"name\":\"rule-%u\","
		 "\"fc_mode\":\"enforce\",\"fc_max_outstanding\":%u},"
		 "\"endpoints\":[{\"endpointIP\":\"10.1.0.1\","
		 "\"targetPort\":9000,\"weight\":%u},"
		 "{\"endpointIP\":\"10.1.0.2\",\"targetPort\":9000,"
		 "\"weight\":1}]}",
		 FIRST_PORT + rule, rule, step == CREATE ? 8 : 16,
		 step == ANEW ? 2 : 1);
}

static int
format_write(char *text, size_t size, unsigned rule, enum step step)
{
	char body[512];

	if (step == DELETE)
		return snprintf(text, size,
				"DELETE /netlox/v1/config/loadbalancer"
				"/externalipaddress/10.0.0.2/port/%u"
				"/protocol/tcp HTTP/1.1\r\n"
				"Host: localhost\r\n\r\n",
				FIRST_PORT + rule);
	format_rule(body, sizeof(body), rule, step);
	return snprintf(text, size,
			"POST /netlox/v1/config/loadbalancer HTTP/1.1\r\n"
			"Host: localhost\r\nContent-Length: %zu\r\n\r\n%s",
			strlen(body), body);
}

static void
write_next(struct writer *w, unsigned connection)
{
	unsigned share = RULES / w->connections;
	uint64_t n = w->written[connection]++;
	unsigned rule = connection * share + (unsigned)(n % share);
	/* Not all at the same step, and none begins by deleting. */
	enum step step = (enum step)((n / share + connection % DELETE) % STEPS);
	char text[1024];
	int len = format_write(text, sizeof(text), rule, step);

	assert_true(wire_send(w->wires[connection], text, (size_t)len));
}

/* Of each connection one answer is due; none but its end is a brace. */
static void
read_answer(struct writer *w, unsigned connection)
{
	struct wire *wire = w->wires[connection];

	assert_true(wire_fill(wire, 0));
	if (wire->buf[wire->len - 1] != '}')
		return;
	assert_memory_equal(wire->buf + wire->used, "HTTP/1.1 200", 12);
	wire->used = wire->len;
	w->answered++;
	write_next(w, connection);
}

static void
run(struct writer *w, uint64_t writes, usec_t until)
{
	struct pollfd fds[CONNECTIONS_MAX];

	for (unsigned i = 0; i < w->connections; i++) {
		fds[i] = (struct pollfd){ .fd = w->wires[i]->fd,
					  .events = POLLIN };
		write_next(w, i);
	}
	while (w->answered < writes || patience_now() < until) {
		assert_true(poll(fds, w->connections, 10000) > 0);
		for (unsigned i = 0; i < w->connections; i++)
			if (fds[i].revents != 0)
				read_answer(w, i);
	}
}

int
main(int argc, char **argv)
{
	struct writer w = { .answered = 0 };
	usec_t begin = patience_now();

	if (argc != 5) {
		fputs("usage: rule_writer PORT CONNECTIONS WRITES SECONDS\n",
		      stderr);
		return EXIT_FAILURE;
	}
	w.connections = (unsigned)strtoul(argv[2], NULL, 10);
	assert_in_range(w.connections, 1, CONNECTIONS_MAX);
	for (unsigned i = 0; i < w.connections; i++)
		w.wires[i] = wire_open((unsigned)strtoul(argv[1], NULL, 10));
	run(&w, strtoull(argv[3], NULL, 10),
	    begin + strtoull(argv[4], NULL, 10) * USEC_PER_SEC);
	printf("%" PRIu64 " %" PRIu64 "\n", w.answered, patience_now() - begin);
	for (unsigned i = 0; i < w.connections; i++)
		wire_close(&w.wires[i]);
	return EXIT_SUCCESS;
}

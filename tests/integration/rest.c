/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/integration/wire.h"

#define FAMILY "loxilb_ai_admission_"

unsigned
rest_call(const struct agent *agent, const char *request, const char *body,
	  char **answer)
{
	struct wire *w = wire_open(agent->api);
	usec_t deadline = patience_end();
	char head[512];
	char *text;
	char *payload;
	unsigned status;

	snprintf(head, sizeof(head),
		 "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		 "Content-Type: application/json\r\n"
		 "Content-Length: %zu\r\n\r\n",
		 request, strlen(body));
	assert_true(wire_send(w, head, strlen(head)));
	assert_true(wire_send(w, body, strlen(body)));
	while (wire_fill(w, deadline))
		;
	if (!w->ended || w->len == 0)
		fail_msg("%s: no answer", request);
	text = strndup((const char *)w->buf, w->len);
	assert_non_null(text);
	wire_close(&w);

	assert_memory_equal(text, "HTTP/1.1 ", 9);
	status = (unsigned)strtoul(text + 9, NULL, 10);
	payload = strstr(text, "\r\n\r\n");
	assert_non_null(payload);
	if (answer != NULL)
		*answer = strdup(payload + 4);
	free(text);
	return status;
}

static void
add_setting(char *text, size_t size, const char *name, unsigned value)
{
	size_t len = strlen(text);

	if (value > 0)
		snprintf(text + len, size - len, ",\"%s\":%u", name, value);
}

static const char *
endpoints_of(const struct rest_rule *rule)
{
	if (rule->pair)
		return "{\"endpointIP\":\"10.1.0.1\",\"targetPort\":9000,"
		       "\"weight\":1,\"ep_role\":2},"
		       "{\"endpointIP\":\"10.1.0.2\",\"targetPort\":9000,"
		       "\"weight\":1,\"ep_role\":1}";
	if (rule->nobody)
		return "{\"endpointIP\":\"10.1.0.1\",\"targetPort\":9000,"
		       "\"weight\":1,\"ep_role\":1}";
	return "{\"endpointIP\":\"10.1.0.1\",\"targetPort\":9000,"
	       "\"weight\":1}";
}

void
rest_put_rule(const struct agent *agent, const struct rest_rule *rule)
{
	char settings[256] = "";
	char body[1024];
	char *answer;
	unsigned status;

	add_setting(settings, sizeof(settings), "fc_max_outstanding",
		    rule->ceiling);
	add_setting(settings, sizeof(settings), "fc_ep_max_inflight",
		    rule->endpoint_ceiling);
	add_setting(settings, sizeof(settings), "fc_prefill_max_inflight",
		    rule->prefill_ceiling);
	add_setting(settings, sizeof(settings), "fc_max_queue_depth",
		    rule->depth);
	add_setting(settings, sizeof(settings), "fc_max_queue_wait_ms",
		    rule->wait_ms);
	snprintf(
		body, sizeof(body),
		"{\"serviceArguments\":{\"externalIP\":\"10.0.0.1\","
		"\"port\":8000,\"protocol\":\"tcp\",\"mode\":4,"
		"\"sse_mode\":true,\"name\":\"chat\",\"fc_mode\":\"%s\"%s%s%s},"
		"\"endpoints\":[%s]}",
		rule->mode != NULL ? rule->mode : "enforce", settings,
		rule->exposes ? ",\"fc_expose_headers\":\"on\"" : "",
		rule->pair ? ",\"pd_disagg_mode\":true" : "",
		endpoints_of(rule));
	status = rest_call(agent, "POST /netlox/v1/config/loadbalancer", body,
			   &answer);
	if (status != 200)
		fail_msg("rule refused with %u: %s", status, answer);
	free(answer);
}

void
rest_delete_rule(const struct agent *agent)
{
	assert_int_equal(rest_call(agent,
				   "DELETE /netlox/v1/config/loadbalancer"
				   "/externalipaddress/10.0.0.1/port/8000"
				   "/protocol/tcp",
				   "", NULL),
			 200);
}

/* Whether a line of the exposition is a sample of the family. */
static bool
is_sample(const char *line, const char *family, const char *label)
{
	size_t len = strlen(family);
	const char *end = strchr(line, '\n');
	const char *found = strstr(line, label);

	return strncmp(line, family, len) == 0 &&
	       (line[len] == '{' || line[len] == ' ') && found != NULL &&
	       (end == NULL || found < end);
}

uint64_t
rest_metric(const struct agent *agent, const char *family, const char *label)
{
	char name[128];
	uint64_t value = 0;
	char *text;
	const char *line;

	snprintf(name, sizeof(name), FAMILY "%s", family);
	assert_int_equal(rest_call(agent, "GET /metrics", "", &text), 200);
	line = text;
	while (line != NULL && !is_sample(line, name, label)) {
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	if (line == NULL)
		fail_msg("no series %s with %s", name, label);
	else
		value = strtoull(line + strcspn(line, " "), NULL, 10);
	free(text);
	return value;
}

uint64_t
rest_decisions(const struct agent *agent, const char *reason)
{
	char label[64];

	snprintf(label, sizeof(label), "reason=\"%s\"", reason);
	return rest_metric(agent, "decisions_total", label);
}

void
rest_metric_becomes(const struct agent *agent, const char *family,
		    const char *label, uint64_t value)
{
	usec_t deadline = patience_end();

	while (rest_metric(agent, family, label) != value)
		if (!patience_look_again(deadline))
			fail_msg("%s %s is not %" PRIu64, family, label, value);
}

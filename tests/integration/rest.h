/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_REST_H
#define TESTS_INTEGRATION_REST_H

/* The operator: calls the daemon's REST API and reads its metrics. */

#include <stdbool.h>
#include <stdint.h>

#include "tests/integration/agent.h"

/* What the rule "chat" asks of the gate; a zero is not declared. */
struct rest_rule {
	const char *mode; /* NULL is enforce */
	unsigned ceiling;
	unsigned endpoint_ceiling;
	unsigned depth;
	unsigned wait_ms;
	unsigned prefill_ceiling;
	bool nobody;  /* its endpoint can serve nobody */
	bool exposes; /* answers carry the headers */
	bool pair;    /* its endpoint is decode, and 10.1.0.2:9000 prefill */
};

/*
 * Returns the status. The body is put in *answer, terminated, unless that is
 * NULL; the caller frees it.
 */
unsigned rest_call(const struct agent *agent, const char *request,
		   const char *body, char **answer);

/* Creates or replaces the rule "chat": 10.0.0.1:8000, one endpoint. */
void rest_put_rule(const struct agent *agent, const struct rest_rule *rule);

void rest_delete_rule(const struct agent *agent);

/*
 * The value of the series of a family that has the text among its labels; the
 * text may be "".
 */
uint64_t rest_metric(const struct agent *agent, const char *family,
		     const char *label);

/* A counter of decisions, by its reason. */
uint64_t rest_decisions(const struct agent *agent, const char *reason);

/* Waits until the metric has the value. */
void rest_metric_becomes(const struct agent *agent, const char *family,
			 const char *label, uint64_t value);

#endif

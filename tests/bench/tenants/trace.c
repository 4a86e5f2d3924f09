/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/tenants/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 65536

/* Microseconds each. */
#define PROMPT_TOKEN 200.0
#define OUTPUT_TOKEN 20000.0

_Noreturn static void
fail(const char *path, size_t line, const char *why)
{
	fprintf(stderr, "%s:%zu: %s\n", path, line, why);
	exit(1);
}

static size_t
tenant_of(struct trace *t, const char *name)
{
	size_t i = 0;

	while (i < t->tenants && strcmp(t->names[i], name) != 0)
		i++;
	if (i == TRACE_TENANTS_MAX)
		return i;
	if (i == t->tenants) {
		snprintf(t->names[i], TRACE_NAME_MAX, "%s", name);
		t->tenants++;
	}
	return i;
}

/* The next field of *rest as a number, or -1. */
static double
number(char **rest)
{
	const char *field = strsep(rest, ",");
	char *end;
	double value;

	if (field == NULL)
		return -1;
	value = strtod(field, &end);
	return end == field || (*end != '\0' && *end != '\n') ? -1 : value;
}

/* What is wrong with a line, or NULL. */
static const char *
read_line(struct trace *t, char *line)
{
	struct arrival *a = &t->arrivals[t->count];
	double at = number(&line);
	const char *name = strsep(&line, ",");
	double prompt = number(&line);
	double output = number(&line);

	/* So that NaN is none of them. */
	if (!(at >= 0 && prompt >= 0 && output >= 0))
		return "not a row of the trace";
	a->at = (usec_t)(at * 1e6 + 0.5);
	if (t->count > 0 && a->at < a[-1].at)
		return "before the row above";
	a->service = (usec_t)(prompt * PROMPT_TOKEN + output * OUTPUT_TOKEN);
	a->tenant = tenant_of(t, name);
	if (a->tenant == TRACE_TENANTS_MAX)
		return "too many tenants";
	t->sent[a->tenant]++;
	t->count++;
	return NULL;
}

void
trace_read(struct trace *t, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];
	size_t row = 1;
	const char *fault = NULL;

	memset(t, 0, sizeof(*t));
	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		fail(path, row, strerror(errno));
	t->arrivals = calloc(ROWS_MAX, sizeof(*t->arrivals));
	if (t->arrivals == NULL)
		fail(path, row, "no memory");
	while (fault == NULL && fgets(line, sizeof(line), file) != NULL) {
		row++;
		fault = t->count < ROWS_MAX ? read_line(t, line)
					    : "too many rows";
	}
	fclose(file);
	if (fault == NULL && t->count == 0)
		fault = "no rows";
	if (fault != NULL)
		fail(path, row, fault);
}

void
trace_fini(struct trace *t)
{
	free(t->arrivals);
}

void
trace_load(struct trace *t, unsigned percent, unsigned ceiling)
{
	const struct arrival *last = &t->arrivals[t->count - 1];
	double wanted = (double)ceiling * percent / 100;
	double offered = 0;

	for (size_t i = 0; i < t->count; i++)
		offered += (double)t->arrivals[i].service;
	offered /= (double)last->at;
	for (size_t i = 0; i < t->count; i++) {
		struct arrival *a = &t->arrivals[i];

		a->at = (usec_t)((double)a->at * offered / wanted);
	}
}

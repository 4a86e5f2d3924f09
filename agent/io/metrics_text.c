/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/metrics_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"

#define OUT_FIRST_BYTES 16384

/* Fourteen digits, a point, six more and the terminator, with room. */
#define SECONDS_MAX 32

/* Once it has failed for memory, writing to it does nothing. */
struct out {
	char *at; /* owned */
	size_t len, cap;
	bool failed;
};

static bool
make_room(struct out *o, size_t len)
{
	size_t cap = o->cap == 0 ? OUT_FIRST_BYTES : o->cap;
	char *at;

	if (o->failed)
		return false;
	while (cap - o->len < len)
		cap *= 2;
	if (cap == o->cap)
		return true;
	at = realloc(o->at, cap);
	if (at == NULL) {
		o->failed = true;
		return false;
	}
	o->at = at;
	o->cap = cap;
	return true;
}

static void
put_bytes(struct out *o, const char *bytes, size_t len)
{
	if (!make_room(o, len))
		return;
	memcpy(o->at + o->len, bytes, len);
	o->len += len;
}

static void
put(struct out *o, const char *string)
{
	put_bytes(o, string, strlen(string));
}

static void
put_number(struct out *o, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	put_bytes(o, digits + at, sizeof(digits) - at);
}

/* As short as it is exact: 2500000 becomes 2.5. */
static void
write_seconds(char text[SECONDS_MAX], usec_t time)
{
	int len = snprintf(text, SECONDS_MAX, "%" PRIu64 ".%06" PRIu64,
			   time / USEC_PER_SEC, time % USEC_PER_SEC);

	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	text[len] = '\0';
}

static void
put_label(struct out *o, const char *name, const char *value)
{
	put(o, name);
	put(o, "=\"");
	while (*value != '\0') {
		size_t plain = strcspn(value, "\\\"\n");

		put_bytes(o, value, plain);
		value += plain;
		if (*value == '\0')
			break;
		put(o, *value == '\n'  ? "\\n"
		       : *value == '"' ? "\\\""
				       : "\\\\");
		value++;
	}
	put(o, "\"");
}

/* Everything of a sample but its value. */
struct series {
	const char *family;
	const char *suffix;
	const char *labels; /* of its pool, empty for the process */
	const char *label;  /* a further one, or NULL */
	const char *value;
};

static void
put_series(struct out *o, const struct series *s)
{
	bool both = s->labels[0] != '\0' && s->label != NULL;
	bool any = s->labels[0] != '\0' || s->label != NULL;

	put(o, s->family);
	put(o, s->suffix);
	put(o, any ? "{" : "");
	put(o, s->labels);
	put(o, both ? "," : "");
	if (s->label != NULL)
		put_label(o, s->label, s->value);
	put(o, any ? "} " : " ");
}

static void
put_sample(struct out *o, const struct series *s, uint64_t value)
{
	put_series(o, s);
	put_number(o, value);
	put(o, "\n");
}

static void
put_histogram(struct out *o, const struct metric_row *row,
	      const struct histogram *h, const char *labels)
{
	struct series s = { row->family, "_bucket", labels, "le", NULL };
	char seconds[SECONDS_MAX];
	uint64_t below = 0;

	s.value = seconds;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		write_seconds(seconds, histogram_bounds[i]);
		below += h->bucket[i];
		put_sample(o, &s, below);
	}
	s.value = "+Inf";
	put_sample(o, &s, h->count);

	s = (struct series){ row->family, "_sum", labels, NULL, NULL };
	write_seconds(seconds, h->sum);
	put_series(o, &s);
	put(o, seconds);
	put(o, "\n");
	s.suffix = "_count";
	put_sample(o, &s, h->count);
}

/* A sample for each value of the label. */
static void
put_process(struct out *o, const struct gate *gate, enum metric_id id)
{
	const struct metric_row *row = &metrics_table[id];
	const struct metric_label_row *label = metric_label_row(row->label);

	for (size_t i = 0; i < label->count; i++) {
		const struct series s = { row->family, "", "", label->name,
					  label->values[i] };

		put_sample(o, &s, gate->metrics.value[id][i]);
	}
}

static void
put_pool(struct out *o, const struct pool *pool, enum metric_id id,
	 const char *labels)
{
	const struct metric_row *row = &metrics_table[id];
	const struct metric_label_row *label = metric_label_row(row->label);

	if (row->type == METRIC_HISTOGRAM) {
		put_histogram(o, row, &pool->waits, labels);
		return;
	}
	for (size_t i = 0; i < label->count; i++) {
		const struct series s = { row->family, "", labels, label->name,
					  label->values[i] };

		put_sample(o, &s, pool_metric(pool, id, i));
	}
}

/* What every series of a pool has, of one pool behind the other. */
static void
put_labels(struct out *labels, const struct gate *gate)
{
	const struct pool *pool;

	TAILQ_FOREACH (pool, &gate->pools, link) {
		put_label(labels, "service", pool->service);
		put(labels, ",");
		put_label(labels, "pool", pool->label);
		put_bytes(labels, "", 1);
	}
}

static void
put_pools(struct out *o, const struct gate *gate, enum metric_id id,
	  const char *labels)
{
	const struct pool *pool;

	TAILQ_FOREACH (pool, &gate->pools, link) {
		put_pool(o, pool, id, labels);
		labels += strlen(labels) + 1;
	}
}

static void
put_family(struct out *o, const struct gate *gate, enum metric_id id,
	   const char *labels)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	const struct metric_row *row = &metrics_table[id];

	put(o, "# HELP ");
	put(o, row->family);
	put(o, " ");
	put(o, row->help);
	put(o, "\n# TYPE ");
	put(o, row->family);
	put(o, " ");
	put(o, types[row->type]);
	put(o, "\n");
	if (row->scope == METRIC_PROCESS)
		put_process(o, gate, id);
	else
		put_pools(o, gate, id, labels);
}

char *
metrics_text(const struct gate *gate, size_t *len)
{
	struct out o = { 0 }, labels = { 0 };

	put_labels(&labels, gate);
	o.failed = labels.failed;
	for (unsigned id = 0; id < METRIC_COUNT && !o.failed; id++)
		put_family(&o, gate, (enum metric_id)id, labels.at);
	free(labels.at);
	put_bytes(&o, "", 1);
	if (o.failed) {
		free(o.at);
		return NULL;
	}
	*len = o.len - 1;
	return o.at;
}

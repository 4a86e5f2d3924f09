/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/index.h"
#include "agent/core/pool_private.h"

static char *
service_text(const struct rule *rule)
{
	char *text = malloc(strlen(rule->external_ip) + TEXT_PORT_MAX);

	if (text != NULL)
		text_host_port(text, rule->external_ip, rule->port);
	return text;
}

static bool
is_label_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || strchr("._-", c) != NULL;
}

/* The rule's key without its address, fit for a label (contract 7). */
static void
write_label(char label[POOL_LABEL_MAX], const struct rule *rule)
{
	const char *const parts[] = { rule->host, rule->path_prefix,
				      rule->model };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *c = parts[i];

		if (n > 0 && *c != '\0' && n < POOL_LABEL_MAX - 1)
			label[n++] = '_';
		for (; *c != '\0' && n < POOL_LABEL_MAX - 1; c++)
			label[n++] = (char)(is_label_char(*c) ? *c : '_');
	}
	if (n == 0)
		label[n++] = '-';
	label[n] = '\0';
}

bool
pool_same_labels(const struct pool *a, const struct pool *b)
{
	return strcmp(a->service, b->service) == 0 &&
	       strcmp(a->label, b->label) == 0;
}

#define DIGEST_LEN 8 /* hexadecimal digits */

static uint64_t
digest(const struct rule *rule)
{
	const char *const parts[] = { rule->protocol, rule->host,
				      rule->path_prefix, rule->model };
	uint64_t sum = (uint64_t)rule->path_match;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		/* A fixed key: the label is the same in every process. */
		const uint64_t key[2] = { 0, sum };

		sum = index_hash(parts[i], strlen(parts[i]), key);
	}
	return sum;
}

void
pool_tell_apart(struct pool *p, const struct rule *rule)
{
	size_t len = strlen(p->label);
	uint64_t sum = digest(rule);

	if (len > POOL_LABEL_MAX - 2 - DIGEST_LEN)
		len = POOL_LABEL_MAX - 2 - DIGEST_LEN;
	p->label[len++] = '_';
	for (size_t i = 0; i < DIGEST_LEN; i++, sum >>= 4)
		p->label[len++] = "0123456789abcdef"[sum & 0xf];
	p->label[len] = '\0';
}

struct pool *
pool_new(const struct rule *rule, const struct settings_env *env)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	queue_init(&p->queue);
	tenants_init(&p->tenants);
	TAILQ_INIT(&p->elsewhere);
	p->disaggregated = rule->disaggregated;
	p->service = service_text(rule);
	p->backend = strdup(rule->name);
	p->endpoints = calloc(rule->endpoint_count + 1, sizeof(*p->endpoints));
	if (p->service == NULL || p->backend == NULL || p->endpoints == NULL) {
		pool_free(&p);
		return NULL;
	}
	write_label(p->label, rule);
	p->endpoint_count = rule->endpoint_count;
	for (size_t i = 0; i < p->endpoint_count; i++) {
		endpoint_init(&p->endpoints[i], &rule->endpoints[i]);
		p->endpoints[i].pool = p;
	}
	pool_configure(p, &rule->declared, env);
	return p;
}

struct endpoint *
pool_endpoint(const struct pool *p, const struct address *address,
	      uint16_t port)
{
	for (size_t i = 0; i < p->endpoint_count; i++) {
		struct endpoint *e = &p->endpoints[i];

		if (e->port == port && address_equals(&e->address, address))
			return e;
	}
	return NULL;
}

static void
inherit(struct endpoint *e, const struct endpoint *old)
{
	e->up = old->up;
	e->red = old->red;
	e->warmed = old->warmed;
	e->waiting = old->waiting;
	e->reported = old->reported;
	e->first_token_ms = old->first_token_ms;
	e->first_token_at = old->first_token_at;
	endpoint_name(e, text_of(old->server));
}

void
pool_inherit(struct pool *p, const struct pool *from, usec_t now)
{
	for (size_t i = 0; i < p->endpoint_count; i++) {
		struct endpoint *e = &p->endpoints[i];
		const struct endpoint *old =
			pool_endpoint(from, &e->address, e->port);

		if (old != NULL)
			inherit(e, old);
		else
			pool_return(p, e, now);
	}
}

void
pool_free(struct pool **pool)
{
	struct pool *p = *pool;

	if (p == NULL)
		return;
	assert(p->executing == 0);
	queue_fini(&p->queue);
	free(p->service);
	free(p->backend);
	free(p->endpoints);
	free(p);
	*pool = NULL;
}

/* ---- shares ---- */

/* Puts all waiters, by their turns, into a line of their own. */
static void
take_waiters(struct pool *p, struct tenant_line *line)
{
	struct request *r;

	TAILQ_INIT(line);
	while ((r = queue_oldest(&p->queue)) != NULL) {
		queue_leave(&p->queue, r);
		TAILQ_INSERT_TAIL(line, r, queued);
	}
}

static void
move_units(struct pool *p, const struct endpoint_units *executing)
{
	struct request *r;

	TAILQ_FOREACH (r, executing, executing) {
		if (r->tenant == NULL)
			continue;
		r->tenant->units--;
		r->tenant = tenants_slot(&p->tenants, r->tenant_key);
		r->tenant->units++;
	}
}

/* A share has begun or ended: everybody moves to the slot that is theirs. */
static void
regroup(struct pool *p)
{
	struct tenant_line line;
	struct request *r;

	take_waiters(p, &line);
	move_units(p, &p->elsewhere);
	for (size_t i = 0; i < p->endpoint_count; i++)
		move_units(p, &p->endpoints[i].executing);
	while ((r = TAILQ_FIRST(&line)) != NULL) {
		TAILQ_REMOVE(&line, r, queued);
		r->tenant = tenants_slot(&p->tenants, r->tenant_key);
		queue_rejoin(&p->queue, r);
	}
}

void
pool_share_out(struct pool *p)
{
	bool active = p->tenants.active;
	bool binding = pool_mode(p) == MODE_ENFORCE;

	tenants_bound(&p->tenants,
		      pool_mode(p) == MODE_OFF
			      ? 0
			      : p->effective.value.tenant_max_share_pct,
		      pool_ceiling(p), p->effective.value.queue_depth);
	if (p->tenants.active != active)
		regroup(p);
	queue_set_bound(&p->queue,
			binding ? p->tenants.unit_bound : TENANT_UNBOUNDED);
}

void
pool_configure(struct pool *p, const struct settings *declared,
	       const struct settings_env *env)
{
	const struct settings *value = &p->effective.value;

	settings_resolve(&p->effective, declared, env);
	adaptive_configure(&p->adaptive, pool_is_adaptive(p),
			   value->max_outstanding);
	for (size_t i = 0; i < p->endpoint_count && value->warmup_ms == 0; i++)
		p->endpoints[i].warmed = 0;
	pool_share_out(p);
}

enum mode
pool_mode(const struct pool *p)
{
	return (enum mode)p->effective.value.mode;
}

uint32_t
pool_ceiling(const struct pool *p)
{
	return p->adaptive.ceiling;
}

uint32_t
pool_queue_depth(const struct pool *p)
{
	if (pool_mode(p) != MODE_ENFORCE || p->disaggregated)
		return 0;
	return p->effective.value.queue_depth;
}

bool
pool_has_room(const struct pool *p)
{
	uint32_t ceiling = pool_ceiling(p);

	return ceiling == 0 || p->units < ceiling;
}

uint32_t
pool_endpoint_ceiling(const struct pool *p, enum role role)
{
	switch (role) {
	case ROLE_NORMAL:
		return p->effective.value.ep_max_inflight;
	case ROLE_PREFILL:
		return p->effective.value.prefill_max_inflight;
	case ROLE_DECODE:
		return p->effective.value.decode_max_inflight;
	}
	assert(false && "unknown role");
	return 0;
}

enum role
pool_serving_role(const struct pool *p)
{
	return p->disaggregated ? ROLE_DECODE : ROLE_NORMAL;
}

bool
pool_exposes(const struct pool *p)
{
	return p->effective.value.expose_headers == SWITCH_ON &&
	       pool_mode(p) != MODE_OFF;
}

/* Of those that were run after a wait, rounded up (contract 4.10). */
static uint32_t
mean_wait_seconds(const struct pool *p)
{
	usec_t mean;

	if (p->waits.count == 0)
		return 1;
	mean = p->waits.sum / p->waits.count;
	mean = (mean + USEC_PER_SEC - 1) / USEC_PER_SEC;
	if (mean < 1)
		return 1;
	return mean > 30 ? 30 : (uint32_t)mean;
}

uint32_t
pool_retry_after(const struct pool *p, enum retry_rule rule)
{
	switch (rule) {
	case RETRY_ONE:
		return 1;
	case RETRY_MEAN:
		return mean_wait_seconds(p);
	case RETRY_FIVE:
		return 5;
	}
	assert(false && "unknown retry rule");
	return 1;
}

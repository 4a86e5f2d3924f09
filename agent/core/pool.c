/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/index.h"

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

static void
share_out(struct pool *p)
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

/* ---- what the engines are like ---- */

static usec_t
warm_up(const struct pool *p)
{
	return p->effective.value.warmup_ms * USEC_PER_MSEC;
}

static usec_t
trust(const struct pool *p)
{
	return p->effective.value.telemetry_stale_ms * USEC_PER_MSEC;
}

static bool
is_fresh(const struct pool *p, usec_t at, usec_t now)
{
	return at > 0 && now - at <= trust(p);
}

static void
warm(struct pool *p, usec_t now)
{
	for (size_t i = 0; i < p->endpoint_count; i++)
		if (p->endpoints[i].warmed > 0)
			endpoint_warm(&p->endpoints[i], warm_up(p), now);
}

uint32_t
pool_warming(const struct pool *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->endpoint_count; i++)
		n += p->endpoints[i].warmed > 0 ? 1 : 0;
	return n;
}

void
pool_return(const struct pool *p, struct endpoint *e, usec_t now)
{
	if (warm_up(p) > 0)
		endpoint_return(e, now);
}

static bool
is_adaptive(const struct pool *p)
{
	return p->effective.value.adaptive > FOLLOW_OFF;
}

bool
pool_is_scraped(const struct pool *p)
{
	return pool_mode(p) != MODE_OFF && (is_adaptive(p) || p->disaggregated);
}

bool
pool_wants_first_token(const struct pool *p)
{
	return pool_mode(p) != MODE_OFF && is_adaptive(p) &&
	       p->effective.value.ttft_target_ms > 0;
}

void
pool_first_token(const struct pool *p, struct endpoint *e, usec_t took,
		 usec_t now)
{
	if (e != NULL && pool_wants_first_token(p))
		endpoint_first_token(e, took, trust(p), now);
}

bool
pool_is_moving(const struct pool *p)
{
	return p->adaptive.state != ADAPT_OFF || pool_warming(p) > 0;
}

/* Whether that is evidence still; *newest is when the last of it came. */
static bool
heed(const struct pool *p, usec_t at, usec_t now, usec_t *newest)
{
	if (!is_fresh(p, at, now))
		return false;
	if (at > *newest)
		*newest = at;
	return true;
}

static struct adapt_evidence
gather(const struct pool *p, usec_t now, usec_t *newest)
{
	uint32_t target = p->effective.value.ttft_target_ms;
	struct adapt_evidence evidence = { .fresh = false };

	for (size_t i = 0; i < p->endpoint_count; i++) {
		const struct endpoint *e = &p->endpoints[i];

		if (heed(p, e->reported, now, newest)) {
			evidence.fresh = true;
			evidence.queued = evidence.queued || e->waiting > 0;
		}
		if (target > 0 && heed(p, e->first_token_at, now, newest)) {
			evidence.fresh = true;
			evidence.late =
				evidence.late || e->first_token_ms > target;
		}
	}
	return evidence;
}

/* Literally each second, or only once on what has not been acted on yet. */
static void
adapt(struct pool *p, usec_t now)
{
	usec_t newest = 0;
	struct adapt_evidence evidence = gather(p, now, &newest);
	bool sampled = p->effective.value.adaptive == FOLLOW_SAMPLE;

	if (sampled && evidence.fresh && newest <= p->stepped)
		return;
	p->stepped = newest;
	adaptive_step(&p->adaptive, &evidence);
	share_out(p);
}

void
pool_pass(struct pool *p, usec_t now)
{
	warm(p, now);
	if (p->adaptive.state != ADAPT_OFF)
		adapt(p, now);
}

void
pool_configure(struct pool *p, const struct settings *declared,
	       const struct settings_env *env)
{
	const struct settings *value = &p->effective.value;

	settings_resolve(&p->effective, declared, env);
	adaptive_configure(&p->adaptive, is_adaptive(p),
			   value->max_outstanding);
	for (size_t i = 0; i < p->endpoint_count && value->warmup_ms == 0; i++)
		p->endpoints[i].warmed = 0;
	share_out(p);
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

/* What waits in it, where that is known. */
static uint32_t
waiting_in(const struct pool *p, const struct endpoint *e, usec_t now)
{
	return is_fresh(p, e->reported, now) ? e->waiting : 0;
}

static void
keep_lighter(const struct pool *p, usec_t now, struct endpoint **best,
	     struct endpoint *e)
{
	if (*best == NULL || endpoint_is_lighter(e, *best) ||
	    (!endpoint_is_lighter(*best, e) &&
	     waiting_in(p, e, now) < waiting_in(p, *best, now)))
		*best = e;
}

static enum pick
pick(const struct pool *p, enum role role, usec_t now,
     struct endpoint **endpoint)
{
	uint32_t ceiling = pool_endpoint_ceiling(p, role);
	struct endpoint *free_one = NULL;
	struct endpoint *any = NULL;

	for (size_t i = 0; i < p->endpoint_count; i++) {
		size_t at = p->rotation[role] + i;
		struct endpoint *e =
			&p->endpoints[at < p->endpoint_count
					      ? at
					      : at - p->endpoint_count];

		if (e->role != role || !endpoint_is_eligible(e))
			continue;
		keep_lighter(p, now, &any, e);
		if (endpoint_has_room(
			    e, endpoint_ramp(e, ceiling, warm_up(p), now)))
			keep_lighter(p, now, &free_one, e);
	}
	*endpoint = free_one != NULL ? free_one : any;
	if (any == NULL)
		return PICK_NONE_ELIGIBLE;
	return free_one != NULL ? PICK_FOUND : PICK_ALL_FULL;
}

static enum pick
place(const struct pool *p, enum role role, usec_t now, struct placement *at,
      struct endpoint **endpoint)
{
	enum pick found = pick(p, role, now, endpoint);

	if (found == PICK_ALL_FULL) {
		at->limit = pool_endpoint_ceiling(p, role);
		at->full++;
	}
	return found;
}

enum pick
pool_place(const struct pool *p, enum role leg, usec_t now,
	   struct placement *at)
{
	bool whole = leg == ROLE_NORMAL || !p->disaggregated;
	enum pick found, prefill;

	*at = (struct placement){ .full = 0 };
	found = place(p, whole ? pool_serving_role(p) : leg, now, at,
		      &at->endpoint);
	if (!whole || !p->disaggregated)
		return found;
	prefill = place(p, ROLE_PREFILL, now, at, &at->prefill);
	return prefill < found ? prefill : found;
}

static void
rotate(struct pool *p, const struct endpoint *e)
{
	p->rotation[e->role] = (size_t)(e - p->endpoints) + 1;
}

static void
take_prefill(struct pool *p, struct endpoint *e, struct request *r)
{
	r->prefill = e;
	if (e == NULL)
		return;
	e->units++;
	e->beside++;
	rotate(p, e);
}

static void
take_endpoint(struct pool *p, struct endpoint *e, struct request *r)
{
	r->endpoint = e;
	if (e == NULL) {
		TAILQ_INSERT_TAIL(&p->elsewhere, r, executing);
		return;
	}
	e->units++;
	TAILQ_INSERT_TAIL(&e->executing, r, executing);
	rotate(p, e);
}

void
pool_take(struct pool *p, const struct placement *at, struct request *r)
{
	p->executing++;
	take_endpoint(p, at->endpoint, r);
	take_prefill(p, at->prefill, r);
	if (r->tenant == NULL)
		return;
	p->units++;
	r->tenant->units++;
	queue_review(&p->queue, r->tenant);
}

void
pool_end_prefill(struct request *r)
{
	struct endpoint *e = r->prefill;

	if (e == NULL)
		return;
	assert(e->units > 0 && e->beside > 0);
	e->units--;
	e->beside--;
	r->prefill = NULL;
}

static void
leave_endpoint(struct pool *p, struct request *r)
{
	struct endpoint *e = r->endpoint;

	if (e == NULL) {
		TAILQ_REMOVE(&p->elsewhere, r, executing);
		return;
	}
	assert(e->units > e->beside);
	e->units--;
	TAILQ_REMOVE(&e->executing, r, executing);
	r->endpoint = NULL;
}

void
pool_give_back(struct pool *p, struct request *r)
{
	assert(p->executing > 0);
	p->executing--;
	leave_endpoint(p, r);
	pool_end_prefill(r);
	if (r->tenant == NULL)
		return;
	assert(p->units > 0 && r->tenant->units > 0);
	p->units--;
	r->tenant->units--;
	queue_review(&p->queue, r->tenant);
	r->tenant = NULL;
}

struct request *
pool_next_waiter(const struct pool *p)
{
	struct request *head = queue_head(&p->queue);

	if (head == NULL && p->effective.value.tenant_borrow == SWITCH_ON)
		return queue_borrower(&p->queue);
	return head;
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

static uint64_t
units_of_role(const struct pool *p, enum role role)
{
	uint64_t units = 0;

	for (size_t i = 0; i < p->endpoint_count; i++)
		if (p->endpoints[i].role == role)
			units += p->endpoints[i].units;
	return units;
}

static uint64_t
inflight(const struct pool *p, enum metric_role role)
{
	switch (role) {
	case METRIC_ROLE_SERVICE:
		return p->units;
	case METRIC_ROLE_NORMAL:
		return units_of_role(p, ROLE_NORMAL);
	case METRIC_ROLE_PREFILL:
		return units_of_role(p, ROLE_PREFILL);
	case METRIC_ROLE_DECODE:
		return units_of_role(p, ROLE_DECODE);
	case METRIC_ROLE_QUEUE:
		return p->queue.len;
	}
	assert(false && "unknown role");
	return 0;
}

static uint64_t
limit(const struct pool *p, enum metric_role role)
{
	switch (role) {
	case METRIC_ROLE_SERVICE:
		return p->effective.value.max_outstanding;
	case METRIC_ROLE_NORMAL:
		return pool_endpoint_ceiling(p, ROLE_NORMAL);
	case METRIC_ROLE_PREFILL:
		return pool_endpoint_ceiling(p, ROLE_PREFILL);
	case METRIC_ROLE_DECODE:
		return pool_endpoint_ceiling(p, ROLE_DECODE);
	case METRIC_ROLE_QUEUE:
		return p->effective.value.queue_depth;
	}
	assert(false && "unknown role");
	return 0;
}

uint64_t
pool_metric(const struct pool *p, enum metric_id id, size_t value)
{
	switch ((int)id) {
	case METRIC_mode:
		return (uint64_t)pool_mode(p) - MODE_OFF;
	case METRIC_inflight:
		return inflight(p, (enum metric_role)value);
	case METRIC_limit:
		return limit(p, (enum metric_role)value);
	case METRIC_queued:
		return p->queue.len;
	case METRIC_decisions:
		return p->decisions[value];
	case METRIC_effective_limit:
		return pool_ceiling(p);
	case METRIC_adapt_state:
		return value == (size_t)p->adaptive.state;
	case METRIC_adapt_reason:
		return value == (size_t)p->adaptive.reason;
	case METRIC_adapt_moves:
		return p->adaptive.moves[value];
	case METRIC_warming_endpoints:
		return pool_warming(p);
	case METRIC_tenants_active:
		return tenants_active(&p->tenants);
	case METRIC_reclaimed:
		return p->reclaimed;
	default:
		assert(false && "not a number of a pool");
		return 0;
	}
}

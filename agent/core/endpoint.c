/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/endpoint.h"

#include <assert.h>
#include <string.h>

#include "agent/core/request.h"

static void
write_target(char target[ENDPOINT_TARGET_MAX],
	     const struct rule_endpoint *declared)
{
	char host[RULE_IP_MAX + 2] = "[";
	size_t len = strlen(declared->ip);

	if (declared->address.family != ADDRESS_V6) {
		text_host_port(target, declared->ip, declared->port);
		return;
	}
	assert(len < RULE_IP_MAX);
	memcpy(host + 1, declared->ip, len);
	memcpy(host + 1 + len, "]", sizeof("]"));
	text_host_port(target, host, declared->port);
}

void
endpoint_init(struct endpoint *e, const struct rule_endpoint *declared)
{
	memset(e, 0, sizeof(*e));
	e->address = declared->address;
	e->port = declared->port;
	e->weight = declared->weight > 0 ? declared->weight : 1;
	e->role = declared->role;
	e->up = true;
	TAILQ_INIT(&e->executing);
	assert(strlen(declared->ip) + TEXT_PORT_MAX <= sizeof(e->server));
	text_host_port(e->server, declared->ip, declared->port);
	write_target(e->target, declared);
}

void
endpoint_name(struct endpoint *e, struct text server)
{
	if (server.len == 0 || server.len >= sizeof(e->server))
		return;
	memcpy(e->server, server.at, server.len);
	e->server[server.len] = '\0';
}

void
endpoint_return(struct endpoint *e, usec_t now)
{
	e->warmed = now;
}

void
endpoint_warm(struct endpoint *e, usec_t window, usec_t now)
{
	if (now - e->warmed >= window)
		e->warmed = 0;
}

uint32_t
endpoint_ramp(const struct endpoint *e, uint32_t ceiling, usec_t window,
	      usec_t now)
{
	uint32_t from = ceiling < 4 ? 1 : ceiling / 4;
	usec_t elapsed = now - e->warmed;

	if (ceiling == 0 || e->warmed == 0 || elapsed >= window)
		return ceiling;
	return from + (uint32_t)((ceiling - from) * elapsed / window);
}

void
endpoint_first_token(struct endpoint *e, usec_t took, usec_t window, usec_t now)
{
	usec_t ms = took / USEC_PER_MSEC;
	uint32_t sample = ms > UINT32_MAX / 8 ? UINT32_MAX / 8 : (uint32_t)ms;
	bool alone = e->first_token_at == 0 || now - e->first_token_at > window;

	if (sample == 0)
		sample = 1;
	e->first_token_ms =
		alone ? sample : (7 * e->first_token_ms + sample + 7) / 8;
	e->first_token_at = now;
}

bool
endpoint_is_eligible(const struct endpoint *e)
{
	return e->up && !e->red;
}

bool
endpoint_has_room(const struct endpoint *e, uint32_t ceiling)
{
	return ceiling == 0 || e->units < ceiling;
}

bool
endpoint_is_lighter(const struct endpoint *a, const struct endpoint *b)
{
	/* units / weight, without dividing */
	return (uint64_t)a->units * b->weight < (uint64_t)b->units * a->weight;
}

/* How many of its units are older than that, most at the most. */
static uint32_t
units_before(const struct endpoint *e, usec_t time, uint32_t most)
{
	const struct request *r;
	uint32_t n = 0;

	TAILQ_FOREACH (r, &e->executing, executing) {
		if (n == most || r->admitted >= time)
			break;
		n++;
	}
	return n;
}

/* The same for all of them, counted from the younger end. */
static uint32_t
all_units_before(const struct endpoint *e, usec_t time)
{
	const struct request *r;
	uint32_t n = e->units - e->beside;

	TAILQ_FOREACH_REVERSE(r, &e->executing, endpoint_units, executing)
	{
		if (r->admitted < time)
			break;
		n--;
	}
	return n;
}

uint32_t
endpoint_spare(const struct endpoint *e, uint32_t sessions, usec_t asked)
{
	uint32_t units = all_units_before(e, asked);

	return sessions > units ? sessions - units : 0;
}

uint32_t
endpoint_look(struct endpoint *e, uint32_t sessions, usec_t asked)
{
	uint32_t units = all_units_before(e, asked);
	uint32_t lost = units > sessions ? units - sessions : 0;
	const size_t oldest = ENDPOINT_LOOKS - 1;

	memmove(&e->excess[1], &e->excess[0], oldest * sizeof(e->excess[0]));
	memmove(&e->looked[1], &e->looked[0], oldest * sizeof(e->looked[0]));
	e->excess[0] = lost;
	e->looked[0] = asked;

	for (size_t i = 1; i < ENDPOINT_LOOKS; i++)
		if (e->excess[i] < lost)
			lost = e->excess[i];
	lost = units_before(e, e->looked[oldest], lost);

	/* What accuses these must not accuse others at the next look. */
	for (size_t i = 0; i < ENDPOINT_LOOKS; i++)
		e->excess[i] -= lost;
	return lost;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/core/gate.h"
#include "agent/io/clock.h"
#include "agent/io/log.h"
#include "agent/io/rules_memory.h"

#define ACCEPT_BOUND_MAX 100000000

static bool
wrong(const char *what, const char *value, const char *why)
{
	log_err("%s: %s value=\"%s\"", what, why, value);
	return false;
}

static bool
parse_address(const char *option, const char *text, struct listen_address *at)
{
	const char *why = listen_address_parse(text, at);

	return why == NULL || wrong(option, text, why);
}

static bool
parse_list(const char *option, const struct option_list *list,
	   struct listen_address *at)
{
	bool ok = true;

	for (size_t i = 0; i < list->count; i++)
		ok = parse_address(option, list->value[i], &at[i]) && ok;
	return ok;
}

/* Says each fault, not only the first. */
static bool
read_addresses(struct config *c)
{
	const struct options *o = &c->options;
	bool ok = parse_list("spop-listen", &o->spop_listen, c->spop);

	ok = parse_address("log-listen", o->log_listen, &c->log) && ok;
	ok = parse_address("api-listen", o->api_listen, &c->api) && ok;
	return parse_list("haproxy-socket", &o->haproxy_sockets, c->haproxy) &&
	       ok;
}

bool
config_read_token(struct config *c)
{
	const char *path = c->options.api_token_file;
	const char *why = path == NULL ? NULL : api_token_read(&c->token, path);

	return why == NULL || wrong("api-token-file", path, why);
}

/* Nobody is let in from outside because somebody forgot a token. */
static bool
judge_exposure(const struct config *c)
{
	const struct options *o = &c->options;

	if (o->api_token_file != NULL || o->api_open ||
	    listen_address_is_local(&c->api))
		return true;
	return wrong("api-listen", o->api_listen,
		     "is open to others than this machine: give "
		     "--api-token-file, or --api-open if that is meant");
}

static const char *
environment(const char *name)
{
	return getenv(name);
}

/* What is not understood counts as not said; that should not go unnoticed. */
static bool
judge_settings(const struct settings_env *env)
{
	bool ok = true;

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const char *name = settings_table[i].env;

		if (!env->misread[i])
			continue;
		log_warnx("environment: not understood, ignored name=%s "
			  "value=\"%s\"",
			  name, getenv(name));
		ok = false;
	}
	return ok;
}

/* The accept valve's bound, by the rules of the other numbers (contract 3). */
static bool
read_accept_bound(struct config *c)
{
	static const char name[] = "LLB_PD_MAX_TOTAL_INFLIGHT";
	const char *said = environment(name);
	unsigned long long bound = 0;

	if (said == NULL)
		return true;
	if (!text_number(text_of(said), ACCEPT_BOUND_MAX, &bound)) {
		log_warnx("environment: not understood, ignored name=%s "
			  "value=\"%s\"",
			  name, said);
		return false;
	}
	c->accept_bound = (uint32_t)bound;
	if (bound > 0 && c->options.haproxy_sockets.count == 0)
		log_warnx("haproxy: the accept valve needs --haproxy-socket");
	return true;
}

static bool
judge_environment(struct config *c)
{
	bool ok = judge_settings(&c->env);

	ok = read_accept_bound(c) && ok;
	/* What is ignored stops nobody but who asks whether all is well. */
	return ok || !c->options.check;
}

enum options_result
config_read(struct config *c, int argc, char **argv, const char *version)
{
	enum options_result result;

	memset(c, 0, sizeof(*c));
	result = options_read(&c->options, argc, argv, version);
	if (result == OPTIONS_RUN)
		log_open(c->options.log_level, c->options.log_format);
	return result;
}

bool
config_judge(struct config *c)
{
	bool ok = read_addresses(c);

	settings_env_read(&c->env, environment);
	ok = ok && judge_exposure(c);
	ok = config_read_token(c) && ok;
	return judge_environment(c) && ok;
}

struct gate *
config_make_gate(const struct config *c)
{
	struct gate_options gate = {
		.backend = c->options.haproxy_backend,
		.unit_max_age = c->options.unit_max_age,
		.depth_of_half_memory = rules_memory_depth(
			rules_memory_of_node(), c->options.request_buffer_kib),
	};

	if (getrandom(&gate.epoch, sizeof(gate.epoch), 0) < 0 ||
	    getrandom(gate.hash_key, sizeof(gate.hash_key), 0) < 0)
		return NULL;
	return gate_new(&gate, &c->env, clock_now());
}

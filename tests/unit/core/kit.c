/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/kit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *here = "kit";

void
kit_at(const char *where)
{
	here = where;
}

void
kit_fault(const char *what, const char *word)
{
	fprintf(stderr, "%s: %s: %s\n", here, what, word);
	exit(1);
}

char *
kit_word(char **rest)
{
	char *at = *rest + strspn(*rest, " \t");
	size_t len = strcspn(at, " \t");

	if (len == 0)
		return NULL;
	*rest = at + len;
	if (at[len] != '\0')
		*(*rest)++ = '\0';
	return at;
}

char *
kit_value(char *word, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(word, key, len) != 0 || word[len] != '=')
		return NULL;
	return word + len + 1;
}

unsigned long
kit_number(const char *word)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	if (end == word || *end != '\0')
		kit_fault("not a number", word);
	return number;
}

static void
read_address(const char *word, struct address *address)
{
	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, word, address->bytes) == 1)
		address->family = ADDRESS_V4;
	else if (inet_pton(AF_INET6, word, address->bytes) == 1)
		address->family = ADDRESS_V6;
	else
		kit_fault("not an address", word);
}

void
kit_host_port(char *word, const char **ip, struct address *address,
	      uint16_t *port)
{
	char *colon = strrchr(word, ':');

	if (colon == NULL)
		kit_fault("no port", word);
	*colon = '\0';
	*port = (uint16_t)kit_number(colon + 1);
	if (word[0] == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		word++;
	}
	read_address(word, address);
	*ip = word;
}

static char *
copy(const char *text)
{
	char *made = strdup(text);

	if (made == NULL)
		kit_fault("no memory", text);
	return made;
}

static void
put(char **field, const char *text)
{
	free(*field);
	*field = copy(text);
}

/* ---- rules ---- */

static enum role
read_role(const char *word)
{
	if (strcmp(word, "prefill") == 0)
		return ROLE_PREFILL;
	if (strcmp(word, "decode") == 0)
		return ROLE_DECODE;
	kit_fault("not a role", word);
}

static void
add_endpoint(struct rule *rule, char *word)
{
	struct rule_endpoint *e = &rule->endpoints[rule->endpoint_count++];
	char *role = strchr(word, '@');
	char *weight = strchr(word, '*');
	const char *ip;

	if (role != NULL) {
		*role = '\0';
		e->role = read_role(role + 1);
	}
	if (weight != NULL) {
		*weight = '\0';
		e->weight = (uint32_t)kit_number(weight + 1);
	}
	kit_host_port(word, &ip, &e->address, &e->port);
	e->ip = copy(ip);
}

static void
read_endpoints(struct rule *rule, const char *list)
{
	char *text = copy(list);
	char *rest = text;
	char *word;

	rule->endpoints = calloc(RULE_ENDPOINTS_MAX, sizeof(*rule->endpoints));
	if (rule->endpoints == NULL)
		kit_fault("no memory", list);
	while ((word = strsep(&rest, ",")) != NULL)
		add_endpoint(rule, word);
	free(text);
}

static bool
read_setting(struct rule *rule, char *word)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		const char *const *words = setting_words(def->kind);
		const char *value = kit_value(word, def->name);
		uint32_t number = 0;

		if (value == NULL)
			continue;
		if (words == NULL)
			number = (uint32_t)kit_number(value);
		else
			while (strcmp(words[number], value) != 0)
				if (words[++number] == NULL)
					kit_fault("not a word of it", word);
		setting_set(&rule->declared, def, number);
		return true;
	}
	return false;
}

static bool
read_flag(struct rule *rule, const char *word)
{
	if (strcmp(word, "sse") == 0)
		rule->sse = true;
	else if (strcmp(word, "plain") == 0)
		rule->sse = false;
	else if (strcmp(word, "pd") == 0)
		rule->disaggregated = true;
	else if (strcmp(word, "credential") == 0)
		rule->enforces_credential = true;
	else
		return false;
	return true;
}

static bool
read_text(struct rule *rule, char *word)
{
	struct {
		const char *key;
		char **field;
	} fields[] = { { "protocol", &rule->protocol },
		       { "host", &rule->host },
		       { "prefix", &rule->path_prefix },
		       { "exact", &rule->path_prefix },
		       { "model", &rule->model },
		       { "name", &rule->name } };

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *value = kit_value(word, fields[i].key);

		if (value == NULL)
			continue;
		put(fields[i].field, value);
		if (strcmp(fields[i].key, "prefix") == 0)
			rule->path_match = PATH_PREFIX;
		if (strcmp(fields[i].key, "exact") == 0)
			rule->path_match = PATH_EXACT;
		return true;
	}
	return false;
}

static bool
read_value(struct rule *rule, char *word)
{
	const char *value;

	if ((value = kit_value(word, "vip")) != NULL) {
		put(&rule->external_ip, value);
		read_address(value, &rule->vip);
	} else if ((value = kit_value(word, "port")) != NULL) {
		rule->port = (uint16_t)kit_number(value);
	} else if ((value = kit_value(word, "lb_mode")) != NULL) {
		rule->mode = (unsigned)kit_number(value);
	} else if ((value = kit_value(word, "endpoints")) != NULL) {
		read_endpoints(rule, value);
	} else {
		return false;
	}
	return true;
}

static void
read_rule(struct rule *rule, char *words)
{
	size_t room = strlen(words) + 2;
	char *document = calloc(1, room);
	size_t len = 0;
	char *word;

	if (document == NULL)
		kit_fault("no memory", words);
	while ((word = kit_word(&words)) != NULL) {
		if (read_setting(rule, word))
			continue;
		len += (size_t)snprintf(document + len, room - len, "%s ",
					word);
		if (!read_flag(rule, word) && !read_text(rule, word) &&
		    !read_value(rule, word))
			kit_fault("not understood on a rule", word);
	}
	put(&rule->document, document);
	free(document);
}

struct rule *
kit_rule(const char *words)
{
	struct rule *rule = rule_new();
	char *text = copy(words);

	if (rule == NULL)
		kit_fault("no memory", words);
	rule->external_ip = copy("0.0.0.0");
	rule->vip.family = ADDRESS_V4;
	rule->port = 8080;
	rule->protocol = copy("tcp");
	rule->host = copy("");
	rule->path_prefix = copy("");
	rule->model = copy("");
	rule->name = copy("");
	rule->mode = RULE_MODE_FULLPROXY;
	rule->sse = true;
	read_rule(rule, text);
	if (rule->endpoints == NULL)
		read_endpoints(rule, "10.0.0.1:8000");
	free(text);
	return rule;
}

/* ---- questions ---- */

struct request *
kit_request(void)
{
	struct request *r = calloc(1, sizeof(*r));

	if (r == NULL)
		kit_fault("no memory", "request");
	return r;
}

static bool
read_question_text(struct question *q, char *word)
{
	struct {
		const char *key;
		struct text *field;
	} fields[] = { { "method", &q->ask.method },
		       { "path", &q->ask.query.path },
		       { "pool", &q->ask.query.pool },
		       { "host", &q->ask.query.host },
		       { "model", &q->ask.query.model },
		       { "tenant", &q->ask.tenant } };

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *value = kit_value(word, fields[i].key);

		if (value == NULL)
			continue;
		*fields[i].field =
			text_of(strcmp(value, "*") == 0 ? q->id : value);
		return true;
	}
	return false;
}

static bool
read_question_number(struct question *q, char *word)
{
	const char *value;

	if ((value = kit_value(word, "http")) != NULL)
		q->ask.http = (unsigned)kit_number(value);
	else if ((value = kit_value(word, "waited_ms")) != NULL)
		q->ask.waited = kit_number(value) * USEC_PER_MSEC;
	else if ((value = kit_value(word, "port")) != NULL)
		q->ask.query.port = (uint16_t)kit_number(value);
	else if ((value = kit_value(word, "peer")) != NULL)
		q->peer = (unsigned)kit_number(value);
	else
		return false;
	return true;
}

static void
read_question(struct question *q, char *word)
{
	const char *value;

	if (strcmp(word, "streamed") == 0)
		q->ask.streamed = true;
	else if ((value = kit_value(word, "leg")) != NULL)
		q->ask.leg = read_role(value);
	else if ((value = kit_value(word, "vip")) != NULL)
		read_address(value, &q->ask.query.vip);
	else if ((value = kit_value(word, "as")) != NULL)
		q->label = value;
	else if (!read_question_text(q, word) && !read_question_number(q, word))
		kit_fault("not understood in a question", word);
}

void
kit_question(struct question *q, const char *line)
{
	char *rest = q->words;
	char *word;

	if (strlen(line) >= sizeof(q->words))
		kit_fault("too long", line);
	memset(q, 0, sizeof(*q));
	snprintf(q->words, sizeof(q->words), "%s", line);
	q->ask.http = 1;
	q->ask.method = text_of("POST");
	q->ask.query.path = text_of("/v1/chat/completions");
	q->ask.query.port = 8080;
	read_address("127.0.0.1", &q->ask.query.vip);

	q->id = kit_word(&rest);
	if (q->id == NULL)
		kit_fault("no id", line);
	q->label = q->id;
	q->ask.id = text_of(q->id);
	while ((word = kit_word(&rest)) != NULL)
		read_question(q, word);
}

/* ---- environments ---- */

/* A look-up has no room for what it looks in. */
static const char *environment;

static const char *
look_up(const char *name)
{
	static char found[64];
	char text[KIT_LINE_MAX];
	char *rest = text;
	char *word;

	snprintf(text, sizeof(text), "%s", environment);
	while ((word = kit_word(&rest)) != NULL) {
		const char *value = kit_value(word, name);

		if (value == NULL)
			continue;
		snprintf(found, sizeof(found), "%s", value);
		return found;
	}
	return NULL;
}

void
kit_env(struct settings_env *env, const char *words)
{
	environment = words;
	settings_env_read(env, look_up);
	environment = NULL;
}

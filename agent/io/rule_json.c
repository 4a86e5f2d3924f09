/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/rule_json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/core/text.h"
#include "agent/io/address_text.h"
#include "agent/io/effective_json.h"
#include "agent/io/endpoints_json.h"
#include "agent/io/log.h"
#include "agent/io/members_json.h"
#include "agent/io/schema_json.h"
#include "agent/io/whole_json.h"

/* How members begin that settings.def has, and fc_effective. */
#define SETTING_PREFIX "fc_"

/* ---- what a body may hold ---- */

static const char *const protocols[] = { "tcp", "udp", "sctp", "icmp", NULL };
/* In the order of enum path_match. */
static const char *const path_matches[] = { "disabled", "prefix", "exact",
					    NULL };
static const char *const backend_protocols[] = { "http1", "http2", "both",
						 NULL };
static const char *const credentials[] = { "disabled", "required", "jwt",
					   "apikey-or-jwt", NULL };
static const char *const sock_maps[] = { "off", "both", "request", "response",
					 NULL };

static const struct member arguments_table[] = {
	/* the key */
	{ "externalIP", .kind = MEMBER_STRING, .required = true,
	  .help = "Where clients connect to, as HAProxy sees it; 0.0.0.0 or :: "
		  "is any address." },
	{ "port", .kind = MEMBER_NUMBER, .required = true, .min = 1,
	  .max = UINT16_MAX },
	{ "protocol", .kind = MEMBER_WORD, .required = true,
	  .words = protocols },
	{ "host", .kind = MEMBER_STRING, .help = "In either case." },
	{ "path_prefix", .kind = MEMBER_STRING },
	{ "path_match_mode", .kind = MEMBER_WORD, .words = path_matches,
	  .help = "How path_prefix is meant." },
	{ "model_name", .kind = MEMBER_STRING },

	/* what the gate acts on besides */
	{ "name", .kind = MEMBER_STRING,
	  .help = "The rule's backend in HAProxy." },
	{ "mode", .kind = MEMBER_NUMBER, .max = 5,
	  .help = "4: whole requests are proxied. Only such rules are gated." },
	{ "sse_mode", .kind = MEMBER_BOOLEAN,
	  .help = "Makes it an AI service." },
	{ "pd_disagg_mode", .kind = MEMBER_BOOLEAN,
	  .help = "Makes it an AI service, of prefill and decode endpoints." },
	{ "api_key_auth", .kind = MEMBER_WORD, .words = credentials,
	  .help = "Any but disabled makes it an AI service." },
	{ "sockMapMode", .kind = MEMBER_WORD, .words = sock_maps },
	{ "oper", .kind = MEMBER_NUMBER, .max = 2,
	  .help = "0: the body is the whole rule. All else is refused." },

	/* what the API acts on */
	{ "id", .kind = MEMBER_STRING,
	  .help = "The client's own name for it, for the paths with an id." },
	{ "projectId", .kind = MEMBER_STRING,
	  .help = "Whose it is, for the list." },
	{ "adminStateUp", .kind = MEMBER_BOOLEAN, .kept = true,
	  .help = "Kept and shown; absent is true." },
	{ "fc_effective", .kind = MEMBER_DROPPED, .of = &effective_members },

	/* what clients write whether it means something or not */
	{ "privateIP", .kind = MEMBER_STRING },
	{ "portMax", .kind = MEMBER_NUMBER, .max = UINT16_MAX },
	{ "sel", .kind = MEMBER_NUMBER, .max = 10 },
	{ "security", .kind = MEMBER_NUMBER, .max = 2 },
	{ "backend_protocol", .kind = MEMBER_WORD, .words = backend_protocols },
	{ "inactiveTimeOut", .kind = MEMBER_NUMBER, .max = INT32_MAX },
	{ "connectionLimit", .kind = MEMBER_NUMBER, .max = UINT32_MAX },
	{ "block", .kind = MEMBER_NUMBER, .max = UINT32_MAX },
	{ "bgp", .kind = MEMBER_BOOLEAN },
	{ "monitor", .kind = MEMBER_BOOLEAN },
	{ "managed", .kind = MEMBER_BOOLEAN },
	{ "egress", .kind = MEMBER_BOOLEAN },
	{ "proxyprotocolv2", .kind = MEMBER_BOOLEAN },
	{ "probetype", .kind = MEMBER_STRING },
	{ "probeport", .kind = MEMBER_NUMBER, .max = UINT16_MAX },
	{ "probereq", .kind = MEMBER_STRING },
	{ "proberesp", .kind = MEMBER_STRING },
	{ "probeTimeout", .kind = MEMBER_NUMBER, .max = INT32_MAX },
	{ "probeRetries", .kind = MEMBER_NUMBER, .max = INT32_MAX },
};

static const struct member body_table[] = {
	{ "serviceArguments", .kind = MEMBER_OBJECT, .required = true,
	  .of = &rule_argument_members },
	{ "endpoints", .kind = MEMBER_LIST, .required = true,
	  .max = RULE_ENDPOINTS_MAX, .of = &endpoint_members,
	  .help = "Empty, it deletes the rule that is there." },
	{ "secondaryIPs", .kind = MEMBER_LIST },
	{ "allowedSources", .kind = MEMBER_LIST },
};

static bool
describe_settings(json_t *schema)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (!schema_add(schema, settings_table[i].rule_name,
				setting_schema(&settings_table[i], false),
				false))
			return false;
	return true;
}

const struct members rule_argument_members = {
	.name = "ServiceArguments",
	.table = arguments_table,
	.count = ARRAY_LEN(arguments_table),
	.skipped = SETTING_PREFIX,
	.describe = describe_settings,
};

const struct members rule_members = {
	.name = "Rule",
	.table = body_table,
	.count = ARRAY_LEN(body_table),
};

static const struct member list_table[] = {
	{ "lbAttr", .kind = MEMBER_LIST, .required = true,
	  .of = &rule_members },
};

const struct members rule_list_members = {
	.name = "Rules",
	.table = list_table,
	.count = ARRAY_LEN(list_table),
	.closed = true,
};

/* ---- settings ---- */

static bool
read_word(const struct setting *def, const json_t *value, uint32_t *number,
	  struct fault *fault)
{
	const char *const *words = setting_words(def->kind);
	const char *said = json_string_value(value);

	if (said == NULL)
		return member_bad_type(fault, def->rule_name, "string");
	for (uint32_t i = 0; words[i] != NULL; i++) {
		if (strcmp(said, words[i]) == 0) {
			*number = i;
			return true;
		}
	}
	return member_bad_word(fault, def->rule_name, words);
}

static bool
read_number(const struct setting *def, const json_t *value, uint32_t *number,
	    struct fault *fault)
{
	json_int_t said = json_integer_value(value);

	if (!json_is_integer(value))
		return member_bad_type(fault, def->rule_name, "integer");
	if (said < 0 || said > def->rule_max)
		return member_bad_range(fault, def->rule_name, 0,
					def->rule_max);
	*number = (uint32_t)said;
	return true;
}

/* Unknown members are nothing to us, but one of these looks like a slip. */
static void
warn_misspelt(const char *name)
{
	if (strncasecmp(name, SETTING_PREFIX, strlen(SETTING_PREFIX)) == 0 &&
	    strcasecmp(name, "fc_effective") != 0)
		log_warnx("rule: no such setting, ignored name=\"%.64s\"",
			  name);
}

static bool
read_setting(struct rule_draft *draft, const char *name, const json_t *value,
	     struct fault *fault)
{
	const struct setting *def = setting_find(text_of(name));
	uint32_t number = 0;
	bool read;

	if (def == NULL) {
		warn_misspelt(name);
		return true;
	}
	if (json_is_null(value))
		return fault_set(fault, 400, "%s must not be null",
				 def->rule_name);
	if (def->kind == SETTING_NUMBER)
		read = read_number(def, value, &number, fault);
	else
		read = read_word(def, value, &number, fault);
	if (!read)
		return false;
	setting_set(&draft->rule->declared, def, number);
	draft->given[def - settings_table] = true;
	return true;
}

static bool
read_settings(struct rule_draft *draft, json_t *arguments, struct fault *fault)
{
	const char *name;
	json_t *value;

	json_object_foreach (arguments, name, value)
		if (!read_setting(draft, name, value, fault))
			return false;
	return true;
}

/* ---- the rule itself ---- */

bool
rule_path_match(struct text word, enum path_match *match)
{
	if (word.len == 0) {
		*match = PATH_ANY;
		return true;
	}
	for (unsigned i = 0; path_matches[i] != NULL; i++) {
		if (text_is(word, path_matches[i])) {
			*match = (enum path_match)i;
			return true;
		}
	}
	return false;
}

static void
lower(char *string)
{
	for (char *c = string; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
}

static bool
copy_strings(struct rule *rule, const json_t *arguments)
{
	rule->external_ip = strdup(member_string(arguments, "externalIP"));
	rule->protocol = strdup(member_string(arguments, "protocol"));
	rule->host = strdup(member_string(arguments, "host"));
	rule->path_prefix = strdup(member_string(arguments, "path_prefix"));
	rule->model = strdup(member_string(arguments, "model_name"));
	rule->name = strdup(member_string(arguments, "name"));
	if (rule->external_ip == NULL || rule->protocol == NULL ||
	    rule->host == NULL || rule->path_prefix == NULL ||
	    rule->model == NULL || rule->name == NULL)
		return false;
	/* A host name is the same in either case, and part of the key. */
	lower(rule->host);
	return true;
}

static bool
read_key(struct rule *rule, const json_t *arguments, struct fault *fault)
{
	const char *match = member_string(arguments, "path_match_mode");

	if (!copy_strings(rule, arguments))
		return fault_memory(fault);
	if (!address_from_text(text_of(rule->external_ip), &rule->vip))
		return fault_set(fault, 400,
				 "externalIP must be an IP address");
	rule->port = (uint16_t)member_number(arguments, "port");
	return rule_path_match(text_of(match), &rule->path_match) ||
	       fault_set(fault, 400, "path_match_mode is invalid");
}

static bool
read_arguments(struct rule_draft *draft, const json_t *arguments,
	       struct fault *fault)
{
	struct rule *rule = draft->rule;
	const char *credential = member_string(arguments, "api_key_auth");
	const char *sock_map = member_string(arguments, "sockMapMode");

	rule->mode = member_number(arguments, "mode");
	rule->sse = json_is_true(json_object_get(arguments, "sse_mode"));
	rule->disaggregated =
		json_is_true(json_object_get(arguments, "pd_disagg_mode"));
	rule->enforces_credential =
		credential[0] != '\0' && strcmp(credential, "disabled") != 0;
	draft->sock_map = sock_map[0] != '\0' && strcmp(sock_map, "off") != 0;
	draft->sock_map_response =
		draft->sock_map && strcmp(sock_map, "request") != 0;
	if (member_number(arguments, "oper") != 0)
		return fault_set(fault, 400,
				 "oper is invalid: POST the whole rule");
	return read_key(rule, arguments, fault);
}

/* Puts the canonical arguments into body, a canonical copy. */
static bool
read_service(struct rule_draft *draft, json_t *body, struct fault *fault)
{
	json_t *declared = json_object_get(body, "serviceArguments");
	json_t *arguments;

	if (!read_settings(draft, declared, fault))
		return false;
	arguments = members_read(&rule_argument_members, declared, fault);
	if (arguments == NULL)
		return false;
	if (json_object_set_new(body, "serviceArguments", arguments) != 0)
		return fault_memory(fault);
	return read_arguments(draft, arguments, fault);
}

static bool
read_body(struct rule_draft *draft, json_t *body, struct fault *fault)
{
	if (!read_service(draft, body, fault) ||
	    !endpoints_read(draft->rule, body, fault))
		return false;
	draft->rule->document = whole_json(body, JSON_SORT_KEYS, NULL);
	return draft->rule->document != NULL || fault_memory(fault);
}

bool
rule_json_read(struct rule_draft *draft, json_t *body, struct fault *fault)
{
	json_t *copy;
	bool read;

	if (!json_is_object(body))
		return member_bad_type(fault, "rule", "object");
	copy = members_read(&rule_members, body, fault);
	if (copy == NULL)
		return false;

	memset(draft, 0, sizeof(*draft));
	draft->rule = rule_new();
	if (draft->rule == NULL)
		read = fault_memory(fault);
	else
		read = read_body(draft, copy, fault);
	if (!read)
		rule_free(&draft->rule);
	json_decref(copy);
	return read;
}

void
rule_draft_merge(struct rule_draft *draft, const struct rule *stored)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];

		if (!draft->given[i])
			setting_set(&draft->rule->declared, def,
				    setting_get(&stored->declared, def));
	}
}

static bool
same_kind(const json_t *arguments, const json_t *stored, struct fault *fault)
{
	if (member_number(arguments, "security") !=
	    member_number(stored, "security"))
		return fault_set(fault, 409,
				 "security cannot be changed by a replace");
	if (json_is_true(json_object_get(arguments, "egress")) !=
	    json_is_true(json_object_get(stored, "egress")))
		return fault_set(fault, 409,
				 "egress cannot be changed by a replace");
	return true;
}

bool
rule_draft_replaces(const struct rule_draft *draft, const struct rule *stored,
		    struct fault *fault)
{
	json_t *next, *last;
	bool may;

	if ((draft->rule->mode == RULE_MODE_FULLPROXY) !=
	    (stored->mode == RULE_MODE_FULLPROXY))
		return fault_set(fault, 409,
				 "mode 4 cannot be turned on or off by a "
				 "replace");
	next = json_loads(draft->rule->document, 0, NULL);
	last = json_loads(stored->document, 0, NULL);
	if (next == NULL || last == NULL)
		may = fault_memory(fault);
	else
		may = same_kind(json_object_get(next, "serviceArguments"),
				json_object_get(last, "serviceArguments"),
				fault);
	json_decref(next);
	json_decref(last);
	return may;
}

bool
rule_draft_check(const struct rule_draft *draft, struct fault *fault)
{
	const struct rule *rule = draft->rule;
	const char *wrong = rule_check(rule);

	if (wrong == NULL && draft->sock_map &&
	    (rule->sse || rule->disaggregated))
		wrong = "sockMapMode is invalid with sse_mode or "
			"pd_disagg_mode";
	if (wrong == NULL && draft->sock_map_response &&
	    rule->declared.expose_headers == SWITCH_ON)
		wrong = "fc_expose_headers on is invalid with a sockMapMode "
			"of both or response";
	return wrong == NULL || fault_set(fault, 400, "%s", wrong);
}

/* ---- and back ---- */

static bool
write_declared(json_t *arguments, const struct settings *declared)
{
	bool written = true;

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *def = &settings_table[i];
		uint32_t value = setting_get(declared, def);

		if (value != 0 &&
		    json_object_set_new(arguments, def->rule_name,
					setting_json(def, value)) != 0)
			written = false;
	}
	return written;
}

json_t *
rule_json_write(const struct rule *rule, const struct pool *pool,
		uint32_t request_buffer_kib)
{
	json_t *entry = json_loads(rule->document, 0, NULL);
	json_t *arguments = json_object_get(entry, "serviceArguments");
	bool written = write_declared(arguments, &rule->declared);

	if (pool != NULL &&
	    json_object_set_new(arguments, "fc_effective",
				effective_json(pool, request_buffer_kib)) != 0)
		written = false;
	if (written)
		return entry;
	json_decref(entry);
	return NULL;
}

bool
rule_json_keep(struct rule *rule)
{
	json_t *entry = rule_json_write(rule, NULL, 0);

	free(rule->text);
	rule->text = whole_json(entry, JSON_SORT_KEYS, NULL);
	json_decref(entry);
	return rule->text != NULL;
}

json_t *
rule_json_arguments(const struct rule *rule)
{
	json_t *entry = json_loads(rule->document, 0, NULL);
	json_t *arguments =
		json_incref(json_object_get(entry, "serviceArguments"));

	json_decref(entry);
	return arguments;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is read again, or refused: nothing between. */
#include "agent/io/rules_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/gate.h"
#include "agent/io/rules_json.h"
#include "tests/cmocka.h"

#define BODY_BYTES 2048

/* ---- the allocator: ours by the linker, jansson's by its own means ---- */

static bool armed;
static unsigned asked;
static unsigned fail_at; /* which one of them fails; 0 is none */

/* The linker's names. NOLINTBEGIN(readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);

static bool
fails(void)
{
	return armed && ++asked == fail_at;
}

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

char *
__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}
/* NOLINTEND(readability-identifier-naming) */

/* ---- gates ---- */

static const char *
no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct gate *
new_gate(void)
{
	static const struct gate_options options = {
		.epoch = 1,
		.hash_key = { 1, 2 },
		.unit_max_age = USEC_NEVER,
		.backend = "pool",
	};
	struct settings_env env;
	struct gate *gate;

	settings_env_read(&env, no_environment);
	gate = gate_new(&options, &env, 0);
	assert_non_null(gate);
	return gate;
}

static json_t *
body_of(const char *name, const char *arguments, const char *more)
{
	char text[BODY_BYTES];
	json_t *body;

	snprintf(text, sizeof(text),
		 "{\"serviceArguments\":{\"externalIP\":\"192.0.2.1\","
		 "\"port\":80,\"protocol\":\"tcp\",\"mode\":4,"
		 "\"sse_mode\":true,\"name\":\"%s\",\"host\":\"%s\"%s},"
		 "\"endpoints\":[{\"endpointIP\":\"198.51.100.1\","
		 "\"targetPort\":8000,\"weight\":1}]%s}",
		 name, name, arguments, more);
	body = json_loads(text, 0, NULL);
	assert_non_null(body);
	return body;
}

static void
plan(struct rules_change *change, struct gate *gate, const char *name,
     const char *arguments)
{
	json_t *body = body_of(name, arguments, "");
	struct fault fault;

	assert_true(rules_plan_put(change, gate, body, &fault));
	json_decref(body);
}

static void
put(struct gate *gate, const char *name, const char *arguments)
{
	struct rules_change change;

	plan(&change, gate, name, arguments);
	rules_carry_out(gate, &change, 0);
}

static struct gate *
gate_of_three(void)
{
	struct gate *gate = new_gate();

	put(gate, "c", ",\"fc_max_outstanding\":4,\"fc_mode\":\"enforce\"");
	put(gate, "a",
	    ",\"fc_adaptive\":\"on\",\"x\":{\"y\":[0.1,\"\\\"\\n\"]}");
	put(gate, "b", "");
	return gate;
}

/* ---- texts ---- */

static char *
text_after(const struct gate *gate, const struct rules_change *change,
	   size_t *len)
{
	char *text = rules_text_write(gate, change, len);

	assert_non_null(text);
	rules_text_seal(text, *len);
	return text;
}

static char *
text_of_all(const struct gate *gate, size_t *len)
{
	const struct rules_change none = { .kind = RULES_STAY };

	return text_after(gate, &none, len);
}

/* Whether it is read; then *gate has its rules, which the caller frees. */
static bool
reads(const char *text, size_t len, struct gate **gate,
      char why[RULES_TEXT_WHY_MAX])
{
	*gate = new_gate();
	if (rules_text_read(*gate, (struct text){ text, len }, 0, why))
		return true;
	gate_free(gate);
	return false;
}

static void
assert_refused(const char *text, size_t len, const char *says)
{
	char why[RULES_TEXT_WHY_MAX] = "";
	struct gate *gate;

	if (reads(text, len, &gate, why))
		fail_msg("was read: %.*s", (int)len, text);
	if (strstr(why, says) == NULL)
		fail_msg("said \"%s\", not \"%s\"", why, says);
}

static char *
shown(const struct gate *gate)
{
	json_t *list = rules_list(gate, 1024);
	char *text = json_dumps(list, JSON_COMPACT);

	assert_non_null(text);
	json_decref(list);
	return text;
}

static void
assert_same(const struct gate *a, const struct gate *b)
{
	char *left = shown(a), *right = shown(b);

	assert_string_equal(left, right);
	free(left);
	free(right);
}

static void
assert_reads_back(const struct gate *gate, const char *text, size_t len)
{
	char why[RULES_TEXT_WHY_MAX] = "";
	struct gate *again;

	if (!reads(text, len, &again, why))
		fail_msg("refused: %s\n%.*s", why, (int)len, text);
	assert_same(gate, again);
	gate_free(&again);
}

/* ---- tests ---- */

static void
what_is_written_is_read(void **state)
{
	struct gate *gate = gate_of_three();
	size_t len;
	char *text = text_of_all(gate, &len);

	(void)state;
	assert_reads_back(gate, text, len);
	free(text);
	gate_free(&gate);
}

static void
no_rules_are_a_text_too(void **state)
{
	struct gate *gate = new_gate();
	size_t len;
	char *text = text_of_all(gate, &len);

	(void)state;
	assert_reads_back(gate, text, len);
	free(text);
	gate_free(&gate);
}

/* So it can be given to --rules, and read by anybody. */
static void
it_is_json_of_the_list(void **state)
{
	struct gate *gate = gate_of_three();
	size_t len;
	char *text = text_of_all(gate, &len);
	char *terminated = strndup(text, len);
	json_t *root = json_loadb(text, len, 0, NULL);

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(root, "version")),
			 1);
	assert_int_equal(json_integer_value(json_object_get(root, "count")), 3);
	assert_int_equal(json_array_size(json_object_get(root, "lbAttr")), 3);
	assert_null(strstr(terminated, "fc_effective"));
	json_decref(root);
	free(terminated);
	free(text);
	gate_free(&gate);
}

/* What is kept before it is in force is what is in force then. */
static void
change_is_written_as_if_it_was_carried_out(void **state)
{
	static const struct {
		const char *name; /* NULL deletes the first rule */
		const char *arguments;
	} puts[] = {
		{ "d", "" },
		{ "a", ",\"fc_max_outstanding\":9,\"x\":1" },
		{ "c", ",\"fc_max_outstanding\":2" },
		{ "b", "" },
		{ NULL, "" },
	};
	struct gate *gate = gate_of_three();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(puts); i++) {
		struct rules_change change;
		size_t len;
		char *text;

		if (puts[i].name != NULL)
			plan(&change, gate, puts[i].name, puts[i].arguments);
		else
			rules_plan_delete(&change,
					  TAILQ_FIRST(&gate->rules.services));
		text = text_after(gate, &change, &len);
		rules_carry_out(gate, &change, 0);
		assert_reads_back(gate, text, len);
		free(text);
	}
	assert_int_equal(gate->rules.len, 3);
	gate_free(&gate);
}

static void
deletions_by_name_and_of_all_are_written(void **state)
{
	static const char *const names[] = { "a", NULL };
	struct gate *gate = gate_of_three();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct rules_change change;
		size_t len;
		char *text;

		assert_true(rules_plan_delete_named(&change, gate,
						    text_of(names[i])));
		text = text_after(gate, &change, &len);
		rules_carry_out(gate, &change, 0);
		assert_reads_back(gate, text, len);
		free(text);
	}
	assert_int_equal(gate->rules.len, 0);
	gate_free(&gate);
}

static void
dropped_change_changes_nothing(void **state)
{
	struct gate *gate = gate_of_three();
	struct rules_change change;
	char *before = shown(gate);
	char *after;

	(void)state;
	plan(&change, gate, "a", ",\"fc_max_outstanding\":9");
	rules_drop(&change);
	plan(&change, gate, "d", "");
	rules_drop(&change);
	assert_true(rules_plan_delete_named(&change, gate, text_of(NULL)));
	rules_drop(&change);
	after = shown(gate);
	assert_string_equal(before, after);
	free(before);
	free(after);
	gate_free(&gate);
}

/* A rule with a member that is so deep; NULL where the reader refuses it. */
static json_t *
deep_body(size_t depth)
{
	static const char rule[] = "{\"serviceArguments\":{\"externalIP\":"
				   "\"192.0.2.1\",\"port\":80,"
				   "\"protocol\":\"tcp\"},\"endpoints\":[{"
				   "\"endpointIP\":\"198.51.100.1\","
				   "\"targetPort\":8000,\"weight\":1}],"
				   "\"x\":";
	size_t len = sizeof(rule) - 1;
	char *text = malloc(len + 2 * depth + 1);
	json_t *body;

	assert_non_null(text);
	memcpy(text, rule, sizeof(rule));
	memset(text + len, '[', depth);
	memset(text + len + depth, ']', depth);
	text[len + 2 * depth] = '}';
	body = json_loadb(text, len + 2 * depth + 1, 0, NULL);
	free(text);
	return body;
}

/* As deep as a POST may be: the list must not make it too deep to be read. */
static void
deepest_rule_reads_back(void **state)
{
	struct gate *gate = new_gate();
	size_t depth = 1000;
	struct fault fault;
	json_t *body;
	char *text;
	size_t len;

	(void)state;
	while ((body = deep_body(depth++)) != NULL) {
		assert_true(rules_put(gate, body, 0, &fault));
		json_decref(body);
	}
	assert_true(depth > 1500);
	text = text_of_all(gate, &len);
	assert_reads_back(gate, text, len);
	free(text);
	gate_free(&gate);
}

static void
each_damaged_byte_is_noticed(void **state)
{
	struct gate *gate = gate_of_three();
	size_t len;
	char *text = text_of_all(gate, &len);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		char whole = text[i];

		for (unsigned other = 0; other < 256; other++) {
			text[i] = (char)other;
			if (text[i] != whole)
				assert_refused(text, len, "");
		}
		text[i] = whole;
	}
	assert_reads_back(gate, text, len);
	free(text);
	gate_free(&gate);
}

static void
each_shorter_text_is_refused(void **state)
{
	struct gate *gate = gate_of_three();
	size_t len;
	char *text = text_of_all(gate, &len);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		/* Exactly as long, so that a look beyond it is seen. */
		char *shorter = malloc(i + 1);

		assert_non_null(shorter);
		memcpy(shorter, text, i);
		assert_refused(shorter, i, "");
		free(shorter);
	}
	free(text);
	gate_free(&gate);
}

static void
longer_text_is_refused(void **state)
{
	struct gate *gate = gate_of_three();
	size_t len;
	char *text = text_of_all(gate, &len);

	(void)state;
	text = realloc(text, len + 1);
	assert_non_null(text);
	text[len] = '\n';
	assert_refused(text, len + 1, "digest");
	rules_text_seal(text, len + 1);
	assert_refused(text, len + 1, "end");
	free(text);
	gate_free(&gate);
}

/* With a digest that is right, too. */
static void
assert_sealed_refused(const char *format, const char *says)
{
	char text[BODY_BYTES];

	snprintf(text, sizeof(text), "%s", format);
	rules_text_seal(text, strlen(text));
	assert_refused(text, strlen(text), says);
}

#define HEAD_OF(count)                                                         \
	"{\"version\":1,\"digest\":\"0000000000000000\",\"count\":" count      \
	",\"lbAttr\":[\n"
#define LINE                                                                   \
	"{\"serviceArguments\":{\"externalIP\":\"192.0.2.1\",\"port\":80,"     \
	"\"protocol\":\"tcp\"},\"endpoints\":[{\"endpointIP\":"                \
	"\"198.51.100.1\",\"targetPort\":8000,\"weight\":1}]}"

static void
wrong_content_is_named(void **state)
{
	(void)state;
	assert_refused("", 0, "no snapshot");
	assert_refused("{}", 2, "no snapshot");
	assert_sealed_refused("{\"version\":2,\"digest\":\"0000000000000000\",",
			      "version");
	assert_sealed_refused(HEAD_OF("2") LINE "\n]}\n",
			      "names 2 rules and holds 1");
	assert_sealed_refused(HEAD_OF("2") LINE ",\n" LINE "\n]}\n",
			      "names 2 rules and holds 1");
	assert_sealed_refused(HEAD_OF("1") LINE ",\n{}\n]}\n", "rule 2");
	assert_sealed_refused(HEAD_OF("1") LINE ",\n{\n]}\n", "rule 2");
	assert_sealed_refused(HEAD_OF("1") LINE "\n]", "end");
	assert_sealed_refused(HEAD_OF("x") LINE "\n]}\n", "first line");
}

static void
whichever_allocation_fails_nothing_is_read_by_half(void **state)
{
	struct gate *whole = gate_of_three();
	size_t len;
	char *text = text_of_all(whole, &len);
	unsigned refused = 0;

	(void)state;
	json_set_alloc_funcs(__wrap_malloc, free);
	fail_at = 0;
	do {
		struct gate *gate = new_gate();
		char why[RULES_TEXT_WHY_MAX] = "";
		bool read;

		asked = 0;
		fail_at++;
		armed = true;
		read = rules_text_read(gate, (struct text){ text, len }, 0,
				       why);
		armed = false;
		if (read)
			assert_same(whole, gate);
		else
			refused++;
		/* Not always that it was memory: the JSON reader may not say.
		 */
		assert_true(read || why[0] != '\0');
		gate_free(&gate);
	} while (asked >= fail_at);
	assert_true(refused > 30);
	json_set_alloc_funcs(malloc, free);
	free(text);
	gate_free(&whole);
}

static void
without_memory_nothing_is_planned_or_written(void **state)
{
	struct gate *gate = gate_of_three();
	json_t *body = body_of("d", ",\"fc_max_outstanding\":9", "");
	struct rules_change change;
	struct fault fault;
	size_t len;
	bool planned = false;
	char *text;

	(void)state;
	json_set_alloc_funcs(__wrap_malloc, free);
	for (fail_at = 1; !planned; fail_at++) {
		asked = 0;
		armed = true;
		planned = rules_plan_put(&change, gate, body, &fault);
		armed = false;
		if (!planned)
			assert_int_equal(fault.status, 500);
	}
	assert_true(fail_at > 10);
	json_set_alloc_funcs(malloc, free);
	asked = 0;
	fail_at = 1;
	armed = true;
	text = rules_text_write(gate, &change, &len);
	armed = false;
	assert_null(text);
	rules_drop(&change);
	assert_int_equal(gate->rules.len, 3);
	json_decref(body);
	gate_free(&gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(no_rules_are_a_text_too),
		cmocka_unit_test(it_is_json_of_the_list),
		cmocka_unit_test(change_is_written_as_if_it_was_carried_out),
		cmocka_unit_test(deletions_by_name_and_of_all_are_written),
		cmocka_unit_test(dropped_change_changes_nothing),
		cmocka_unit_test(deepest_rule_reads_back),
		cmocka_unit_test(each_damaged_byte_is_noticed),
		cmocka_unit_test(each_shorter_text_is_refused),
		cmocka_unit_test(longer_text_is_refused),
		cmocka_unit_test(wrong_content_is_named),
		cmocka_unit_test(
			whichever_allocation_fails_nothing_is_read_by_half),
		cmocka_unit_test(without_memory_nothing_is_planned_or_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/log_line.h"

#include "tests/cmocka.h"

static void
assert_text(struct text text, const char *expected)
{
	assert_true(text_is(text, expected));
}

static struct log_line
parse(const char *line)
{
	struct log_line out;

	assert_true(log_line_parse(text_of(line), &out));
	return out;
}

static void
assert_not_ours(const char *line)
{
	struct log_line out;

	assert_false(log_line_parse(text_of(line), &out));
}

static void
every_field_is_read(void **state)
{
	struct log_line l = parse("admission id=h-1-2-3 permit=a-b "
				  "verdict=admit state=CD-- status=200 "
				  "server=10.0.0.1:80");

	(void)state;
	assert_text(l.id, "h-1-2-3");
	assert_text(l.permit, "a-b");
	assert_text(l.verdict, "admit");
}

static void
dash_and_nothing_are_none(void **state)
{
	struct log_line l = parse("admission id=x permit=- verdict= server=-");

	(void)state;
	assert_text(l.permit, "");
	assert_text(l.verdict, "");
}

static void
text_before_the_word_is_skipped(void **state)
{
	(void)state;
	assert_text(parse("<134>Nov 30 10:00:00 haproxy[7]: 10.0.0.9:5 "
			  "[30/Nov/2026:10:00:00.1] fe pool/e1 0/0/1 200 9 "
			  "\"POST /v1/x HTTP/1.1\" admission id=y")
			    .id,
		    "y");
}

static void
end_of_line_is_trimmed(void **state)
{
	static const char bytes[] = "line\r\n\0\n";

	(void)state;
	assert_text(log_line_trim((struct text){ bytes, sizeof(bytes) }),
		    "line");
	assert_text(log_line_trim(text_of("\r\n")), "");
	assert_text(log_line_trim(text_of("")), "");
}

static void
priority_may_stand_right_before_the_word(void **state)
{
	(void)state;
	assert_text(parse("<134>admission id=z").id, "z");
	assert_not_ours("<134admission id=z");
	assert_not_ours("x<134>admission id=z");
}

static void
unknown_keys_are_ignored(void **state)
{
	struct log_line l = parse("admission later=1 id=x  later=2 permit=7 ");

	(void)state;
	assert_text(l.id, "x");
	assert_text(l.permit, "7");
}

static void
value_keeps_what_is_behind_its_first_equals_sign(void **state)
{
	(void)state;
	assert_text(parse("admission id=a=b=").id, "a=b=");
}

static void
other_lines_are_not_ours(void **state)
{
	(void)state;
	assert_not_ours("");
	assert_not_ours(" ");
	assert_not_ours("Proxy fe stopped (cumulated conns: FE: 1, BE: 0).");
	assert_not_ours("admissions id=x");
	assert_not_ours("readmission id=x");
	assert_not_ours("word=admission id=x");
	assert_not_ours("admission");
	assert_not_ours("admission ");
}

static void
line_cut_before_its_id_is_not_ours(void **state)
{
	(void)state;
	assert_not_ours("admission i");
	assert_not_ours("admission id=");
	assert_not_ours("admission id=-");
	assert_not_ours("admission permit=p verdict=admit");
}

static void
last_word_is_the_gates(void **state)
{
	(void)state;
	assert_text(parse("{x admission id=forged permit=} \"GET / HTTP/1.1\" "
			  "admission id=true")
			    .id,
		    "true");
}

/* Where the gate was not asked, a dash stands in place of the word. */
static void
request_that_was_not_asked_about_forges_nothing(void **state)
{
	(void)state;
	assert_not_ours("{x admission id=forged} \"GET / HTTP/1.1\" - id=true "
			"permit=- verdict=-");
	assert_not_ours("{x admission id=forged} - id=true permit=-");
	assert_not_ours("{x admission id=forged}  id=true permit=-");
}

static void
field_given_twice_is_not_ours(void **state)
{
	(void)state;
	assert_not_ours("admission id=a id=b");
	assert_not_ours("admission id=a permit=- permit=b");
}

static void
notice_of_loss_gives_its_number(void **state)
{
	static const struct {
		const char *line;
		unsigned long long dropped;
	} cases[] = {
		{ "<133>1 2026-11-30T10:00:00 h haproxy 7 - - "
		  "12 events dropped",
		  12 },
		{ "1 event dropped", 1 },
		{ "4294967295 events dropped", 4294967295 },
		{ "4294967296 events dropped", 0 },
		{ "events dropped", 0 },
		{ "-3 events dropped", 0 },
		{ "12 events dropped today", 0 },
		{ "12 lines dropped", 0 },
		{ "dropped", 0 },
		{ " dropped", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(log_line_dropped(text_of(cases[i].line)),
				 cases[i].dropped);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_read),
		cmocka_unit_test(dash_and_nothing_are_none),
		cmocka_unit_test(text_before_the_word_is_skipped),
		cmocka_unit_test(end_of_line_is_trimmed),
		cmocka_unit_test(priority_may_stand_right_before_the_word),
		cmocka_unit_test(unknown_keys_are_ignored),
		cmocka_unit_test(
			value_keeps_what_is_behind_its_first_equals_sign),
		cmocka_unit_test(other_lines_are_not_ours),
		cmocka_unit_test(line_cut_before_its_id_is_not_ours),
		cmocka_unit_test(last_word_is_the_gates),
		cmocka_unit_test(
			request_that_was_not_asked_about_forges_nothing),
		cmocka_unit_test(field_given_twice_is_not_ours),
		cmocka_unit_test(notice_of_loss_gives_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

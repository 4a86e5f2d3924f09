/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/engine_metrics.h"

#include <string.h>

#include "agent/core/base.h"
#include "tests/cmocka.h"

#define NOTHING UINT32_MAX

static enum engine_result
read_in_pieces(const char *page, size_t len, size_t piece, uint32_t *waiting)
{
	struct engine_metrics m;

	*waiting = NOTHING;
	engine_metrics_begin(&m);
	for (size_t at = 0; at < len; at += piece)
		engine_metrics_feed(
			&m,
			(struct text){ page + at,
				       len - at < piece ? len - at : piece });
	return engine_metrics_end(&m, waiting);
}

/* Whatever the pieces are, the result is the same. */
static void
assert_reads(const char *page, enum engine_result result, uint32_t waiting)
{
	size_t len = strlen(page);

	for (size_t piece = 1; piece <= len + 1; piece++) {
		uint32_t got;

		assert_int_equal(read_in_pieces(page, len, piece, &got),
				 result);
		assert_int_equal(got, waiting);
	}
}

static void
assert_counts(const char *page, uint32_t waiting)
{
	assert_reads(page, ENGINE_COUNTED, waiting);
}

/* Row 212. */
static void
each_engine_is_understood(void **state)
{
	static const char *const lines[] = {
		"vllm:num_requests_waiting{model_name=\"m\"} 3.0\n",
		"sglang:num_queue_reqs{engine_type=\"unified\"} 3\n",
		"sglang_num_queue_reqs 3\n",
		"tgi_queue_size 3\n",
		"nv_trt_llm_request_metrics{model=\"t\",request_type="
		"\"waiting\",version=\"1\"} 3\n",
		"trtllm_num_requests_waiting 3\n",
		"nv_inference_pending_request_count{model=\"t\"} 3\n",
		"llamacpp:requests_deferred 3\n",
	};

	(void)state;
	assert_int_equal(ARRAY_LEN(lines), ENGINE_FAMILIES);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_counts(lines[i], 3);
}

static void
series_of_a_family_add_up(void **state)
{
	(void)state;
	assert_counts("# HELP vllm:num_requests_waiting Waiting.\n"
		      "# TYPE vllm:num_requests_waiting gauge\n"
		      "vllm:num_requests_running{engine=\"0\"} 9\n"
		      "vllm:num_requests_waiting{engine=\"0\"} 1\n"
		      "vllm:num_requests_waiting{engine=\"1\"} 2\n"
		      "vllm:num_requests_waiting_total 8\n",
		      3);
	assert_counts("nv_trt_llm_request_metrics{request_type=\"active\"} 7\n"
		      "nv_trt_llm_request_metrics{request_type=\"waiting\"} 2",
		      2);
	assert_counts("tgi_queue_size 0\n", 0);
}

static void
what_openmetrics_adds_is_passed(void **state)
{
	(void)state;
	assert_counts("vllm:num_requests_waiting{a=\"x\",} 4 1700000000\r\n"
		      "vllm:num_requests_waiting { b = \"q\\\"}{ \\\\\" , "
		      "c=\"\" }\t1.0 17.5 # {trace_id=\"a b\"} 1.0 1.5\r\n"
		      "# EOF\r\n",
		      5);
	assert_counts("{\"my.metric\",a=\"b\"} 4\n\n  \ntgi_queue_size 1\n", 1);
}

static void
numbers_are_those_of_go(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
	} numbers[] = {
		{ "1e2", 100 },
		{ "1.5E+01", 15 },
		{ "2500e-2", 25 },
		{ "+7", 7 },
		{ "0.25", 1 },
		{ "1e-300", 1 },
		{ ".5e1", 5 },
		{ "-0", 0 },
		{ "-0.0", 0 },
		{ "00012", 12 },
		{ "1e999", 1000000000 },
		{ "3.00000000000000000000", 3 },
		{ "123456789012345678901234567890", 1000000000 },
		{ "1234567890123456789e-18", 2 },
	};
	char page[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		strcpy(page, "tgi_queue_size ");
		strcat(page, numbers[i].text);
		assert_counts(page, numbers[i].count);
	}
}

static void
what_is_no_count_is_no_evidence(void **state)
{
	static const char *const pages[] = {
		"tgi_queue_size NaN\n",
		"tgi_queue_size +Inf\n",
		"tgi_queue_size -Inf\n",
		"tgi_queue_size -3\n",
		"tgi_queue_size nan 5\n",
		"# TYPE tgi_queue_size gauge\n",
		"process_cpu_seconds 3\n",
		"",
		"\n\n",
		"nv_trt_llm_request_metrics{request_type=\"active\"} 7\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		assert_reads(pages[i], ENGINE_UNKNOWN, NOTHING);
	/* One that is does not take the others along. */
	assert_counts("vllm:num_requests_waiting{e=\"0\"} NaN\n"
		      "vllm:num_requests_waiting{e=\"1\"} 2\n",
		      2);
}

static void
what_is_malformed_is_not_guessed_at(void **state)
{
	static const char *const pages[] = {
		"<html><body>404</body></html>\n",
		"tgi_queue_size\n",
		"tgi_queue_size x\n",
		"tgi_queue_size 1x\n",
		"tgi_queue_size 1e5x\n",
		"tgi_queue_size 1.2.3\n",
		"tgi_queue_size .\n",
		"tgi_queue_size{a=\"b\" 1\n",
		"tgi_queue_size{a=\"b} 1\n",
		"tgi_queue_size{a=b} 1\n",
		"tgi_queue_size{a} 1\n",
		"tgi_queue_size{a=\"b\"\n",
		"tgi_queue_size{a=\"b\" c=\"d\"} 1\n",
		"tgi_queue_size 1\nnothing/at/all 3\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		assert_reads(pages[i], ENGINE_UNPARSEABLE, NOTHING);
}

/* Its bound is what a hostile page costs. */
static void
a_long_line_matters_only_where_it_is_ours(void **state)
{
	static char page[3 * ENGINE_LINE_MAX];
	uint32_t waiting;

	(void)state;
	memset(page, 'a', sizeof(page));
	memcpy(page, "other{", 6);
	memcpy(page + 2 * ENGINE_LINE_MAX, "\ntgi_queue_size 6\n", 19);
	assert_int_equal(read_in_pieces(page, strlen(page), 7, &waiting),
			 ENGINE_COUNTED);
	assert_int_equal(waiting, 6);

	memcpy(page, "tgi_queue_size{", 15);
	assert_int_equal(read_in_pieces(page, strlen(page), 4096, &waiting),
			 ENGINE_UNPARSEABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_engine_is_understood),
		cmocka_unit_test(series_of_a_family_add_up),
		cmocka_unit_test(what_openmetrics_adds_is_passed),
		cmocka_unit_test(numbers_are_those_of_go),
		cmocka_unit_test(what_is_no_count_is_no_evidence),
		cmocka_unit_test(what_is_malformed_is_not_guessed_at),
		cmocka_unit_test(a_long_line_matters_only_where_it_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

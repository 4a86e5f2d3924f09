/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_status.h"

#include "agent/core/gate.h"
#include "agent/io/api.h"
#include "agent/io/members_json.h"
#include "agent/io/metrics_text.h"

#define PRODUCT "spoa-admission"

static const struct member version_table[] = {
	{ "version", .kind = MEMBER_STRING, .required = true },
	{ "buildInfo", .kind = MEMBER_STRING, .required = true },
	{ "product", .kind = MEMBER_STRING, .required = true },
};

const struct members api_status_version_members = {
	.name = "Version",
	.table = version_table,
	.count = ARRAY_LEN(version_table),
	.closed = true,
};

static const struct member health_table[] = {
	{ "healthy", .kind = MEMBER_BOOLEAN, .required = true },
};

const struct members api_status_health_members = {
	.name = "Health",
	.table = health_table,
	.count = ARRAY_LEN(health_table),
	.closed = true,
};

static const struct member ready_table[] = {
	{ "ready", .kind = MEMBER_BOOLEAN, .required = true },
	{ "reasons", .kind = MEMBER_LIST, .required = true, .format = "string",
	  .help = "Why it is not; empty where it is." },
};

const struct members api_status_ready_members = {
	.name = "Ready",
	.table = ready_table,
	.count = ARRAY_LEN(ready_table),
	.closed = true,
};

void
api_status_metrics(const struct api_call *call, struct api_answer *answer)
{
	answer->status = 200;
	answer->type = METRICS_TEXT_TYPE;
	answer->body = metrics_text(call->options->gate, &answer->len);
}

void
api_status_version(const struct api_call *call, struct api_answer *answer)
{
	const char *version = call->options->version;

	api_answer_json(answer, 200,
			json_pack("{s:s, s:s, s:s}", "version", version,
				  "buildInfo", PRODUCT " " __VERSION__,
				  "product", PRODUCT));
}

void
api_status_health(const struct api_call *call, struct api_answer *answer)
{
	(void)call;
	api_answer_json(answer, 200, json_pack("{s:b}", "healthy", 1));
}

void
api_status_ready(const struct api_call *call, struct api_answer *answer)
{
	const char *why = call->options->gate->draining ? "it is ending"
							: "it is starting";
	json_t *reasons = call->ready ? json_array() : json_pack("[s]", why);

	api_answer_json(answer, call->ready ? 200 : 503,
			json_pack("{s:b, s:o}", "ready", call->ready, "reasons",
				  reasons));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_status.h"

#include "agent/io/api.h"
#include "agent/io/metrics_text.h"

#define PRODUCT "spoa-admission"

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
	api_answer_json(answer, call->ready ? 200 : 503,
			json_pack("{s:b}", "ready", call->ready));
}

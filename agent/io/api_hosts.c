/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_hosts.h"

#include <inttypes.h>

#include "agent/core/gate.h"
#include "agent/io/address_text.h"
#include "agent/io/api.h"
#include "agent/io/log.h"
#include "agent/io/members_json.h"

static const char *const states[] = { "red", "green", NULL };

static const struct member wish_table[] = {
	{ "hostName", .kind = MEMBER_STRING, .required = true,
	  .help = "The address of the endpoints." },
	{ "epPort", .kind = MEMBER_NUMBER, .max = UINT16_MAX,
	  .help = "Their port; 0 is any." },
	{ "epProto", .kind = MEMBER_STRING,
	  .help = "Taken, and means nothing." },
	{ "state", .kind = MEMBER_WORD, .required = true, .words = states,
	  .help = "red is out of service, green is in it." },
};

const struct members api_hosts_wish = {
	.name = "EndpointHostState",
	.table = wish_table,
	.count = ARRAY_LEN(wish_table),
};

static void
set(const struct api_call *call, const json_t *wish, struct api_answer *answer)
{
	const char *host = member_string(wish, "hostName");
	const char *state = member_string(wish, "state");
	uint16_t port = (uint16_t)member_number(wish, "epPort");
	struct address address;
	size_t found;

	if (!address_from_text(text_of(host), &address)) {
		api_answer_error(answer, 400, "hostName must be an IP address");
		return;
	}
	found = gate_set_host(call->options->gate, &address, port,
			      text_is(text_of(state), "red"), call->now);
	if (found == 0) {
		api_answer_error(answer, 404, "no endpoint has that address");
		return;
	}
	log_info("endpoint: set by hand host=%s port=%" PRIu16
		 " state=%s endpoints=%zu",
		 host, port, state, found);
	api_answer_success(answer);
}

void
api_hosts_post(const struct api_call *call, struct api_answer *answer)
{
	json_t *body = json_loadb(call->body.at, call->body.len, 0, NULL);
	struct fault fault;
	json_t *wish = NULL;

	if (!json_is_object(body))
		fault_set(&fault, 400, "body is invalid JSON");
	else
		wish = members_read(&api_hosts_wish, body, &fault);
	if (wish == NULL)
		api_answer_fault(answer, &fault);
	else
		set(call, wish, answer);
	json_decref(wish);
	json_decref(body);
}

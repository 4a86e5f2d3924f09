/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_RULE_ID_H
#define AGENT_IO_API_RULE_ID_H

/*
 * A rule by the id that it was declared with (contract 1.1). An id is the
 * client's to keep unique; where it is not, the rule declared first is meant.
 * 404 where no rule has it.
 */

#include "agent/io/api_call.h"

struct members;

/* What api_rule_id_status() answers with. */
extern const struct members api_rule_id_status_members;

void api_rule_id_get(const struct api_call *call, struct api_answer *answer);
void api_rule_id_delete(const struct api_call *call, struct api_answer *answer);

/*
 * How its endpoints are, as HAProxy's checks see them: ONLINE, DEGRADED or
 * OFFLINE; NO_MONITOR where no HAProxy has lately shown any of them, and for
 * rules that are not gated.
 */
void api_rule_id_status(const struct api_call *call, struct api_answer *answer);

#endif

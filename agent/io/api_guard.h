/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_GUARD_H
#define AGENT_IO_API_GUARD_H

/* Who may change something through the API. */

#include <stdbool.h>

#include "agent/core/base.h"
#include "agent/io/api_call.h"

/*
 * False, and answered, where it may not: 403 for a page of another origin,
 * which the browser of an operator would let write here, and 401 without the
 * token, if there is one.
 */
MUST_CHECK bool api_guard_admits(const struct api_call *call,
				 struct api_answer *answer);

#endif

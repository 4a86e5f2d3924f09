/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_INFERENCE_H
#define AGENT_CORE_INFERENCE_H

#include <stdbool.h>

#include "agent/core/text.h"

/*
 * Whether a request is an inference call: a POST to one of the paths of
 * contract 6, its query cut and trailing slashes trimmed. Case counts.
 */
bool inference_is(struct text method, struct text path);

#endif

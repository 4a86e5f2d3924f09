/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/reason.h"

#include <stddef.h>

#define REASON_KEEP true
#define REASON_CLOSE false

/* clang-format off */
const struct reason_row reason_table[REASON_COUNT] = {
#define REASON(name, label, status, error, retry, body, keep, message, when)   \
	{ label, error, message, when, status, RETRY_##retry, BODY_##body,     \
	  REASON_##keep },
#include "agent/core/reason.def"
#undef REASON
};
/* clang-format on */

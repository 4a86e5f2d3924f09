/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_PATIENCE_H
#define TESTS_INTEGRATION_PATIENCE_H

/* A test asks for what must come, and how long it asks at most. */

#include <stdbool.h>

#include "agent/core/base.h"

/* Long enough for a busy machine; what is there at once takes no time. */
#define PATIENCE (20 * USEC_PER_SEC)

usec_t patience_now(void);

/* When the usual patience, begun now, is over. */
usec_t patience_end(void);

/* Whether the descriptor got ready (poll(2) events) in time. */
bool patience_wait(int fd, short events, usec_t deadline);

/* Between two looks at what cannot be waited for; false when it is over. */
bool patience_look_again(usec_t deadline);

#endif

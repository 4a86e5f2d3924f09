/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_CLOCK_H
#define AGENT_IO_CLOCK_H

/* The only two clock reads of the program. */

#include <time.h>

#include "agent/core/base.h"

/* Monotonic; for all that the gate decides. */
usec_t clock_now(void);

/* Wall time, for log lines and records only. */
struct timespec clock_wall(void);

#endif

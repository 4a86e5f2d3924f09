/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_SPOP_H
#define SPOP_SPOP_H

/*
 * SPOP 2.0, the protocol between HAProxy and its agents (SPOE.txt 3), for
 * either end. Bytes in, events out: no socket, no clock, no allocation, no
 * global state. Start with spop/session.h.
 *
 * Throughout: a decoder returns the bytes it used, 0 when there are too few of
 * them, or an enum spop_error, which is below zero; and it touches its output
 * only when it succeeds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "spop/action.h"
#include "spop/error.h"
#include "spop/event.h"
#include "spop/frame.h"
#include "spop/hello.h"
#include "spop/message.h"
#include "spop/pair.h"
#include "spop/session.h"
#include "spop/value.h"
#include "spop/varint.h"
#include "spop/view.h"
#include "spop/writer.h"

#ifdef __cplusplus
}
#endif

#endif

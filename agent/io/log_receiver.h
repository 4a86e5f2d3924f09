/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_LOG_RECEIVER_H
#define AGENT_IO_LOG_RECEIVER_H

/*
 * HAProxy's log lines, over UDP and TCP on one port or over a unix datagram
 * socket: each becomes the end of a request at the gate.
 *
 * A datagram that nobody fetches in time is lost without a word to HAProxy,
 * so datagrams are drained before anything else in each turn, and what the
 * kernel says it dropped is counted.
 */

#include <stdbool.h>

#include "agent/core/base.h"

struct event_base;
struct gate;
struct listen_address;
struct log_receiver;
struct turn;

/*
 * Becomes what each turn begins with (turn_first). With port 0 the system
 * chooses one that is free for both. NULL with errno set, and *step says what
 * failed; everything passed must outlive the receiver.
 */
MUST_CHECK struct log_receiver *log_receiver_open(
	struct event_base *base, struct turn *turn, struct gate *gate,
	const struct listen_address *address, const char **step);
void log_receiver_close(struct log_receiver **receiver);

/*
 * Whether somebody waits for what a line may free. While nobody does, datagrams
 * may lie unread for a moment: each turn begins by reading them, so nothing is
 * decided on old news, and the loop is not woken for each of them.
 */
void log_receiver_hurry(struct log_receiver *receiver, bool hurry);

/* Where it is bound, as text, for the line "listening log=…". */
const char *log_receiver_address(const struct log_receiver *receiver);

#endif

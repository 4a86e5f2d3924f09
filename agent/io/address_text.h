/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_ADDRESS_TEXT_H
#define AGENT_IO_ADDRESS_TEXT_H

/* IP addresses as text: "10.0.0.1", "2001:db8::1". */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/address.h"
#include "agent/core/text.h"

/* The longest address and its terminator. */
#define ADDRESS_TEXT_MAX 46

/* False, and *address untouched, for what is no IP address. */
bool address_from_text(struct text text, struct address *address);

/*
 * "10.0.0.1:80", "[::1]:80" and, as HAProxy writes it, "::1:80". False, and
 * nothing written, for all else.
 */
bool address_port_from_text(struct text text, struct address *address,
			    uint16_t *port);

/* Writes it, terminated; returns the length. ADDRESS_NONE gives "". */
size_t address_to_text(const struct address *address,
		       char text[ADDRESS_TEXT_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_ADDRESS_TEXT_H
#define AGENT_IO_ADDRESS_TEXT_H

/* IP addresses as text: "10.0.0.1", "2001:db8::1". */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/address.h"
#include "agent/core/text.h"

/* False, and *address untouched, for what is no IP address. */
bool address_from_text(struct text text, struct address *address);

/*
 * "10.0.0.1:80", "[::1]:80" and, as HAProxy writes it, "::1:80". False, and
 * nothing written, for all else.
 */
bool address_port_from_text(struct text text, struct address *address,
			    uint16_t *port);

#endif

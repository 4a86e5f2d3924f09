/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CORE_ADDRESS_H
#define AGENT_CORE_ADDRESS_H

/* An IP address as a value. Reading and writing it as text is for adapters. */

#include <stdbool.h>
#include <stdint.h>

enum address_family { ADDRESS_NONE, ADDRESS_V4, ADDRESS_V6 };

struct address {
	enum address_family family;
	uint8_t bytes[16]; /* network order; four of them for ADDRESS_V4 */
};

bool address_equals(const struct address *a, const struct address *b);

/* Whether it is 0.0.0.0 or ::, which a rule uses for "any". */
bool address_is_any(const struct address *a);

#endif

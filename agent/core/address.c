/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/address.h"

#include <stddef.h>
#include <string.h>

static size_t
length(const struct address *a)
{
	return a->family == ADDRESS_V4 ? 4 : sizeof(a->bytes);
}

bool
address_equals(const struct address *a, const struct address *b)
{
	if (a->family != b->family)
		return false;
	return a->family == ADDRESS_NONE ||
	       memcmp(a->bytes, b->bytes, length(a)) == 0;
}

bool
address_is_any(const struct address *a)
{
	static const uint8_t zero[sizeof(a->bytes)];

	return a->family != ADDRESS_NONE &&
	       memcmp(a->bytes, zero, length(a)) == 0;
}

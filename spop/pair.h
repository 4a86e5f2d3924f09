/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_PAIR_H
#define SPOP_PAIR_H

/*
 * A name and its value. A KV-LIST (SPOE.txt 3.2) is as many of them as fill
 * the payload of a HELLO or DISCONNECT, or as a message says it has.
 */

#include "spop/api.h"
#include "spop/value.h"
#include "spop/view.h"

struct spop_pair {
	struct spop_text name;
	struct spop_value value;
};

/*
 * Takes the first pair off a complete list. Returns how many bytes it took, 0
 * when the list is empty, or an enum spop_error, and then neither argument is
 * changed. A list that ends within a pair is SPOP_EINVAL.
 */
SPOP_CHECKED int spop_pair_next(struct spop_bytes *list,
				struct spop_pair *pair);

SPOP_API void spop_pair_encode(struct spop_writer *w, const char *name,
			       struct spop_value value);

#endif

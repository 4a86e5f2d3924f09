/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/pair.h"

#include "spop/error.h"
#include "spop/writer.h"

int
spop_pair_next(struct spop_bytes *list, struct spop_pair *pair)
{
	struct spop_pair p;
	int name, value;

	if (list->len == 0)
		return 0;

	name = spop_text_decode(list->at, list->len, &p.name);
	if (name <= 0)
		return SPOP_EINVAL;
	value = spop_value_decode(list->at + name, list->len - (size_t)name,
				  &p.value);
	if (value <= 0)
		return SPOP_EINVAL;

	*pair = p;
	list->at += name + value;
	list->len -= (size_t)(name + value);
	return name + value;
}

void
spop_pair_encode(struct spop_writer *w, const char *name,
		 struct spop_value value)
{
	spop_text_encode(w, spop_text_of(name));
	spop_value_encode(w, &value);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/action.h"

#include "spop/error.h"
#include "spop/writer.h"

/* Type, argument count and scope, of one byte each, come before the name. */
#define HEAD 3
#define SET_VAR_ARGUMENTS 3
#define UNSET_VAR_ARGUMENTS 2

static void
begin(struct spop_writer *w, const uint8_t head[HEAD], const char *name)
{
	spop_writer_put(w, head, HEAD);
	spop_text_encode(w, spop_text_of(name));
}

void
spop_action_set_var(struct spop_writer *w, enum spop_scope scope,
		    const char *name, struct spop_value value)
{
	uint8_t head[HEAD] = { SPOP_SET_VAR, SET_VAR_ARGUMENTS,
			       (uint8_t)scope };

	begin(w, head, name);
	spop_value_encode(w, &value);
}

void
spop_action_unset_var(struct spop_writer *w, enum spop_scope scope,
		      const char *name)
{
	uint8_t head[HEAD] = { SPOP_UNSET_VAR, UNSET_VAR_ARGUMENTS,
			       (uint8_t)scope };

	begin(w, head, name);
}

static bool
is_sane(const uint8_t head[HEAD])
{
	if (head[0] == SPOP_SET_VAR && head[1] != SET_VAR_ARGUMENTS)
		return false;
	if (head[0] == SPOP_UNSET_VAR && head[1] != UNSET_VAR_ARGUMENTS)
		return false;
	return (head[0] == SPOP_SET_VAR || head[0] == SPOP_UNSET_VAR) &&
	       head[2] <= SPOP_SCOPE_RESPONSE;
}

int
spop_action_next(struct spop_bytes *list, struct spop_action *action)
{
	struct spop_action a = { 0 };
	const uint8_t *at = list->at, *end = at + list->len;
	int used;

	if (list->len == 0)
		return 0;
	if (list->len < HEAD || !is_sane(at))
		return SPOP_EINVAL;
	a.type = (enum spop_action_type)at[0];
	a.scope = (enum spop_scope)at[2];
	at += HEAD;

	used = spop_text_decode(at, (size_t)(end - at), &a.name);
	if (used <= 0)
		return SPOP_EINVAL;
	at += used;

	if (a.type == SPOP_SET_VAR) {
		used = spop_value_decode(at, (size_t)(end - at), &a.value);
		if (used <= 0)
			return SPOP_EINVAL;
		at += used;
	}

	used = (int)(at - list->at);
	*list = (struct spop_bytes){ at, (size_t)(end - at) };
	*action = a;
	return used;
}

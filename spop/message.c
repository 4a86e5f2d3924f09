/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/message.h"

#include <assert.h>

#include "spop/error.h"
#include "spop/writer.h"

int
spop_argument_next(struct spop_messages *list, struct spop_pair *argument)
{
	int used;

	if (list->arguments == 0)
		return 0;

	used = spop_pair_next(&list->rest, argument);
	if (used == 0)
		return SPOP_EINVAL;
	if (used > 0)
		list->arguments--;
	return used;
}

int
spop_message_next(struct spop_messages *list, struct spop_message *message)
{
	struct spop_pair skipped;
	struct spop_text name;
	int used;

	while ((used = spop_argument_next(list, &skipped)) > 0)
		;
	if (used < 0)
		return used;
	if (list->rest.len == 0)
		return 0;

	used = spop_text_decode(list->rest.at, list->rest.len, &name);
	if (used <= 0 || (size_t)used == list->rest.len)
		return SPOP_EINVAL;

	list->arguments = list->rest.at[used];
	*message = (struct spop_message){ name, list->arguments };
	used++;
	list->rest.at += used;
	list->rest.len -= (size_t)used;
	return used;
}

void
spop_message_begin(struct spop_writer *w, const char *name)
{
	spop_text_encode(w, spop_text_of(name));
	w->count = w->len;
	spop_writer_put_byte(w, 0);
}

void
spop_argument_put(struct spop_writer *w, const char *name,
		  struct spop_value value)
{
	if (w->error != 0)
		return;

	assert(w->count > w->start);
	if (w->buf[w->count] == SPOP_ARGUMENTS_MAX) {
		w->error = SPOP_ECOUNT;
		return;
	}
	w->buf[w->count]++;
	spop_pair_encode(w, name, value);
}

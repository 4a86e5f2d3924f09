/* SPDX-License-Identifier: Apache-2.0 */
/* Actions take what they say they take, and are written as they are read. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spop/spop.h"
#include "tests/fuzz/value_again.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Owned by the caller; NULL for a name that no string can have. */
static char *
name_of(struct spop_text text)
{
	char *name;

	if (text.len > 0 && memchr(text.at, '\0', text.len) != NULL)
		return NULL;
	name = calloc(1, text.len + 1);
	assert(name != NULL);
	memcpy(name, text.at, text.len);
	return name;
}

static void
write_again(const struct spop_action *action, const char *name)
{
	bool has_text = action->value.type >= SPOP_STRING;
	size_t text_len = has_text ? action->value.text.len : 0;
	size_t cap = 64 + strlen(name) + text_len;
	uint8_t *buf = malloc(cap);
	struct spop_writer w;
	struct spop_bytes list;
	struct spop_action read;
	int used;

	assert(buf != NULL);
	spop_writer_init(&w, buf, cap);
	if (action->type == SPOP_SET_VAR)
		spop_action_set_var(&w, action->scope, name, action->value);
	else
		spop_action_unset_var(&w, action->scope, name);
	assert(w.error == 0);

	list = (struct spop_bytes){ buf, w.len };
	used = spop_action_next(&list, &read);
	assert(used == (int)w.len);
	assert(read.type == action->type && read.scope == action->scope);
	assert(spop_text_is(read.name, name));
	free(buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spop_bytes list = { data, size };
	struct spop_action action;
	size_t total = 0;
	int used;

	while ((used = spop_action_next(&list, &action)) > 0) {
		char *name = name_of(action.name);

		total += (size_t)used;
		value_again(&action.value);
		if (name != NULL)
			write_again(&action, name);
		free(name);
	}
	assert(total + list.len == size);
	assert(used < 0 || list.len == 0);
	return 0;
}

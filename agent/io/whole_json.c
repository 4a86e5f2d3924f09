/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/whole_json.h"

#include <stdlib.h>
#include <string.h>

#define DUMP_FIRST_BYTES 1024

/* Text that grows; at is NULL once it could not. */
struct growing {
	char *at;
	size_t len, size;
};

static int
append(const char *data, size_t len, void *arg)
{
	struct growing *g = arg;
	size_t size = g->size;
	char *at;

	if (g->at == NULL)
		return -1;
	while (size - g->len < len)
		size *= 2;
	at = size == g->size ? g->at : realloc(g->at, size);
	if (at == NULL)
		free(g->at);
	else
		memcpy(at + g->len, data, len);
	g->at = at;
	g->size = size;
	g->len += len;
	return at == NULL ? -1 : 0;
}

char *
whole_json(const json_t *json, size_t flags, size_t *len)
{
	struct growing g = { malloc(DUMP_FIRST_BYTES), 0, DUMP_FIRST_BYTES };

	if (json_dump_callback(json, append, &g, flags | JSON_COMPACT) != 0 ||
	    append("", 1, &g) != 0) {
		free(g.at);
		return NULL;
	}
	if (len != NULL)
		*len = g.len - 1;
	return g.at;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/inference.h"

#include <stddef.h>

#include "agent/core/base.h"

bool
inference_is(struct text method, struct text path)
{
	static const char *const paths[] = {
		"/v1/chat/completions",
		"/v1/completions",
		"/v1/embeddings",
		"/v1/rerank",
		"/v1/messages",
		"/v1/responses",
		"/generate",
		"/generate_stream",
	};

	if (!text_is(method, "POST"))
		return false;
	path = text_cut(&path, '?');
	while (path.len > 0 && path.at[path.len - 1] == '/')
		path.len--;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (text_is(path, paths[i]))
			return true;
	return false;
}

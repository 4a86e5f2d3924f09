/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_guard.h"

#include <string.h>
#include <strings.h>

#include "agent/io/api.h"
#include "agent/io/api_token.h"

/* What stands behind "http://" or "https://" (RFC 6454). */
static struct text
authority_of(struct text origin)
{
	static const char mark[] = "://";
	struct text rest = origin;

	text_cut(&rest, ':');
	if (rest.len < 2 || memcmp(rest.at, mark + 1, 2) != 0)
		return text_of(NULL);
	return (struct text){ rest.at + 2, rest.len - 2 };
}

/* Who is no page, or one of ours. */
static bool
is_ours(const struct api_call *call)
{
	struct text from = authority_of(call->origin);

	if (call->origin.len == 0)
		return true;
	return from.len > 0 && from.len == call->host.len &&
	       strncasecmp(from.at, call->host.at, from.len) == 0;
}

bool
api_guard_admits(const struct api_call *call, struct api_answer *answer)
{
	const struct api_token *token = call->options->token;

	if (!is_ours(call)) {
		api_answer_error(answer, 403,
				 "a page of another origin changes nothing");
		return false;
	}
	if (token == NULL || api_token_admits(token, call->authorization))
		return true;
	api_answer_error(answer, 401,
			 "the token of --api-token-file is required, as "
			 "Authorization: Bearer TOKEN");
	return false;
}

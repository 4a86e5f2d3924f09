/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_TOKEN_H
#define AGENT_IO_API_TOKEN_H

/*
 * The secret that a write at the REST side must carry (interface 1). It comes
 * from a file, never from the command line, and is never logged.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"
#include "agent/core/text.h"

#define API_TOKEN_MIN 8
#define API_TOKEN_MAX 512

struct api_token {
	char secret[API_TOKEN_MAX];
	size_t len;
};

/*
 * Reads the file: one line of visible ASCII characters; blanks and ends of
 * lines around it do not count. NULL, or what is wrong, and then *token is
 * untouched; the text may live until the next call only.
 */
MUST_CHECK const char *api_token_read(struct api_token *token,
				      const char *path);

/*
 * Whether the value of an Authorization header is "Bearer" and this token.
 * How long that takes does not tell how much of a wrong one is right.
 */
bool api_token_admits(const struct api_token *token, struct text authorization);

#endif

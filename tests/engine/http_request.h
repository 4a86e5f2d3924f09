/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_HTTP_REQUEST_H
#define TESTS_ENGINE_HTTP_REQUEST_H

/*
 * One HTTP/1 request, read from a buffer as its bytes come in. Head lines,
 * their number and the body are bounded; the body comes by length or in
 * chunks.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"

struct evbuffer;

#define HTTP_LINE_MAX 32768
#define HTTP_HEADERS_MAX 128
#define HTTP_BODY_MAX ((size_t)16 << 20)

enum http_progress { HTTP_MORE, HTTP_STEP, HTTP_READY, HTTP_BROKEN };

enum http_part {
	HTTP_REQUEST_LINE,
	HTTP_HEADER,
	HTTP_BODY,
	HTTP_CHUNK_SIZE,
	HTTP_CHUNK,
	HTTP_CHUNK_END,
	HTTP_TRAILER,
	HTTP_WHOLE,
};

struct http_header {
	char *name; /* owned, together with what value points to */
	const char *value;
};

/* Set to zero before the first use. */
struct http_request {
	enum http_part part; /* what the next bytes are */
	char *method;        /* owned, together with what path points to */
	const char *path;    /* without the query */
	bool minor;          /* HTTP/1.1, not HTTP/1.0 */
	bool expects;        /* asked for 100 Continue before its body */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t headers_len;
	struct evbuffer *body; /* owned */
	size_t left;           /* bytes of the body or chunk still to come */
};

/*
 * Takes from in what belongs to the request. READY when that was the last of
 * it, MORE when there is more to come, BROKEN when it is no HTTP.
 */
MUST_CHECK enum http_progress http_request_read(struct http_request *r,
						struct evbuffer *in);

/* Ready for the next request; frees what this one held. */
void http_request_clear(struct http_request *r);

/* The first header of that name, in any case, or NULL. */
const char *http_request_header(const struct http_request *r, const char *name);

/* Whether the client lets the connection be used again. */
bool http_request_keeps(const struct http_request *r);

#endif

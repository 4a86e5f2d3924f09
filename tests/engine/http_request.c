/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/http_request.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Takes a line into *line, which the caller frees. */
static enum http_progress
take_line(struct evbuffer *in, char **line)
{
	*line = evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
	if (*line != NULL)
		return HTTP_STEP;
	return evbuffer_get_length(in) > HTTP_LINE_MAX ? HTTP_BROKEN
						       : HTTP_MORE;
}

static enum http_progress
read_request_line(struct http_request *r, struct evbuffer *in)
{
	char *line, *target, *version;
	enum http_progress got = take_line(in, &line);

	if (got != HTTP_STEP)
		return got;
	if (line[0] ==
	    '\0') { /* RFC 9112 2.2: blank lines before are skipped */
		free(line);
		return HTTP_STEP;
	}

	r->method = line;
	target = strchr(line, ' ');
	version = target != NULL ? strchr(target + 1, ' ') : NULL;
	if (version == NULL || strncmp(version, " HTTP/1.", 8) != 0)
		return HTTP_BROKEN;

	*target++ = '\0';
	*version++ = '\0';
	target[strcspn(target, "?")] = '\0';
	r->path = target;
	r->minor = strcmp(version, "HTTP/1.0") != 0;
	r->part = HTTP_HEADER;
	return HTTP_STEP;
}

static enum http_progress
store_header(struct http_request *r, char *line)
{
	char *colon = strchr(line, ':');

	if (colon == NULL || r->headers_len == HTTP_HEADERS_MAX) {
		free(line);
		return HTTP_BROKEN;
	}
	*colon++ = '\0';
	colon += strspn(colon, " \t");
	r->headers[r->headers_len++] =
		(struct http_header){ .name = line, .value = colon };
	return HTTP_STEP;
}

static bool
has(const struct http_request *r, const char *name, const char *value)
{
	const char *found = http_request_header(r, name);

	return found != NULL && strcasecmp(found, value) == 0;
}

static enum http_progress
end_of_head(struct http_request *r)
{
	const char *length = http_request_header(r, "Content-Length");
	char *end;

	r->body = evbuffer_new();
	if (r->body == NULL)
		return HTTP_BROKEN;
	r->expects = has(r, "Expect", "100-continue");

	if (has(r, "Transfer-Encoding", "chunked")) {
		r->part = HTTP_CHUNK_SIZE;
		return HTTP_STEP;
	}
	if (length == NULL) {
		r->part = HTTP_WHOLE;
		return HTTP_STEP;
	}
	r->left = strtoul(length, &end, 10);
	r->part = HTTP_BODY;
	return end == length || r->left > HTTP_BODY_MAX ? HTTP_BROKEN
							: HTTP_STEP;
}

static enum http_progress
read_header(struct http_request *r, struct evbuffer *in)
{
	char *line;
	enum http_progress got = take_line(in, &line);

	if (got != HTTP_STEP)
		return got;
	if (line[0] != '\0')
		return store_header(r, line);
	free(line);
	return end_of_head(r);
}

/* Moves what is there of the body or chunk; next follows the last of it. */
static enum http_progress
read_data(struct http_request *r, struct evbuffer *in, enum http_part next)
{
	int moved = evbuffer_remove_buffer(in, r->body, r->left);

	if (moved < 0)
		return HTTP_BROKEN;
	r->left -= (size_t)moved;
	if (r->left > 0)
		return HTTP_MORE;
	r->part = next;
	return HTTP_STEP;
}

static enum http_progress
read_chunk_size(struct http_request *r, struct evbuffer *in)
{
	char *line, *end;
	enum http_progress got = take_line(in, &line);

	if (got != HTTP_STEP)
		return got;
	r->left = strtoul(line, &end, 16);
	if (end == line || r->left > HTTP_BODY_MAX ||
	    evbuffer_get_length(r->body) + r->left > HTTP_BODY_MAX)
		got = HTTP_BROKEN;
	r->part = r->left == 0 ? HTTP_TRAILER : HTTP_CHUNK;
	free(line);
	return got;
}

/* Reads a line that only matters by being empty; next follows an empty one. */
static enum http_progress
read_blank(struct http_request *r, struct evbuffer *in, enum http_part next)
{
	char *line;
	enum http_progress got = take_line(in, &line);

	if (got != HTTP_STEP)
		return got;
	if (line[0] == '\0')
		r->part = next;
	free(line);
	return HTTP_STEP;
}

static enum http_progress
read_part(struct http_request *r, struct evbuffer *in)
{
	switch (r->part) {
	case HTTP_REQUEST_LINE:
		return read_request_line(r, in);
	case HTTP_HEADER:
		return read_header(r, in);
	case HTTP_BODY:
		return read_data(r, in, HTTP_WHOLE);
	case HTTP_CHUNK_SIZE:
		return read_chunk_size(r, in);
	case HTTP_CHUNK:
		return read_data(r, in, HTTP_CHUNK_END);
	case HTTP_CHUNK_END:
		return read_blank(r, in, HTTP_CHUNK_SIZE);
	case HTTP_TRAILER:
		return read_blank(r, in, HTTP_WHOLE);
	case HTTP_WHOLE:
		break;
	}
	return HTTP_READY;
}

enum http_progress
http_request_read(struct http_request *r, struct evbuffer *in)
{
	enum http_progress got;

	do
		got = read_part(r, in);
	while (got == HTTP_STEP);
	return got;
}

void
http_request_clear(struct http_request *r)
{
	for (size_t i = 0; i < r->headers_len; i++)
		free(r->headers[i].name);
	free(r->method);
	if (r->body != NULL)
		evbuffer_free(r->body);
	memset(r, 0, sizeof(*r));
}

const char *
http_request_header(const struct http_request *r, const char *name)
{
	for (size_t i = 0; i < r->headers_len; i++) {
		if (strcasecmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	}
	return NULL;
}

bool
http_request_keeps(const struct http_request *r)
{
	return r->minor ? !has(r, "Connection", "close")
			: has(r, "Connection", "keep-alive");
}

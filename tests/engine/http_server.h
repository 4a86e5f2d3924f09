/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_HTTP_SERVER_H
#define TESTS_ENGINE_HTTP_SERVER_H

/*
 * An HTTP/1 server that can misbehave on purpose: it resets a connection at
 * any byte, and while an answer is due it still notices that the client left.
 * (libevent's own evhttp can do neither: it stops reading until the answer
 * is whole, and ends a connection with FIN before it closes.)
 *
 * One request at a time on each connection; pipelined ones wait their turn.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/base.h"
#include "tests/engine/http_request.h"

struct event_base;
struct sockaddr;

struct http_server;
struct http_conn;

/*
 * A request has come in whole. The handler answers it, now or later, by
 * http_status() … http_finish(), or ends it by http_reset(). The request is
 * valid until then.
 */
typedef void (*http_handler)(struct http_conn *c, const struct http_request *r,
			     void *arg);

/* The connection is closed before its answer was whole; c is gone with it. */
typedef void (*http_gone)(void *arg);

/* NULL, and errno says why, when the address cannot be bound. */
MUST_CHECK struct http_server *http_server_open(struct event_base *base,
						const struct sockaddr *addr,
						int addr_len,
						http_handler handler,
						void *arg);

/* Resets every connection; those that owe an answer are told. */
void http_server_close(struct http_server **s);

/* Where it listens, "127.0.0.1:8000", written to text. */
void http_server_address(const struct http_server *s, char *text, size_t size);

/* Open now, and ever accepted. */
size_t http_server_connections(const struct http_server *s);
unsigned long http_server_accepted(const struct http_server *s);

/* Whom to tell when the client leaves before the answer is whole. */
void http_on_gone(struct http_conn *c, http_gone fn, void *arg);

/*
 * An answer is written in this order: the status, any number of headers, the
 * opening of its body with the length that it promises, the body in pieces,
 * the end.
 */
#define HTTP_CHUNKED SIZE_MAX

void http_status(struct http_conn *c, int status);
void http_header(struct http_conn *c, const char *name, const char *value);
void http_open(struct http_conn *c, size_t length);
void http_write(struct http_conn *c, const void *data, size_t len);
void http_finish(struct http_conn *c);

/* What was written and has not yet left. */
size_t http_unsent(const struct http_conn *c);

/* Ends the connection by a RST; what has not yet left is dropped. */
void http_reset(struct http_conn *c);

#endif

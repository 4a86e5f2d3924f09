/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_CONTROL_H
#define TESTS_ENGINE_CONTROL_H

/* The paths by which a test asks and steers the stub. */

#include <stdbool.h>
#include <stdio.h>

#include "agent/core/base.h"

struct engine;
struct http_conn;
struct http_request;

/* Returns false, and has done nothing, when the path is no control. */
MUST_CHECK bool control_serve(struct engine *e, struct http_conn *c,
			      const struct http_request *r);

/* Writes each path with its help, a line each. */
void control_print(FILE *out);

#endif

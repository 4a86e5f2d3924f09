/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_OPENAPI_H
#define AGENT_IO_API_OPENAPI_H

/*
 * The description of what is served, in Swagger 2.0 (interface 4), made of the
 * table of api_route.c and the tables of members that its rows name. HEAD is
 * not in it: it is served wherever GET is.
 */

#include "agent/io/api_call.h"

struct members;

/* What makes it a description; the rest is Swagger's to describe. */
extern const struct members api_openapi_members;

void api_openapi_get(const struct api_call *call, struct api_answer *answer);

#endif

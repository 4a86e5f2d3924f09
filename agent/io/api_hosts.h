/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_API_HOSTS_H
#define AGENT_IO_API_HOSTS_H

/* Endpoints that are set by hand (contract 1, interface 6.17). */

#include "agent/io/api_call.h"

struct members;

/* {"hostName": address, "epPort": number, if any, "state": "red" or "green"} */
extern const struct members api_hosts_wish;

/*
 * Every endpoint of that address, on that port or on any, is taken out of
 * service or put back. 404 where there is none. Maintenance does not freeze
 * it: it tunes nothing.
 */
void api_hosts_post(const struct api_call *call, struct api_answer *answer);

#endif

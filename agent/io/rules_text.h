/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_RULES_TEXT_H
#define AGENT_IO_RULES_TEXT_H

/*
 * All rules as the text that is kept on disk:
 *
 *	{"version":1,"digest":"<16 hex digits>","count":2,"lbAttr":[
 *	{"endpoints":[…],"serviceArguments":{…}},
 *	{"endpoints":[…],"serviceArguments":{…}}
 *	]}
 *
 * It is JSON of the shape that GET returns, and strict besides: a rule is one
 * line, and the digest is that of every byte behind it, so that no damage goes
 * unnoticed.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"
#include "agent/core/text.h"

struct gate;
struct rules_change;

#define RULES_TEXT_WHY_MAX 224

/*
 * The rules as they are after the change; its digest is still to be written.
 * The caller frees it; NULL without memory. Costs a copy of each rule's text.
 */
MUST_CHECK char *rules_text_write(const struct gate *gate,
				  const struct rules_change *change,
				  size_t *len);

/* Writes the digest of such a text into it. */
void rules_text_seal(char *text, size_t len);

/*
 * Puts the rules of a sealed text into a gate that has none. False, and why
 * says what is wrong in one line, where it is not as it was written; what the
 * gate then holds is good for nothing.
 */
MUST_CHECK bool rules_text_read(struct gate *gate, struct text text, usec_t now,
				char why[RULES_TEXT_WHY_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORE_KIT_H
#define TESTS_UNIT_CORE_KIT_H

/*
 * Rules, questions and environments from words, for tests and the replay
 * tool: "mode=enforce max_outstanding=1 endpoints=10.0.0.1:8000".
 *
 * A word that is not understood ends the program: it is the test that is
 * wrong, and no test goes on from there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/gate.h"

#define KIT_LINE_MAX 4096

/* Where the words stand, such as "fifo.rpl:12"; borrowed until the next. */
void kit_at(const char *where);

/* Says so and ends the program. */
_Noreturn void kit_fault(const char *what, const char *word);

/* The next blank-separated word, cut out of *rest; NULL at the end. */
char *kit_word(char **rest);

/* What stands behind "key=", or NULL when the word begins otherwise. */
char *kit_value(char *word, const char *key);

unsigned long kit_number(const char *word);

/* "10.0.0.1:8000" or "[fd00::1]:8000"; ip keeps no brackets. */
void kit_host_port(char *word, const char **ip, struct address *address,
		   uint16_t *port);

/*
 * A rule, an AI service unless told otherwise:
 *
 *   vip=0.0.0.0 port=8080 protocol=tcp host= prefix= exact= model= name=
 *   lb_mode=4 plain sse pd credential
 *   endpoints=10.0.0.1:8000*WEIGHT@ROLE,...  (role prefill or decode)
 *   any row of settings.def by its name: mode=enforce queue_depth=4
 */
MUST_CHECK struct rule *kit_rule(const char *words);

/* A request of no ledger, all zero; free() it. */
MUST_CHECK struct request *kit_request(void);

/* A question and the text that it shows views of. */
struct question {
	struct ask ask;
	unsigned peer;
	const char *id;
	const char *label; /* how the test calls it; the id unless as= */
	char words[KIT_LINE_MAX];
};

/*
 * "ID words": method=POST path=/v1/chat/completions http=1 streamed leg=prefill
 * tenant= waited_ms=0 pool= vip=127.0.0.1 port=8080 host= model= peer=0 as=
 * A text that is * is the id itself.
 */
void kit_question(struct question *q, const char *line);

/* "LLB_FC_MODE=enforce LLB_FC_MAX_OUTSTANDING=8" */
void kit_env(struct settings_env *env, const char *words);

#endif

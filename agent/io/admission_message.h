/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_ADMISSION_MESSAGE_H
#define AGENT_IO_ADMISSION_MESSAGE_H

/*
 * The SPOE messages (interface 2) between their bytes and the gate's words:
 * a NOTIFY becomes a question, an answer becomes the actions of an ACK.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/gate.h"
#include "agent/core/metrics.h"
#include "spop/spop.h"

enum question_about { ABOUT_NOTHING, ABOUT_RESPONSE, ABOUT_REQUEST };

struct question {
	enum question_about about; /* which message we know was in it */
	bool usable;
	enum unusable why;        /* where it is not usable */
	struct ask ask;           /* ABOUT_REQUEST: views into the payload */
	struct response response; /* ABOUT_RESPONSE: the same */
};

/*
 * Reads the first message of a NOTIFY that we know; a request goes before a
 * response. Returns 0, or the enum spop_error of a payload that
 * breaks the protocol.
 */
MUST_CHECK int admission_message_read(struct spop_bytes payload,
				      struct question *question);

/*
 * Writes an answer as an ACK. One that does not fit the peer's frame size is
 * cut down to what HAProxy cannot do without. Returns its bytes or an enum
 * spop_error.
 */
MUST_CHECK int admission_message_answer(const struct spop_session *session,
					struct spop_writer *w,
					const struct asker *to,
					const struct answer *answer,
					uint64_t epoch);

/* The ACK to an answer of an engine. */
MUST_CHECK int admission_message_expose(const struct spop_session *session,
					struct spop_writer *w,
					const struct asker *to,
					const struct exposure *exposure);

/*
 * The ACK to what cannot be used: bypass for a request, not noted for all
 * else.
 */
MUST_CHECK int admission_message_note(const struct spop_session *session,
				      struct spop_writer *w,
				      const struct asker *to,
				      const struct question *question);

#endif

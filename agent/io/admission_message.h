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
	enum unusable why; /* where it is not usable */
	struct ask ask;    /* ABOUT_REQUEST: views into the payload */
};

/*
 * Reads the first admission-request of a NOTIFY, or notes that there was an
 * admission-response. Returns 0, or the enum spop_error of a payload that
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

/*
 * The ACK to all else: bypass for a request that cannot be used, noted for a
 * response, not noted for what we do not know.
 */
MUST_CHECK int admission_message_note(const struct spop_session *session,
				      struct spop_writer *w,
				      const struct asker *to,
				      const struct question *question);

#endif

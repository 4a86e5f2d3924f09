/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_MESSAGE_H
#define SPOP_MESSAGE_H

/*
 * The messages of a NOTIFY, each with its arguments (SPOE.txt 3.2).
 *
 *	struct spop_messages list = { .rest = event.payload };
 *
 *	while ((rc = spop_message_next(&list, &message)) > 0)
 *		while ((rc = spop_argument_next(&list, &argument)) > 0)
 *			...
 *
 * Stop at the first rc below zero: it is the enum spop_error of the frame.
 */

#include <stdint.h>

#include "spop/api.h"
#include "spop/pair.h"
#include "spop/view.h"

#define SPOP_ARGUMENTS_MAX 255 /* of a message */

/* Set rest, and all else to zero. */
struct spop_messages {
	struct spop_bytes rest; /* not read yet */
	uint8_t arguments;      /* of the message last read, not read yet */
};

struct spop_message {
	struct spop_text name;
	uint8_t arguments;
};

/*
 * Takes the next message, past the arguments of the last one that were not
 * read. Returns above zero, or 0 when there is none left, or an enum
 * spop_error; sets *message only in the first case.
 */
SPOP_CHECKED int spop_message_next(struct spop_messages *list,
				   struct spop_message *message);

/* Likewise, the next argument of the message last read. */
SPOP_CHECKED int spop_argument_next(struct spop_messages *list,
				    struct spop_pair *argument);

/* Starts a message in the open NOTIFY; its arguments follow. */
SPOP_API void spop_message_begin(struct spop_writer *w, const char *name);

/* Adds one to the message; one too many spoils the frame (SPOP_ECOUNT). */
SPOP_API void spop_argument_put(struct spop_writer *w, const char *name,
				struct spop_value value);

#endif

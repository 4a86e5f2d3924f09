/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_ACTION_H
#define SPOP_ACTION_H

/* The actions of an ACK: what becomes of HAProxy's variables (SPOE.txt 3.4). */

#include "spop/api.h"
#include "spop/value.h"
#include "spop/view.h"

/* The numbers of both are those of the wire. */
enum spop_action_type {
	SPOP_SET_VAR = 1,
	SPOP_UNSET_VAR = 2,
};

enum spop_scope {
	SPOP_SCOPE_PROCESS = 0,
	SPOP_SCOPE_SESSION = 1,
	SPOP_SCOPE_TRANSACTION = 2,
	SPOP_SCOPE_REQUEST = 3,
	SPOP_SCOPE_RESPONSE = 4,
};

struct spop_action {
	enum spop_action_type type;
	enum spop_scope scope;
	struct spop_text name;
	struct spop_value value; /* of an UNSET_VAR: SPOP_NULL */
};

/* Both add an action to the open ACK. */
SPOP_API void spop_action_set_var(struct spop_writer *w, enum spop_scope scope,
				  const char *name, struct spop_value value);
SPOP_API void spop_action_unset_var(struct spop_writer *w,
				    enum spop_scope scope, const char *name);

/*
 * Takes the first action off the payload of an ACK. Returns how many bytes it
 * took, 0 when none is left, or SPOP_EINVAL, and then neither argument is
 * changed. An unknown action is SPOP_EINVAL, for its end cannot be told.
 */
SPOP_CHECKED int spop_action_next(struct spop_bytes *list,
				  struct spop_action *action);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_INTEGRATION_ASKER_H
#define TESTS_INTEGRATION_ASKER_H

/*
 * Plays HAProxy's SPOE filter on one connection: asks, and takes the answers
 * in whatever order they come.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spop/spop.h"
#include "tests/integration/agent.h"
#include "tests/integration/wire.h"

#define FIELDS_MAX 20

/* The arguments of a message. */
struct fields {
	struct {
		const char *name;
		struct spop_value value;
	} at[FIELDS_MAX];
	size_t count;
};

/* An id of a test: "who-7". */
#define ID_BYTES 32
void id_make(char id[ID_BYTES], const char *who, int number);

/* The usual question about this id: a buffered HTTP/1 chat completion. */
void fields_usual(struct fields *fields, const char *id);

/* Changes an argument, or adds it. */
void fields_set(struct fields *fields, const char *name,
		struct spop_value value);

void fields_drop(struct fields *fields, const char *name);

/* The variables of an ACK (interface 2); REPLY_* says which were set. */
enum reply_variable {
	REPLY_VERDICT = 1 << 0,
	REPLY_PERMIT = 1 << 1,
	REPLY_SERVER = 1 << 2,
	REPLY_BACKEND = 1 << 3,
	REPLY_STATUS = 1 << 4,
	REPLY_ERROR = 1 << 5,
	REPLY_BODY = 1 << 6,
	REPLY_RETRY_AFTER = 1 << 7,
	REPLY_CLOSE = 1 << 8,
	REPLY_INFLIGHT = 1 << 9,
	REPLY_QUEUED = 1 << 10,
	REPLY_LIMIT = 1 << 11,
	REPLY_NOTED = 1 << 12,
	REPLY_PREFILL = 1 << 13,
	REPLY_RESPOND = 1 << 14,
};

/* What each verdict sets, and nothing else. */
#define REPLY_OF_ADMIT                                                         \
	(REPLY_VERDICT | REPLY_PERMIT | REPLY_SERVER | REPLY_BACKEND |         \
	 REPLY_CLOSE)
#define REPLY_OF_REFUSE                                                        \
	(REPLY_VERDICT | REPLY_STATUS | REPLY_ERROR | REPLY_BODY |             \
	 REPLY_RETRY_AFTER | REPLY_CLOSE | REPLY_INFLIGHT | REPLY_QUEUED |     \
	 REPLY_LIMIT)
#define REPLY_OF_PAIR (REPLY_OF_ADMIT | REPLY_PREFILL | REPLY_RESPOND)
#define REPLY_OF_EXPOSURE                                                      \
	(REPLY_NOTED | REPLY_INFLIGHT | REPLY_QUEUED | REPLY_LIMIT)

struct reply {
	uint64_t stream, frame;
	unsigned set; /* of enum reply_variable */
	usec_t at;    /* when it was read */
	char verdict[16];
	char permit[48];
	char server[64];
	char backend[64];
	char prefill[64];
	char error[48];
	char body[256];
	int64_t status, retry_after, inflight, queued, limit;
	bool close, noted, respond;
};

struct asker {
	struct wire *wire; /* owned */
	struct spop_session session;
	struct spop_writer out; /* what asker_flush() sends */
	uint64_t asked;         /* stream of the last question */
	struct reply *replies;  /* owned; those that nobody took yet */
	size_t count, cap;
	bool goodbye; /* the agent has sent a DISCONNECT */
	uint32_t status;
};

/* All connect and greet. */
struct asker *asker_open(const struct agent *agent);
struct asker *asker_open_large(const struct agent *agent,
			       uint32_t max_frame_size);
struct asker *asker_open_unix(const char *path);

/* As asker_open(), but answers that it does not read stay with the daemon. */
struct asker *asker_open_narrow(const struct agent *agent);

void asker_close(struct asker **asker);

/* Put a NOTIFY with one message behind what is to be sent. */
uint64_t asker_put(struct asker *asker, const char *message,
		   const struct fields *fields);
uint64_t asker_put_usual(struct asker *asker, const char *id);

/* The same in steps, for a NOTIFY with none or several messages. */
void asker_begin(struct asker *asker);
void asker_add(struct asker *asker, const char *message,
	       const struct fields *fields);
uint64_t asker_end(struct asker *asker);

void asker_flush(struct asker *asker);

/* Asks at once. Each returns the stream, by which the answer is known. */
uint64_t asker_ask(struct asker *asker, const char *id);
uint64_t asker_ask_fields(struct asker *asker, const struct fields *fields);

/* Takes in what has come, into replies; false when there was nothing. */
bool asker_read(struct asker *asker);

/* Takes an answer that has come or comes in time. */
bool asker_take(struct asker *asker, uint64_t stream, struct reply *reply,
		usec_t deadline);

/* The answer, within the usual patience. */
struct reply asker_reply(struct asker *asker, uint64_t stream);

/* Asks, and the answer is there at once. */
struct reply asker_decide(struct asker *asker, const char *id);
struct reply asker_decide_fields(struct asker *asker,
				 const struct fields *fields);

/* What the daemon says of an answer's beginning, for the usual question. */
struct reply asker_respond(struct asker *asker, const char *id, bool streamed);
struct reply asker_respond_fields(struct asker *asker,
				  const struct fields *fields);

/*
 * Returns once the daemon has dealt with all that it was sent before; answers
 * that are due by then have come.
 */
void asker_catch_up(struct asker *asker);

/* Nothing has been answered that nobody took. */
void asker_expects_nothing(struct asker *asker);

/* Whether the agent says goodbye with this status, and closes. */
bool asker_is_dismissed(struct asker *asker, uint32_t status);

#endif

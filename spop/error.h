/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPOP_ERROR_H
#define SPOP_ERROR_H

/*
 * What can go wrong, in two lists: the errors that functions here return, all
 * below zero, and the status codes that a DISCONNECT carries (SPOE.txt 3.5).
 * Each error knows the status that tells the peer of it.
 */

#include <stdint.h>

#include "spop/api.h"

enum spop_error {
	/* of what the peer sent */
	SPOP_EINVAL = -1,      /* nobody may write such bytes */
	SPOP_EUNEXPECTED = -2, /* a good frame at a wrong time */
	SPOP_ETOOBIG = -3,     /* a frame or its payload beyond the limit */
	SPOP_ENOVERSION = -4,
	SPOP_ENOSIZE = -5, /* no max-frame-size */
	SPOP_ENOCAPABILITIES = -6,
	SPOP_EVERSION = -7,     /* no version in common */
	SPOP_ESIZE = -8,        /* a max-frame-size out of range */
	SPOP_EFRAGMENT = -9,    /* a fragment that we did not ask for */
	SPOP_EINTERLACED = -10, /* a frame between another's fragments */
	SPOP_ENOFRAME = -11,    /* a fragment of no known frame */

	/* of what the caller wants to write; SPOP_ETOOBIG may be one too */
	SPOP_ENOSPACE = -12, /* the caller's buffer is full */
	SPOP_ECOUNT = -13,   /* more arguments than a message can have */
};

enum spop_status {
	SPOP_STATUS_NORMAL = 0,
	SPOP_STATUS_IO = 1,
	SPOP_STATUS_TIMEOUT = 2,
	SPOP_STATUS_TOO_BIG = 3,
	SPOP_STATUS_INVALID = 4,
	SPOP_STATUS_NO_VERSION = 5,
	SPOP_STATUS_NO_SIZE = 6,
	SPOP_STATUS_NO_CAPABILITIES = 7,
	SPOP_STATUS_BAD_VERSION = 8,
	SPOP_STATUS_BAD_SIZE = 9,
	SPOP_STATUS_FRAGMENT = 10,
	SPOP_STATUS_INTERLACED = 11,
	SPOP_STATUS_NO_FRAME = 12,
	SPOP_STATUS_RESOURCE = 13,
	SPOP_STATUS_UNKNOWN = 99,
};

/* A static sentence, never NULL, whatever the number. */
SPOP_API const char *spop_strerror(int error);

/* The text that goes with a status; of one we do not know, that of 99. */
SPOP_API const char *spop_status_text(uint32_t status);

/* What to say in the DISCONNECT that ends a connection after this error. */
SPOP_API enum spop_status spop_status_of(int error);

#endif

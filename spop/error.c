/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/error.h"

#include <stddef.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

struct row {
	enum spop_status status;
	const char *text;
};

/* clang-format off */
static const struct row errors[] = {
	[-SPOP_EINVAL] = { SPOP_STATUS_INVALID,
		"malformed bytes" },
	[-SPOP_EUNEXPECTED] = { SPOP_STATUS_INVALID,
		"frame that is not expected now" },
	[-SPOP_ETOOBIG] = { SPOP_STATUS_TOO_BIG,
		"frame beyond the limit" },
	[-SPOP_ENOVERSION] = { SPOP_STATUS_NO_VERSION,
		"HELLO without a version" },
	[-SPOP_ENOSIZE] = { SPOP_STATUS_NO_SIZE,
		"HELLO without max-frame-size" },
	[-SPOP_ENOCAPABILITIES] = { SPOP_STATUS_NO_CAPABILITIES,
		"HELLO without capabilities" },
	[-SPOP_EVERSION] = { SPOP_STATUS_BAD_VERSION,
		"no version in common" },
	[-SPOP_ESIZE] = { SPOP_STATUS_BAD_SIZE,
		"max-frame-size out of range" },
	[-SPOP_EFRAGMENT] = { SPOP_STATUS_FRAGMENT,
		"fragment where none is taken" },
	[-SPOP_EINTERLACED] = { SPOP_STATUS_INTERLACED,
		"frame between the fragments of another" },
	[-SPOP_ENOFRAME] = { SPOP_STATUS_NO_FRAME,
		"fragment of no known frame" },
	[-SPOP_ENOSPACE] = { SPOP_STATUS_RESOURCE,
		"output buffer is full" },
	[-SPOP_ECOUNT] = { SPOP_STATUS_RESOURCE,
		"too many arguments in a message" },
};

static const struct row statuses[] = {
	{ SPOP_STATUS_NORMAL, "normal" },
	{ SPOP_STATUS_IO, "I/O error" },
	{ SPOP_STATUS_TIMEOUT, "a timeout occurred" },
	{ SPOP_STATUS_TOO_BIG, "frame is too big" },
	{ SPOP_STATUS_INVALID, "invalid frame received" },
	{ SPOP_STATUS_NO_VERSION, "version value not found" },
	{ SPOP_STATUS_NO_SIZE, "max-frame-size value not found" },
	{ SPOP_STATUS_NO_CAPABILITIES, "capabilities value not found" },
	{ SPOP_STATUS_BAD_VERSION, "unsupported version" },
	{ SPOP_STATUS_BAD_SIZE, "max-frame-size too big or too small" },
	{ SPOP_STATUS_FRAGMENT, "payload fragmentation is not supported" },
	{ SPOP_STATUS_INTERLACED, "invalid interlaced frames" },
	{ SPOP_STATUS_NO_FRAME, "frame-id not found" },
	{ SPOP_STATUS_RESOURCE, "resource allocation error" },
	{ SPOP_STATUS_UNKNOWN, "an unknown error occurred" },
};
/* clang-format on */

/* The row of an error, or NULL for a number that is none. */
static const struct row *
find(int error)
{
	if (error >= 0 || error <= -(int)ARRAY_LEN(errors))
		return NULL;
	return &errors[-error];
}

const char *
spop_strerror(int error)
{
	const struct row *row = find(error);

	return row != NULL ? row->text : "no error of SPOP";
}

const char *
spop_status_text(uint32_t status)
{
	const struct row *row = statuses;

	while (row->status != status && row->status != SPOP_STATUS_UNKNOWN)
		row++;
	return row->text;
}

enum spop_status
spop_status_of(int error)
{
	const struct row *row = find(error);

	return row != NULL ? row->status : SPOP_STATUS_UNKNOWN;
}

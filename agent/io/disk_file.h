/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_DISK_FILE_H
#define AGENT_IO_DISK_FILE_H

/*
 * A file that is replaced whole: who reads it, after a crash too, finds the
 * old bytes or the new ones. The calls wait for the disk.
 */

#include <stdbool.h>

#include "agent/core/base.h"
#include "agent/core/text.h"

/* The longest name of a file, terminator included. */
#define DISK_NAME_MAX 64

struct disk_result {
	const char *failed; /* the step that did; NULL: it is on disk */
	int error;          /* its errno */
	bool replaced;      /* the new bytes may be found: all, or after a
			       failure of the last step */
};

/*
 * Writes the bytes to a file beside it, moves that into place, and sees both
 * through to the disk. What fails leaves nothing behind.
 */
struct disk_result disk_file_replace(int folder, const char *name,
				     struct text bytes);

/* Removes what a crash in disk_file_replace() left behind. */
void disk_file_tidy(int folder, const char *name);

/*
 * All bytes of a file, terminated besides; the caller frees them. NULL, with
 * errno, where it cannot be read: ENOENT where it is not there.
 */
MUST_CHECK char *disk_file_read(int folder, const char *name, size_t *len);

#endif

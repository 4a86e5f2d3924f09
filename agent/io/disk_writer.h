/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_IO_DISK_WRITER_H
#define AGENT_IO_DISK_WRITER_H

/*
 * Replaces one file from the event loop without waiting for the disk: a thread
 * of its own does, which has one job at a time, touches nothing but that job's
 * bytes, and takes no signals.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/base.h"
#include "agent/io/disk_file.h"

struct disk_writer;
struct event_base;

struct disk_job {
	char *bytes; /* owned; the writer frees them */
	size_t len;
	/* Finishes the bytes in the thread, before they are written. */
	void (*seal)(char *bytes, size_t len); /* or NULL */
};

/* Called by the loop; the writer is free for the next job. */
typedef void (*disk_done)(void *arg, const struct disk_result *result);

/*
 * Of the file of that name in a folder that is borrowed. NULL, with errno,
 * where it cannot be made.
 */
MUST_CHECK struct disk_writer *disk_writer_open(struct event_base *base,
						int folder, const char *name);

/* Waits until the job under way, if any, is on disk; nobody is called. */
void disk_writer_close(struct disk_writer **writer);

/* Takes the job's bytes. The writer must not be busy. */
void disk_writer_start(struct disk_writer *writer, const struct disk_job *job,
		       disk_done done, void *arg);

bool disk_writer_is_busy(const struct disk_writer *writer);

#endif

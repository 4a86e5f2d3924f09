/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/disk_writer.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/io/loop.h"

/* It calls the system and no deeper. */
#define STACK_BYTES ((size_t)256 * 1024)

struct disk_writer {
	int folder;          /* borrowed */
	const char *name;    /* borrowed */
	int told;            /* owned; readable once a job is done */
	struct event *event; /* owned; on told */
	pthread_t thread;
	bool started; /* the thread */

	/* The loop's own. */
	bool busy;
	disk_done done;
	void *arg; /* borrowed */

	/* Between the two; the job's bytes are the thread's once it is set. */
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool ending;
	struct disk_job job; /* bytes NULL: there is none */
	struct disk_result result;
};

/* ---- the thread ---- */

/* Waits for a job. False at the end. */
static bool
next_job(struct disk_writer *w, struct disk_job *job)
{
	pthread_mutex_lock(&w->lock);
	while (w->job.bytes == NULL && !w->ending)
		pthread_cond_wait(&w->change, &w->lock);
	*job = w->job;
	w->job.bytes = NULL;
	pthread_mutex_unlock(&w->lock);
	return job->bytes != NULL;
}

static void
report(struct disk_writer *w, const struct disk_result *result)
{
	const uint64_t one = 1;
	ssize_t n;

	pthread_mutex_lock(&w->lock);
	w->result = *result;
	pthread_mutex_unlock(&w->lock);
	/* Of 64 bits one is taken at a time: it always has room. */
	n = write(w->told, &one, sizeof(one));
	assert(n == sizeof(one));
}

static void *
work(void *arg)
{
	struct disk_writer *w = arg;
	struct disk_job job;

	while (next_job(w, &job)) {
		struct disk_result result;

		if (job.seal != NULL)
			job.seal(job.bytes, job.len);
		result = disk_file_replace(w->folder, w->name,
					   (struct text){ job.bytes, job.len });
		free(job.bytes);
		report(w, &result);
	}
	return NULL;
}

/* ---- the loop ---- */

static void
on_told(evutil_socket_t fd, short what, void *arg)
{
	struct disk_writer *w = arg;
	struct disk_result result;
	uint64_t jobs;

	(void)what;
	if (read(fd, &jobs, sizeof(jobs)) != sizeof(jobs))
		return;
	pthread_mutex_lock(&w->lock);
	result = w->result;
	pthread_mutex_unlock(&w->lock);
	w->busy = false;
	w->done(w->arg, &result);
}

/* The signals of this program are the loop's. Returns an errno. */
static int
start_thread(struct disk_writer *w)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = pthread_attr_init(&attributes);

	if (error != 0)
		return error;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&w->thread, &attributes, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	w->started = error == 0;
	return error;
}

static int
open_all(struct disk_writer *w, struct event_base *base)
{
	w->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->told < 0)
		return errno;
	w->event = event_new(base, w->told, EV_READ | EV_PERSIST, on_told, w);
	if (w->event == NULL || event_add(w->event, NULL) != 0)
		return ENOMEM;
	return start_thread(w);
}

struct disk_writer *
disk_writer_open(struct event_base *base, int folder, const char *name)
{
	struct disk_writer *w = calloc(1, sizeof(*w));
	int error;

	if (w == NULL)
		return NULL;
	w->folder = folder;
	w->name = name;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->change, NULL);
	error = open_all(w, base);
	if (error != 0) {
		disk_writer_close(&w);
		errno = error;
	}
	return w;
}

static void
end_thread(struct disk_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->change);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

void
disk_writer_close(struct disk_writer **writer)
{
	struct disk_writer *w = *writer;

	if (w == NULL)
		return;
	if (w->started)
		end_thread(w);
	free_event(w->event);
	if (w->told >= 0)
		close(w->told);
	pthread_cond_destroy(&w->change);
	pthread_mutex_destroy(&w->lock);
	free(w);
	*writer = NULL;
}

void
disk_writer_start(struct disk_writer *writer, const struct disk_job *job,
		  disk_done done, void *arg)
{
	assert(!writer->busy);
	writer->busy = true;
	writer->done = done;
	writer->arg = arg;
	pthread_mutex_lock(&writer->lock);
	writer->job = *job;
	pthread_cond_signal(&writer->change);
	pthread_mutex_unlock(&writer->lock);
}

bool
disk_writer_is_busy(const struct disk_writer *writer)
{
	return writer->busy;
}

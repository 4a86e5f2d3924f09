/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/gate.h"
#include "agent/io/disk_file.h"
#include "agent/io/log.h"
#include "agent/io/rules_json.h"
#include "agent/io/rules_text.h"

#define LOCK "lock"
#define FOR_OWNER 0700
#define FILE_FOR_OWNER 0600

struct state_folder {
	const char *path; /* borrowed */
	int at;           /* owned; -1: there is none yet, to be checked */
	int lock;         /* owned; -1: none was taken */
};

/* Returns false, and says what errno says. */
static bool
cannot(const char *path, const char *what)
{
	log_err("state: cannot %s folder=\"%s\" error=\"%s\"", what, path,
		strerror(errno));
	return false;
}

/* ---- opened ---- */

/* A folder that was made is there after a crash only once this is done. */
static bool
sync_parent(int folder)
{
	int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool synced = parent >= 0 && fsync(parent) == 0;

	if (parent >= 0)
		close(parent);
	return synced;
}

static bool
make(struct state_folder *f)
{
	bool made = mkdir(f->path, FOR_OWNER) == 0;

	if (!made && errno != EEXIST)
		return cannot(f->path, "make the folder");
	f->at = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->at < 0 || (made && !sync_parent(f->at)))
		return cannot(f->path, "open the folder");
	return true;
}

static int
open_lock(int folder)
{
	int fd = openat(folder, LOCK, O_RDWR | O_CREAT | O_CLOEXEC,
			FILE_FOR_OWNER);

	/* Rules that cannot be written any more are still in force. */
	if (fd < 0 && errno == EROFS)
		fd = openat(folder, LOCK, O_RDONLY | O_CLOEXEC);
	return fd;
}

static bool
lock(struct state_folder *f)
{
	f->lock = open_lock(f->at);
	if (f->lock < 0)
		return cannot(f->path, "open the lock");
	if (flock(f->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno != EWOULDBLOCK)
		return cannot(f->path, "take the lock");
	log_err("state: another agent has it folder=\"%s\" "
		"way_out=\"a folder for each\"",
		f->path);
	return false;
}

/* Whether a folder could be made there. */
static bool
could_make(const char *path)
{
	char *parent = strdup(path);
	size_t len = strlen(path);
	bool could;

	if (parent == NULL)
		return false;
	while (len > 1 && parent[len - 1] == '/')
		len--;
	while (len > 0 && parent[len - 1] != '/')
		len--;
	parent[len] = '\0';
	could = access(len == 0 ? "." : parent, W_OK | X_OK) == 0;
	free(parent);
	return could;
}

/* Whether it could be made, or is there and could be written to. */
static bool
check(struct state_folder *f)
{
	f->at = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->at < 0 && errno != ENOENT)
		return cannot(f->path, "open the folder");
	if (f->at < 0)
		return could_make(f->path) ||
		       cannot(f->path, "make the folder");
	return faccessat(f->at, ".", W_OK | X_OK, AT_EACCESS) == 0 ||
	       cannot(f->path, "write to the folder");
}

static bool
open_folder(struct state_folder *f, bool check_only)
{
	if (check_only)
		return check(f);
	if (!make(f) || !lock(f))
		return false;
	disk_file_tidy(f->at, STATE_RULES);
	return true;
}

struct state_folder *
state_folder_open(const char *path, bool check)
{
	struct state_folder *f = malloc(sizeof(*f));

	if (f == NULL)
		return NULL;
	*f = (struct state_folder){ .path = path, .at = -1, .lock = -1 };
	if (!open_folder(f, check))
		state_folder_close(&f);
	return f;
}

void
state_folder_close(struct state_folder **folder)
{
	struct state_folder *f = *folder;

	if (f == NULL)
		return;
	if (f->lock >= 0)
		close(f->lock);
	if (f->at >= 0)
		close(f->at);
	free(f);
	*folder = NULL;
}

/* ---- its rules ---- */

static enum state_found
refuse(const struct state_folder *f, const char *why)
{
	log_err("state: rules refused file=\"%s/" STATE_RULES "\" why=\"%s\" "
		"way_out=\"move the file away to start without rules\"",
		f->path, why);
	return STATE_REFUSED;
}

enum state_found
state_folder_load(const struct state_folder *folder, struct gate *gate,
		  usec_t now)
{
	char why[RULES_TEXT_WHY_MAX];
	struct text text = { .len = 0 };
	char *bytes;
	bool read;

	if (folder->at < 0)
		return STATE_EMPTY;
	bytes = disk_file_read(folder->at, STATE_RULES, &text.len);
	if (bytes == NULL)
		return errno == ENOENT ? STATE_EMPTY
				       : refuse(folder, strerror(errno));
	text.at = bytes;
	read = rules_text_read(gate, text, now, why);
	free(bytes);
	if (!read)
		return refuse(folder, why);
	log_info("state: loaded folder=\"%s\" rules=%zu", folder->path,
		 gate->rules.len);
	return STATE_LOADED;
}

bool
state_folder_keep(const struct state_folder *folder, const struct gate *gate)
{
	const struct rules_change none = { .kind = RULES_STAY };
	struct disk_result result;
	size_t len;
	char *text = rules_text_write(gate, &none, &len);

	if (text == NULL)
		return cannot(folder->path, "write the rules");
	rules_text_seal(text, len);
	result = disk_file_replace(folder->at, STATE_RULES,
				   (struct text){ text, len });
	free(text);
	errno = result.error;
	return result.failed == NULL || cannot(folder->path, result.failed);
}

int
state_folder_descriptor(const struct state_folder *folder)
{
	return folder->at;
}

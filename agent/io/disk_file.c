/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/disk_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One at a time writes a file, so one name is enough. */
#define SUFFIX ".new"

#define OURS 0600

struct name {
	char text[DISK_NAME_MAX + sizeof(SUFFIX)];
};

static struct name
beside(const char *name)
{
	struct name new;

	assert(strlen(name) < DISK_NAME_MAX);
	snprintf(new.text, sizeof(new.text), "%s" SUFFIX, name);
	return new;
}

static bool
write_all(int fd, struct text bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.at, bytes.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes.at += n;
		bytes.len -= (size_t)n;
	}
	return true;
}

/* NULL, or the step that failed. */
static const char *
fill(int fd, struct text bytes)
{
	if (!write_all(fd, bytes))
		return "write";
	return fsync(fd) == 0 ? NULL : "sync";
}

static const char *
create(int folder, const char *name, struct text bytes)
{
	const char *failed;
	int fd = openat(folder, name,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			OURS);
	int error;

	if (fd < 0)
		return "create";
	failed = fill(fd, bytes);
	error = errno;
	close(fd);
	errno = error;
	return failed;
}

struct disk_result
disk_file_replace(int folder, const char *name, struct text bytes)
{
	struct name new = beside(name);
	struct disk_result result = { .replaced = false };

	result.failed = create(folder, new.text, bytes);
	if (result.failed == NULL &&
	    renameat(folder, new.text, folder, name) != 0)
		result.failed = "rename";
	if (result.failed == NULL) {
		result.replaced = true;
		if (fsync(folder) != 0)
			result.failed = "sync of the folder";
	}
	if (result.failed != NULL)
		result.error = errno;
	if (!result.replaced)
		disk_file_tidy(folder, name);
	return result;
}

void
disk_file_tidy(int folder, const char *name)
{
	struct name new = beside(name);

	(void)unlinkat(folder, new.text, 0);
}

static bool
read_all(int fd, char *bytes, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, bytes + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

static char *
read_open(int fd, size_t *len)
{
	struct stat about;
	char *bytes;

	if (fstat(fd, &about) != 0)
		return NULL;
	if (!S_ISREG(about.st_mode)) {
		errno = EINVAL;
		return NULL;
	}
	*len = (size_t)about.st_size;
	bytes = malloc(*len + 1);
	if (bytes == NULL)
		return NULL;
	if (!read_all(fd, bytes, *len)) {
		free(bytes);
		return NULL;
	}
	bytes[*len] = '\0';
	return bytes;
}

char *
disk_file_read(int folder, const char *name, size_t *len)
{
	int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *bytes;
	int error;

	if (fd < 0)
		return NULL;
	bytes = read_open(fd, len);
	error = errno;
	close(fd);
	errno = error;
	return bytes;
}

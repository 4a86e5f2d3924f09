/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libFuzzer: gives the target each file that is named, and each
 * file of a folder that is named, so that what a fuzzer once found is a test
 * under any compiler.
 */

#include <dirent.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Owned by the caller; of the exact size, so that a sanitizer sees its end. */
static uint8_t *
read_whole(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size > 0 ? size : 1);

	if (file == NULL || data == NULL || fread(data, 1, size, file) != size)
		err(1, "%s", path);
	fclose(file);
	return data;
}

static void
replay_file(const char *path, size_t size)
{
	uint8_t *data = read_whole(path, size);

	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static unsigned replay(const char *path);

/* Returns how many files there were. */
static unsigned
replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	unsigned count = 0;

	if (folder == NULL)
		err(1, "%s", path);
	while ((entry = readdir(folder)) != NULL) {
		char inside[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name);
		count += replay(inside);
	}
	closedir(folder);
	return count;
}

static unsigned
replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		err(1, "%s", path);
	if (S_ISDIR(st.st_mode))
		return replay_folder(path);
	replay_file(path, (size_t)st.st_size);
	return 1;
}

int
main(int argc, char **argv)
{
	unsigned count = 0;

	for (int i = 1; i < argc; i++)
		count += replay(argv[i]);
	if (count == 0)
		errx(1, "nothing to replay");
	printf("%u inputs\n", count);
	return 0;
}

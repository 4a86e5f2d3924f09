/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/workload.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/core/kit.h"

#define LINE_MAX_BYTES 128

static void
add(struct workload *w, size_t *cap, const struct work *work)
{
	if (w->count == *cap) {
		*cap = *cap == 0 ? 1024 : 2 * *cap;
		w->works = realloc(w->works, *cap * sizeof(*w->works));
		if (w->works == NULL)
			kit_fault("no memory", "trace");
	}
	if (w->count > 0 && work->at < w->works[w->count - 1].at)
		kit_fault("trace goes back in time", "");
	w->works[w->count++] = *work;
}

/* The number before one of these or the end, and what stands behind it. */
static const char *
read_number(const char *text, const char *ends, double *number)
{
	char *behind;

	*number = strtod(text, &behind);
	if (behind == text || strchr(ends, *behind) == NULL || !(*number >= 0))
		return NULL;
	return behind + strspn(behind, ends);
}

static bool
read_row(const char *line, double *at, struct work *work)
{
	double prompt, output;

	line = read_number(line, ",", at);
	line = line == NULL ? NULL : read_number(line, ",", &prompt);
	line = line == NULL ? NULL : read_number(line, ",\r\n", &output);
	if (line == NULL || prompt > UINT32_MAX || output > UINT32_MAX)
		return false;
	work->prompt_tokens = (unsigned)prompt;
	work->output_tokens = (unsigned)output;
	return true;
}

void
workload_read(struct workload *w, const char *path, double speed, double from,
	      double to)
{
	FILE *file = fopen(path, "r");
	char line[LINE_MAX_BYTES];
	size_t cap = 0;
	double at;

	*w = (struct workload){ .count = 0 };
	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		kit_fault("cannot read", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		struct work work;

		if (!read_row(line, &at, &work))
			kit_fault("not a row", line);
		if (at < from || at >= to)
			continue;
		work.at = (usec_t)((at - from) / speed * 1e6);
		add(w, &cap, &work);
	}
	fclose(file);
	if (w->count == 0)
		kit_fault("nobody asks", path);
}

void
workload_fini(struct workload *w)
{
	free(w->works);
}

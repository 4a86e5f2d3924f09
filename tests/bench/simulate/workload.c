/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/simulate/workload.h"

#include <stdio.h>
#include <stdlib.h>

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

		if (sscanf(line, "%lf,%u,%u", &at, &work.prompt_tokens,
			   &work.output_tokens) != 3)
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rules_at_start.h"

#include "agent/config.h"
#include "agent/core/gate.h"
#include "agent/io/clock.h"
#include "agent/io/log.h"
#include "agent/io/rules_json.h"
#include "agent/io/state_folder.h"

static bool
load_file(const struct config *c, struct gate *gate)
{
	const char *path = c->options.rules;
	size_t faults;

	if (path == NULL)
		return true;
	faults = rules_load_file(gate, path, clock_now());
	if (faults > 0)
		log_err("rules: not loaded value=\"%s\"", path);
	return faults == 0;
}

/* The file is not for this start; whether it could be for another. */
static bool
check_file(const struct config *c)
{
	struct gate *other = config_make_gate(c);
	bool ok = other != NULL && load_file(c, other);

	gate_free(&other);
	return ok;
}

static bool
leave_file(const struct config *c)
{
	if (c->options.rules == NULL)
		return true;
	if (c->options.check)
		return check_file(c);
	log_info("rules: not loaded, the state folder holds some value=\"%s\"",
		 c->options.rules);
	return true;
}

/* From now on the folder has them, and no longer the file. */
static bool
seed(const struct config *c, const struct state_folder *folder,
     struct gate *gate)
{
	if (!load_file(c, gate))
		return false;
	if (folder == NULL || c->options.rules == NULL || c->options.check)
		return true;
	return state_folder_keep(folder, gate);
}

bool
rules_at_start(const struct config *c, struct gate *gate,
	       struct state_folder **folder)
{
	const char *path = c->options.state_dir;

	if (path == NULL)
		return seed(c, NULL, gate);
	*folder = state_folder_open(path, c->options.check);
	if (*folder == NULL)
		return false;
	switch (state_folder_load(*folder, gate, clock_now())) {
	case STATE_EMPTY:
		return seed(c, *folder, gate);
	case STATE_LOADED:
		return leave_file(c);
	case STATE_REFUSED:
		break;
	}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/io/api_maintenance.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/core/gate.h"
#include "agent/io/api.h"
#include "agent/io/clock.h"
#include "agent/io/log.h"
#include "agent/io/members_json.h"

/* Until a client should try a refused write again (contract 1). */
#define RETRY_SECONDS 5

#define OPERATION_MAX 64

static const struct member wish_table[] = {
	{ "enabled", .kind = MEMBER_BOOLEAN, .required = true },
	{ "drain_timeout_seconds", .kind = MEMBER_NUMBER, .max = UINT32_MAX,
	  .help = "After it drain_deadline_exceeded is true; 0 is none." },
};

const struct members api_maintenance_wish = {
	.name = "MaintenanceWish",
	.table = wish_table,
	.count = ARRAY_LEN(wish_table),
};

static const char *const states[] = { "active", "maintenance", NULL };

static const struct member status_table[] = {
	{ "state", .kind = MEMBER_WORD, .required = true, .words = states },
	{ "refusing_new_config", .kind = MEMBER_BOOLEAN, .required = true },
	{ "refusing_new_inference", .kind = MEMBER_BOOLEAN, .required = true,
	  .help = "Only while a HAProxy is attached." },
	{ "cancellable", .kind = MEMBER_BOOLEAN, .required = true },
	{ "in_flight_streams", .kind = MEMBER_NUMBER, .required = true },
	{ "in_flight_requests", .kind = MEMBER_NUMBER,
	  .help = "Absent where nothing executes." },
	{ "operation_id", .kind = MEMBER_STRING,
	  .help = "Of the episode that is on, or that the call has ended." },
	{ "entered_at", .kind = MEMBER_STRING, .format = "date-time" },
	{ "elapsed_seconds", .kind = MEMBER_NUMBER },
	{ "drain_timeout_seconds", .kind = MEMBER_NUMBER },
	{ "drain_deadline_exceeded", .kind = MEMBER_BOOLEAN },
};

const struct members api_maintenance_status = {
	.name = "Maintenance",
	.table = status_table,
	.count = ARRAY_LEN(status_table),
	.closed = true,
};

static void
add_operation(json_t *status, const struct maintenance *m)
{
	char id[OPERATION_MAX];

	snprintf(id, sizeof(id), "maint-%" PRId64 "-%" PRIu32, m->entered_wall,
		 m->number);
	json_object_set_new(status, "operation_id", json_string(id));
}

static void
add_number(json_t *status, const char *name, uint64_t number)
{
	json_object_set_new(status, name, json_integer((json_int_t)number));
}

/* What there is to say while it is on. */
static void
add_episode(json_t *status, const struct maintenance *m, usec_t now)
{
	uint64_t elapsed = (now - m->entered) / USEC_PER_SEC;
	bool exceeded = m->drain_timeout_s > 0 && elapsed >= m->drain_timeout_s;

	add_operation(status, m);
	json_object_set_new(status, "entered_at", api_date(m->entered_wall));
	add_number(status, "elapsed_seconds", elapsed);
	if (m->drain_timeout_s > 0)
		add_number(status, "drain_timeout_seconds", m->drain_timeout_s);
	json_object_set_new(status, "drain_deadline_exceeded",
			    json_boolean(exceeded));
}

static json_t *
status_of(const struct gate *g, usec_t now)
{
	const struct maintenance *m = &g->maintenance;
	uint64_t in_flight = gate_in_flight(g);
	json_t *status = json_pack(
		"{s:s, s:b, s:b, s:b, s:I}", "state", states[m->on],
		"refusing_new_config", m->on, "refusing_new_inference",
		m->on && gate_is_attached(g, now), "cancellable", 1,
		"in_flight_streams", (json_int_t)in_flight);

	if (in_flight > 0)
		add_number(status, "in_flight_requests", in_flight);
	if (m->on)
		add_episode(status, m, now);
	return status;
}

void
api_maintenance_get(const struct api_call *call, struct api_answer *answer)
{
	api_answer_json(answer, 200, status_of(call->options->gate, call->now));
}

static void
leave(const struct api_call *call, struct api_answer *answer)
{
	struct gate *g = call->options->gate;
	bool was_on = gate_leave_maintenance(g);
	json_t *status = status_of(g, call->now);

	/* Which episode this has ended. */
	if (was_on)
		add_operation(status, &g->maintenance);
	if (was_on)
		log_info("maintenance: left number=%" PRIu32,
			 g->maintenance.number);
	api_answer_json(answer, 200, status);
}

static void
enter(const struct api_call *call, uint32_t drain_timeout_s,
      struct api_answer *answer)
{
	struct gate *g = call->options->gate;

	if (gate_enter_maintenance(g, drain_timeout_s, clock_wall().tv_sec,
				   call->now))
		log_info("maintenance: entered number=%" PRIu32
			 " in_flight=%" PRIu64,
			 g->maintenance.number, gate_in_flight(g));
	api_maintenance_get(call, answer);
}

/* Takes the body, which may be NULL. */
static void
put(const struct api_call *call, json_t *body, struct api_answer *answer)
{
	struct fault fault;
	json_t *read = members_read(&api_maintenance_wish, body, &fault);

	if (read == NULL)
		api_answer_fault(answer, &fault);
	else if (json_is_true(json_object_get(read, "enabled")))
		enter(call, member_number(read, "drain_timeout_seconds"),
		      answer);
	else
		leave(call, answer);
	json_decref(read);
}

void
api_maintenance_put(const struct api_call *call, struct api_answer *answer)
{
	json_t *body = json_loadb(call->body.at, call->body.len, 0, NULL);

	if (!json_is_object(body))
		api_answer_error(answer, 400, "body is invalid JSON");
	else
		put(call, body, answer);
	json_decref(body);
}

bool
api_maintenance_freezes(const struct api_call *call, struct api_answer *answer)
{
	if (!call->options->gate->maintenance.on)
		return false;
	api_answer_error(answer, 503,
			 "operator maintenance is in effect: rules are frozen");
	answer->retry_after = RETRY_SECONDS;
	return true;
}

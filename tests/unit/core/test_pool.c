/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/pool.h"

#include <stdlib.h>
#include <string.h>

#include "tests/cmocka.h"
#include "tests/unit/core/kit.h"

static struct pool *
made_under(const char *words, const char *env)
{
	struct rule *rule = kit_rule(words);
	struct settings_env read;
	struct pool *p;

	kit_env(&read, env);
	p = pool_new(rule, &read);
	assert_non_null(p);
	rule_free(&rule);
	return p;
}

static struct pool *
made(const char *words)
{
	return made_under(words, "");
}

/* Takes a unit of the best endpoint and says of which one, or -1. */
static int
take(struct pool *p)
{
	struct request *r;
	struct placement at;

	if (pool_place(p, ROLE_NORMAL, 0, &at) != PICK_FOUND)
		return -1;
	r = kit_request();
	r->tenant = tenants_slot(&p->tenants, 0);
	pool_take(p, &at, r);
	return (int)(at.endpoint - p->endpoints);
}

static void
give_back(struct pool *p, int endpoint)
{
	struct request *r = TAILQ_FIRST(&p->endpoints[endpoint].executing);

	pool_give_back(p, r);
	free(r);
}

static void
end(struct pool *p)
{
	for (size_t i = 0; i < p->endpoint_count; i++)
		while (!TAILQ_EMPTY(&p->endpoints[i].executing))
			give_back(p, (int)i);
	pool_free(&p);
	assert_null(p);
}

static void
equals_take_turns(void **state)
{
	struct pool *p =
		made("endpoints=10.0.0.1:1,10.0.0.2:1,10.0.0.3:1,10.0.0.4:1");

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(take(p), i % 4);
	/* All are back: whose turn it is is not forgotten. */
	for (int i = 0; i < 8; i++)
		give_back(p, i % 4);
	assert_int_equal(take(p), 0);
	give_back(p, 0);
	assert_int_equal(take(p), 1);
	give_back(p, 1);
	assert_int_equal(take(p), 2);
	end(p);
}

static void
units_follow_the_weights(void **state)
{
	struct pool *p = made("endpoints=10.0.0.1:1*3,10.0.0.2:1*1,"
			      "10.0.0.3:1*0,10.0.0.4:1*5");

	(void)state;
	for (size_t i = 0; i < 100; i++)
		assert_true(take(p) >= 0);
	assert_int_equal(p->endpoints[0].units, 30);
	assert_int_equal(p->endpoints[1].units, 10);
	/* 0 counts as 1. */
	assert_int_equal(p->endpoints[2].units, 10);
	assert_int_equal(p->endpoints[3].units, 50);
	end(p);
}

/* Rows 52, 53, 63. */
static void
a_full_endpoint_leaves_it_to_another(void **state)
{
	struct pool *p = made("ep_max_inflight=2 "
			      "endpoints=10.0.0.1:1*9,10.0.0.2:1*1");
	struct placement at;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(take(p) >= 0);
	assert_int_equal(p->endpoints[0].units, 2);
	assert_int_equal(p->endpoints[1].units, 2);
	/* For who only observes: the lightest, were there no ceiling. */
	assert_int_equal(pool_place(p, ROLE_NORMAL, 0, &at), PICK_ALL_FULL);
	assert_ptr_equal(at.endpoint, &p->endpoints[0]);
	give_back(p, 0);
	assert_int_equal(pool_place(p, ROLE_NORMAL, 0, &at), PICK_FOUND);
	end(p);
}

/* Rows 61, 63. */
static void
an_endpoint_that_is_down_is_not_picked(void **state)
{
	struct pool *p = made("ep_max_inflight=1 "
			      "endpoints=10.0.0.1:1,10.0.0.2:1");
	struct placement at;

	(void)state;
	p->endpoints[0].up = false;
	assert_int_equal(take(p), 1);
	assert_int_equal(pool_place(p, ROLE_NORMAL, 0, &at), PICK_ALL_FULL);
	p->endpoints[1].up = false;
	assert_int_equal(pool_place(p, ROLE_NORMAL, 0, &at),
			 PICK_NONE_ELIGIBLE);
	assert_null(at.endpoint);
	end(p);
}

/* Rows 55, 56. */
static void
a_disaggregated_pool_is_served_by_its_decode_endpoints(void **state)
{
	struct pool *p = made("pd prefill_max_inflight=1 decode_max_inflight=2 "
			      "ep_max_inflight=9 endpoints=10.0.0.1:1@prefill,"
			      "10.0.0.2:1@decode,10.0.0.3:1");
	struct placement at;

	(void)state;
	assert_int_equal(pool_serving_role(p), ROLE_DECODE);
	assert_int_equal(pool_endpoint_ceiling(p, ROLE_NORMAL), 9);
	assert_int_equal(pool_endpoint_ceiling(p, ROLE_PREFILL), 1);
	assert_int_equal(pool_endpoint_ceiling(p, ROLE_DECODE), 2);
	assert_int_equal(take(p), 1);
	assert_int_equal(pool_metric(p, METRIC_inflight, METRIC_ROLE_PREFILL),
			 1);
	assert_int_equal(pool_place(p, ROLE_NORMAL, 0, &at), PICK_ALL_FULL);
	assert_int_equal(at.limit, 1);
	pool_end_prefill(TAILQ_FIRST(&p->endpoints[1].executing));
	assert_int_equal(take(p), 1);
	assert_int_equal(take(p), -1);
	assert_int_equal(pool_metric(p, METRIC_inflight, METRIC_ROLE_DECODE),
			 2);
	assert_int_equal(pool_metric(p, METRIC_inflight, METRIC_ROLE_NORMAL),
			 0);
	assert_int_equal(pool_metric(p, METRIC_inflight, METRIC_ROLE_SERVICE),
			 2);
	end(p);
}

static void
a_pool_without_endpoints_serves_nobody(void **state)
{
	struct rule *rule = kit_rule("");
	struct settings_env env = { 0 };
	struct placement at;
	struct pool *p;

	(void)state;
	while (rule->endpoint_count > 0)
		free(rule->endpoints[--rule->endpoint_count].ip);
	p = pool_new(rule, &env);
	assert_non_null(p);
	assert_int_equal(pool_place(p, ROLE_NORMAL, 0, &at),
			 PICK_NONE_ELIGIBLE);
	rule_free(&rule);
	pool_free(&p);
}

/* Rows 50, 57. */
static void
the_service_has_room_below_its_ceiling(void **state)
{
	struct pool *p = made("max_outstanding=2");

	(void)state;
	assert_true(pool_has_room(p));
	take(p);
	assert_true(pool_has_room(p));
	take(p);
	assert_false(pool_has_room(p));
	p->adaptive.ceiling = 0;
	assert_true(pool_has_room(p));
	end(p);
}

/* Rows 177, 178. */
static void
only_who_enforces_has_a_queue(void **state)
{
	static const struct {
		const char *words;
		uint32_t depth;
	} rows[] = {
		{ "mode=enforce queue_depth=4", 4 },
		{ "mode=enforce", 0 },
		{ "mode=observe queue_depth=4", 0 },
		{ "mode=off queue_depth=4", 0 },
		{ "mode=enforce queue_depth=4 pd "
		  "endpoints=10.0.0.1:8000@prefill,10.0.0.2:8000@decode",
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pool *p = made(rows[i].words);

		assert_int_equal(pool_queue_depth(p), rows[i].depth);
		end(p);
	}
}

static void
a_unit_without_an_endpoint_is_the_services_alone(void **state)
{
	struct pool *p = made("");
	const struct placement anywhere = { .endpoint = NULL };
	struct request *r = kit_request();

	(void)state;
	r->tenant = tenants_slot(&p->tenants, 0);
	pool_take(p, &anywhere, r);
	assert_int_equal(p->units, 1);
	assert_int_equal(p->endpoints[0].units, 0);
	pool_give_back(p, r);
	free(r);
	assert_int_equal(p->units, 0);
	end(p);
}

static void
configure(struct pool *p, const char *words)
{
	struct rule *rule = kit_rule(words);
	const struct settings_env env = { 0 };

	pool_configure(p, &rule->declared, &env);
	rule_free(&rule);
}

static struct request *
of_tenant(struct pool *p, uint64_t key)
{
	struct request *r = kit_request();

	r->tenant_key = key;
	r->tenant = tenants_slot(&p->tenants, key);
	return r;
}

static void
take_for(struct pool *p, struct endpoint *e, uint64_t key)
{
	pool_take(p, &(struct placement){ .endpoint = e }, of_tenant(p, key));
}

static void
wait_for(struct pool *p, uint64_t key)
{
	queue_join(&p->queue, of_tenant(p, key));
}

static void
assert_slot(struct pool *p, uint64_t key, uint32_t units, uint32_t waiting)
{
	const struct tenant *tenant = tenants_slot(&p->tenants, key);

	assert_int_equal(tenant->units, units);
	assert_int_equal(tenant->waiting, waiting);
}

static void
leave(struct pool *p, struct request *r)
{
	queue_leave(&p->queue, r);
	free(r);
}

static void
end_all(struct pool *p)
{
	struct request *r;

	while ((r = queue_oldest(&p->queue)) != NULL)
		leave(p, r);
	while ((r = TAILQ_FIRST(&p->elsewhere)) != NULL) {
		pool_give_back(p, r);
		free(r);
	}
	end(p);
}

#define CEILING "mode=enforce max_outstanding=8 queue_depth=8 "

/* Interface 6.9. */
static void
a_share_that_begins_or_ends_moves_all_to_their_slots(void **state)
{
	struct pool *p = made(CEILING);

	(void)state;
	take_for(p, &p->endpoints[0], 1);
	take_for(p, &p->endpoints[0], 2);
	take_for(p, NULL, 1);
	wait_for(p, 1);
	wait_for(p, 3);
	wait_for(p, 3);
	assert_slot(p, 0, 3, 3);

	configure(p, CEILING "tenant_max_share_pct=25");
	assert_slot(p, 1, 2, 1);
	assert_slot(p, 2, 1, 0);
	assert_slot(p, 3, 0, 2);
	assert_int_equal(p->tenants.last.units, 0);
	assert_int_equal(pool_next_waiter(p)->tenant_key, 3);
	assert_int_equal(queue_oldest(&p->queue)->tenant_key, 1);

	/* Another share moves nobody, and binds at once. */
	configure(p, CEILING "tenant_max_share_pct=50");
	assert_slot(p, 1, 2, 1);
	assert_int_equal(pool_next_waiter(p)->tenant_key, 1);
	assert_int_equal(p->tenants.queue_bound, 4);

	configure(p, CEILING);
	assert_slot(p, 0, 3, 3);
	assert_int_equal(pool_next_waiter(p)->tenant_key, 1);
	end_all(p);
}

/* In turn and in one place each, however many there are. */
static void
more_tenants_than_slots_are_moved_to_the_last(void **state)
{
	struct pool *p = made(CEILING);
	uint64_t last = 0;

	(void)state;
	for (uint64_t key = 0; key < 90; key++) {
		take_for(p, &p->endpoints[0], key);
		wait_for(p, 89 - key);
	}
	configure(p, CEILING "tenant_max_share_pct=99");
	assert_int_equal(tenants_active(&p->tenants), 65);
	assert_int_equal(p->tenants.last.units, 26);
	assert_int_equal(p->tenants.last.waiting, 26);
	for (uint64_t key = 0; key < 64; key++)
		assert_slot(p, key, 1, 1);
	while (queue_oldest(&p->queue) != NULL) {
		struct request *r = queue_oldest(&p->queue);

		assert_int_equal(r->tenant_key, 89 - last);
		last++;
		leave(p, r);
	}
	configure(p, CEILING);
	assert_slot(p, 0, 90, 0);
	end_all(p);
}

/* A bound is for who is refused by it: observe lets all by. */
static void
a_share_binds_waiters_only_where_it_is_enforced(void **state)
{
	struct pool *p = made(CEILING "tenant_max_share_pct=25");

	(void)state;
	take_for(p, &p->endpoints[0], 1);
	take_for(p, &p->endpoints[0], 1);
	wait_for(p, 1);
	assert_null(pool_next_waiter(p));
	configure(p, CEILING "tenant_max_share_pct=25 tenant_borrow=on");
	assert_non_null(pool_next_waiter(p));
	configure(p, CEILING "tenant_max_share_pct=25");
	assert_null(pool_next_waiter(p));
	configure(p, "mode=observe max_outstanding=8 tenant_max_share_pct=25");
	assert_non_null(pool_next_waiter(p));
	assert_int_equal(tenants_active(&p->tenants), 1);
	assert_int_equal(p->tenants.unit_bound, 2);
	configure(p, "mode=off max_outstanding=8 tenant_max_share_pct=25");
	assert_non_null(pool_next_waiter(p));
	assert_int_equal(tenants_active(&p->tenants), 0);
	end_all(p);
}

/* Interface 6.12: it takes what its role is, and nothing of anybody's share. */
static void
a_leg_holds_no_unit_of_the_service(void **state)
{
	struct pool *p = made("pd max_outstanding=4 tenant_max_share_pct=25 "
			      "mode=enforce endpoints=10.0.0.1:1@prefill,"
			      "10.0.0.2:1@decode");
	struct request *r = kit_request();
	struct placement at;

	(void)state;
	assert_int_equal(pool_place(p, ROLE_PREFILL, 0, &at), PICK_FOUND);
	assert_ptr_equal(at.endpoint, &p->endpoints[0]);
	assert_null(at.prefill);
	pool_take(p, &at, r);
	assert_int_equal(p->executing, 1);
	assert_int_equal(p->units, 0);
	assert_int_equal(p->endpoints[0].units, 1);
	assert_int_equal(p->endpoints[0].beside, 0);
	assert_int_equal(tenants_active(&p->tenants), 0);
	configure(p, "pd mode=enforce");
	pool_give_back(p, r);
	free(r);
	assert_int_equal(p->endpoints[0].units, 0);
	end(p);
}

static void
set_mean(struct pool *p, usec_t sum, uint64_t count)
{
	p->waits.sum = sum;
	p->waits.count = count;
}

/* Rows 265 to 268, contract 4.10. */
static void
retry_after_is_the_mean_wait_rounded_up_within_1_to_30(void **state)
{
	static const struct {
		usec_t sum;
		uint64_t count;
		uint32_t seconds;
	} cases[] = {
		{ 0, 0, 1 },
		{ 0, 5, 1 },
		{ 1, 1, 1 },
		{ 1000000, 1, 1 },
		{ 1000001, 1, 2 },
		{ 2000000, 1, 2 },
		{ 3000000, 2, 2 },
		{ 29000001, 1, 30 },
		{ 30000000, 1, 30 },
		{ 30000001, 1, 30 },
		{ 3600 * USEC_PER_SEC, 1, 30 },
		{ 90 * USEC_PER_SEC, 9, 10 },
	};
	struct pool *p = made("");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set_mean(p, cases[i].sum, cases[i].count);
		assert_int_equal(pool_retry_after(p, RETRY_MEAN),
				 cases[i].seconds);
	}
	assert_int_equal(pool_retry_after(p, RETRY_ONE), 1);
	assert_int_equal(pool_retry_after(p, RETRY_FIVE), 5);
	end(p);
}

/* Row 38: two series of the same labels would spoil a whole scrape. */
static void
labels_that_are_alike_are_told_apart(void **state)
{
	struct rule *rule = kit_rule("model=org_m");
	struct pool *a = made("model=org/m"), *b = made("model=org_m");
	char first[POOL_LABEL_MAX];
	char host[] = "host=01234567890123456789012345678901234567890123456789"
		      "0123456789012345678901234567890123456789";

	(void)state;
	assert_true(pool_same_labels(a, b));
	pool_tell_apart(b, rule);
	assert_false(pool_same_labels(a, b));
	assert_int_equal(strncmp(b->label, "org_m_", 6), 0);
	/* The same in every process. */
	memcpy(first, b->label, sizeof(first));
	end(b);
	b = made("model=org_m");
	pool_tell_apart(b, rule);
	assert_string_equal(b->label, first);
	end(b);
	rule_free(&rule);

	b = made(host);
	rule = kit_rule(host);
	pool_tell_apart(b, rule);
	assert_int_equal(strlen(b->label), POOL_LABEL_MAX - 1);
	rule_free(&rule);
	end(a);
	end(b);
}

/* Contract 7. */
static void
the_label_is_the_key_without_its_address(void **state)
{
	static const struct {
		const char *words;
		const char *label;
	} cases[] = {
		{ "", "-" },
		{ "host=a.example", "a.example" },
		{ "host=a prefix=/v1/chat model=org/m:8b",
		  "a__v1_chat_org_m_8b" },
		{ "model=m", "m" },
		{ "host=012345678901234567890123456789012345678901234567890123"
		  "4567890123456789",
		  "01234567890123456789012345678901234567890123456789012345678"
		  "90123" },
		{ "host=01234567890123456789012345678901234567890123456789012"
		  "34567890123 model=m",
		  "01234567890123456789012345678901234567890123456789012345678"
		  "90123" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pool *p = made(cases[i].words);

		assert_string_equal(p->label, cases[i].label);
		end(p);
	}
}

static void
service_and_backend_are_those_of_the_rule(void **state)
{
	struct pool *p = made("vip=192.0.2.10 port=8080 name=llm");

	(void)state;
	assert_string_equal(p->service, "192.0.2.10:8080");
	assert_string_equal(p->backend, "llm");
	end(p);
	p = made("vip=fd00::1 port=80");
	assert_string_equal(p->service, "fd00::1:80");
	assert_string_equal(p->backend, "");
	end(p);
}

static void
what_is_known_of_an_endpoint_outlives_its_pool(void **state)
{
	struct pool *old = made("endpoints=10.0.0.1:1,10.0.0.2:1");
	struct pool *p = made("endpoints=10.0.0.3:1,10.0.0.1:1,10.0.0.2:2");

	(void)state;
	old->endpoints[0].up = false;
	endpoint_name(&old->endpoints[0], text_of("gpu1"));
	old->endpoints[1].up = false;
	pool_inherit(p, old, 0);
	assert_true(p->endpoints[0].up);
	assert_false(p->endpoints[1].up);
	assert_string_equal(p->endpoints[1].server, "gpu1");
	/* Another port is another endpoint. */
	assert_true(p->endpoints[2].up);
	end(old);
	end(p);
}

/* Rows 42, 48, 151; contract 7. */
static void
the_published_numbers_are_those_in_force(void **state)
{
	struct pool *p = made_under(
		"mode=enforce max_outstanding=3 queue_depth=7 queue_wait_ms=9",
		"LLB_FC_EP_MAX_INFLIGHT=4 LLB_FC_DECODE_MAX_INFLIGHT=5 "
		"LLB_PD_MAX_INFLIGHT_PER_EP=6");
	static const uint32_t limits[] = { 3, 4, 6, 5, 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		assert_int_equal(pool_metric(p, METRIC_limit, i), limits[i]);
	assert_int_equal(pool_metric(p, METRIC_effective_limit, 0), 3);
	assert_int_equal(pool_metric(p, METRIC_queued, 0), 0);
	assert_int_equal(pool_metric(p, METRIC_mode, 0), 2);
	p->effective.value.mode = MODE_OBSERVE;
	assert_int_equal(pool_metric(p, METRIC_mode, 0), 1);
	p->effective.value.mode = MODE_OFF;
	assert_int_equal(pool_metric(p, METRIC_mode, 0), 0);
	p->decisions[REASON_DRAINED] = 11;
	assert_int_equal(pool_metric(p, METRIC_decisions, REASON_DRAINED), 11);
	p->reclaimed = 12;
	assert_int_equal(pool_metric(p, METRIC_reclaimed, 0), 12);
	end(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_take_turns),
		cmocka_unit_test(units_follow_the_weights),
		cmocka_unit_test(a_full_endpoint_leaves_it_to_another),
		cmocka_unit_test(an_endpoint_that_is_down_is_not_picked),
		cmocka_unit_test(
			a_disaggregated_pool_is_served_by_its_decode_endpoints),
		cmocka_unit_test(a_pool_without_endpoints_serves_nobody),
		cmocka_unit_test(the_service_has_room_below_its_ceiling),
		cmocka_unit_test(only_who_enforces_has_a_queue),
		cmocka_unit_test(
			a_unit_without_an_endpoint_is_the_services_alone),
		cmocka_unit_test(
			a_share_that_begins_or_ends_moves_all_to_their_slots),
		cmocka_unit_test(more_tenants_than_slots_are_moved_to_the_last),
		cmocka_unit_test(
			a_share_binds_waiters_only_where_it_is_enforced),
		cmocka_unit_test(a_leg_holds_no_unit_of_the_service),
		cmocka_unit_test(
			retry_after_is_the_mean_wait_rounded_up_within_1_to_30),
		cmocka_unit_test(the_label_is_the_key_without_its_address),
		cmocka_unit_test(labels_that_are_alike_are_told_apart),
		cmocka_unit_test(service_and_backend_are_those_of_the_rule),
		cmocka_unit_test(
			what_is_known_of_an_endpoint_outlives_its_pool),
		cmocka_unit_test(the_published_numbers_are_those_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

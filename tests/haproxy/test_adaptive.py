# SPDX-License-Identifier: Apache-2.0
"""The ceiling that follows the engines: what they report, what it does, and
what clients see of it."""

import threading
import time
import unittest

import client

from case import REFUSAL_HEADERS, StackCase
from client import Request, chat
from stack import until

FAST = "400ms"   # between two scrapes of an engine
STALE = 1500     # ms that a report is trusted

# Ten, as four fifths of it come down to a quarter.
STEPS = [10, 8, 6, 4, 3, 2]


class AdaptiveCase(StackCase):
    OPTIONS = {"agent_args": ["--scrape-interval", FAST]}

    def setUp(self):
        super().setUp()
        self.report(0)
        self.switch("on")

    def report(self, waiting, engine=None):
        """What the engines, or one, say that is waiting in them."""
        for one in self.stack.engines if engine is None else [engine]:
            one.ask(f"waiting/{waiting}")

    def switch(self, state):
        for engine in self.stack.engines:
            engine.ask(f"metrics/{state}")

    def adaptive(self, ceiling=10, **arguments):
        return self.pool(fc_max_outstanding=ceiling, **{
            "fc_adaptive": "on", "fc_telemetry_stale_ms": STALE, **arguments})

    def effective(self, pool):
        return self.stack.effective(pool.port)

    def until_is(self, pool, **members):
        """Waits for members of fc_effective. Row 202: meanwhile the ceiling
        in force is never above the configured one."""
        def is_so():
            now = self.effective(pool)
            self.assertLessEqual(now["effective_max_outstanding"],
                                 now["max_outstanding"])
            return all(now[name] == value for name, value in members.items())
        until(is_so, f"{members}, but {self.effective(pool)}", 20)

    def floor(self, pool):
        """Engines that wait bring it to its floor."""
        self.report(3)
        self.until_is(pool, effective_max_outstanding=2)


class Ceiling(AdaptiveCase):
    def test_it_starts_open(self):
        """188, 189, 218."""
        pool = self.adaptive(fc_ttft_target_ms=300)
        now = self.effective(pool)
        self.assertEqual(["on", "open", 10, 300, "rule", "rule"], [
            now["adaptive"], now["adapt_state"],
            now["effective_max_outstanding"], now["ttft_target_ms"],
            now["source"]["adaptive"], now["source"]["ttft_target_ms"]])

    def test_waiting_engines_tighten_it_step_by_step(self):
        """190, 191, 192, 219, 221."""
        pool = self.adaptive()
        self.report(3)
        seen = []

        def at_the_floor():
            now = self.effective(pool)["effective_max_outstanding"]
            if now not in seen:
                seen.append(now)
            return now == STEPS[-1]
        until(at_the_floor, "the floor", 20)
        self.assertEqual(STEPS[-len(seen):], seen)
        self.assertGreaterEqual(len(seen), 5)
        self.until_is(pool, adapt_state="tightened", adapt_reason="queued")
        self.assertEqual(5, pool.get("adapt_moves_total", direction="down"))
        self.assertEqual([10, 2], [pool.get("limit", role="service"),
                                   pool.get("effective_limit")])
        # And it stays there.
        self.assertEqual(2, self.effective(pool)["effective_max_outstanding"])

    def test_one_engine_is_enough(self):
        """193."""
        pool = self.adaptive()
        self.report(1, self.stack.engines[1])
        self.until_is(pool, adapt_state="tightened", adapt_reason="queued")

    def test_it_admits_as_many_and_says_so(self):
        """194, 222, 298: and a tenant's share is of it, 244."""
        pool = self.adaptive(fc_expose_headers="on")
        self.floor(pool)
        held = self.hold(pool, 1)
        answer = self.ask(pool)
        self.assertEqual(200, answer.status)
        self.assert_counts(answer, 2, 0, 2)
        pool.until(inflight=1)
        held += self.hold(pool, 1, nonce="i")
        refused = self.ask(pool)
        self.assert_refused(refused, 429, "admission_capacity")
        self.assert_counts(refused, 2, 0, 2)
        self.stack.release_all()
        for conn in held:
            self.assertEqual(200, conn.receive().status)

    def test_a_share_is_of_it(self):
        """244: half of two is one."""
        pool = self.adaptive(fc_tenant_max_share_pct=50)
        self.floor(pool)
        self.hold(pool, 1)
        self.assert_refused(self.ask(pool), 429, "admission_tenant_share")

    def test_clear_engines_give_it_back_and_wake(self):
        """197, 198, 199, 220: one unit a second, each to who waits longest."""
        pool = self.adaptive(fc_max_queue_depth=8, fc_max_queue_wait_ms=20000)
        self.floor(pool)
        self.hold(pool, 2)
        first, second = self.queue(pool, 2, hold=1)
        self.report(0)
        begun = time.monotonic()
        pool.until(queued=1)
        pool.until(queued=0, inflight=4)
        self.assertGreater(time.monotonic() - begun, 0.9)
        self.until_is(pool, adapt_state="open", adapt_reason="clear",
                      effective_max_outstanding=10)
        self.assertEqual(8, pool.get("adapt_moves_total", direction="up"))
        for family in ("adapt_state", "adapt_reason"):
            self.assertEqual(1, pool.get(family), family)
        self.stack.release_all()
        self.assertEqual([200, 200], [first.receive().status,
                                      second.receive().status])

    def test_without_news_it_is_held(self):
        """200, 201, 209: and open where it is open."""
        pool, idle = self.adaptive(), self.adaptive()
        self.report(3)
        self.until_is(pool, adapt_state="tightened")
        self.switch("off")
        self.until_is(pool, adapt_state="frozen", adapt_reason="stale")
        held = self.effective(pool)["effective_max_outstanding"]
        scrapes = self.scrapes("http_error")
        until(lambda: self.scrapes("http_error") > scrapes + 4,
              "it is asked all the same")
        self.until_is(pool, adapt_state="frozen",
                      effective_max_outstanding=held)
        # The other one adapts to the same engines.
        self.stack.delete_rule(idle.port)
        self.pools.remove(idle)
        late = self.adaptive()
        self.until_is(late, adapt_state="open",
                      effective_max_outstanding=10)

    def scrapes(self, result):
        return self.stack.metrics().get("loxilb_ai_worker_scrape_total",
                                        result=result)

    def test_off_gives_it_back_at_once(self):
        """204."""
        pool = self.adaptive()
        self.floor(pool)
        self.replace(pool, fc_max_outstanding=10, fc_adaptive="off")
        now = self.effective(pool)
        self.assertEqual([10, "off", "none"], [
            now["effective_max_outstanding"], now["adapt_state"],
            now["adapt_reason"]])

    def test_a_new_ceiling_is_followed(self):
        """205, 206: lowered it comes down with it, raised it climbs."""
        pool = self.adaptive()
        self.replace(pool, fc_max_outstanding=4)
        self.assertEqual(4, self.effective(pool)["effective_max_outstanding"])
        self.report(1)
        self.until_is(pool, effective_max_outstanding=1)
        self.report(0)
        self.replace(pool, fc_max_outstanding=6)
        self.assertLess(self.effective(pool)["effective_max_outstanding"], 4)
        self.until_is(pool, effective_max_outstanding=6, adapt_state="open")

    def test_without_a_ceiling_there_is_nothing_to_adapt(self):
        """203."""
        pool = self.adaptive(0)
        now = self.effective(pool)
        self.assertEqual([0, "off", "none"], [
            now["effective_max_outstanding"], now["adapt_state"],
            now["adapt_reason"]])

    def test_sample_steps_once_a_report(self):
        """Our own: with no more to go by it stays, and on does not."""
        pool, literal = (self.adaptive(fc_adaptive=follow,
                                       fc_telemetry_stale_ms=20000)
                         for follow in ("sample", "on"))
        self.report(3)
        self.until_is(pool, adapt_state="tightened", adapt_reason="queued")
        self.switch("off")
        self.until_is(literal, effective_max_outstanding=2)
        # The reports of one more second may have been under way.
        self.assertGreaterEqual(pool.get("effective_limit"), 6)
        self.switch("on")
        self.until_is(pool, effective_max_outstanding=2)


class Scrapes(AdaptiveCase):
    def asked(self):
        return [engine.ask("scrapes") for engine in self.stack.engines]

    def test_only_who_adapts_has_engines_asked(self):
        """210, 211, 213."""
        before = self.asked()
        plain = self.pool(fc_max_outstanding=10)
        self.ask(plain)
        self.assertEqual(before, self.asked())
        self.adaptive()
        until(lambda: all(now >= then + 2 for now, then
                          in zip(self.asked(), before)), "both are asked")
        self.assertGreaterEqual(self.stack.metrics().get(
            "loxilb_ai_worker_scrape_total", result="ok"), 2)

    def test_the_window_is_what_the_rule_says(self):
        """207, 208."""
        plain = self.pool(fc_max_outstanding=10)
        now = self.effective(plain)
        self.assertEqual([30000, "default"], [
            now["telemetry_stale_ms"], now["source"]["telemetry_stale_ms"]])
        now = self.effective(self.adaptive(fc_telemetry_stale_ms=45000))
        self.assertEqual([45000, "rule"], [
            now["telemetry_stale_ms"], now["source"]["telemetry_stale_ms"]])


class FirstToken(AdaptiveCase):
    SERVICES = 8

    def late(self, **wishes):
        return chat(stream=True, tokens=3, **wishes)

    def test_late_streams_tighten_and_early_ones_widen(self):
        """195, 215, 216: from admission to the first event of data."""
        self.switch("off")
        pool = self.adaptive(fc_ttft_target_ms=300,
                             fc_telemetry_stale_ms=20000)
        self.assertEqual(200, self.ask(pool, self.late(delay_ms=700)).status)
        self.until_is(pool, adapt_state="tightened", adapt_reason="ttft")
        self.assertEqual(200, self.ask(pool, self.late()).status)
        downs = pool.get("adapt_moves_total", direction="down")
        until(lambda: pool.get("adapt_moves_total", direction="down") > downs,
              "one early stream of two does not clear it")
        for _ in range(24):
            self.assertEqual(200, self.ask(pool, self.late()).status)
        self.until_is(pool, adapt_reason="clear")

    def test_a_queue_says_more(self):
        """196."""
        pool = self.adaptive(fc_ttft_target_ms=300,
                             fc_telemetry_stale_ms=20000)
        self.report(3)
        self.ask(pool, self.late(delay_ms=700))
        self.until_is(pool, adapt_state="tightened", adapt_reason="queued")

    def test_a_wait_before_is_not_in_it(self):
        """215."""
        self.switch("off")
        pool = self.adaptive(1, fc_ttft_target_ms=400,
                             fc_telemetry_stale_ms=20000,
                             fc_max_queue_depth=2, fc_max_queue_wait_ms=9000)
        held, = self.hold(pool, 1)
        waiter = self.connect(pool)
        waiter.send(self.late())
        pool.until(queued=1)
        time_waited = time.monotonic()
        until(lambda: time.monotonic() - time_waited > 0.8, "a long wait")
        self.stack.release_all()
        self.assertEqual(200, waiter.receive().status)
        self.assertEqual(200, held.receive().status)
        self.until_is(pool, adapt_reason="clear", adapt_state="open")

    def test_slow_answers_in_one_piece_say_nothing(self):
        """214."""
        self.switch("off")
        pool = self.adaptive(fc_ttft_target_ms=200,
                             fc_telemetry_stale_ms=20000)
        self.ask(pool, chat(delay_ms=600))
        self.ask(pool, self.late())
        self.until_is(pool, adapt_reason="clear", adapt_state="open")

    def test_without_a_target_it_is_left_out(self):
        """217."""
        pool = self.adaptive()
        self.ask(pool, self.late(delay_ms=700))
        self.until_is(pool, adapt_reason="clear", adapt_state="open")
        self.assertEqual(0, pool.get("adapt_moves_total", direction="down"))


class Warmth(AdaptiveCase):
    """One endpoint, as hand or HAProxy sees it go and come."""

    def warm(self, **arguments):
        self.endpoint = [self.stack.engines[0].address]
        return self.pool(self.endpoint, **{
            "fc_ep_max_inflight": 8, "fc_warmup_ms": 20000, **arguments})

    def by_hand(self, state, any_port=False):
        host, port = self.endpoint[0].rsplit(":", 1)
        status, text = self.stack.request(
            "POST", "/netlox/v1/config/endpointhoststate",
            {"hostName": host, "epPort": 0 if any_port else int(port),
             "state": state})
        self.assertEqual(200, status, text)

    def test_two_come_back_at_once(self):
        """61, 223, 227: two of eight each, and four in all."""
        self.endpoint = [engine.address for engine in self.stack.engines]
        pool = self.pool(self.endpoint, fc_ep_max_inflight=8,
                         fc_warmup_ms=60000)
        self.by_hand("red", any_port=True)
        self.assert_refused(self.ask(pool), 503, "admission_no_capacity")
        self.by_hand("green", any_port=True)
        self.assertEqual(2, self.effective(pool)["warming_endpoints"])
        self.hold(pool, 4)
        self.assertEqual([2, 2], [engine.ask("active")
                                  for engine in self.stack.engines])
        self.assert_refused(self.ask(pool), 429, "admission_capacity")

    def test_at_least_one(self):
        """224."""
        pool = self.warm(fc_ep_max_inflight=2, fc_warmup_ms=60000)
        self.by_hand("red")
        self.by_hand("green")
        self.hold(pool, 1)
        self.assert_refused(self.ask(pool), 429, "admission_capacity")

    def test_red_is_no_capacity_and_never_waits(self):
        """61, 62."""
        pool = self.warm(fc_max_queue_depth=4, fc_max_queue_wait_ms=5000)
        self.by_hand("red")
        self.assert_refused(self.ask(pool), 503, "admission_no_capacity")
        self.assertEqual(1, pool.decisions("no_healthy_capacity"))
        self.by_hand("green")
        self.assertEqual(200, self.ask(pool).status)

    def test_back_in_service_it_begins_at_a_quarter(self):
        """223, 226, 227, 233, 235: the service ceiling is not ramped."""
        pool = self.warm(fc_max_outstanding=9, fc_warmup_ms=60000)
        for _ in range(2):
            self.by_hand("red")
            self.by_hand("green")
            self.assertEqual(1, self.effective(pool)["warming_endpoints"])
            self.hold(pool, 2)
            refused = self.ask(pool)
            self.assert_refused(refused, 429, "admission_capacity")
            self.assertEqual("8", refused.header(REFUSAL_HEADERS[2]))
            self.stack.release_all()
            pool.until(inflight=0)
        self.assertEqual(9, pool.get("limit", role="service"))

    def test_it_rises_in_a_line_to_all_of_it(self):
        """225, 226, 234."""
        pool = self.warm(fc_warmup_ms=3000)
        self.by_hand("red")
        self.by_hand("green")
        admitted = []

        def grown():
            answer = self.connect(pool)
            answer.send(chat(hold=1))
            admitted.append(pool.inflight())
            return admitted[-1] == 8
        until(grown, "all of it", 20)
        self.assertLessEqual(admitted[0], 3)
        until(lambda: self.effective(pool)["warming_endpoints"] == 0,
              "the end of the window")
        self.stack.release_all()

    def test_no_ceiling_is_not_ramped(self):
        """232."""
        pool = self.warm(fc_ep_max_inflight=0)
        self.by_hand("red")
        self.by_hand("green")
        self.assertEqual(1, self.effective(pool)["warming_endpoints"])
        self.hold(pool, 12)
        self.stack.release_all()

    def test_health_brings_it_back_too(self):
        """228: HAProxy's checks fail, and then do not."""
        pool = self.warm(fc_warmup_ms=60000)
        engine = self.stack.engines[0]
        self.assertEqual(0, self.effective(pool)["warming_endpoints"])
        engine.ask("health/off")
        until(lambda: self.ask(pool).status == 503, "it is down", 20)
        engine.ask("health/on")
        until(lambda: self.effective(pool)["warming_endpoints"] == 1,
              "it is back", 20)
        self.hold(pool, 2)
        self.assert_refused(self.ask(pool), 429, "admission_capacity")
        self.stack.release_all()

    def test_a_flapping_engine_under_load(self):
        """228, 235: each return begins anew, nobody is lost, and the other
        engine goes on."""
        pool = self.pool(fc_max_outstanding=16, fc_ep_max_inflight=8,
                         fc_warmup_ms=60000, fc_max_queue_depth=64,
                         fc_max_queue_wait_ms=5000)
        flapping, steady = self.stack.engines
        outcomes = []
        users = threading.Thread(target=lambda: outcomes.extend(client.load(
            pool.port, lambda _: chat(delay_ms=20), 12, 12)))
        users.start()
        for _ in range(2):
            flapping.ask("health/off")
            until(lambda: "DOWN" in self.status(flapping), "it is down", 20)
            flapping.ask("health/on")
            until(lambda: "UP" in self.status(flapping) and self.effective(
                pool)["warming_endpoints"] == 1, "it warms up", 20)
        users.join()
        results = {outcome.result for outcome in outcomes}
        self.assertEqual({200}, results)
        self.assertGreater(steady.ask("received"), flapping.ask("received"))

    def status(self, engine):
        return self.stack.server_status("pool", engine.address)


class Breaker(AdaptiveCase):
    """HAProxy's breaker, as haproxy/README.md has it but quicker to open."""
    SERVICES = 1
    CHECK = "default-server check inter 1s fall 2 rise 1"
    OPTIONS = {"edit": [(CHECK, "default-server check inter 1s fall 2 rise 3 "
                         "observe layer7 error-limit 3 on-error mark-down")]}

    def test_who_comes_back_from_it_warms_up(self):
        """229: its checks have passed all the time."""
        engine = self.stack.engines[0]
        pool = self.pool([engine.address], fc_ep_max_inflight=8,
                         fc_warmup_ms=60000)
        for _ in range(3):
            self.assertEqual(500, self.ask(pool, chat(fail=1)).status)
        until(lambda: self.ask(pool).status == 503, "it opens")
        until(lambda: self.effective(pool)["warming_endpoints"] == 1,
              "it closes", 20)
        self.hold(pool, 2)
        self.assert_refused(self.ask(pool), 429, "admission_capacity")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""How many execute at once, and how a unit comes back."""

import time
import unittest

from case import StackCase
from client import burst, chat, count
from stack import Stack, until


class Ceilings(StackCase):
    SERVICES = 12

    def peaks(self):
        return [engine.ask("peak") for engine in self.stack.engines]

    def test_never_more_execute_than_the_service_ceiling(self):
        """50, 51, 30, 344: 64 at once on a ceiling of 8, and one engine."""
        pool = self.pool([self.stack.engines[0].address], fc_max_outstanding=8)
        outcomes = burst(pool.port, [chat(nonce=f"n{i}", delay_ms=300)
                                     for i in range(64)])
        answers = count(outcomes)
        self.assertEqual({200, 429}, set(answers))
        self.assertEqual(8, self.peaks()[0])
        self.assertEqual(answers[200], self.received())
        self.assertEqual([answers[200], answers[429]],
                         pool.decisions("admitted", "capacity_shed"))
        pool.until(inflight=0)

    def test_never_more_execute_on_an_endpoint_than_its_ceiling(self):
        """52, 53, 63, 64, 271: 10 fill both engines, each to 5."""
        pool = self.pool(fc_ep_max_inflight=5)
        self.hold(pool, 10)
        answer = self.ask(pool)
        self.assert_refused(answer, 429, "admission_capacity")
        self.assert_counts(answer, 10, 0, 5)
        self.assertEqual([5, 5], self.peaks())
        self.assertEqual(10, pool.inflight("normal"))
        self.assertEqual([10, 0], pool.decisions(
            "admitted", "no_healthy_capacity"))

    def test_one_endpoint_at_its_ceiling(self):
        """54: 12 at once on one engine of 5."""
        pool = self.pool([self.stack.engines[1].address], fc_ep_max_inflight=5)
        outcomes = burst(pool.port, [chat(nonce=f"n{i}", delay_ms=500)
                                     for i in range(12)])
        self.assertEqual({200: 5, 429: 7}, count(outcomes))
        self.assertEqual([0, 5], self.peaks())

    def test_no_ceiling_admits_any_number(self):
        """57: 50 at once, counted all the same."""
        pool = self.pool()
        conns = self.hold(pool, 50)
        self.assertEqual(50, self.received())
        self.assertEqual(0, pool.get("limit", role="service"))
        self.stack.release_all()
        self.assertEqual({200}, {conn.receive().status for conn in conns})

    def test_a_refusal_is_quick_and_opens_no_connection(self):
        """10, 289: with the pool full of requests that never end."""
        pool = self.pool(fc_max_outstanding=1)
        self.hold(pool, 1)
        # Health checks open connections too, so these are of the pool.
        before = self.requests_forwarded()
        began = time.monotonic()
        for _ in range(20):
            self.assertEqual(429, self.ask(pool).status)
        self.assertLess(time.monotonic() - began, 2.0)
        self.assertEqual(before, self.requests_forwarded())
        self.assertEqual(1, self.received())

    def requests_forwarded(self):
        return [row["stot"] for key, row in self.stack.haproxy_stat().items()
                if key[0] == "pool"]


class Keepalive(StackCase):
    SERVICES = 6

    def test_each_request_of_a_connection_takes_and_gives_a_unit(self):
        """18, 20, 22: five after each other on one connection."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        for i in range(5):
            self.assertEqual(200, conn.request(chat(nonce=f"n{i}")).status)
            pool.until(inflight=0)
        self.assertEqual(5, pool.decisions("admitted"))

    def test_a_path_of_any_length_gives_its_unit_back(self):
        """22: HAProxy cuts a long one in its line, and not the line."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        for size in (1000, 9000, 30000):
            path = "/v1/chat/completions?" + "x" * size
            self.assertEqual(200, conn.request(chat(path=path)).status)
            pool.until(inflight=0, timeout=1)
        self.assertEqual(0, pool.get("reclaimed_total"))

    def test_each_request_of_a_connection_is_gated_again(self):
        """19, 277: refused when the pool has filled, then served, all on one
        socket."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        self.assertEqual(200, conn.request(chat()).status)
        pool.until(inflight=0)
        held, = self.hold(pool, 1)
        answer = conn.request(chat())
        self.assert_refused(answer, 429, "admission_capacity")
        self.assertFalse(answer.closes())
        self.release("h0")
        self.assertEqual(200, held.receive().status)
        pool.until(inflight=0)
        self.assertEqual(200, conn.request(chat()).status)


class BackendFailures(StackCase):
    """Whatever becomes of the engine's side, the unit comes back."""
    SERVICES = 8

    def assert_serves_again(self, pool):
        pool.until(inflight=0)
        self.assertEqual(200, self.ask(pool).status)

    def test_an_error_of_the_engine(self):
        """25: a 500 is an end like any other."""
        pool = self.pool(fc_max_outstanding=1)
        self.assertEqual(500, self.ask(pool, chat(fail=1)).status)
        self.assert_serves_again(pool)

    def test_a_reset_before_the_answer(self):
        """25, 27: on the first request of a connection."""
        pool = self.pool(fc_max_outstanding=1)
        self.assertEqual(502, self.ask(pool, chat(reset=1)).status)
        self.assert_serves_again(pool)
        self.assertEqual(0, pool.get("reclaimed_total"))

    def test_a_reset_in_the_middle_of_the_answer(self):
        """25: the client sees it cut."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        conn.send(chat(stream=True, tokens=8, reset_mid=1))
        with self.assertRaises(ConnectionError):
            conn.receive()
        self.assert_serves_again(pool)

    def test_a_reset_that_haproxy_does_not_log(self):
        """25: on a later request of a connection, HAProxy 2.6 closes without
        a word; the unit is found by the runtime API."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        self.assertEqual(200, conn.request(chat()).status)
        conn.send(chat(reset=1))
        logged = self.stack.haproxy_version() >= (3, 0)
        if logged:
            self.assertEqual(502, conn.receive().status)
        else:
            self.assertTrue(conn.closed())
        self.assert_serves_again(pool)
        self.assertEqual(0 if logged else 1, pool.get("reclaimed_total"))

    def test_a_reset_under_http_2(self):
        """25: a stream's unit comes back, and the others go on."""
        pool = self.pool(fc_max_outstanding=2)
        conn = self.connect_h2(pool)
        lives = conn.send(chat(nonce="lives", hold=1))
        pool.until(inflight=1)
        dies = conn.send(chat(reset=1))
        conn.wait(lambda: dies.ended)
        pool.until(inflight=1)
        self.release("lives")
        self.assertEqual(200, conn.receive(lives).status)
        self.assert_serves_again(pool)


class LostLines(StackCase):
    """HAProxy's log lines go nowhere."""
    SERVICES = 1
    OPTIONS = {"haproxy_env": {"ADMISSION_LOG": "127.0.0.1:9"}}

    def test_units_without_a_log_line_come_back(self):
        """161: the runtime API says that nothing runs; who waits gets on."""
        pool = self.pool(fc_max_outstanding=2, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=20000)
        outcomes = burst(pool.port, [chat() for _ in range(5)])
        self.assertEqual({200: 5}, count(outcomes))
        pool.until(inflight=0, timeout=20)
        self.assertEqual(5, pool.get("reclaimed_total"))


class DeadEngine(unittest.TestCase):
    """One engine, which is killed."""

    def test_an_engine_that_cannot_be_connected_to(self):
        """26, 61, 62: at first HAProxy's own error and the unit back; once it
        is known to be down, 503 at once, with a depth and all."""
        with Stack(engines=1) as stack:
            port, = stack.ports
            pool = stack.rule(port, fc_mode="enforce", fc_max_outstanding=1,
                              fc_max_queue_depth=8, fc_max_queue_wait_ms=9000)
            engine, = stack.engines
            engine.process.kill()
            first, = burst(port, [chat()])
            self.assertEqual(503, first.result)
            self.assertIsNone(first.word)
            pool.until(inflight=0)

            def refused():
                outcome, = burst(port, [chat()])
                return outcome.word == "admission_no_capacity" and outcome
            outcome = until(refused, "the agent knows that the engine is down")
            self.assertLess(outcome.seconds, 1.0)
            self.assertTrue(outcome.response.closes())
            self.assertEqual("1", outcome.response.header("retry-after"))
            self.assertEqual([1, 0], pool.decisions(
                "no_healthy_capacity", "queued"))
            self.assertEqual(0, stack.metrics().get(
                "loxilb_ai_admission_anomalies_total"))

    def test_a_retry_on_another_engine_keeps_the_unit(self):
        """29: the killed engine's request is served by the other one."""
        with Stack(engines=2) as stack:
            port, = stack.ports
            pool = stack.rule(port, fc_mode="enforce", fc_max_outstanding=4)
            stack.engines[0].process.kill()
            outcomes = burst(port, [chat() for _ in range(4)])
            self.assertEqual({200: 4}, count(outcomes))
            self.assertEqual(4, stack.engines[1].ask("received"))
            pool.until(inflight=0)
            self.assertEqual(0, pool.inflight("normal"))
            self.assertEqual([4, 0], pool.decisions("admitted",
                                                    "capacity_shed"))
            self.assertEqual(0, stack.metrics().get(
                "loxilb_ai_admission_anomalies_total"))


if __name__ == "__main__":
    unittest.main()

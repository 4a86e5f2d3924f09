# SPDX-License-Identifier: Apache-2.0
"""What a client reads: statuses, headers, bodies, and what closes."""

import ssl
import time
import unittest

from case import StackCase
from client import Request, chat
from stack import until


def without_checks(*protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(protocols)
    return context


class Refusals(StackCase):
    SERVICES = 10

    def test_a_refusal_by_the_ceiling(self):
        """265, 267, 269, 270, 273, 274, 277: each byte of it, and the
        connection serves on."""
        pool = self.pool(fc_max_outstanding=8)
        held = self.hold(pool, 8)
        conn = self.connect(pool)
        answer = conn.request(chat())
        self.assert_refused(answer, 429, "admission_capacity")
        self.assert_counts(answer, 8, 0, 8)
        self.assertEqual("1", answer.header("retry-after"))
        self.assertEqual({"error": "admission_capacity", "retry_after": 1,
                          "jitter_hint_ms": 250}, answer.json())
        self.assertTrue(answer.body.endswith(b"}\r\n"))
        self.assertEqual(1, answer.body.count(b"\n"))
        self.assertFalse(answer.closes())
        for name in ("retry-after", "x-loxilb-admission-inflight",
                     "x-loxilb-admission-queued", "x-loxilb-admission-limit"):
            self.assertEqual(1, len(answer.all(name)), name)
        self.release("h0")
        self.assertEqual(200, held[0].receive().status)
        pool.until(inflight=7)
        self.assertEqual(200, conn.request(chat()).status)

    def test_retry_after_is_the_mean_wait(self):
        """266: one of a little more than a second, rounded up."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=1,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        waiter, = self.queue(pool, 1)
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 1.05, "it has waited a while")
        self.release("h0")
        self.assertEqual(200, waiter.receive().status)
        pool.until(inflight=0)
        self.hold(pool, 1, nonce="again")
        self.queue(pool, 1, nonce="full")
        answer = self.ask(pool)
        self.assert_refused(answer, 429, "admission_capacity")
        self.assertEqual("2", answer.header("retry-after"))

    def test_no_engine_is_healthy(self):
        """61, 62, 276, 278: 503 at once, with a depth and all."""
        pool = self.pool(fc_max_outstanding=4, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        self.addCleanup(self.set_servers, "ready")
        self.set_servers("maint")
        answer, conn = until(lambda: self.refused_for_health(pool),
                             "the agent knows that no server is up")
        self.assert_refused(answer, 503, "admission_no_capacity")
        self.assertEqual({"error": "admission_no_capacity", "retry_after": 1,
                          "message": "no healthy endpoint has capacity"},
                         answer.json())
        self.assertTrue(answer.closes())
        self.assertTrue(conn.closed())
        self.assertEqual([1, 0], pool.decisions("no_healthy_capacity",
                                                "queued"))
        self.assertEqual(0, self.received())
        self.set_servers("ready")
        until(lambda: self.ask(pool).status == 200, "the servers are up again")

    def refused_for_health(self, pool):
        """Its answer and connection; HAProxy's own 503 is no JSON."""
        conn = self.connect(pool)
        answer = conn.request(chat())
        if answer.header("content-type") == "application/json":
            return answer, conn
        return None

    def set_servers(self, state):
        for engine in self.stack.engines:
            self.stack.haproxy_command(
                f"set server pool/{engine.address} state {state}")


class Maintenance(StackCase):
    SERVICES = 12

    def enter(self):
        self.stack.must("PUT", "/netlox/v1/maintenance", {"enabled": True})
        self.addCleanup(self.leave)

    def leave(self):
        self.stack.must("PUT", "/netlox/v1/maintenance", {"enabled": False})

    def test_newcomers_and_waiters_are_told_and_the_rest_finishes(self):
        """268, 276, 279, 281, 312, 313, 314, 318, 319."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        held, = self.hold(pool, 1)
        waiters = self.queue(pool, 2)
        self.enter()
        for conn in waiters:
            answer = conn.receive()
            self.assert_refused(answer, 503, "admission_drained")
            self.assertEqual("5", answer.header("retry-after"))
            self.assertIn("queued_ms", answer.json())
            self.assertTrue(answer.closes())
            self.assertTrue(conn.closed())
        conn = self.connect(pool)
        answer = conn.request(chat(nonce="new"))
        self.assert_refused(answer, 503, "gateway_draining")
        self.assertEqual("5", answer.header("retry-after"))
        self.assertEqual("the gateway is draining for maintenance",
                         answer.json()["message"])
        self.assertTrue(conn.closed())
        self.assertEqual(
            200, self.ask(pool, Request("GET", "/v1/models")).status)
        self.release("h0")
        self.assertEqual(200, held.receive().status)
        self.assertEqual([1, 2, 1], pool.decisions("admitted", "drained",
                                                   "draining"))
        self.leave()
        self.assertEqual(200, self.ask(pool).status)
        self.assertEqual(2, self.received())

    def status(self):
        return self.stack.must("GET", "/netlox/v1/maintenance")

    def test_what_it_says_while_requests_run(self):
        """308, 310, 311, 319: that it refuses, and how many execute in all
        gated pools together."""
        pools = [self.pool(fc_max_outstanding=6), self.pool(fc_mode="observe"),
                 self.pool(fc_max_outstanding=1, fc_max_queue_depth=4,
                           fc_max_queue_wait_ms=9000)]
        held = [conn for i, (pool, count) in enumerate(zip(pools, (5, 2, 1)))
                for conn in self.hold(pool, count, nonce=f"p{i}-")]
        waiter, = self.queue(pools[2], 1)
        self.assertEqual((8, False), (
            self.status()["in_flight_requests"],
            self.status()["refusing_new_inference"]))
        self.enter()
        status = self.status()
        self.assertEqual(("maintenance", True, True, 8), (
            status["state"], status["refusing_new_inference"],
            status["refusing_new_config"], status["in_flight_requests"]))
        self.assert_refused(waiter.receive(), 503, "admission_drained")
        self.stack.release_all()
        self.assertEqual([200] * 8, [conn.receive().status for conn in held])
        until(lambda: "in_flight_requests" not in self.status(),
              "the last has ended")
        self.assertTrue(self.status()["refusing_new_inference"])
        self.leave()
        status = self.status()
        self.assertEqual(("active", False), (
            status["state"], status["refusing_new_inference"]))
        self.assertEqual(200, self.ask(pools[0]).status)

    def test_http_2_is_told_on_the_stream(self):
        """284."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect_h2(pool)
        self.enter()
        answer = conn.request(chat())
        self.assert_refused(answer, 503, "gateway_draining")
        self.assertEqual("5", answer.header("retry-after"))
        self.leave()
        self.assertEqual(200, conn.request(chat()).status)

    def test_other_pools_go_on(self):
        """45, 315, 316, 317: observe, off, and no AI service."""
        pools = [self.pool(fc_mode="observe", fc_max_outstanding=1),
                 self.pool(fc_mode="off", fc_max_outstanding=1),
                 self.pool(sse_mode=False)]
        self.enter()
        for pool in pools:
            self.assertEqual(200, self.ask(pool).status)


class Tls(StackCase):
    SERVICES = 1
    OPTIONS = {"tls": True}

    def pool_of_tls(self, **arguments):
        pool = self.stack.rule(self.stack.tls_port, fc_mode="enforce",
                               **arguments)
        pool.port = self.stack.tls_port
        self.pools.append(pool)
        return pool

    def test_http_1(self):
        """282: admitted, refused, and served again on one connection."""
        pool = self.pool_of_tls(fc_max_outstanding=1)
        conn = self.connect(pool, without_checks("http/1.1"))
        self.assertEqual(200, conn.request(chat()).status)
        pool.until(inflight=0)
        other = self.connect(pool, without_checks("http/1.1"))
        other.send(chat(nonce="h", hold=1))
        pool.until(inflight=1)
        answer = conn.request(chat())
        self.assert_refused(answer, 429, "admission_capacity")
        self.assert_counts(answer, 1, 0, 1)
        self.release("h")
        self.assertEqual(200, other.receive().status)
        pool.until(inflight=0)
        self.assertEqual(200, conn.request(chat()).status)

    def test_http_2(self):
        """282, 283: the same as streams."""
        pool = self.pool_of_tls(fc_max_outstanding=1)
        conn = self.connect_h2(pool, without_checks("h2"))
        held = conn.send(chat(nonce="h", hold=1))
        pool.until(inflight=1)
        self.assert_refused(conn.request(chat()), 429, "admission_capacity")
        self.release("h")
        self.assertEqual(200, conn.receive(held).status)

    def test_one_who_waits_and_leaves(self):
        """162, 282: by a TLS connection that is killed."""
        pool = self.pool_of_tls(fc_max_outstanding=1, fc_max_queue_depth=4,
                                fc_max_queue_wait_ms=9000)
        context = without_checks("http/1.1")
        holder = self.connect(pool, context)
        holder.send(chat(nonce="h", hold=1))
        pool.until(inflight=1)
        leaver = self.connect(pool, context)
        leaver.send(chat(nonce="leaver"))
        pool.until(queued=1)
        leaver.reset()
        pool.until(queued=0, timeout=2)
        self.release("h")
        self.assertEqual(200, holder.receive().status)
        self.assertEqual(0, self.received("leaver"))


if __name__ == "__main__":
    unittest.main()

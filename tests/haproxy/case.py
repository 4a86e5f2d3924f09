# SPDX-License-Identifier: Apache-2.0
"""What the tests of one stack have in common.

Each test has public ports, and so rules, of its own. It ends with nobody
executing, nobody waiting, no rule, and no anomaly counted.
"""

import unittest

import client
import h2
from client import chat
from stack import Stack, until

REFUSAL_HEADERS = ("x-loxilb-admission-inflight", "x-loxilb-admission-queued",
                   "x-loxilb-admission-limit")


class StackCase(unittest.TestCase):
    SERVICES = 16   # public ports; a test takes as many as it has rules
    OPTIONS = {}    # of the stack

    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(services=cls.SERVICES, **cls.OPTIONS).start()
        cls.addClassCleanup(cls.stack.stop)
        cls._ports = iter(cls.stack.ports)

    def setUp(self):
        self.pools = []
        self.stack.reset_engines()
        self.addCleanup(self.at_rest)

    def at_rest(self):
        """Lets all go and sees that the books close."""
        def quiet():
            self.stack.release_all()
            now = self.stack.metrics()
            return not any(now.get("loxilb_ai_admission_" + gauge) for gauge
                           in ("inflight", "queued"))
        until(quiet, "nobody executes and nobody waits")
        for pool in self.pools:
            self.stack.delete_rule(pool.port)
        self.assertEqual(0, self.anomalies(), "anomalies")

    def anomalies(self):
        return self.stack.metrics().get("loxilb_ai_admission_anomalies_total")

    def pool(self, endpoints=None, **arguments):
        """A rule on a public port that no other test uses, enforcing."""
        port = next(self._ports)
        pool = self.stack.rule(port, endpoints,
                               **{"fc_mode": "enforce", **arguments})
        pool.port = port
        pool.arguments = arguments
        self.pools.append(pool)
        return pool

    def replace(self, pool, **arguments):
        self.stack.rule(pool.port, **arguments)

    # ---- clients

    def connect(self, pool, tls=None):
        conn = client.Connection(pool.port, tls)
        self.addCleanup(conn.close)
        return conn

    def connect_h2(self, pool, tls=None):
        conn = h2.Connection(pool.port, tls)
        self.addCleanup(conn.close)
        return conn

    def ask(self, pool, request=None):
        """One request on a connection of its own: its answer."""
        return client.request(pool.port, request or chat())

    def hold(self, pool, count, nonce="h", **wishes):
        """Requests that execute until they are let go, as h0, h1, …"""
        conns = []
        before = pool.inflight()
        received = self.received()
        for i in range(count):
            conn = self.connect(pool)
            conn.send(chat(nonce=f"{nonce}{i}", hold=1, **wishes))
            conns.append(conn)
        pool.until(inflight=before + count)
        self.until_received(received + count)
        return conns

    def queue(self, pool, count, nonce="q", **wishes):
        """Requests that wait, in this order, as q0, q1, …"""
        conns = []
        before = pool.queued()
        for i in range(count):
            conn = self.connect(pool)
            conn.send(chat(nonce=f"{nonce}{i}", **wishes))
            pool.until(queued=before + i + 1)
            conns.append(conn)
        return conns

    # ---- engines

    def release(self, nonce):
        """Lets one held request go, once it is there."""
        until(lambda: sum(engine.ask(f"release/{nonce}")
                          for engine in self.stack.engines),
              f"{nonce} is held by an engine")

    def received(self, nonce=None):
        return self.stack.receipts(nonce)

    def until_received(self, count):
        until(lambda: self.received() == count,
              f"{count} receipts, but {self.received()}")

    # ---- what was answered

    def assert_refused(self, answer, status, error):
        self.assertEqual(status, answer.status)
        self.assertEqual(error, answer.json()["error"])
        self.assertEqual("application/json", answer.header("content-type"))
        self.assertEqual(str(answer.json()["retry_after"]),
                         answer.header("retry-after"))
        for name in REFUSAL_HEADERS:
            self.assertRegex(answer.header(name) or "", r"^\d+$", name)

    def assert_counts(self, answer, inflight, queued, limit):
        """The three admission headers."""
        self.assertEqual([str(inflight), str(queued), str(limit)],
                         [answer.header(name) for name in REFUSAL_HEADERS])

    def assert_from_engine(self, answer):
        """An engine answered, whatever it said."""
        self.assertIsNotNone(answer.header("x-test-engine"))

# SPDX-License-Identifier: Apache-2.0
"""The accept valve bounds what HAProxy lets in before any pool sees it."""

import time
import unittest

from case import StackCase
from client import chat
from stack import until

BOUND = 6


class Valve(StackCase):
    SERVICES = 4
    OPTIONS = {"agent_env": {"LLB_PD_MAX_TOTAL_INFLIGHT": str(BOUND)}}

    def proxy(self, name):
        return self.stack.metrics().get("loxilb_proxy_" + name)

    def frontends(self):
        return {row["pxname"]: row for row in self.stack.haproxy_stat().values()
                if row["type"] == "0"}

    def public(self):
        rows = self.frontends()
        return rows.get("public") or rows["gate"]

    def setUp(self):
        super().setUp()
        until(lambda: self.public()["slim"] == str(BOUND), "it is set", 20)

    def test_only_the_public_frontend_is_bound(self):
        """339."""
        self.assertEqual(BOUND, self.proxy("accept_bound"))
        rows = self.frontends()
        if "public" in rows:
            self.assertNotEqual(str(BOUND), rows["gate"]["slim"])

    def test_at_the_bound_others_wait_and_then_run(self):
        """338, 340, 341 and 342: one pause is one, however long it is."""
        pool = self.pool(fc_max_outstanding=100)
        blocked = self.proxy("accept_blocked_total")
        held = self.hold(pool, BOUND)
        until(lambda: self.proxy("accept_blocked_total") == blocked + 1,
              "it is at its bound", 20)
        late = []
        for i in range(4):
            conn = self.connect(pool)
            conn.send(chat(nonce=f"late{i}"))
            late.append(conn)
        begun = time.monotonic()
        contexts = []

        def seen_enough():
            contexts.append(self.proxy("context_inflight"))
            return time.monotonic() - begun > 3
        until(seen_enough, "three looks", 20)
        self.assertEqual(BOUND, pool.inflight())
        self.assertGreaterEqual(max(contexts), BOUND)
        self.assertEqual(blocked + 1, self.proxy("accept_blocked_total"))
        for conn in held:
            conn.close()
        self.stack.release_all()
        for conn in late:
            self.assertEqual(200, conn.receive().status)
            conn.close()
        until(lambda: self.proxy("context_inflight") == 0, "nobody is in", 20)

    def test_a_reload_forgets_it_and_it_is_set_again(self):
        self.stack.reload_haproxy()
        until(lambda: self.public()["slim"] == str(BOUND), "it is set", 20)


class Off(StackCase):
    SERVICES = 2

    def test_nothing_is_bound_or_counted(self):
        """338 and 339."""
        pool = self.pool(fc_max_outstanding=100)
        self.hold(pool, 8)
        now = self.stack.metrics()
        self.assertEqual([0, 0, 0], [now.get("loxilb_proxy_" + name) for name
                                     in ("context_inflight", "accept_bound",
                                         "accept_blocked_total")])
        self.stack.release_all()


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The accept valve bounds what HAProxy lets in before any pool sees it."""

import os
import pathlib
import time
import unittest

from case import StackCase
from client import chat
from stack import Stack, until

BOUND = 10
LATE = 10
WATCHED = 5  # seconds at the bound


def cpu_seconds(process):
    """What a process has used of a CPU so far."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
    user, system = fields.rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class ValveCase(StackCase):
    def proxy(self, name):
        return self.stack.metrics().get("loxilb_proxy_" + name)

    def frontends(self):
        return {row["pxname"]: row for row in self.stack.haproxy_stat().values()
                if row["type"] == "0"}


class Valve(ValveCase):
    SERVICES = 4
    OPTIONS = {"agent_env": {"LLB_PD_MAX_TOTAL_INFLIGHT": str(BOUND)}}

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
        """338, 340, 341 and 342: one pause is one, however long it is; it
        costs no CPU, and in the end everybody is answered."""
        pool = self.pool(fc_max_outstanding=100)
        blocked = self.proxy("accept_blocked_total")
        held = self.hold(pool, BOUND)
        until(lambda: self.proxy("accept_blocked_total") == blocked + 1,
              "it is at its bound", 20)
        late = [self.connect(pool) for _ in range(LATE)]
        for i, conn in enumerate(late):
            conn.send(chat(nonce=f"late{i}"))
        contexts = self.watch(held_back=pool)
        self.assertGreaterEqual(max(contexts), BOUND)
        self.assertEqual(BOUND, pool.inflight())
        self.assertEqual(blocked + 1, self.proxy("accept_blocked_total"))
        self.stack.release_all()
        for conn in (*held, *late):
            self.assertEqual(200, conn.receive().status)
            conn.close()
        until(lambda: self.proxy("context_inflight") == 0, "nobody is in", 20)
        # The late ones may have filled it once more.
        self.assertLessEqual(self.proxy("accept_blocked_total"), blocked + 2)

    def watch(self, held_back):
        """The contexts of some seconds in which nobody may work for it."""
        watched = (self.stack.haproxy, self.stack.agent)
        before = [cpu_seconds(process) for process in watched]
        begun = time.monotonic()
        contexts = []

        def seen_enough():
            contexts.append(self.proxy("context_inflight"))
            # The readings are not what is measured.
            time.sleep(0.1)
            return time.monotonic() - begun > WATCHED
        until(seen_enough, "some looks", 20)
        for process, used in zip(watched, before):
            self.assertLess(cpu_seconds(process) - used, 0.2 * WATCHED,
                            f"{process.name} spins")
        self.assertEqual(0, held_back.queued())
        return contexts

    def test_a_reload_forgets_it_and_it_is_set_again(self):
        self.stack.reload_haproxy()
        until(lambda: self.public()["slim"] == str(BOUND), "it is set", 20)


class Named(ValveCase):
    """Frontends of one's own share the bound, and no other has a part."""
    SERVICES = 2
    PUBLIC = "public" if Stack.haproxy_version() >= (2, 9) else "gate"
    OPTIONS = {
        "agent_env": {"LLB_PD_MAX_TOTAL_INFLIGHT": "7"},
        "agent_args": ["--haproxy-frontend", PUBLIC,
                       "--haproxy-frontend=mine"],
        "edit": [("backend agents\n", "frontend mine\n    bind "
                  "\"unix@${ADMISSION_SOCKET}.mine\"\n\nbackend agents\n")]}

    def test_they_share_the_bound(self):
        """339."""
        def limits():
            return {name: row["slim"] for name, row in self.frontends().items()
                    if row["slim"] in ("3", "4")}
        until(lambda: len(limits()) == 2, "both are bound", 20)
        self.assertEqual({self.PUBLIC, "mine"}, set(limits()))
        self.assertEqual({"3", "4"}, set(limits().values()))
        self.assertEqual(7, self.proxy("accept_bound"))


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

# SPDX-License-Identifier: Apache-2.0
"""With --haproxy-manage a rule's endpoints are made servers of HAProxy."""

import unittest

from case import StackCase
from client import chat
from stack import Engine, until


class Managed(StackCase):
    SERVICES = 8
    OPTIONS = {"agent_args": ["--haproxy-manage"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.third = Engine("engine3", cls.stack.folder)
        cls.addClassCleanup(cls.third.process.stop)

    def setUp(self):
        super().setUp()
        self.until_server(self.third.address, False)

    def servers(self, backend="pool"):
        """Their status by their address."""
        return {row["addr"]: row["status"] for key, row
                in self.stack.haproxy_stat().items()
                if row["pxname"] == backend and row["type"] == "2"}

    def until_server(self, address, is_there=True):
        until(lambda: (address in self.servers()) == is_there,
              f"{address} is {'' if is_there else 'not '}a server, of "
              f"{self.servers()}", 20)

    def until_up(self, address):
        until(lambda: self.servers().get(address) == "UP",
              f"{address} is up, of {self.servers()}", 20)

    def with_third(self, **arguments):
        self.endpoints = [self.third.address]
        return self.pool(self.endpoints, **arguments)

    def test_one_post_puts_an_engine_into_service(self):
        pool = self.with_third(fc_max_outstanding=4)
        self.until_up(self.third.address)
        before = self.third.ask("received")
        answer = self.ask(pool)
        self.assertEqual(200, answer.status)
        self.assertEqual(before + 1, self.third.ask("received"))
        pool.until(inflight=0)

    def test_rules_that_share_an_engine_share_its_server(self):
        first = self.with_third(fc_max_outstanding=4)
        second = self.with_third(fc_max_outstanding=4)
        self.until_up(self.third.address)
        for pool in (first, second):
            self.assertEqual(200, self.ask(pool).status)
        self.stack.delete_rule(first.port)
        self.pools.remove(first)
        self.assertEqual(200, self.ask(second).status)
        self.assertIn(self.third.address, self.servers())
        self.assertFalse([line for line in self.stack.agent.lines
                          if "cannot be made servers" in line])

    def test_it_goes_once_nobody_wants_it_and_nobody_runs_on_it(self):
        pool = self.with_third(fc_max_outstanding=4)
        self.until_up(self.third.address)
        conn = self.connect(pool)
        conn.send(chat(nonce="long", hold=1))
        pool.until(inflight=1)
        until(lambda: self.third.ask("held") == 1, "it is held there")
        self.replace(pool, fc_max_outstanding=4)
        until(lambda: self.servers()[self.third.address].startswith("DRAIN"),
              f"it drains, of {self.servers()}", 20)
        self.third.ask("release/long")
        self.assertEqual(200, conn.receive().status)
        self.until_server(self.third.address, False)

    def test_a_reload_forgets_it_and_it_comes_back(self):
        self.with_third()
        self.until_up(self.third.address)
        self.stack.reload_haproxy()
        self.until_up(self.third.address)

    def test_a_restarted_agent_knows_its_servers(self):
        self.with_third()
        self.until_up(self.third.address)
        self.stack.agent.kill()
        self.stack.start_agent()
        self.pools.clear()
        # It has no rule any more, and so nobody wants the server.
        self.until_server(self.third.address, False)

    def test_servers_of_the_configuration_are_left_alone(self):
        before = set(self.servers())
        pool = self.with_third()
        self.until_up(self.third.address)
        self.stack.delete_rule(pool.port)
        self.pools.remove(pool)
        self.until_server(self.third.address, False)
        self.assertEqual(before, set(self.servers()))


class Refused(StackCase):
    """A backend that cannot take servers: its balance is none for that."""
    SERVICES = 4
    OPTIONS = {"agent_args": ["--haproxy-manage"],
               "edit": [("    balance leastconn\n", "    balance source\n    "
                         "hash-type map-based\n")]}

    def test_it_is_said_and_nothing_is_half_there(self):
        engine = Engine("engine3", self.stack.folder)
        self.addCleanup(engine.process.stop)
        pool = self.pool([engine.address], id="managed")
        self.stack.agent.expect(r"endpoints cannot be made servers said=")
        status = self.stack.must("GET", "/netlox/v1/config/loadbalancer/id/"
                                 "managed/status")
        self.assertEqual("ERROR", status["operatingStatus"])
        self.assertIn("backend", status["problem"].lower())
        self.assertNotIn(engine.address, {
            row["addr"] for row in self.stack.haproxy_stat().values()})
        self.assertEqual(200, self.ask(pool).status)


if __name__ == "__main__":
    unittest.main()

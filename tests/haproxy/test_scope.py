# SPDX-License-Identifier: Apache-2.0
"""Which requests the gate is about, and what each mode does with them."""

import itertools
import select
import unittest

from case import StackCase
from client import Connection, Request, burst, chat, count, wishes
from stack import until

INFERENCE = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings",
             "/v1/rerank", "/v1/messages", "/v1/responses", "/generate",
             "/generate_stream")


class Scope(StackCase):
    SERVICES = 12

    def held_three(self, **arguments):
        """Three requests at once on a ceiling of 1, of a rule of this kind."""
        pool = self.pool(fc_max_outstanding=1, **arguments)
        for i in range(3):
            self.connect(pool).send(chat(nonce=f"n{i}", hold=1))
        self.until_received(3)
        return pool

    def test_a_rule_that_is_no_ai_service_is_not_gated(self):
        """6, 7, 8, 38: neither flag, a disabled key check, another mode."""
        for arguments in ({"sse_mode": False},
                          {"sse_mode": False, "api_key_auth": "disabled"},
                          {"mode": 1}):
            with self.subTest(arguments):
                pool = self.held_three(**arguments)
                self.assertIsNone(self.stack.effective(pool.port))
                self.assertIsNone(pool.get("mode"))
                self.stack.release_all()
                self.stack.reset_engines()

    def test_every_inference_call_is_gated(self):
        """11: each path, while the pool is full."""
        pool = self.pool(fc_max_outstanding=1)
        self.hold(pool, 1)
        for path in INFERENCE:
            with self.subTest(path):
                answer = self.ask(pool, chat(path=path))
                self.assert_refused(answer, 429, "admission_capacity")
        self.assertEqual(len(INFERENCE), pool.decisions("capacity_shed"))
        self.assertEqual(1, self.received())

    def test_query_and_slashes_do_not_matter_but_case_does(self):
        """12: the form of a path."""
        pool = self.pool(fc_max_outstanding=1)
        self.hold(pool, 1)
        for path in ("/v1/chat/completions?x=1", "/v1/chat/completions/",
                     "/v1/chat/completions//?x=/",
                     # Engines decode a path before they look at it.
                     "/v1/chat/%63ompletions", "/%76%31/chat/completions"):
            with self.subTest(path):
                self.assertEqual(429, self.ask(pool, chat(path=path)).status)
        for path in ("/V1/chat/completions", "/v1/chat/completions/x",
                     "/v1//chat/completions"):
            with self.subTest(path):
                self.assert_from_engine(self.ask(pool, chat(path=path)))

    def test_all_else_bypasses_a_full_pool(self):
        """13, 14, 15, 17: it is forwarded and counted, and holds no unit."""
        pool = self.pool(fc_max_outstanding=1)
        self.hold(pool, 1)
        others = [Request("GET", "/v1/models"), Request("GET", "/health"),
                  Request("HEAD", "/v1/chat/completions"),
                  Request("OPTIONS", "/v1/chat/completions"),
                  Request("POST", "/v1/tokenize", body=b"{}")]
        for request in others:
            with self.subTest(request.path):
                self.assert_from_engine(self.ask(pool, request))
        self.assertEqual(200, self.ask(pool, others[0]).status)
        self.assertEqual(len(others) + 1,
                         pool.decisions("bypass_non_inference"))

        held = self.connect(pool)
        held.send(Request("GET", "/v1/models", headers=wishes("b", hold=1)))
        self.ask(pool, others[0])  # so that the held one has been decided
        self.assertEqual(1, pool.inflight())
        self.release("b")
        self.assertEqual(200, held.receive().status)

    def test_off_changes_nothing_and_counts_nothing(self):
        """16, 36, 37: six over a ceiling of four, and one bypass."""
        pool = self.pool(fc_mode="off", fc_max_outstanding=4)
        conns = [self.connect(pool) for _ in range(6)]
        for i, conn in enumerate(conns):
            conn.send(chat(nonce=f"o{i}", hold=1))
        self.until_received(6)
        self.assertEqual(200, self.ask(pool, Request("GET", "/health")).status)
        self.assertEqual(0, pool.get("mode"))
        self.assertEqual(0, pool.inflight())
        self.assertEqual(0, pool.get("decisions_total"))
        self.stack.release_all()
        for conn in conns:
            answer = conn.receive()
            self.assertEqual(200, answer.status)
            self.assertIsNone(answer.header("x-loxilb-admission-limit"))


class Routes(StackCase):
    """Several rules on one public port."""
    SERVICES = 3

    def rules(self, port, *keys):
        """A rule with a ceiling of its own for each key; {} is the rest."""
        for i, key in enumerate(keys, 1):
            self.stack.rule(port, fc_mode="enforce", fc_max_outstanding=i,
                            **key)

    def refused_with(self, port, request):
        """The ceiling of the rule that a request belongs to, once full."""
        before = self.received()
        for held in itertools.count(1):
            conn = Connection(port)
            self.addCleanup(conn.close)
            conn.send(request)
            until(lambda: self.is_answered(conn)
                  or self.received() == before + held, "held, or refused")
            if self.is_answered(conn):
                return int(conn.receive().header("x-loxilb-admission-limit"))

    @staticmethod
    def is_answered(conn):
        return bool(select.select([conn.sock], [], [], 0)[0])

    def at_rest(self):
        self.stack.must("DELETE", "/netlox/v1/config/loadbalancer/all")
        super().at_rest()

    def test_by_host(self):
        """Which rule (interface 6): the port of a host does not matter."""
        port = next(self._ports)
        self.rules(port, {"host": "a.test"}, {"host": "b.test"}, {})
        for host, limit in (("a.test", 1), ("b.test:8080", 2), ("c.test", 3)):
            with self.subTest(host):
                request = chat(hold=1, headers={"Host": host})
                self.assertEqual(limit, self.refused_with(port, request))

    def test_by_model(self):
        """Which rule: of the body, or of X-Model, which goes first."""
        port = next(self._ports)
        self.rules(port, {"model_name": "small"}, {"model_name": "large"}, {})
        for model, headers, limit in (
                ("small", {}, 1), ("small", {"X-Model": "large"}, 2),
                ("other", {}, 3)):
            with self.subTest((model, headers)):
                request = chat(hold=1, model=model, headers=headers)
                self.assertEqual(limit, self.refused_with(port, request))

    def test_by_path(self):
        """Which rule: exactly one path before a prefix."""
        port = next(self._ports)
        self.rules(port, {"path_prefix": "/v1/chat/completions",
                          "path_match_mode": "exact"},
                   {"path_prefix": "/v1", "path_match_mode": "prefix"}, {})
        for path, limit in (("/v1/chat/completions", 1), ("/v1/messages", 2),
                            ("/generate", 3)):
            with self.subTest(path):
                request = chat(hold=1, path=path)
                self.assertEqual(limit, self.refused_with(port, request))


class Observe(StackCase):
    SERVICES = 4

    def burst_of_twelve(self, **arguments):
        pool = self.pool(fc_mode="observe", fc_max_outstanding=8,
                         fc_ep_max_inflight=5, **arguments)
        self.conns = [self.connect(pool) for _ in range(12)]
        for i, conn in enumerate(self.conns):
            conn.send(chat(nonce=f"o{i}", hold=1))
        self.until_received(12)
        pool.until(inflight=12)
        return pool

    def test_admits_all_and_counts_what_it_would_have_shed(self):
        """39, 40, 42, 43, 48: 12 on a ceiling of 8 and two engines of 5."""
        pool = self.burst_of_twelve()
        self.assertEqual(1, pool.get("mode"))
        self.assertEqual(
            [12, 6, 0, 0], pool.decisions(
                "admitted", "observe_would_shed", "observe_would_queue",
                "capacity_shed"))
        self.assertEqual(8, pool.get("limit", role="service"))
        self.stack.release_all()
        self.assertEqual([200] * 12, [c.receive().status for c in self.conns])

    def test_with_a_depth_it_counts_what_it_would_have_queued(self):
        """41: and parks nobody."""
        pool = self.burst_of_twelve(fc_max_queue_depth=4,
                                    fc_max_queue_wait_ms=1000)
        self.assertEqual([0, 6, 0], pool.decisions(
            "observe_would_shed", "observe_would_queue", "queued"))
        self.assertEqual(0, pool.queued())

    def test_enforce_by_replace_binds_the_next_newcomer(self):
        """49: those over the ceiling finish."""
        pool = self.burst_of_twelve()
        self.replace(pool, fc_mode="enforce")
        self.assertEqual(2, pool.get("mode"))
        self.assert_refused(self.ask(pool), 429, "admission_capacity")
        self.assertEqual(12, pool.inflight())
        self.stack.release_all()
        self.assertEqual([200] * 12, [c.receive().status for c in self.conns])


class Environment(StackCase):
    SERVICES = 2
    OPTIONS = {"agent_env": {"LLB_FC_MODE": "Enforce",
                             "LLB_FC_MAX_OUTSTANDING": "2"}}

    def test_a_silent_rule_runs_on_the_environment(self):
        """31, 34, 46, 67: mode and ceiling are the process's."""
        pool = self.pool(fc_mode="inherit", fc_max_outstanding=0)
        source = self.stack.effective(pool.port)["source"]
        self.assertEqual(["env", "env"],
                         [source["mode"], source["max_outstanding"]])
        self.hold(pool, 2)
        self.assert_counts(self.ask(pool), 2, 0, 2)

    def test_a_rule_may_switch_off_under_an_enforcing_environment(self):
        """35: all of six reach an engine."""
        pool = self.pool(fc_mode="off")
        outcomes = burst(pool.port, [chat(nonce=f"n{i}", delay_ms=50)
                                     for i in range(6)])
        self.assertEqual({200: 6}, count(outcomes))
        self.assertEqual(6, self.received())
        self.assertEqual(0, pool.get("decisions_total"))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Maintenance as the API tells of it, with no HAProxy attached."""

import unittest

from agent import ENTRY, MAINTENANCE, RULES, AgentCase, rule
from settings import FIRST
from stack import until


class Maintenance(AgentCase):

    def put(self, **body):
        return self.agent.call("PUT", MAINTENANCE, body).must()

    def get(self):
        return self.agent.get(MAINTENANCE).must()

    def test_entered(self):
        """Row 308: the answer is what GET then says."""
        self.assertEqual("active", self.get()["state"])
        answer = self.put(enabled=True)
        self.assertEqual("maintenance", answer["state"])
        self.assertTrue(answer["refusing_new_config"])
        self.assertTrue(answer["cancellable"])
        self.assertRegex(answer["operation_id"], r"^maint-\d+-\d+$")
        self.assertRegex(answer["entered_at"],
                         r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(answer.keys(), self.get().keys())
        self.assertEqual("maintenance", self.get()["state"])

    def test_enabled_is_required(self):
        """Row 309."""
        for body in ({}, {"enabled": None}, {"drain_timeout_seconds": 5}):
            with self.subTest(body):
                answer = self.agent.call("PUT", MAINTENANCE, body)
                self.assertEqual((400, 400),
                                 (answer.status, answer.json["code"]))
        self.assertEqual("active", self.get()["state"])

    def test_left(self):
        """Row 319: the answer names the episode that it ends."""
        entered = self.put(enabled=True)
        left = self.put(enabled=False)
        self.assertEqual(("active", False, False),
                         (left["state"], left["refusing_new_config"],
                          left["refusing_new_inference"]))
        self.assertEqual(entered["operation_id"], left["operation_id"])
        self.assertNotIn("operation_id", self.put(enabled=False))
        self.assertNotEqual(entered["operation_id"],
                            self.put(enabled=True)["operation_id"])

    def test_without_a_data_path_it_claims_no_drain(self):
        """Row 320: no HAProxy is attached."""
        self.assertFalse(self.put(enabled=True)["refusing_new_inference"])
        self.assertFalse(self.get()["refusing_new_inference"])

    def test_entering_twice_is_entering_once(self):
        """Row 321."""
        first = self.put(enabled=True, drain_timeout_seconds=60)
        again = self.put(enabled=True, drain_timeout_seconds=5)
        for member in ("operation_id", "entered_at", "drain_timeout_seconds"):
            self.assertEqual(first[member], again[member])

    def test_rules_are_frozen(self):
        """Row 322: writes are, reads and leaving are not."""
        self.accept(rule(**FIRST))
        before = self.agent.rules()
        self.put(enabled=True)
        for method, path, body in (
                ("POST", RULES, rule(fc_mode="off")), ("DELETE", ENTRY, None),
                ("DELETE", RULES + "/all", None),
                ("DELETE", RULES + "/name/pool", None)):
            with self.subTest((method, path)):
                answer = self.agent.call(method, path, body)
                self.assertEqual((503, 503, "Maintenance mode"),
                                 (answer.status, answer.json["code"],
                                  answer.json["message"]))
                self.assertEqual("5", answer.headers["Retry-After"])
        self.assertEqual(before, self.agent.rules())
        self.put(enabled=False)
        self.accept(rule(fc_mode="off"))

    def test_window_passes_and_nothing_else(self):
        """Rows 323 and 324: it is kept, said to be over, and that is all."""
        entered = self.put(enabled=True, drain_timeout_seconds=1)
        self.assertEqual((1, False), (entered["drain_timeout_seconds"],
                                      entered["drain_deadline_exceeded"]))
        until(lambda: self.get()["drain_deadline_exceeded"], "a second passed")
        status = self.get()
        self.assertEqual(("maintenance", 1, entered["operation_id"]),
                         (status["state"], status["drain_timeout_seconds"],
                          status["operation_id"]))
        self.assertGreaterEqual(status["elapsed_seconds"], 1)
        self.assertEqual(503, self.agent.post(rule()).status)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where a value comes from: the rule, the environment or the default."""

import unittest

from agent import RULES, AgentCase, keyed, rule, running
from settings import (ALL_DECLARED, ALL_IN_ENVIRONMENT, FIRST, NAMES, NUMBERS,
                      OWN, SETTINGS, WORDS)


class Defaults(AgentCase):
    """An environment that says nothing."""

    def test_default_where_nothing_is_said(self):
        """Rows 33 and 65."""
        self.accept(rule())
        for name, *_, default in SETTINGS:
            self.assertEqual((default, "default"), self.agent.in_force(name))

    def test_rule_over_default(self):
        """Row 65: and nothing else is the rule's."""
        for name, member, _, value, _, _ in SETTINGS:
            with self.subTest(member):
                said = {member: value}
                if name == "queue_depth":
                    said["fc_max_queue_wait_ms"] = 5000
                self.accept_alone(rule(**said))
                self.assertEqual((value, "rule"), self.agent.in_force(name))
                source = self.agent.effective()["source"]
                self.assertEqual(len(said),
                                 list(source.values()).count("rule"))

    def test_source_has_thirteen_members(self):
        """Row 66: those and our own, each with one of three words."""
        self.accept(rule(**FIRST))
        source = self.agent.effective()["source"]
        self.assertEqual(13, len(NAMES))
        self.assertEqual(NAMES, source.keys() - OWN)
        self.assertLessEqual(set(source.values()), {"rule", "env", "default"})

    def test_declared_is_read_back(self):
        """Row 69."""
        self.accept(rule(**ALL_DECLARED))
        arguments = self.agent.arguments()
        self.assertEqual(ALL_DECLARED,
                         {name: value for name, value in arguments.items()
                          if name.startswith("fc_") and name != "fc_effective"})

    def test_undeclared_is_not_read_back(self):
        """Row 70: omitted, 0 and inherit alike."""
        for said in ({}, {member: 0 for _, member, *_ in NUMBERS},
                     {member: "inherit" for _, member, *_ in WORDS}):
            with self.subTest(said):
                self.accept_alone(rule(**said))
                self.assertEqual(["fc_effective"],
                                 [name for name in self.agent.arguments()
                                  if name.startswith("fc_")])


class FromEnvironment(AgentCase):
    """An environment that says all there is to say."""
    ENVIRONMENT = ALL_IN_ENVIRONMENT

    def test_environment_over_default(self):
        """Row 65."""
        self.accept(rule())
        for name, *_, value, _ in SETTINGS:
            self.assertEqual((value, "env"), self.agent.in_force(name))

    def test_rule_over_environment(self):
        """Row 65: one by one; the rest stays the environment's."""
        for name, member, _, value, _, _ in SETTINGS:
            with self.subTest(member):
                said = {member: value}
                if name == "queue_depth":
                    said["fc_max_queue_wait_ms"] = 1500
                self.accept_alone(rule(**said))
                self.assertEqual((value, "rule"), self.agent.in_force(name))
                source = self.agent.effective()["source"]
                self.assertEqual(len(NAMES) - len(said),
                                 list(source.values()).count("env"))

    def test_zero_and_inherit_declare_nothing(self):
        """Rows 31, 32, 67 and 68: so a rule cannot ask for no ceiling."""
        for said in ({member: 0 for _, member, *_ in NUMBERS},
                     {member: "inherit" for _, member, *_ in WORDS}):
            with self.subTest(said):
                self.accept_alone(rule(**said))
                for name, *_, value, _ in SETTINGS:
                    self.assertEqual((value, "env"),
                                     self.agent.in_force(name))
                self.assertEqual(
                    9, self.agent.effective()["effective_max_outstanding"])

    def test_off_is_a_declaration(self):
        """Row 79: under an environment that says on."""
        self.accept(rule(fc_adaptive="off", fc_expose_headers="off"))
        for name in ("adaptive", "expose_headers"):
            self.assertEqual(("off", "rule"), self.agent.in_force(name))

    def test_reset_is_to_the_environment(self):
        """Rows 93 and 94, where there is one."""
        self.accept(rule(**ALL_DECLARED))
        self.accept(rule(
            **{member: 0 for _, member, *_ in NUMBERS},
            **{member: "inherit" for _, member, *_ in WORDS}))
        for name, *_, value, _ in SETTINGS:
            self.assertEqual((value, "env"), self.agent.in_force(name))

    def test_depth_reset_leaves_the_wait(self):
        """Row 115: the depth is the environment's again."""
        self.accept(rule(fc_max_queue_depth=4, fc_max_queue_wait_ms=1000))
        self.accept(rule(fc_max_queue_depth=0))
        self.assertEqual((20, "env"), self.agent.in_force("queue_depth"))
        self.assertEqual((1000, "rule"), self.agent.in_force("queue_wait_ms"))

    def test_exposure_by_the_environment_meets_any_map(self):
        """Row 132: it is the process's wish, not this rule's."""
        self.accept(keyed(sockMapMode="both"))
        self.assertEqual(("on", "env"), self.agent.in_force("expose_headers"))


# One agent for each: row, environment, and what is then in force of a rule
# that declares nothing, and why.
ENVIRONMENTS = (
    *(("Row 34", {"LLB_FC_MODE": said}, {"mode": meant})
      for said, meant in (("Enforce", ("enforce", "env")),
                          ("OBSERVE", ("observe", "env")),
                          ("inherit", ("off", "default")),
                          ("yes", ("off", "default")))),

    # The ceiling of the P/D pair, where the prefill ceiling is not said.
    ("Row 71", {"LLB_PD_MAX_INFLIGHT_PER_EP": "3"},
     {"prefill_max_inflight": (3, "env")}),
    ("Row 72", {"LLB_PD_MAX_INFLIGHT_PER_EP": "3",
                "LLB_FC_PREFILL_MAX_INFLIGHT": "4"},
     {"prefill_max_inflight": (4, "env")}),
    ("Row 72", {"LLB_PD_MAX_INFLIGHT_PER_EP": "3",
                "LLB_FC_PREFILL_MAX_INFLIGHT": "0"},
     {"prefill_max_inflight": (0, "env")}),

    # No plain decimal number from 0 to 100000000 is as if unset.
    *(("Row 73", {variable: text for _, _, variable, *_ in NUMBERS},
       {name: (default, "default") for name, *_, default in NUMBERS})
      for text in ("-1", "+1", " 1", "1 ", "1x", "0x10", "1.5", "1e3", "",
                   "many", "100000001", "18446744073709551617")),
    ("Row 73", {"LLB_FC_MAX_OUTSTANDING": "100000000"},
     {"max_outstanding": (100000000, "env")}),

    # An explicit 0 is said; but no window of trust has no length.
    ("Row 74", {variable: "0" for _, _, variable, *_ in NUMBERS},
     {**{name: (0, "env") for name, *_ in NUMBERS},
      "telemetry_stale_ms": (30000, "default")}),

    ("Row 75", {"LLB_FC_MAX_QUEUE_DEPTH": "65536"},
     {"queue_depth": (65536, "env")}),
    ("Row 75", {"LLB_FC_MAX_QUEUE_DEPTH": "65537"},
     {"queue_depth": (65536, "env")}),
    ("Row 76", {"LLB_FC_MAX_QUEUE_WAIT_MS": "3600000"},
     {"queue_wait_ms": (3600000, "env")}),
    ("Row 76", {"LLB_FC_MAX_QUEUE_WAIT_MS": "3600001"},
     {"queue_wait_ms": (3600000, "env")}),
    ("Row 77", {"LLB_FC_TENANT_MAX_SHARE_PCT": "100"},
     {"tenant_max_share_pct": (100, "env")}),
    ("Row 77", {"LLB_FC_TENANT_MAX_SHARE_PCT": "101"},
     {"tenant_max_share_pct": (0, "default")}),

    # A depth of its own makes up for the window that nobody said.
    ("Row 170", {"LLB_FC_MAX_QUEUE_DEPTH": "4"},
     {"queue_depth": (4, "env"), "queue_wait_ms": (5000, "default")}),
    ("Row 170", {"LLB_FC_MAX_QUEUE_DEPTH": "4",
                 "LLB_FC_MAX_QUEUE_WAIT_MS": "100"},
     {"queue_depth": (4, "env"), "queue_wait_ms": (100, "env")}),

    *(("Row 78", {"LLB_FC_ADAPTIVE": said, "LLB_FC_EXPOSE_HEADERS": said},
       {"adaptive": meant, "expose_headers": meant})
      for said, meant in (("on", ("on", "env")), ("ON", ("on", "env")),
                          ("oFf", ("off", "env")), ("yes", ("off", "default")),
                          ("1", ("off", "default")), ("", ("off", "default")))),
)


class Environments(unittest.TestCase):

    def test_what_is_in_force_under_each(self):
        """Rows 34, 71 to 78 and 170."""
        for row, environment, expected in ENVIRONMENTS:
            with self.subTest(row, environment=environment), \
                    running(**environment) as agent:
                agent.post(rule()).must()
                self.assertEqual(
                    expected, {name: agent.in_force(name) for name in expected})

    def test_wait_of_the_environment_is_not_the_rules(self):
        """Row 113: who declares a depth declares its window."""
        with running(LLB_FC_MAX_QUEUE_WAIT_MS="2000") as agent:
            answer = agent.post(rule(fc_max_queue_depth=4))
            self.assertEqual(400, answer.status)
            self.assertEqual([], agent.rules())

    def test_window_of_a_rule_under_a_depth_of_the_environment(self):
        """Row 171."""
        with running(LLB_FC_MAX_QUEUE_DEPTH="4") as agent:
            agent.post(rule(fc_max_queue_depth=8,
                            fc_max_queue_wait_ms=700)).must()
            self.assertEqual((8, "rule"), agent.in_force("queue_depth"))
            self.assertEqual((700, "rule"), agent.in_force("queue_wait_ms"))
            agent.post(rule(fc_max_queue_depth=0)).must()
            self.assertEqual((4, "env"), agent.in_force("queue_depth"))
            self.assertEqual((700, "rule"), agent.in_force("queue_wait_ms"))

    def test_two_processes_resolve_alike(self):
        """Rows 80 and 146: what the rule says is the same in both, what it
        does not say is each one's own, and neither knows of the other."""
        with running() as one, running(**ALL_IN_ENVIRONMENT) as other:
            one.post(rule(**FIRST)).must()
            self.assertEqual([], other.rules())
            other.post(rule(**FIRST)).must()
            said = [name for name, member, *_ in SETTINGS if member in FIRST]
            for name in said:
                self.assertEqual((one.effective()[name], "rule"),
                                 one.in_force(name))
                self.assertEqual(one.in_force(name), other.in_force(name))
            self.assertEqual((0, "default"), one.in_force("warmup_ms"))
            self.assertEqual((200, "env"), other.in_force("warmup_ms"))

    def test_a_restart_resolves_alike(self):
        """Rows 80 and 81: the rule's values stay, the environment's follow
        the new one."""
        with running() as agent:
            agent.post(rule(fc_max_outstanding=16)).must()
            kept = agent.folder.parent / (agent.folder.name + ".json")
            self.addCleanup(kept.unlink)
            kept.write_text(agent.get(RULES + "/all").text)
        for mode in ("enforce", "observe"):
            with running("--rules", kept, LLB_FC_MODE=mode) as agent:
                self.assertEqual((mode, "env"), agent.in_force("mode"))
                self.assertEqual((16, "rule"),
                                 agent.in_force("max_outstanding"))


if __name__ == "__main__":
    unittest.main()

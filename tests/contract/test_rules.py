#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rule's life over REST: created, read, replaced, deleted."""

import json
import unittest

from agent import (BASE, ENDPOINTS, ENTRY, PORT, RULES, SUCCESS, VIP, AgentCase,
                   disaggregated, keyed, rule)
from settings import ALL_DECLARED, FIRST, NAMES, NUMBERS, OWN, SETTINGS, WORDS


def values(effective):
    """Of the settings, without what is live."""
    return {name: effective[name] for name in NAMES}


# row, the rule, and whether it is an AI service
KINDS = (
    ("Row 1", rule(), True),
    ("Row 2", disaggregated(), True),
    ("Row 3", keyed(), True),
    ("Row 4", rule(sse_mode=None, api_key_auth="jwt"), True),
    ("Row 5", rule(sse_mode=None, api_key_auth="apikey-or-jwt"), True),
    ("Row 6", rule(sse_mode=None, fc_mode="enforce", fc_max_outstanding=1),
     False),
    ("Row 6", rule(sse_mode=False, pd_disagg_mode=False), False),
    ("Row 7", rule(sse_mode=None, api_key_auth="disabled"), False),
    ("Row 7", rule(sse_mode=None, api_key_auth=""), False),
    *(("Row 8", rule(mode=mode), False) for mode in (0, 1, 2, 3, 5)),
)


class Kind(AgentCase):

    def test_which_rules_are_gated(self):
        """Rows 1 to 8: those have fc_effective, and series."""
        for row, body, gated in KINDS:
            with self.subTest(row, body=body):
                self.accept_alone(body)
                self.assertEqual(gated,
                                 "fc_effective" in self.agent.arguments())
                self.assertEqual(gated, f'service="{VIP}:{PORT}"'
                                 in self.agent.get(BASE + "/metrics").text)

    def test_disaggregation_needs_its_parts(self):
        """Rows 2 and 8: mode 4, and an endpoint of either role."""
        self.refuse(disaggregated(mode=1), 400, "pd_disagg_mode")
        for role in (0, 1, 2):
            body = disaggregated()
            for endpoint in body["endpoints"]:
                endpoint["ep_role"] = role
            self.refuse(body, 400, "pd_disagg_mode")


class Read(AgentCase):

    def test_all_is_a_list_of_rules(self):
        """Row 83: empty, and with what was posted."""
        self.assertEqual({"lbAttr": []}, self.agent.get(RULES + "/all").must())
        self.accept(rule(host="one.test", **FIRST))
        self.accept(rule(host="two.test"))
        one, two = self.agent.rules()
        for entry in (one, two):
            self.assertEqual(ENDPOINTS, [
                {name: endpoint[name] for name in ENDPOINTS[0]}
                for endpoint in entry["endpoints"]])
        self.assertEqual(
            {"externalIP": VIP, "port": PORT, "protocol": "tcp", "mode": 4,
             "sse_mode": True, "host": "one.test", **FIRST},
            {name: value for name, value in one["serviceArguments"].items()
             if name != "fc_effective"})
        self.assertEqual("two.test", two["serviceArguments"]["host"])

    def test_members_of_fc_effective(self):
        """Row 86: these, those of our own, and no others."""
        live = {"inflight", "queued", "queue_memory_bound_mib",
                "effective_max_outstanding", "warming_endpoints",
                "tenants_active"}
        states = {"adapt_state", "adapt_reason"}
        self.accept(rule())
        effective = self.agent.effective()
        self.assertEqual(NAMES | live | states | {"source"},
                         effective.keys() - OWN)
        for name in live | {name for name, *_ in NUMBERS}:
            self.assertIs(int, type(effective[name]), name)
        self.assertEqual({name: 0 for name in live},
                         {name: effective[name] for name in live})
        self.assertEqual(("off", "none"), (effective["adapt_state"],
                                           effective["adapt_reason"]))

    def test_fc_effective_is_not_read(self):
        """Row 88: whatever it holds."""
        for made_up in ({"mode": "enforce", "max_outstanding": 1}, 7, "x"):
            with self.subTest(made_up):
                self.accept_alone(rule(fc_effective=made_up,
                                       fc_max_outstanding=16))
                self.assertEqual((16, "rule"),
                                 self.agent.in_force("max_outstanding"))
                self.assertEqual(("off", "default"),
                                 self.agent.in_force("mode"))

    def test_no_ai_service_has_no_fc_effective(self):
        """Row 89: though it declares what it likes."""
        self.accept(rule(sse_mode=None, **FIRST))
        arguments = self.agent.arguments()
        self.assertNotIn("fc_effective", arguments)
        self.assertEqual(16, arguments["fc_max_outstanding"])

    def test_one_rule(self):
        """Row 90."""
        self.assertEqual(404, self.agent.get(ENTRY).status)
        self.accept(rule(**FIRST))
        self.assertEqual(self.agent.rules(), [self.agent.get(ENTRY).must()])
        for path in (ENTRY.replace(VIP, "192.0.2.11"),
                     ENTRY.replace(str(PORT), "8081"),
                     ENTRY.replace("/tcp", "/udp")):
            self.assertEqual(404, self.agent.get(path).status)

    def test_version(self):
        """Row 144."""
        version = self.agent.get(BASE + "/version").must()
        self.assertLessEqual({"version", "buildInfo", "product"},
                             version.keys())


class Replace(AgentCase):

    def test_omitted_zero_and_inherit(self):
        """Rows 92, 93 and 94."""
        self.accept(rule(**ALL_DECLARED))
        declared = values(self.agent.effective())
        self.accept(rule())
        self.assertEqual(declared, values(self.agent.effective()))
        self.accept(rule(fc_max_outstanding=0, fc_warmup_ms=0))
        self.accept(rule(fc_mode="inherit", fc_adaptive="inherit",
                         fc_expose_headers="inherit"))
        for name, *_, default in SETTINGS:
            reset = name in ("max_outstanding", "warmup_ms", "mode",
                             "adaptive", "expose_headers")
            self.assertEqual((default, "default") if reset
                             else (declared[name], "rule"),
                             self.agent.in_force(name))

    def test_null_is_refused(self):
        """Row 95: for each setting."""
        self.accept(rule(**FIRST))
        for _, member, *_ in SETTINGS:
            with self.subTest(member):
                body = rule()
                body["serviceArguments"][member] = None
                self.refuse(body, 400, f"{member} must not be null")

    def test_patch(self):
        """Rows 96 and 97."""
        change = {"serviceArguments": {"fc_max_outstanding": 9}}
        answer = self.agent.call("PATCH", ENTRY, change)
        self.assertEqual(404, answer.status)
        self.accept(rule(**FIRST))
        before = self.agent.rules()
        answer = self.agent.call("PATCH", ENTRY, change)
        self.assertEqual((400, 400), (answer.status, answer.json["code"]))
        self.assertIn("fullproxy", answer.json["result"])
        self.assertEqual(before, self.agent.rules())

    def test_depth_needs_a_wait(self):
        """Rows 110 and 114: a wait needs no depth."""
        self.refuse(rule(fc_max_queue_depth=4), 400, "fc_max_queue_wait_ms "
                    "must be greater than 0 when fc_max_queue_depth is set")
        self.assertEqual([], self.agent.rules())
        self.accept(rule(fc_max_queue_wait_ms=1000))

    def test_pair_is_judged_as_it_is_left_behind(self):
        """Rows 111 and 112."""
        self.accept(rule(fc_max_queue_depth=4, fc_max_queue_wait_ms=1000))
        self.accept(rule(fc_max_queue_depth=8))
        self.assertEqual((8, "rule"), self.agent.in_force("queue_depth"))
        self.assertEqual((1000, "rule"), self.agent.in_force("queue_wait_ms"))
        answer = self.refuse(rule(fc_max_queue_wait_ms=0), 400,
                             "fc_max_queue_wait_ms")
        self.assertEqual(400, answer.json["code"])

    def test_depth_reset_keeps_the_wait(self):
        """Row 115."""
        self.accept(rule(fc_max_queue_depth=4, fc_max_queue_wait_ms=1000))
        self.accept(rule(fc_max_queue_depth=0))
        self.assertEqual((0, "default"), self.agent.in_force("queue_depth"))
        self.assertEqual((1000, "rule"), self.agent.in_force("queue_wait_ms"))

    def test_the_same_again(self):
        """Row 145."""
        self.accept(rule(**FIRST))
        before = self.agent.rules()
        self.accept(rule(**FIRST))
        self.assertEqual(before, self.agent.rules())

    def test_another_kind_of_service_is_a_conflict(self):
        """Contract 1.1: security, egress and mode 4 stay."""
        self.accept(rule(security=1, egress=True))
        for body, text in (
                (rule(egress=True), "security"),
                (rule(security=1), "egress"),
                (rule(security=1, egress=True, mode=1), "mode 4")):
            with self.subTest(text):
                answer = self.refuse(body, 409, text)
                self.assertEqual("Resource conflict: Resource already exists "
                                 "OR dependency not found",
                                 answer.json["message"])


# ---- what a body may say


# row, member, and the most that it may be
BOUNDS = (
    ("Row 116", "fc_max_queue_depth", 65536),
    ("Row 117", "fc_max_queue_wait_ms", 3600000),
    ("Row 118", "fc_telemetry_stale_ms", 3600000),
    ("Row 119", "fc_ttft_target_ms", 3600000),
    ("Row 120", "fc_warmup_ms", 3600000),
    ("Row 121", "fc_tenant_max_share_pct", 100),
    ("Row 59", "fc_max_outstanding", 100000),
    ("Row 59", "fc_ep_max_inflight", 100000),
    ("Row 59", "fc_prefill_max_inflight", 100000),
    ("Row 59", "fc_decode_max_inflight", 100000),
)

# row, member, and the words that it may be
ENUMS = (
    ("Row 122", "fc_mode", ("off", "observe", "enforce", "inherit")),
    ("Row 123", "fc_adaptive", ("on", "off", "inherit")),
    ("Row 124", "fc_expose_headers", ("on", "off", "inherit")),
)


class Check(AgentCase):

    def test_bounds(self):
        """Rows 58 to 60 and 116 to 121: the most is taken, one more and less
        than 0 are not."""
        self.assertEqual({member for _, member, *_ in NUMBERS},
                         {member for _, member, _ in BOUNDS})
        for row, member, most in BOUNDS:
            with self.subTest(row, member=member):
                self.accept_alone(rule(fc_max_queue_wait_ms=5000))
                self.accept(rule(**{member: most}))
                self.assertEqual(most, self.agent.arguments()[member])
                for value in (most + 1, -1):
                    self.refuse(rule(**{member: value}), 400,
                                f"{member} must be within 0..{most}")

    def test_words(self):
        """Rows 122, 123 and 124."""
        self.accept(rule(fc_mode="enforce", fc_adaptive="on",
                         fc_expose_headers="on"))
        for row, member, words in ENUMS:
            with self.subTest(row):
                for word in ("yes", "", words[0].upper()):
                    answer = self.refuse(
                        rule(**{member: word}), 422,
                        f"{member} in body should be one of [")
                    self.assertEqual(606, answer.json["code"])
                for word in words:
                    self.accept(rule(**{member: word}))

    def test_types(self):
        """Row 125: of a setting, and of what else a rule is made of."""
        self.accept(rule(**FIRST))
        for _, member, *_ in NUMBERS:
            for value in ("8", 8.5, True, [8], {}):
                with self.subTest(member, value=value):
                    self.refuse(rule(**{member: value}), 422, member)
        for _, member, *_ in WORDS:
            for value in (1, True, ["on"], {}):
                with self.subTest(member, value=value):
                    self.refuse(rule(**{member: value}), 422, member)
        for member, value in (("port", "8080"), ("externalIP", 1),
                              ("sse_mode", "true")):
            with self.subTest(member):
                self.refuse(rule(**{member: value}), 422, member)

    def test_no_json(self):
        """Row 126."""
        for text in ("", "{", "x", json.dumps(rule())[:-1]):
            with self.subTest(text):
                answer = self.agent.post(text)
                self.assertEqual((400, 400),
                                 (answer.status, answer.json["code"]))
        self.assertEqual([], self.agent.rules())

    def test_no_service_arguments(self):
        """Row 127."""
        for body in ({}, {"endpoints": ENDPOINTS}, {"serviceArguments": None}):
            with self.subTest(body):
                self.refuse(body, 400, "serviceArguments is required")

    def test_exposure_needs_relayed_answers(self):
        """Rows 128, 129 and 130."""
        for mode in ("both", "response"):
            with self.subTest(mode):
                self.refuse(keyed(fc_expose_headers="on", sockMapMode=mode),
                            400, "sockMapMode")
                self.assertEqual([], self.agent.rules())
        for mode in ("request", "off"):
            with self.subTest(mode):
                self.accept_alone(
                    keyed(fc_expose_headers="on", sockMapMode=mode))

    def test_exposure_is_judged_as_it_is_left_behind(self):
        """Row 131."""
        for mode in ("both", "response"):
            with self.subTest(mode):
                self.accept_alone(keyed(sockMapMode=mode))
                self.refuse(keyed(sockMapMode=mode, fc_expose_headers="on"),
                            400, "sockMapMode")
                self.accept_alone(keyed(fc_expose_headers="on"))
                self.refuse(keyed(sockMapMode=mode), 400, "sockMapMode")

    def test_no_map_where_answers_are_read(self):
        """Row 133."""
        for kind in (rule, disaggregated):
            self.accept_alone(kind(sockMapMode="off"))
            for mode in ("both", "request", "response"):
                with self.subTest(kind.__name__, mode=mode):
                    self.refuse(kind(sockMapMode=mode), 400, "sockMapMode")

    def test_shape_of_an_error(self):
        """Row 141: the code is the status, the message is of a list, and the
        result tells."""
        self.accept(rule())
        for status, message, answer in (
                (400, "Malformed arguments for API call",
                 self.agent.post(rule(fc_max_outstanding=-1))),
                (404, "Resource not found",
                 self.agent.delete(ENTRY + "?model_name=other")),
                (409, "Resource conflict: Resource already exists OR "
                 "dependency not found", self.agent.post(rule(security=1)))):
            with self.subTest(status):
                self.assertEqual(status, answer.status)
                self.assertEqual("application/json",
                                 answer.headers["Content-Type"])
                body = answer.json
                self.assertEqual({"code", "message", "result"}, body.keys())
                self.assertEqual((status, message),
                                 (body["code"], body["message"]))
                self.assertIsInstance(body["result"], str)


# ---- delete


KEY = {"host": "llm.test", "path_prefix": "/v1", "path_match_mode": "prefix",
       "model_name": "a/b"}
QUERY = {"path_prefix": "%2Fv1", "path_match_mode": "prefix",
         "model_name": "a%2Fb"}


def by_key(vip=VIP, port=PORT, protocol="tcp", host="llm.test", **query):
    """The path that deletes by this key; host None takes the path without."""
    path = f"/externalipaddress/{vip}/port/{port}/protocol/{protocol}"
    if host is not None:
        path = f"/hosturl/{host}{path}"
    pairs = "&".join(f"{name}={value}" for name, value in query.items())
    return RULES + path + ("?" + pairs if pairs else "")


class Delete(AgentCase):

    def assert_gone(self, path):
        answer = self.agent.delete(path)
        self.assertEqual((200, SUCCESS), (answer.status, answer.json))
        self.assertEqual([], self.agent.rules())

    def test_by_the_full_key(self):
        """Row 134: with all parts of a key, and with the least."""
        self.accept(rule(**KEY))
        self.assert_gone(by_key(**QUERY))
        self.accept(rule())
        self.assert_gone(ENTRY)
        self.assertEqual(404, self.agent.delete(ENTRY).status)

    def test_part_of_the_key_missing(self):
        """Row 135: each part in turn, left out or another."""
        self.accept(rule(**KEY))
        before = self.agent.rules()
        without = {name: {part: value for part, value in QUERY.items()
                          if part != name} for name in QUERY}
        for path in (by_key(vip="192.0.2.11", **QUERY),
                     by_key(port=8081, **QUERY),
                     by_key(protocol="udp", **QUERY),
                     by_key(host=None, **QUERY), by_key(host="any", **QUERY),
                     by_key(host="other.test", **QUERY),
                     by_key(**without["path_prefix"]),
                     by_key(**without["path_match_mode"]),
                     by_key(**without["model_name"]),
                     by_key(**{**QUERY, "path_match_mode": "exact"}),
                     by_key(), ENTRY):
            with self.subTest(path):
                answer = self.agent.delete(path)
                self.assertEqual((404, "no-rule error"),
                                 (answer.status, answer.json["result"]))
                self.assertEqual(before, self.agent.rules())

    def test_by_name(self):
        """Row 136: all of that name, and no other."""
        for host, name in (("a", "pool"), ("b", "pool"), ("c", "other"),
                           ("d", None)):
            self.accept(rule(host=host, name=name))
        answer = self.agent.delete(RULES + "/name/pool")
        self.assertEqual((200, SUCCESS), (answer.status, answer.json))
        self.assertEqual(["c", "d"], [entry["serviceArguments"]["host"]
                                      for entry in self.agent.rules()])

    def test_all(self):
        """Row 137."""
        for host in "abc":
            self.accept(rule(host=host))
        self.assert_gone(RULES + "/all")

    def test_writes_are_answered_200(self):
        """Row 143: none with 201 or 204."""
        for method, path, body in (
                ("POST", RULES, rule()), ("POST", RULES, rule(**FIRST)),
                ("POST", RULES, rule(inactiveTimeOut=9)),
                ("DELETE", ENTRY, None), ("POST", RULES, rule()),
                ("DELETE", RULES + "/all", None)):
            with self.subTest((method, path)):
                answer = self.agent.call(method, path, body)
                self.assertEqual((200, SUCCESS), (answer.status, answer.json))


if __name__ == "__main__":
    unittest.main()

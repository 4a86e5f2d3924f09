#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the specification prints, and what the usual command line sends."""

import json
import pathlib
import subprocess
import unittest

from agent import ENDPOINTS, PORT, RULES, SUCCESS, VIP, AgentCase
from settings import ALL_DECLARED

EXAMPLES = pathlib.Path(__file__).resolve().parent / "examples"

# What the examples of the specification say where the API is.
PRINTED = "192.0.2.254:11111"


class Examples(AgentCase):
    """What the specification prints, run as it stands but for the address."""

    def run_example(self, name):
        text = (EXAMPLES / (name + ".sh")).read_text()
        self.assertEqual(1, text.count(PRINTED))
        done = subprocess.run(
            ["sh", "-c", text.replace(PRINTED, self.agent.address)],
            capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(done.stdout)

    def test_create_and_read_back(self):
        """Rows 82, 84, 85 and 179."""
        self.assertEqual(SUCCESS, self.run_example("create"))
        effective = self.run_example("read_back")
        self.assertIsInstance(effective, dict)
        self.assertEqual(self.agent.effective(), effective)
        expected = {"mode": "enforce", "max_outstanding": 16,
                    "ep_max_inflight": 8, "queue_depth": 32,
                    "queue_wait_ms": 5000}
        for name, value in expected.items():
            self.assertEqual((value, "rule"),
                             (effective[name], effective["source"][name]))
        self.assertEqual(32, effective["queue_memory_bound_mib"])
        self.assertEqual(30000, effective["telemetry_stale_ms"])

    def test_replace_raises_one_ceiling(self):
        """Row 92: an omitted field keeps its stored value."""
        self.run_example("create")
        before = self.run_example("read_back")
        self.assertEqual(SUCCESS, self.run_example("replace"))
        after = self.run_example("read_back")
        self.assertEqual({**before, "max_outstanding": 24,
                          "effective_max_outstanding": 24}, after)

    def test_the_other_three(self):
        """Rows 82, 208, 218, 237 and 263: each as it stands, on its own."""
        for name, expected in (
                ("adaptive", {"adaptive": "on", "max_outstanding": 32,
                              "queue_depth": 64, "ttft_target_ms": 2000,
                              "telemetry_stale_ms": 30000}),
                ("share", {"tenant_max_share_pct": 25, "warmup_ms": 20000}),
                ("expose", {"expose_headers": "on", "max_outstanding": 16})):
            with self.subTest(name):
                self.clear()
                self.assertEqual(SUCCESS, self.run_example(name))
                for member, value in expected.items():
                    self.assertEqual((value, "rule"),
                                     self.agent.in_force(member))


class CommandLineClient(AgentCase):
    """Bodies and paths of the shape that loxicmd sends (contract 10)."""
    HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer x"}

    def body(self, **arguments):
        return {
            "serviceArguments": {
                "externalIP": VIP, "privateIP": "", "port": PORT,
                "protocol": "tcp", "sel": 0, "mode": 4, "BGP": False,
                "Monitor": False, "inactiveTimeOut": 0, "block": 0,
                "managed": False, "probetype": "", "probeport": 0,
                "probereq": "", "proberesp": "", "probeTimeout": 0,
                "probeRetries": 0, "name": "", "snat": False, "host": "",
                "proxyprotocolv2": False, "egress": False,
                "sse_mode": True, **arguments},
            "secondaryIPs": None, "allowedSources": None,
            "endpoints": [{**endpoint, "state": "", "counter": ""}
                          for endpoint in ENDPOINTS]}

    def send(self, method, path, body=None):
        answer = self.agent.call(method, path, body, **self.HEADERS)
        self.assertEqual((200, SUCCESS), (answer.status, answer.json))

    def test_create(self):
        """Row 142: with each flag, a given 0 among them."""
        self.send("POST", RULES, self.body(
            **{**ALL_DECLARED, "fc_max_queue_depth": 0}))
        entry, = self.agent.rules()
        self.assertEqual((7, "rule"), self.agent.in_force("max_outstanding"))
        self.assertEqual((0, "default"), self.agent.in_force("queue_depth"))
        self.assertFalse(entry.get("secondaryIPs"))
        self.assertFalse(entry.get("allowedSources"))

    def test_capitals(self):
        """Row 142: a member is the same in any case."""
        body = self.body(BGP=True, Monitor=True, name="pool")
        body["serviceArguments"]["SSE_Mode"] = True
        del body["serviceArguments"]["sse_mode"]
        self.send("POST", RULES, body)
        arguments = self.agent.arguments()
        self.assertEqual((True, True, True), tuple(
            arguments[name] for name in ("bgp", "monitor", "sse_mode")))
        self.assertFalse({"BGP", "Monitor", "SSE_Mode"} & arguments.keys())

    def test_prefill_and_decode(self):
        """Row 142: with roles and their ports."""
        body = self.body(sse_mode=False, pd_disagg_mode=True)
        for role, endpoint in enumerate(body["endpoints"], 1):
            endpoint.update(ep_role=role, nixl_port=5600 + role)
        self.send("POST", RULES, body)
        entry, = self.agent.rules()
        self.assertEqual([(1, 5601), (2, 5602)], [
            (endpoint["ep_role"], endpoint["nixl_port"])
            for endpoint in entry["endpoints"]])
        self.assertIn("fc_effective", entry["serviceArguments"])

    def test_get(self):
        """Row 142: a GET with the headers of a write."""
        answer = self.agent.call("GET", RULES + "/all", **self.HEADERS)
        self.assertEqual({"lbAttr": []}, answer.must())

    def test_delete(self):
        """Row 142: any for no host, and portmax in every path."""
        query = "?bgp=false&block=0"
        key = (f"/externalipaddress/{VIP}/port/{PORT}/portmax/0/protocol/tcp"
               + query)
        for arguments, path in (
                ({}, "/hosturl/any" + key),
                ({"host": "llm.test"}, "/hosturl/llm.test" + key),
                ({"path_prefix": "/v1", "path_match_mode": "prefix",
                  "model_name": "m"},
                 "/hosturl/any" + key + "&path_prefix=%2Fv1"
                 "&path_match_mode=prefix&model_name=m"),
                ({"name": "pool"}, "/name/pool")):
            with self.subTest(path):
                self.send("POST", RULES, self.body(**arguments))
                self.send("DELETE", RULES + path)
                self.assertEqual([], self.agent.rules())


if __name__ == "__main__":
    unittest.main()

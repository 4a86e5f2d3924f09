# SPDX-License-Identifier: Apache-2.0
"""The real agent alone, asked over HTTP.

    agent = Agent(LLB_FC_MODE="enforce")
    agent.post(rule(fc_max_outstanding=8)).must()
    assert agent.effective()["max_outstanding"] == 8
    agent.stop()
"""

import contextlib
import copy
import dataclasses
import http.client
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "haproxy"))

from stack import AGENT, Process  # noqa: E402

BASE = "/netlox/v1"
RULES = BASE + "/config/loadbalancer"
MAINTENANCE = BASE + "/maintenance"
HOSTS = BASE + "/config/endpointhoststate"
VIP, PORT = "192.0.2.10", 8080
ENTRY = f"{RULES}/externalipaddress/{VIP}/port/{PORT}/protocol/tcp"
SUCCESS = {"result": "Success"}
ENDPOINTS = [{"endpointIP": "198.51.100.11", "targetPort": 8000, "weight": 1},
             {"endpointIP": "198.51.100.12", "targetPort": 8000, "weight": 1}]


def rule(**arguments):
    """The body of an AI service; None leaves a service argument out."""
    all_of = {"externalIP": VIP, "port": PORT, "protocol": "tcp", "mode": 4,
              "sse_mode": True, **arguments}
    return {"serviceArguments": {name: value for name, value in all_of.items()
                                 if value is not None},
            "endpoints": copy.deepcopy(ENDPOINTS)}


def keyed(**arguments):
    """The same by an enforced credential alone."""
    return rule(sse_mode=None, api_key_auth="required", **arguments)


def disaggregated(**arguments):
    body = rule(sse_mode=None, pd_disagg_mode=True, **arguments)
    for role, endpoint in enumerate(body["endpoints"], 1):
        endpoint["ep_role"] = role
    return body


@dataclasses.dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self):
        return json.loads(self.text)

    def must(self):
        assert self.status == 200, self.text
        return self.json


class Agent:
    """One process on free ports. Its environment has these variables and no
    other that the gate reads."""

    def __init__(self, *options, **environment):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="contract-"))
        self.process = Process(
            "agent", [AGENT, "--spop-listen", "127.0.0.1:0", "--log-listen",
                      "127.0.0.1:0", "--api-listen", "127.0.0.1:0", *options],
            self.folder, environment)
        try:
            self.address = self.process.expect(r"listening api=(\S+)")[1]
            self.process.expect(r"\bready$")
        except Exception:
            self.process.kill()
            raise

    def stop(self):
        status = self.process.stop()
        shutil.rmtree(self.folder)
        assert status == 0, self.process.lines

    def call(self, method, path, body=None, **headers):
        """The body goes as JSON, or as it is where it is a string."""
        text = body if isinstance(body, (str, type(None))) else json.dumps(body)
        conn = http.client.HTTPConnection(self.address, timeout=10)
        try:
            conn.request(method, path, text, headers)
            response = conn.getresponse()
            return Answer(response.status, response.headers,
                          response.read().decode())
        finally:
            conn.close()

    def get(self, path):
        return self.call("GET", path)

    def delete(self, path):
        return self.call("DELETE", path)

    def post(self, body):
        return self.call("POST", RULES, body)

    def rules(self):
        return self.get(RULES + "/all").must()["lbAttr"]

    def arguments(self):
        """Those of the only rule."""
        entry, = self.rules()
        return entry["serviceArguments"]

    def effective(self):
        return self.arguments()["fc_effective"]

    def in_force(self, name):
        """A setting of the only rule, and where it is from."""
        effective = self.effective()
        return effective[name], effective["source"][name]


@contextlib.contextmanager
def running(*options, **environment):
    """An agent for a while."""
    agent = Agent(*options, **environment)
    try:
        yield agent
    finally:
        agent.stop()


class AgentCase(unittest.TestCase):
    """Tests that share an agent; each begins and ends without a rule."""
    ENVIRONMENT = {}

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(**cls.ENVIRONMENT)
        cls.addClassCleanup(cls.agent.stop)

    def setUp(self):
        self.addCleanup(self.clear)

    def clear(self):
        self.agent.call("PUT", MAINTENANCE, {"enabled": False}).must()
        self.agent.delete(RULES + "/all").must()

    def accept(self, body):
        answer = self.agent.post(body)
        self.assertEqual((200, SUCCESS), (answer.status, answer.json))

    def accept_alone(self, body):
        """As the only rule there is."""
        self.agent.delete(RULES + "/all").must()
        self.accept(body)

    def refuse(self, body, status, text):
        """The text stands where a reader looks for it; nothing changes."""
        before = self.agent.rules()
        answer = self.agent.post(body)
        self.assertEqual(status, answer.status, answer.text)
        said = answer.json["message" if status == 422 else "result"]
        self.assertIn(text, said)
        self.assertEqual(before, self.agent.rules())
        return answer

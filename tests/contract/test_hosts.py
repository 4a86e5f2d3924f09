# SPDX-License-Identifier: Apache-2.0
"""Endpoints that are set by hand (contract 1, interface 6.17), and what of
warm-up shows without traffic."""

import unittest

from agent import ENDPOINTS, HOSTS, MAINTENANCE, AgentCase, rule

FIRST = ENDPOINTS[0]["endpointIP"]
PORT = ENDPOINTS[0]["targetPort"]
WARM = {"fc_mode": "enforce", "fc_ep_max_inflight": 8, "fc_warmup_ms": 20000}


class Hosts(AgentCase):

    def set(self, **wish):
        return self.agent.call("POST", HOSTS, wish)

    def warming(self):
        return self.agent.effective()["warming_endpoints"]

    def test_a_created_rule_does_not_warm_up(self):
        """Rows 231 and 237."""
        self.agent.post(rule(**WARM)).must()
        self.assertEqual(0, self.warming())
        self.assertEqual((20000, "rule"), self.agent.in_force("warmup_ms"))

    def test_who_comes_back_does(self):
        """Rows 227, 234 and 236."""
        self.agent.post(rule(**WARM)).must()
        self.set(hostName=FIRST, state="red").must()
        self.assertEqual(0, self.warming())
        self.set(hostName=FIRST, state="green").must()
        self.assertEqual(1, self.warming())
        self.agent.post(rule(fc_warmup_ms=0)).must()
        self.assertEqual(0, self.warming())

    def test_the_port_counts_where_it_is_said(self):
        self.agent.post(rule(**WARM)).must()
        self.assertEqual(404, self.set(hostName=FIRST, epPort=PORT + 1,
                                       state="red").status)
        self.set(hostName=FIRST, epPort=PORT, epProto="tcp",
                 state="red").must()
        self.set(hostName=FIRST, epPort=0, state="green").must()
        self.assertEqual(1, self.warming())

    def test_what_a_replace_adds_warms_up(self):
        """Row 230."""
        self.agent.post(rule(**WARM)).must()
        body = rule(**WARM)
        body["endpoints"].append({"endpointIP": "198.51.100.13",
                                  "targetPort": 8000, "weight": 1})
        self.agent.post(body).must()
        self.assertEqual(1, self.warming())

    def test_faults(self):
        self.agent.post(rule()).must()
        for wish, status in (({"hostName": FIRST}, 400),
                             ({"state": "red"}, 400),
                             ({"hostName": "a.name", "state": "red"}, 400),
                             ({"hostName": FIRST, "state": "blue"}, 422),
                             ({"hostName": FIRST, "epPort": 65536,
                               "state": "red"}, 400),
                             ({"hostName": "192.0.2.99", "state": "red"}, 404)):
            self.assertEqual(status, self.set(**wish).status, wish)
        self.assertEqual(400, self.agent.call("POST", HOSTS, "[]").status)

    def test_maintenance_does_not_freeze_it(self):
        self.agent.post(rule()).must()
        self.agent.call("PUT", MAINTENANCE, {"enabled": True}).must()
        self.set(hostName=FIRST, state="red").must()
        self.agent.call("PUT", MAINTENANCE, {"enabled": False}).must()


if __name__ == "__main__":
    unittest.main()

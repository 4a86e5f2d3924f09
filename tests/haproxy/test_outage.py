# SPDX-License-Identifier: Apache-2.0
"""The agent or HAProxy goes: killed, hung, ended, restarted, reloaded. Each
test has a stack of its own."""

import json
import select
import signal
import time
import unittest

from case import StackCase
from client import burst, chat, count
from stack import Stack, until

# How long a request that lost its agent waits for the next one (spoe.conf),
# with what it takes to notice.
BRIDGED = 5.0

# How soon the health check lets go those who wait for a hung agent.
LET_GO = 3.5


class OutageCase(StackCase):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.pools = []

    def start(self, **options):
        self.stack = Stack(**options)
        self.addCleanup(self.stack.stop)
        self.addCleanup(self.no_anomalies)
        self.stack.start()
        self._ports = iter(self.stack.ports)

    def no_anomalies(self):
        if self.stack.agent.running():
            self.assertEqual(0, self.anomalies())

    def full_pool(self, waiting, wishes=None, **arguments):
        """One executes and others wait, since self.since."""
        pool = self.pool(**{"fc_max_outstanding": 1, "fc_max_queue_depth": 64,
                            "fc_max_queue_wait_ms": 60000, **arguments})
        self.held = self.hold(pool, 1)
        self.since = time.monotonic()
        self.waiters = self.queue(pool, waiting, **(wishes or {}))
        return pool

    def until_the_agent_is(self, status):
        until(lambda: self.stack.server_status("agents", "agent") == status,
              f"HAProxy knows that the agent is {status}")

    def answers(self, conns):
        return [conn.receive().status for conn in conns]

    def finish_held(self):
        self.stack.release_all()
        self.assertEqual([200] * len(self.held), self.answers(self.held))


class Killed(OutageCase):
    def test_open_those_who_wait_go_to_the_net(self):
        """Within the time that a successor is waited for; and who executes is
        not touched."""
        self.start()
        self.full_pool(10)
        began = time.monotonic()
        self.stack.agent.kill()
        self.assertEqual([200] * 10, self.answers(self.waiters))
        self.assertLess(time.monotonic() - began, BRIDGED)
        self.finish_held()
        self.assertEqual(11, self.received())

    def test_open_newcomers_go_to_the_net_at_once(self):
        """Once the agent is known to be down nobody is asked."""
        self.start()
        pool = self.full_pool(0)
        self.stack.agent.kill()
        self.until_the_agent_is("DOWN")
        outcomes = burst(pool.port, [chat() for _ in range(20)])
        self.assertEqual({200: 20}, count(outcomes))
        self.assertLess(max(outcome.seconds for outcome in outcomes), 1.0)
        self.finish_held()

    def test_nobody_hangs_who_comes_before_it_is_known_to_be_down(self):
        """Its death is unnoticed yet, and up to 3.0 they would all hang. Those
        that come in the same millisecond wait for the longest wait."""
        self.start(haproxy_env={"ADMISSION_LONGEST_WAIT": "7s"})
        pool = self.full_pool(0)
        self.stack.agent.kill()
        outcomes = burst(pool.port, [chat() for _ in range(50)])
        self.assertEqual({200: 50}, count(outcomes))
        times = sorted(outcome.seconds for outcome in outcomes)
        self.assertLess(times[len(times) // 2], BRIDGED)
        self.assertLess(times[-1], 7.0 + BRIDGED)
        self.finish_held()

    def test_the_net_bounds_the_engines(self):
        """Two on each engine at most; the rest is answered in time."""
        self.start(haproxy_env={"ADMISSION_ENGINE_MAXCONN": "2",
                                "ADMISSION_QUEUE_TIMEOUT": "500ms"})
        pool = self.pool(fc_max_outstanding=1)
        self.stack.agent.kill()
        self.until_the_agent_is("DOWN")
        ended = []

        def on_end(outcome):
            ended.append(outcome)
            if len(ended) == 4:
                self.stack.release_all()

        outcomes = burst(pool.port, [chat(nonce=f"n{i}", hold=1)
                                     for i in range(8)], ended=on_end)
        self.assertEqual({200: 4, 503: 4}, count(outcomes))
        self.assertEqual([2, 2], [engine.ask("peak")
                                  for engine in self.stack.engines])

    def test_closed_nobody_goes_to_an_engine(self):
        """Those who wait and those who come are answered 503."""
        self.start(haproxy_env={"ADMISSION_WITHOUT_AGENT": "closed"})
        pool = self.full_pool(5)
        began = time.monotonic()
        self.stack.agent.kill()
        for conn in self.waiters:
            self.assert_closed(conn, conn.receive())
        self.assertLess(time.monotonic() - began, BRIDGED)
        self.until_the_agent_is("DOWN")
        newcomer = self.connect(pool)
        began = time.monotonic()
        self.assert_closed(newcomer, newcomer.request(chat()))
        self.assertLess(time.monotonic() - began, 1.0)
        self.finish_held()
        self.assertEqual(1, self.received())

    def assert_closed(self, conn, answer):
        self.assertEqual(503, answer.status)
        self.assertEqual({"error": "gate_unavailable", "retry_after": 1},
                         answer.json())
        self.assertEqual("1", answer.header("retry-after"))
        self.assertTrue(answer.closes())
        self.assertTrue(conn.closed())


class Restarted(OutageCase):
    WINDOW = 4.0
    LATE = 0.7

    def test_those_who_wait_are_asked_about_again_and_keep_their_time(self):
        """158: one takes the unit that the new agent knows nothing of; the
        others end when their window does, counted from when they came."""
        self.start()
        rules = self.stack.folder / "rules.json"
        self.stack.agent_args += ["--rules", rules]
        pool = self.full_pool(6, {"hold": 1},
                              fc_max_queue_wait_ms=int(1000 * self.WINDOW))
        rules.write_text(json.dumps(self.stack.must(
            "GET", "/netlox/v1/config/loadbalancer/all")))
        until(lambda: time.monotonic() > self.since + 1.0,
              "they have waited a while")

        self.stack.agent.kill()
        self.stack.start_agent()
        pool.until(inflight=1, queued=5)
        ended = until(lambda: self.answered(5), "five have been answered")
        waited = time.monotonic() - self.since
        self.assertTrue(self.WINDOW <= waited <= self.WINDOW + self.LATE,
                        waited)
        for conn in ended:
            answer = conn.receive()
            self.assert_refused(answer, 504, "admission_queue_timeout")
            self.assertGreaterEqual(answer.json()["queued_ms"],
                                    1000 * self.WINDOW)
        self.finish_held()
        self.assertEqual(2, self.received())
        self.assertEqual([1, 5, 5], pool.decisions(
            "admitted", "queued", "queue_timeout"))

    def answered(self, count):
        """Those of the waiters that have an answer, when they are so many."""
        readable, _, _ = select.select(
            [conn.sock for conn in self.waiters], [], [], 0)
        return len(readable) == count and [
            conn for conn in self.waiters if conn.sock in readable]


class Hung(OutageCase):
    def test_those_who_wait_are_let_go(self):
        """By the health check; and when it wakes, it gates again."""
        self.start()
        pool = self.full_pool(10)
        began = time.monotonic()
        self.stack.agent.signal(signal.SIGSTOP)
        self.assertEqual([200] * 10, self.answers(self.waiters))
        self.assertLess(time.monotonic() - began, LET_GO)

        self.stack.agent.signal(signal.SIGCONT)
        self.until_the_agent_is("UP")
        pool.until(inflight=1, queued=0)
        self.assert_refused_when_full(pool)
        self.finish_held()
        pool.until(inflight=0)

    def assert_refused_when_full(self, pool):
        self.replace(pool, fc_max_queue_depth=0)
        answer = until(lambda: self.gated(pool), "requests are gated again")
        self.assertEqual("admission_capacity", answer.json()["error"])

    def gated(self, pool):
        answer = self.ask(pool)
        return answer if answer.status == 429 else None


class Ended(OutageCase):
    def test_those_who_wait_are_told(self):
        """268, 281: admission_drained, and the agent ends with 0."""
        self.start()
        self.full_pool(10)
        self.stack.agent.signal(signal.SIGTERM)
        for conn in self.waiters:
            answer = conn.receive()
            self.assert_refused(answer, 503, "admission_drained")
            self.assertEqual("5", answer.header("retry-after"))
            self.assertTrue(answer.closes())
            self.assertTrue(conn.closed())
        self.assertEqual(0, self.stack.agent.wait())
        self.finish_held()
        self.assertEqual(1, self.received())

    def test_it_gates_again_once_it_is_back(self):
        """Without it open, with it 429."""
        self.start()
        pool = self.full_pool(0)
        self.assertEqual(0, self.stack.agent.stop())
        self.until_the_agent_is("DOWN")
        self.assertEqual(200, self.ask(pool).status)
        self.stack.start_agent()
        self.until_the_agent_is("UP")
        self.replace(pool, fc_mode="enforce", fc_max_outstanding=1)
        self.hold(pool, 1, nonce="again")
        self.assert_refused(self.ask(pool), 429, "admission_capacity")
        self.finish_held()


class HAProxyGoes(OutageCase):
    def until_looks(self, more):
        """The agent has looked at the runtime API so many more times."""
        def looks():
            return self.stack.metrics().get(
                "loxilb_ai_admission_haproxy_looks_total", result="ok")
        before = looks()
        until(lambda: looks() >= before + more, f"{more} more looks", 30)

    def test_a_reload_loses_nothing(self):
        """Who executes and who waits in the old process is served by it, and
        the new one's requests share the ceiling with them. The new process
        knows nothing of the old one's sessions, but no unit is taken away."""
        self.start()
        pool = self.full_pool(3)
        self.until_looks(5)
        old = self.stack.reload_haproxy()
        newcomer, = self.queue(pool, 1, nonce="newcomer")
        self.until_looks(5)
        self.assertEqual([1, 4], [pool.inflight(), pool.queued()])
        self.finish_held()
        self.assertEqual([200] * 4, self.answers([*self.waiters, newcomer]))
        pool.until(inflight=0, queued=0)
        for conn in self.waiters:
            conn.close()
        self.assertEqual(0, old.wait())
        self.assertEqual(0, pool.get("reclaimed_total"))

    def test_its_death_leaves_nothing_behind(self):
        """27, 335: no line comes of those who executed; their units come back
        once its successor shows that nothing runs."""
        self.start()
        pool = self.full_pool(3)
        self.stack.haproxy.kill()
        pool.until(inflight=1, queued=0)
        self.stack.start_haproxy()
        pool.until(inflight=0, timeout=30)
        self.assertEqual([1, 3], [pool.get("reclaimed_total"),
                                  pool.decisions("cancelled")])
        self.assertEqual(200, self.ask(pool).status)


if __name__ == "__main__":
    unittest.main()

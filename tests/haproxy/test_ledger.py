# SPDX-License-Identifier: Apache-2.0
"""Conservation: whatever is sent, each request ends once and in one way, and
at the end nobody has anything."""

import collections
import random
import unittest

from case import StackCase
from client import Connection, Request, burst, chat, count

FINAL = ("admitted", "capacity_shed", "queue_full", "queue_timeout",
         "cancelled", "no_healthy_capacity", "bypass_non_inference")


class Ledger(StackCase):
    SERVICES = 4

    def totals(self):
        """The decisions of all pools together, by reason."""
        rows = [dict(zip(FINAL, pool.decisions(*FINAL)))
                for pool in self.pools]
        return {reason: sum(row[reason] for row in rows) for reason in FINAL}

    def mixed(self, i):
        """The i-th request: of a fixed mixture, in an order by chance."""
        kind = self.chance.random()
        if kind < 0.10:
            return Request("GET", "/v1/models")
        if kind < 0.15:
            return chat(fail=1)
        if kind < 0.18:
            return chat(reset=1)
        if kind < 0.28:
            return chat(chunk=64, pad=300)
        if kind < 0.31:
            return chat(pad=100_000)
        if kind < 0.41:
            return chat(stream=True, tokens=3)
        return chat(delay_ms=self.chance.randrange(8))

    def send(self, pool, number, at_once):
        sent = collections.Counter()
        answers = collections.Counter()
        for begin in range(0, number, at_once):
            requests = [self.mixed(begin + i) for i in range(at_once)]
            outcomes = burst(pool.port, requests)
            answers += count(outcomes)
            sent["bypass"] += sum(r.method == "GET" for r in requests)
            self.served += sum(
                outcome.result in (200, 500, 502)
                and outcome.request.method == "POST" for outcome in outcomes)
        sent["all"] = number
        return sent, answers

    def test_twenty_thousand_requests(self):
        """345, 51, 186, 27, 335: what was sent is what was answered, by kind;
        what was admitted is what the engines got; nobody is left."""
        self.chance = random.Random(20000)
        self.served = 0
        self.pool(fc_max_outstanding=8)
        self.pool(fc_ep_max_inflight=4, fc_max_queue_depth=40,
                  fc_max_queue_wait_ms=10)
        self.pool(fc_max_outstanding=12, fc_max_queue_depth=400,
                  fc_max_queue_wait_ms=9000)
        sent = collections.Counter()
        answers = collections.Counter()
        for pool, number in zip(self.pools, (7000, 7000, 6000)):
            of_pool = self.send(pool, number, 100)
            sent += of_pool[0]
            answers += of_pool[1]
            pool.until(inflight=0, queued=0)

        totals = self.totals()
        with self.subTest(f"answers {dict(answers)}, decisions {totals}"):
            self.assertEqual(20000, sent["all"])
            self.assertEqual(sent["all"], sum(answers.values()))
            self.assertEqual(sent["all"], sum(totals.values()))
            self.assertLessEqual(set(answers), {200, 429, 500, 502, 504})
            self.assertEqual(sent["bypass"], totals["bypass_non_inference"])
            self.assertEqual(answers[429], totals["capacity_shed"]
                             + totals["queue_full"])
            self.assertEqual(answers[504], totals["queue_timeout"])
            self.assertEqual(self.served, totals["admitted"])
            self.assertEqual(totals["admitted"], self.received())
            self.assertEqual(0, totals["cancelled"])
            for kind in ("capacity_shed", "queue_full", "queue_timeout"):
                self.assertGreater(totals[kind], 0, kind)
        self.assertEqual(0, sum(pool.get("reclaimed_total")
                                for pool in self.pools))

    def test_clients_that_leave_at_any_moment(self):
        """345, 27, 162, 335: each of 1500 leaves or stays by chance."""
        self.chance = random.Random(1500)
        pool = self.pool(fc_max_outstanding=6, fc_max_queue_depth=60,
                         fc_max_queue_wait_ms=400)
        answered = collections.Counter()
        conns = []
        for i in range(1500):
            conn = Connection(pool.port)
            conn.send(chat(delay_ms=self.chance.randrange(6)))
            conns.append(conn)
            if len(conns) == 80:
                self.end_some(conns, answered, 40)
        self.end_some(conns, answered, len(conns))
        pool.until(inflight=0, queued=0)
        counted = dict(zip(FINAL, pool.decisions(*FINAL)))
        with self.subTest(f"answered {dict(answered)}, decided {counted}"):
            self.assertLessEqual(sum(counted.values()), 1500)
            self.assertGreater(counted["cancelled"], 0)
            self.assertGreaterEqual(counted["admitted"], answered[200])
            self.assertGreaterEqual(counted["admitted"], self.received())
            self.assertGreaterEqual(self.received(), answered[200])
        self.assertEqual(200, self.ask(pool).status)

    def end_some(self, conns, answered, number):
        """Half of them are killed, the others read their answer."""
        self.chance.shuffle(conns)
        for _ in range(number):
            conn = conns.pop()
            if self.chance.random() < 0.5:
                conn.reset()
            else:
                answered[conn.receive().status] += 1
                conn.close()


if __name__ == "__main__":
    unittest.main()

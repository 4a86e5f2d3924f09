# SPDX-License-Identifier: Apache-2.0
"""Rules that change while requests run and wait."""

import unittest

from case import StackCase
from client import chat


class Live(StackCase):
    SERVICES = 20

    def full_pool(self, waiting=4, **arguments):
        """Two execute and, each in a moment to hold its unit, q0, q1, …
        wait."""
        pool = self.pool([self.stack.engines[0].address],
                         fc_max_outstanding=2, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=20000, **arguments)
        self.endpoints = [self.stack.engines[0].address]
        self.held = self.hold(pool, 2)
        self.waiters = self.queue(pool, waiting, hold=1)
        return pool

    def change(self, pool, **arguments):
        self.replace(pool, endpoints=self.endpoints, **arguments)

    def finish(self, conns):
        self.stack.release_all()
        self.assertEqual([200] * len(conns),
                         [conn.receive().status for conn in conns])

    def test_a_raised_ceiling_wakes_one_for_each_free_unit(self):
        """98, 99, 100, 91, 92, 105: two of four, the oldest, at once; the
        counts go on."""
        pool = self.full_pool()
        self.change(pool, fc_max_outstanding=4)
        self.assertEqual([4, 2], [pool.inflight(), pool.queued()])
        self.until_received(4)
        self.assertEqual(["h0", "h1", "q0", "q1"],
                         sorted(self.stack.engines[0].ask("order")))
        self.assertEqual([4, 4], pool.decisions("admitted", "queued"))
        self.assertEqual(8, self.stack.effective(pool.port)["queue_depth"])
        self.finish(self.held + self.waiters[:2])
        self.until_received(6)
        self.finish(self.waiters[2:])

    def test_a_ceiling_raised_over_all_wakes_all(self):
        """98: 2 to 6 with four waiting."""
        pool = self.full_pool()
        self.change(pool, fc_max_outstanding=6)
        self.assertEqual([6, 0], [pool.inflight(), pool.queued()])
        self.until_received(6)
        self.finish(self.held + self.waiters)

    def test_a_mode_that_no_longer_enforces_wakes_all(self):
        """101: observe and off."""
        for mode in ("observe", "off"):
            with self.subTest(mode):
                self.stack.reset_engines()
                pool = self.full_pool()
                self.change(pool, fc_mode=mode)
                self.until_received(6)
                self.assertEqual(0, pool.queued())
                self.finish(self.held + self.waiters)

    def test_no_ceiling_any_more_wakes_all(self):
        """102, 93: a declared 0, and none in the environment."""
        pool = self.full_pool()
        self.change(pool, fc_max_outstanding=0)
        self.until_received(6)
        self.finish(self.held + self.waiters)

    def test_a_raised_endpoint_ceiling_frees_those_whom_it_held(self):
        """103: 1 to 2 on each of two engines, with four waiting."""
        pool = self.pool(fc_ep_max_inflight=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=20000)
        held = self.hold(pool, 2)
        waiters = self.queue(pool, 4, hold=1)
        self.replace(pool, fc_ep_max_inflight=2)
        pool.until(inflight=4, queued=2, timeout=1.5)
        self.until_received(4)
        self.finish(held + waiters[:2])
        self.until_received(6)
        self.finish(waiters[2:])

    def test_the_same_rule_again_changes_nothing(self):
        """145: who executes, who waits and the counts."""
        pool = self.full_pool()
        self.change(pool, **pool.arguments, fc_mode="enforce")
        self.assertEqual([2, 4], [pool.inflight(), pool.queued()])
        self.assertEqual([2, 4, 0], pool.decisions("admitted", "queued",
                                                   "drained"))
        self.finish(self.held)
        self.until_received(4)
        self.finish(self.waiters[:2])
        self.until_received(6)
        self.finish(self.waiters[2:])

    def test_a_lowered_ceiling_spares_those_who_execute(self):
        """104, 91: newcomers are refused until there is room below it."""
        pool = self.pool(fc_max_outstanding=8)
        held = self.hold(pool, 8)
        self.replace(pool, fc_max_outstanding=4)
        self.assertEqual(8, pool.inflight())
        for i in range(4):
            self.release(f"h{i}")
            self.assertEqual(200, held[i].receive().status)
        pool.until(inflight=4)
        self.assert_counts(self.ask(pool), 4, 0, 4)
        self.release("h4")
        pool.until(inflight=3)
        self.assertEqual(200, self.ask(pool).status)
        self.finish(held[4:])

    def test_deleting_a_rule_ends_those_who_wait(self):
        """138, 139, 140, 268, 281: they are told so, the rest finishes, and
        the same rule begins anew."""
        pool = self.full_pool()
        self.stack.delete_rule(pool.port)
        for conn in self.waiters:
            answer = conn.receive()
            self.assert_refused(answer, 503, "admission_drained")
            self.assertEqual("5", answer.header("retry-after"))
            self.assertTrue(answer.closes())
            self.assertTrue(conn.closed())
        self.assertIsNone(pool.get("mode"))
        self.assertEqual(2, self.received())
        self.change(pool, fc_mode="enforce", fc_max_outstanding=2)
        self.assertEqual([0, 0], [pool.inflight(), pool.queued()])
        self.finish(self.held)
        self.assertEqual(200, self.ask(pool).status)
        pool.until(inflight=0)
        self.assertEqual(1, pool.decisions("admitted"))

    def test_any_other_change_makes_the_pool_anew(self):
        """106, 107, 108: those who wait are told; those who execute finish
        and do not move the new counts."""
        pool = self.full_pool()
        self.change(pool, inactiveTimeOut=77)
        for conn in self.waiters:
            self.assert_refused(conn.receive(), 503, "admission_drained")
        self.assertEqual([0, 0], [pool.inflight(), pool.queued()])
        self.assertEqual(0, pool.get("decisions_total"))
        self.finish(self.held)
        self.assertEqual(2, self.received())
        self.assertEqual(200, self.ask(pool).status)
        pool.until(inflight=0)
        self.assertEqual(1, pool.decisions("admitted"))

    def test_what_is_no_setting_must_be_repeated(self):
        """109: what was set and is then left out counts as a change."""
        for member, value in (("inactiveTimeOut", 60), ("sel", 2),
                              ("name", "pool")):
            with self.subTest(member):
                self.stack.reset_engines()
                pool = self.full_pool(**{member: value})
                self.change(pool, **{member: value}, fc_max_queue_depth=9)
                self.assertEqual([2, 4], [pool.inflight(), pool.queued()])
                self.change(pool)
                for conn in self.waiters:
                    self.assert_refused(conn.receive(), 503,
                                        "admission_drained")
                self.assertEqual(0, pool.get("decisions_total"))
                self.assertEqual(9, self.stack.effective(
                    pool.port)["queue_depth"])
                self.finish(self.held)

    def test_an_ai_service_that_is_none_any_more(self):
        """109, 89: sse_mode left out; who waits is told, and the next passes
        ungated."""
        pool = self.full_pool()
        self.change(pool, sse_mode=False)
        for conn in self.waiters:
            self.assert_refused(conn.receive(), 503, "admission_drained")
        self.assertIsNone(pool.get("mode"))
        self.assertIsNone(self.stack.effective(pool.port))
        self.assertEqual(200, self.ask(pool).status)
        self.finish(self.held)

    def test_the_api_answers_while_the_queue_is_full(self):
        """337."""
        pool = self.full_pool(waiting=8)
        self.assertEqual(429, self.ask(pool, chat()).status)
        self.assertEqual([2, 8], [pool.inflight(), pool.queued()])
        self.change(pool, fc_max_outstanding=10)
        self.until_received(10)
        self.finish(self.held + self.waiters)


if __name__ == "__main__":
    unittest.main()

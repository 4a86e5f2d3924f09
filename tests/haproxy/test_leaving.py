# SPDX-License-Identifier: Apache-2.0
"""Clients that leave: while they wait, and while they execute."""

import unittest

from case import StackCase
from client import chat


class Waiting(StackCase):
    SERVICES = 6

    def leave_by(self, leave):
        """The second of three that wait leaves; the others are served."""
        pool = self.pool([self.stack.engines[0].address], fc_max_outstanding=1,
                         fc_max_queue_depth=3, fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        first, second, third = self.queue(pool, 3)
        dispatched = self.dispatched()
        leave(second)
        pool.until(queued=2, timeout=2)
        self.assertEqual(dispatched, self.dispatched())
        fourth, = self.queue(pool, 1, nonce="fourth")  # its place is free
        self.release("h0")
        for conn in (first, third, fourth):
            self.assertEqual(200, conn.receive().status)
        self.assertEqual(["h0", "q0", "q2", "fourth0"],
                         self.stack.engines[0].ask("order"))
        self.assertEqual([1, 4, 4], pool.decisions("cancelled", "queued",
                                                   "admitted"))

    def dispatched(self):
        """How many requests HAProxy has sent on their way to an engine."""
        return self.stack.haproxy_stat()["pool", "BACKEND"]["stot"]

    def test_a_client_that_closes_gives_up_its_place(self):
        """162: by a FIN; no engine ever hears of it."""
        self.leave_by(lambda conn: conn.close())

    def test_a_client_that_is_killed_gives_up_its_place(self):
        """162: by a RST."""
        self.leave_by(lambda conn: conn.reset())

    def test_the_turn_of_one_who_left_passes_on(self):
        """160: the head leaves and a unit comes back in the same moment."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=9000)
        for i in range(5):
            with self.subTest(i):
                held, = self.hold(pool, 1)
                head, second = self.queue(pool, 2)
                head.reset()
                self.release("h0")
                self.assertEqual(200, held.receive().status)
                self.assertEqual(200, second.receive().status)
                pool.until(inflight=0, queued=0, timeout=2)

    def test_all_who_wait_leave_at_once(self):
        """162, 27: 40 of them; one who comes then is served at once."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=64,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        for conn in self.queue(pool, 40):
            conn.reset()
        pool.until(queued=0, timeout=2)
        self.assertEqual(40, pool.decisions("cancelled"))
        self.release("h0")
        pool.until(inflight=0)
        self.assertEqual(200, self.ask(pool).status)
        self.assertEqual(2, self.received())


class Executing(StackCase):
    SERVICES = 6

    def test_a_client_that_is_killed_frees_its_unit(self):
        """23, 27: though the engine would go on for ever."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        conn.send(chat(forever=1, token_ms=5))
        conn.receive_head()
        self.assertEqual(1, pool.inflight())
        conn.reset()
        pool.until(inflight=0, timeout=2)
        self.assertEqual(200, self.ask(pool).status)

    def test_a_client_that_leaves_before_the_answer_frees_its_unit(self):
        """23: and the one who waits gets it."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=1,
                         fc_max_queue_wait_ms=9000)
        held, = self.hold(pool, 1)
        waiter, = self.queue(pool, 1)
        held.reset()
        self.assertEqual(200, waiter.receive().status)
        self.assertEqual(0, pool.decisions("cancelled"))

    def test_a_stream_that_is_cancelled_frees_its_unit(self):
        """24: its connection and the other streams live on."""
        pool = self.pool(fc_max_outstanding=2)
        conn = self.connect_h2(pool)
        streams = [conn.send(chat(nonce=f"s{i}", hold=1)) for i in range(2)]
        pool.until(inflight=2)
        streams[0].reset()
        pool.until(inflight=1, timeout=2)
        another = conn.send(chat())
        self.assertEqual(200, conn.receive(another).status)
        self.release("s1")
        self.assertEqual(200, conn.receive(streams[1]).status)

    def test_a_connection_of_streams_that_is_killed_frees_all_units(self):
        """23, 24."""
        pool = self.pool(fc_max_outstanding=8)
        conn = self.connect_h2(pool)
        for i in range(8):
            conn.send(chat(nonce=f"s{i}", hold=1))
        pool.until(inflight=8)
        conn.reset()
        pool.until(inflight=0, timeout=2)

    def test_streams_that_are_cancelled_as_soon_as_they_are_there(self):
        """24, 27, 335: whichever comes first, the question or the end."""
        pool = self.pool(fc_max_outstanding=4)
        for _ in range(10):
            conn = self.connect_h2(pool)
            for _ in range(100):
                conn.send(chat(delay_ms=2)).reset()
            conn.ping()
        pool.until(inflight=0)
        self.assertEqual(0, pool.get("reclaimed_total"))
        self.assertEqual(200, self.ask(pool).status)


if __name__ == "__main__":
    unittest.main()

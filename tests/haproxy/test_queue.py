# SPDX-License-Identifier: Apache-2.0
"""Who waits, in which order, how long, and who does not."""

import time
import unittest

from case import StackCase
from client import burst, chat, count


# How much later than its window a request may still be waiting.
LATE = 1.5

# More than HAProxy buffers, so that it is still coming in when it is decided.
BIG = 400_000


class Queue(StackCase):
    SERVICES = 20

    def test_the_split_of_a_burst(self):
        """147, 148, 150, 151, 163, 164, 168, 186, 344: 60 at once where 16
        may run, on two engines of 8, and 32 may wait."""
        pool = self.pool(fc_max_outstanding=16, fc_ep_max_inflight=8,
                         fc_max_queue_depth=32, fc_max_queue_wait_ms=800)
        ended = []

        def on_end(outcome):
            ended.append(outcome)
            if count(ended)[504] == 32:
                self.stack.release_all()

        outcomes = burst(pool.port, [chat(nonce=f"n{i}", hold=1)
                                     for i in range(60)], ended=on_end)
        self.assertEqual({200: 16, 429: 12, 504: 32}, count(outcomes))
        self.assertEqual(
            {"admission_capacity": 12, "admission_queue_timeout": 32},
            {word: sum(outcome.word == word for outcome in outcomes)
             for word in ("admission_capacity", "admission_queue_timeout")})
        for outcome in ended[:12]:
            self.assert_counts(outcome.response, 16, 32, 16)
        self.assertEqual(
            [16, 32, 12, 32, 0], pool.decisions(
                "admitted", "queued", "queue_full", "queue_timeout",
                "capacity_shed"))
        self.assertEqual(16, self.received())
        self.assertEqual([8, 8], [engine.ask("peak")
                                  for engine in self.stack.engines])
        self.assertEqual([16, 8, 32], [pool.get("limit", role=role) for role
                                       in ("service", "normal", "queue")])

    def test_waiters_run_in_the_order_in_which_they_came(self):
        """152, 156, 185: and all are served."""
        pool = self.pool([self.stack.engines[0].address], fc_max_outstanding=1,
                         fc_max_queue_depth=8, fc_max_queue_wait_ms=9000)
        held, = self.hold(pool, 1)
        waiters = self.queue(pool, 6)
        self.release("h0")
        self.assertEqual([200] * 7,
                         [conn.receive().status for conn in [held, *waiters]])
        self.assertEqual(["h0"] + [f"q{i}" for i in range(6)],
                         self.stack.engines[0].ask("order"))

    def test_a_waiter_holds_no_unit_and_no_connection_to_an_engine(self):
        """147, 148, 149, 150, 87."""
        pool = self.pool(fc_max_outstanding=2, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 2)
        self.queue(pool, 3)
        now = self.stack.effective(pool.port)
        self.assertEqual([2, 3], [now["inflight"], now["queued"]])
        self.assertEqual(2, self.received())
        sessions = [int(row["scur"]) + int(row["qcur"]) for key, row
                    in self.stack.haproxy_stat().items()
                    if key[0] == "pool" and key[1] != "BACKEND"]
        self.assertEqual(2, sum(sessions))

    def test_a_release_wakes_exactly_one(self):
        """153, 161: of four that wait, each of which then holds its unit."""
        pool = self.pool(fc_max_outstanding=2, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 2)
        self.queue(pool, 4, hold=1)
        for i, name in enumerate(("h0", "q0", "h1", "q1"), 1):
            self.release(name)
            pool.until(inflight=2, queued=4 - i)
            self.until_received(2 + i)
        self.assertEqual(6, pool.decisions("admitted"))

    def test_a_newcomer_waits_behind_those_who_wait(self):
        """154: it comes in the moment a unit is given back."""
        pool = self.pool([self.stack.engines[0].address], fc_max_outstanding=1,
                         fc_max_queue_depth=8, fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        waiters = self.queue(pool, 2)
        newcomer = self.connect(pool)
        self.release("h0")
        newcomer.send(chat(nonce="newcomer"))
        for conn in (*waiters, newcomer):
            self.assertEqual(200, conn.receive().status)
        self.assertEqual(["h0", "q0", "q1", "newcomer"],
                         self.stack.engines[0].ask("order"))

    def test_the_window_ends_a_wait_on_time(self):
        """166, 167, 168, 169, 267, 275, 280: not before, and not much later;
        the connection closes and no engine hears of it."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=700)
        self.hold(pool, 1)
        conn = self.connect(pool)
        began = time.monotonic()
        conn.send(chat(nonce="late"))
        answer = conn.receive()
        waited = time.monotonic() - began
        self.assert_refused(answer, 504, "admission_queue_timeout")
        self.assertTrue(0.7 <= waited <= 0.7 + LATE, waited)
        queued_ms = answer.json()["queued_ms"]
        self.assertTrue(700 <= queued_ms <= 1000 * waited + 1, queued_ms)
        self.assertEqual("1", answer.header("retry-after"))
        self.assertTrue(answer.closes())
        self.assertTrue(conn.closed())
        self.release("h0")
        pool.until(inflight=0, queued=0)
        self.assertEqual(0, self.received("late"))
        self.assertEqual([1, 1], pool.decisions("queued", "queue_timeout"))

    def test_a_waiter_that_an_endpoint_holds_up_times_out_too(self):
        """159: no service ceiling, both engines full."""
        pool = self.pool(fc_ep_max_inflight=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=700)
        self.hold(pool, 2)
        began = time.monotonic()
        answer = self.ask(pool, chat(nonce="late"))
        self.assert_refused(answer, 504, "admission_queue_timeout")
        self.assertTrue(0.7 <= time.monotonic() - began <= 0.7 + LATE)
        self.assertEqual(0, self.received("late"))

    def test_a_waiter_that_an_endpoint_holds_up_runs_when_it_can(self):
        """159: at once when that endpoint's unit comes back."""
        pool = self.pool(fc_ep_max_inflight=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 2)
        waiter, = self.queue(pool, 1)
        self.release("h0")
        self.assertEqual(200, waiter.receive().status)

    def test_without_a_depth_nobody_waits(self):
        """46, 165, 265."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        answer = self.ask(pool)
        self.assert_refused(answer, 429, "admission_capacity")
        self.assertEqual("1", answer.header("retry-after"))
        self.assertEqual([1, 0], pool.decisions("capacity_shed", "queued"))

    def test_a_full_queue_refuses(self):
        """163, 272: with the depth in the Queued header."""
        pool = self.pool(fc_max_outstanding=2, fc_max_queue_depth=3,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 2)
        self.queue(pool, 3)
        answer = self.ask(pool, chat(nonce="over"))
        self.assert_refused(answer, 429, "admission_capacity")
        self.assert_counts(answer, 2, 3, 2)
        self.assertEqual([1, 0],
                         pool.decisions("queue_full", "capacity_shed"))
        self.assertEqual(0, self.received("over"))

    def test_only_those_who_ran_are_in_the_histogram(self):
        """183, 184: neither a timeout nor a departure is."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=600)
        self.hold(pool, 1)
        late, leaver = self.queue(pool, 2)
        leaver.reset()
        pool.until(queued=1)
        self.assertEqual(504, late.receive().status)
        served, = self.queue(pool, 1, nonce="served")
        self.release("h0")
        self.assertEqual(200, served.receive().status)
        self.assertEqual(1, pool.get("queue_wait_seconds_count"))
        self.assertEqual([2, 3, 1, 1], pool.decisions(
            "admitted", "queued", "queue_timeout", "cancelled"))


class LiveWindow(StackCase):
    SERVICES = 4

    def test_a_new_window_binds_newcomers_only(self):
        """172: who waited before keeps the old one."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        patient, = self.queue(pool, 1)
        self.replace(pool, fc_max_queue_wait_ms=300)
        self.assertEqual(504, self.ask(pool).status)
        self.assertEqual(1, pool.queued())
        self.release("h0")
        self.assertEqual(200, patient.receive().status)

    def test_a_smaller_depth_binds_newcomers_only(self):
        """173: all four stay."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        waiters = self.queue(pool, 4)
        self.replace(pool, fc_max_queue_depth=2)
        self.assertEqual(429, self.ask(pool).status)
        self.assertEqual(4, pool.queued())
        self.release("h0")
        self.assertEqual([200] * 4,
                         [conn.receive().status for conn in waiters])


class Bodies(StackCase):
    SERVICES = 8

    def test_a_buffered_body_waits_and_keeps_its_connection(self):
        """174."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        self.hold(pool, 1)
        waiter, = self.queue(pool, 1)
        self.release("h0")
        answer = waiter.receive()
        self.assertEqual(200, answer.status)
        self.assertFalse(answer.closes())
        self.assertEqual(200, waiter.request(chat()).status)

    def test_a_streamed_body_waits_and_closes_its_connection(self):
        """175: in chunks, or larger than the buffer; the engine gets it
        whole."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        for request in (chat(nonce="c", chunk=16), chat(nonce="l", pad=BIG)):
            with self.subTest(request.headers["X-Test-Nonce"]):
                self.hold(pool, 1)
                conn = self.connect(pool)
                conn.send(request)
                pool.until(queued=1)
                self.release("h0")
                answer = conn.receive()
                self.assertEqual(200, answer.status)
                self.assertTrue(answer.closes())
                self.assertTrue(conn.closed())
                pool.until(inflight=0)

    def test_a_refused_streamed_body_closes_its_connection(self):
        """176: with and without a queue."""
        for depth in (0, 1):
            pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=depth,
                             fc_max_queue_wait_ms=9000)
            self.hold(pool, 1)
            self.queue(pool, depth)
            for request in (chat(chunk=16), chat(pad=BIG)):
                with self.subTest((depth, request.chunk)):
                    conn = self.connect(pool)
                    conn.send(request)
                    answer = conn.receive()
                    self.assert_refused(answer, 429, "admission_capacity")
                    self.assertTrue(answer.closes())
                    # 3.0 leaves it to the client where it has not read all.
                    if self.stack.haproxy_version() != (3, 0):
                        self.assertTrue(conn.closed())
            self.stack.release_all()

    def test_a_streamed_body_that_need_not_wait_keeps_its_connection(self):
        """175: only the wait closes it."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        for _ in range(2):
            answer = conn.request(chat(chunk=16))
            self.assertEqual(200, answer.status)
            self.assertFalse(answer.closes())
            pool.until(inflight=0)


    def test_a_body_that_comes_in_pieces_is_waited_for(self):
        """277, 174: what is all there by then is a buffered body."""
        pool = self.pool(fc_max_outstanding=1)
        self.hold(pool, 1)
        conn = self.connect(pool)
        whole = chat(pad=1000).encode()
        conn.send_raw(whole[:-500])
        self.ask(pool)  # another comes in, and is answered, meanwhile
        conn.send_raw(whole[-500:], None)
        answer = conn.receive()
        self.assert_refused(answer, 429, "admission_capacity")
        self.assertFalse(answer.closes())
        self.assertEqual(2, pool.decisions("capacity_shed"))


class Http2(StackCase):
    SERVICES = 6

    def test_streams_over_the_ceiling_are_refused_and_the_others_go_on(self):
        """21, 24, 283: 12 streams on a ceiling of 8; then 3 of 8 leave."""
        pool = self.pool(fc_max_outstanding=8)
        conn = self.connect_h2(pool)
        streams = [conn.send(chat(nonce=f"s{i}", hold=1)) for i in range(12)]
        conn.wait(lambda: sum(s.ended for s in streams) == 4)
        pool.until(inflight=8)
        for stream in (s for s in streams if s.ended):
            answer = conn.receive(stream)
            self.assert_refused(answer, 429, "admission_capacity")
            self.assert_counts(answer, 8, 0, 8)
            self.assertTrue(all(name == name.lower()
                                for name, _ in answer.headers))
            self.assertIsNone(answer.header("connection"))
        running = [s for s in streams if not s.ended]
        for stream in running[:3]:
            stream.reset()
        pool.until(inflight=5)
        self.stack.release_all()
        self.assertEqual([200] * 5,
                         [conn.receive(s).status for s in running[3:]])
        self.assertIsNone(conn.goaway)
        pool.until(inflight=0)

    def test_streams_never_wait(self):
        """177, 155: though there is a depth, and HTTP/1.1 does wait."""
        pool = self.pool(fc_max_outstanding=1, fc_max_queue_depth=8,
                         fc_max_queue_wait_ms=9000)
        conn = self.connect_h2(pool)
        held = conn.send(chat(nonce="s", hold=1))
        pool.until(inflight=1)
        self.queue(pool, 1)
        refused = conn.request(chat())
        self.assert_refused(refused, 429, "admission_capacity")
        self.assert_counts(refused, 1, 1, 1)
        self.assertEqual(1, pool.queued())
        self.release("s")
        self.assertEqual(200, conn.receive(held).status)


if __name__ == "__main__":
    unittest.main()

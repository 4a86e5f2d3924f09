# SPDX-License-Identifier: Apache-2.0
"""What differs by version of HAProxy, and what is done about it: the rows of
"What differs by version" in haproxy/README.md. Each test has a stack of its
own."""

import os
import re
import resource
import socket
import time
import unittest

import client

from case import StackCase
from client import chat
from stack import SHIPPED, Stack, until

# More than HAProxy buffers for a request, and more than an HTTP/2 hop takes.
BIG = 400_000
HUGE = 12_000_000

# Less than tune.bufsize; but of that a part is kept for headers.
NO_FIT = 65_000

# After which what is noticed at once has been.
A_WHILE = 1.0

WAITERS = 40

VERSION = Stack.haproxy_version()
HOP = VERSION >= (2, 9)


class Differences(StackCase):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.pools = []

    def start(self, **options):
        self.stack = Stack(**options)
        self.addCleanup(self.stack.stop)
        self.stack.start()
        self._ports = iter(self.stack.ports)

    def queue_pool(self):
        """A rule under which one may run and many may wait."""
        return self.pool(fc_max_outstanding=1, fc_max_queue_depth=64,
                         fc_max_queue_wait_ms=60000)

    def a_while(self):
        end = time.monotonic() + A_WHILE
        until(lambda: time.monotonic() > end, "a while is over")

    def answers(self, conns):
        return [conn.receive().status for conn in conns]

    def all_gone(self, pool):
        pool.until(inflight=0, queued=0)
        self.assertEqual(0, self.anomalies())


class Leaving(Differences):
    def leave(self, request=None, by=client.Connection.reset):
        """One of two that wait leaves; returns the pool and who stays."""
        pool = self.queue_pool()
        self.held = self.hold(pool, 1)
        leaver = self.connect(pool)
        try:
            leaver.sock.settimeout(1)
            leaver.send(request or chat(nonce="leaver"))
        except TimeoutError:
            pass  # as much as is read, and what the system holds of the rest
        pool.until(queued=1)
        stayer, = self.queue(pool, 1, nonce="stayer")
        by(leaver)
        return pool, stayer

    def finish(self, pool, stayer):
        self.release("h0")
        self.assertEqual([200, 200], self.answers([*self.held, stayer]))
        self.all_gone(pool)

    def test_with_the_hop_it_is_noticed_at_once(self):
        """162."""
        if not HOP:
            self.skipTest("no hop before 2.9")
        self.start()
        pool, stayer = self.leave()
        pool.until(inflight=1, queued=1, timeout=1)
        self.finish(pool, stayer)
        self.assertEqual(0, self.received("leaver"))

    def test_without_the_hop_it_is_noticed_at_its_turn(self):
        """162: from 2.9 on, but for some by chance; 2.6 notices at once. The
        turn of each passes on."""
        self.start(haproxy_env={"ADMISSION_NO_HOP": "1"})
        pool = self.queue_pool()
        self.held = self.hold(pool, 1)
        leavers = self.queue(pool, 20)
        stayer, = self.queue(pool, 1, nonce="stayer")
        for conn in leavers:
            conn.reset()
        if HOP:
            self.a_while()
            self.assertGreater(pool.queued(), 1)
        else:
            pool.until(inflight=1, queued=1, timeout=1)
        self.finish(pool, stayer)

    def test_a_body_larger_than_the_buffer_hides_it(self):
        """162: up to 3.0. From 3.1 on the hop takes more of a body than the
        buffer, and only one that is larger still hides it. Who is not seen to
        leave is found gone in its turn."""
        for size in (BIG, HUGE):
            for by in (client.Connection.close, client.Connection.reset):
                with self.subTest((size, by.__name__)):
                    self.start()
                    pool, stayer = self.leave(
                        chat(nonce="leaver", pad=size), by)
                    if size == BIG and VERSION >= (3, 1):
                        pool.until(inflight=1, queued=1, timeout=1)
                    else:
                        self.a_while()
                        self.assertEqual(2, pool.queued())
                    self.finish(pool, stayer)


class Bodies(Differences):
    def test_one_larger_than_the_buffer_is_never_all_there(self):
        """175: a burst of them, so each connection closes after its wait. By
        themselves 3.0 and 3.2 take what has come for the whole: nearly always
        where it just does not fit, 3.2 now and then where it is larger."""
        self.start(services=2)
        for size in (NO_FIT, 70_000):
            with self.subTest(size):
                pool = self.queue_pool()
                held = self.hold(pool, 1)
                waiters = [self.connect(pool) for _ in range(WAITERS)]
                for conn in waiters:
                    conn.send(chat(pad=size))
                pool.until(queued=WAITERS)
                self.stack.release_all()
                self.assertEqual([200], self.answers(held))
                ends = [conn.receive() for conn in waiters]
                self.assertEqual([(200, True)] * WAITERS,
                                 [(end.status, end.closes()) for end in ends])
                self.all_gone(pool)


class Connections(Differences):
    def test_requests_in_flight_share_them_up_to_3_0(self):
        """From 3.1 on many take one of their own."""
        self.start()
        pool = self.queue_pool()
        held = self.hold(pool, 1)
        waiters = [self.connect(pool) for _ in range(WAITERS)]
        for conn in waiters:
            conn.send(chat())
        pool.until(queued=WAITERS)
        taken = self.stack.metrics().get(
            "loxilb_ai_admission_spop_connections")
        if VERSION < (3, 1):
            self.assertLessEqual(taken, WAITERS / 4)
        else:
            self.assertGreaterEqual(taken, WAITERS / 3)
        self.stack.release_all()
        self.assertEqual([200] * (WAITERS + 1), self.answers(held + waiters))
        self.all_gone(pool)


class Errors(Differences):
    """What set-on-error says, in a log line that has it."""
    EDIT = [("%[var(txn.gate)] id=",
             "spoe=%[var(txn.adm.spoe)] %[var(txn.gate)] id=")]

    def start(self, **options):
        self.log = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.log.close)
        self.log.bind(("127.0.0.1", 0))
        self.log.settimeout(10)
        super().start(edit=self.EDIT, haproxy_env={
            "ADMISSION_SYSLOG": "127.0.0.1:%d" % self.log.getsockname()[1]})

    def errors(self, count):
        """Of the next so many lines that have one."""
        found = []
        while len(found) < count:
            line = self.log.recv(65536).decode()
            found += map(int, re.findall(r"spoe=(\d+)", line))
        return found

    def test_the_client_left(self):
        """5 up to 3.0, 4 from 3.1 on."""
        self.start()
        pool = self.queue_pool()
        held = self.hold(pool, 1)
        self.queue(pool, 1)[0].reset()
        self.assertEqual([5 if VERSION < (3, 1) else 4], self.errors(1))
        self.stack.release_all()
        self.assertEqual([200], self.answers(held))
        self.all_gone(pool)

    def test_the_agent_is_lost(self):
        """256 and more."""
        self.start()
        pool = self.queue_pool()
        held = self.hold(pool, 1)
        waiters = self.queue(pool, 5)
        self.stack.agent.kill()
        self.assertEqual([200] * 5, self.answers(waiters))
        errors = self.errors(5)
        self.assertGreaterEqual(min(errors), 256)
        self.stack.release_all()
        self.assertEqual([200], self.answers(held))


class Reloaded(Differences):
    @staticmethod
    def end_of(conn):
        """A status, or None where there is no answer."""
        try:
            return conn.receive().status
        except ConnectionError:
            return None

    def test_hard_stop_after_ends_those_who_wait(self):
        """27: the old process ends in time, with requests that execute and
        wait; nobody is left in the books."""
        self.start(edit=[("hard-stop-after 1h", "hard-stop-after 2s")])
        pool = self.queue_pool()
        held = self.hold(pool, 1)
        waiters = self.queue(pool, 3)
        old = self.stack.reload_haproxy()
        self.assertEqual(0, old.wait(timeout=5))
        for conn in held + waiters:
            self.assertIn(self.end_of(conn), (None, 502, 503))
        pool.until(inflight=0, queued=0)
        self.assertEqual(0, pool.get("reclaimed_total"))
        self.assertEqual(200, self.ask(pool).status)
        self.all_gone(pool)


class Streams(Differences):
    def test_a_head_waits_for_the_first_event_and_no_longer(self):
        """Where the agent asks to hear of the response. Made so here: the
        first event comes with the head, and the others as they are made."""
        self.start(edit=[("if respond streamed", "if streamed")])
        pool = self.queue_pool()
        conn = self.connect(pool)
        conn.send(chat(nonce="s", stream=True, forever=1, token_ms=300))
        began = time.monotonic()
        conn.receive_head()
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        size = 1
        for _ in range(3):
            size = len(conn.receive_part(size + 1).body)
        self.release("s")
        self.assertEqual(200, conn.receive().status)
        self.all_gone(pool)


class Names(unittest.TestCase):
    def test_none_is_cut(self):
        """Up to 3.4 HAProxy makes the names in 64 bytes, and cuts them. Each
        that the agent sets and the configuration reads is registered."""
        conf = (SHIPPED / "spoe.conf").read_text()
        agents = re.findall(r"option var-prefix (\S+).*?"
                            r"register-var-names ([^\n]+)", conf, re.S)
        known = {f"txn.{prefix}.{name}" for prefix, names in agents
                 for name in names.split()}
        self.assertGreater(len(known), 10)
        self.assertLess(max(map(len, known)), 64)
        cfg = (SHIPPED / "haproxy.cfg").read_text()
        read = set(re.findall(r"txn\.(?:adm|alive)\.\w+", cfg))
        self.assertEqual({"txn.adm.spoe", "txn.alive.spoe"}, read - known)


class Descriptors(Differences):
    """Their limit is lowered to what is open and a few more."""
    MORE = 12

    def run_short(self, process):
        """More requests come than it has descriptors for; then the limit is
        lifted. Each is answered, and nobody is left in the books."""
        pool = self.queue_pool()
        held = self.hold(pool, 1)
        folder = f"/proc/{process.pid}/fd"
        limit = max(map(int, os.listdir(folder))) + self.MORE
        was = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (limit, was[1]))
        conns = [self.connect(pool) for _ in range(WAITERS)]
        for conn in conns:
            conn.send(chat())
        until(lambda: len(os.listdir(folder)) >= limit, "none is left")
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, was)
        self.release("h0")
        self.assertEqual([200], self.answers(held))
        answers = self.answers(conns)
        self.assertLessEqual(set(answers), {200, 503})
        self.assertIn(200, answers)
        self.assertEqual(200, self.ask(pool).status)
        self.all_gone(pool)

    def test_haproxy_has_none_left(self):
        """27: who cannot be sent on is answered 503."""
        self.start()
        self.run_short(self.stack.haproxy)

    def test_the_agent_has_none_left(self):
        """27: with a connection for a waiter, from 3.1 on."""
        if VERSION < (3, 1):
            self.skipTest("few connections to the agent up to 3.0")
        self.start()
        self.run_short(self.stack.agent)


if __name__ == "__main__":
    unittest.main()

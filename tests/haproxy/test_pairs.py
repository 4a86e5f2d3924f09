# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode: pairs of engines, single legs, and an engine that
fails."""

import unittest

from case import StackCase
from client import chat
from stack import Stack, until

# Longer than any test, and let go by the client's departure.
SLOW_MS = 60000


class PairsCase(StackCase):
    def pair(self, **arguments):
        """A P/D rule: the first engine is prefill, the second is decode."""
        prefill, decode = self.stack.engines
        return self.pool([(prefill.address, 1), (decode.address, 2)],
                         pd_disagg_mode=True, **arguments)

    def receipts_of(self, nonce):
        """Of prefill and of decode."""
        return [engine.ask("received/" + nonce)
                for engine in self.stack.engines]

    def until_held(self, *held):
        until(lambda: [engine.ask("held") for engine in self.stack.engines]
              == list(held), f"held {held}")

    def release_at(self, engine, nonce):
        self.assertEqual(1, self.stack.engines[engine].ask("release/" + nonce))

    def ask_h2(self, pool, request=None):
        return self.connect_h2(pool).request(request or chat())

    def begin(self, pool, nonce, **wishes):
        """One that the decode engine holds."""
        conn = self.connect(pool)
        before = self.stack.engines[1].ask("held")
        conn.send(chat(nonce=nonce, hold=1, **wishes))
        until(lambda: self.stack.engines[1].ask("held") == before + 1,
              nonce + " is held")
        return conn

    def leave(self, pool, *conns):
        for conn in conns:
            conn.reset()
        pool.until_units(0, 0, 0)


class Pairs(PairsCase):
    SERVICES = 16

    def test_a_request_uses_both_engines(self):
        """2, 28: HTTP/1.1 and HTTP/2, whole and streamed."""
        pool = self.pair()
        plain = self.pool([self.stack.engines[1].address])
        for i, stream in enumerate((False, True)):
            body = self.ask(plain, chat(stream=stream)).body
            for j, ask in enumerate((self.ask, self.ask_h2)):
                nonce = f"n{i}{j}"
                answer = ask(pool, chat(nonce=nonce, stream=stream))
                self.assertEqual((200, body), (answer.status, answer.body))
                self.assertEqual([1, 1], self.receipts_of(nonce))
                pool.until_units(0, 0, 0)
        self.assertEqual(4, pool.decisions("admitted"))

    def test_one_unit_of_each_until_a_stream_begins(self):
        """28: the prefill unit is back at the first event, while the stream
        goes on; not before it, nor at the end of the prefill itself."""
        pool = self.pair()
        conn = self.connect(pool)
        conn.send(chat(nonce="s", hold=1, prefill_hold=1, stream=True,
                       tokens=1000, token_ms=SLOW_MS // 1000))
        self.until_held(1, 0)
        self.assertEqual([1, 1, 1], pool.units())
        self.release_at(0, "s")
        self.until_held(0, 1)
        self.assertEqual([1, 1, 1], pool.units())
        self.release_at(1, "s")
        pool.until_units(1, 0, 1)
        self.assertLess(len(conn.receive_part(1).events()), 1000)
        self.assertEqual([1, 0, 1], pool.units())
        self.leave(pool, conn)

    def test_a_head_is_no_event(self):
        """28: the engine sends it at once, and another stream that began
        after it has its first event before."""
        pool = self.pair()
        slow = self.begin(pool, "slow", stream=True, token_ms=SLOW_MS)
        self.release_at(1, "slow")
        quick = self.begin(pool, "quick", stream=True, tokens=9000, token_ms=5)
        self.release_at(1, "quick")
        quick.receive_part(1)
        self.assertEqual([2, 1, 2], pool.units())
        self.leave(pool, slow, quick)

    def test_a_comment_is_no_event(self):
        """28: the head is there, and the prefill unit is kept."""
        pool = self.pair()
        conn = self.connect(pool)
        conn.send(chat(stream=True, comment=1, token_ms=SLOW_MS))
        self.assertEqual(200, conn.receive_head().status)
        self.assertEqual([1, 1, 1], pool.units())
        self.leave(pool, conn)

    def test_an_answer_in_one_piece_keeps_all_to_its_end(self):
        """28: and so does an engine's error."""
        pool = self.pair()
        for wishes in ({}, {"fail": 1}):
            conn = self.begin(pool, "w", **wishes)
            self.assertEqual([1, 1, 1], pool.units())
            self.release_at(1, "w")
            self.assertEqual(500 if wishes else 200, conn.receive().status)
            pool.until_units(0, 0, 0)

    def test_a_client_does_not_choose_the_prefill_engine(self):
        """What it sends of that name is dropped, whoever it says it is."""
        pool = self.pair()
        for i, role in enumerate(({}, {"x-adm-role": "decode"})):
            answer = self.ask(pool, chat(nonce=f"c{i}", headers={
                "x-prefiller-host-port": "127.0.0.1:1", **role}))
            self.assertEqual(200, answer.status)
            self.assertEqual([1, 1], self.receipts_of(f"c{i}"))

    def refused_beyond(self, pool, limit):
        """One more is refused at once, on each protocol, and none waits."""
        for answer in (self.ask(pool), self.ask_h2(pool)):
            self.assert_refused(answer, 429, "admission_capacity")
            self.assertEqual(str(limit),
                             answer.header("x-loxilb-admission-limit"))
        self.assertEqual([0, 2], pool.decisions("queued", "capacity_shed"))

    def test_over_the_prefill_ceiling(self):
        """55, 178: until a stream gives its prefill unit back."""
        pool = self.pair(fc_prefill_max_inflight=2, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        conns = [self.begin(pool, "a", stream=True, tokens=9000, token_ms=5),
                 self.begin(pool, "b")]
        self.refused_beyond(pool, 2)
        self.assertEqual([2, 2, 2], pool.units())
        self.release_at(1, "a")
        pool.until_units(2, 1, 2)
        self.assertEqual(200, self.ask(pool).status)
        self.leave(pool, *conns)

    def test_over_the_decode_ceiling(self):
        """56, 178: which a stream's beginning does not change."""
        pool = self.pair(fc_decode_max_inflight=1, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        conn = self.begin(pool, "a", stream=True, tokens=9000, token_ms=5)
        self.release_at(1, "a")
        pool.until_units(1, 0, 1)
        self.refused_beyond(pool, 1)
        self.leave(pool, conn)
        self.assertEqual(200, self.ask(pool).status)

    def test_over_the_service_ceiling(self):
        """50, 178: one unit for a pair."""
        pool = self.pair(fc_max_outstanding=2, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        conns = [self.begin(pool, "a"), self.begin(pool, "b")]
        self.refused_beyond(pool, 2)
        self.leave(pool, *conns)

    def test_it_exposes_too(self):
        """290: of a pair as of any other."""
        pool = self.pair(fc_max_outstanding=4, fc_expose_headers="on")
        for stream in (False, True):
            self.assert_counts(self.ask(pool, chat(stream=stream)), 1, 0, 4)
            pool.until_units(0, 0, 0)

    def test_observe_takes_the_pair_too(self):
        """39: over the ceiling of each role."""
        pool = self.pair(fc_mode="observe", fc_prefill_max_inflight=1,
                         fc_decode_max_inflight=1)
        conns = [self.begin(pool, "a"), self.begin(pool, "b")]
        self.assertEqual([2, 2, 2], pool.units())
        self.assertEqual([1, 1], self.receipts_of("b"))
        self.assertEqual([2, 2], pool.decisions("admitted",
                                                "observe_would_shed"))
        self.leave(pool, *conns)


class Legs(PairsCase):
    """Who sends the two halves apart is known by its address."""
    SERVICES = 8
    FIRST = 'server "${ADMISSION_ENGINE_1}" "${ADMISSION_ENGINE_1}"'
    OPTIONS = {"haproxy_env": {"ADMISSION_LEGS_FROM": "192.0.2.0/24 127.0.0.1"},
               "edit": [(FIRST, FIRST + " backup")]}

    @staticmethod
    def leg(role, nonce, **more):
        headers = {"x-adm-role": role, **more.pop("headers", {})}
        return chat(nonce=nonce, headers=headers, **more)

    def test_each_takes_its_role_s_unit_only(self):
        """28, 55, 56: on the engine of its role."""
        pool = self.pair()
        conns = []
        for role, held, units in (("prefill", (1, 0), (0, 1, 0)),
                                  ("decode", (1, 1), (0, 1, 1))):
            conn = self.connect(pool)
            conn.send(self.leg(role, role, hold=1))
            conns.append(conn)
            self.until_held(*held)
            self.assertEqual(list(units), pool.units())
        self.assertEqual([[1, 0], [0, 1]], [self.receipts_of("prefill"),
                                            self.receipts_of("decode")])
        self.stack.release_all()
        self.assertEqual([200, 200], [conn.receive().status for conn in conns])

    def test_over_its_ceiling_each_is_refused_and_none_waits(self):
        """55, 56, 178: while the other role and the service have room."""
        pool = self.pair(fc_prefill_max_inflight=1, fc_decode_max_inflight=1,
                         fc_max_outstanding=8, fc_max_queue_depth=4,
                         fc_max_queue_wait_ms=9000)
        for i, role in enumerate(("prefill", "decode")):
            conn = self.connect(pool)
            conn.send(self.leg(role, role, hold=1))
            until(lambda: self.stack.engines[i].ask("held") == 1, "it runs")
            for ask in (self.ask, self.ask_h2):
                answer = ask(pool, self.leg(role, "more"))
                self.assert_refused(answer, 429, "admission_capacity")
                self.assert_counts(answer, 0, 0, 1)
        self.assertEqual([0, 0], self.receipts_of("more"))
        self.assertEqual([0, 4], pool.decisions("queued", "capacity_shed"))

    def test_a_leg_names_its_prefill_engine_itself(self):
        """And HTTP/2 carries it as HTTP/1.1 does."""
        pool = self.pair()
        there = {"x-prefiller-host-port": self.stack.engines[0].address}
        for i, ask in enumerate((self.ask, self.ask_h2)):
            answer = ask(pool, self.leg("decode", f"d{i}", headers=there))
            self.assertEqual(200, answer.status)
            self.assertEqual([1, 1], self.receipts_of(f"d{i}"))

    def test_haproxy_itself_chooses_a_decode_engine(self):
        """Where the prefill engine is a backup, which still has its legs."""
        pool = self.pair(fc_mode="off")
        for _ in range(4):
            self.assertEqual(200, self.ask(pool, chat(nonce="own")).status)
        self.assertEqual([0, 4], self.receipts_of("own"))
        answer = self.ask(self.pair(), self.leg("prefill", "leg"))
        self.assertEqual(200, answer.status)
        self.assertEqual([1, 0], self.receipts_of("leg"))

    def test_who_is_no_role_is_a_whole_request(self):
        """By a word that is none, or by none."""
        pool = self.pair()
        for i, headers in enumerate(({"x-adm-role": "both"}, {})):
            self.assertEqual(200, self.ask(
                pool, chat(nonce=f"w{i}", headers=headers)).status)
            self.assertEqual([1, 1], self.receipts_of(f"w{i}"))

    def test_a_rule_that_is_not_p_d_has_no_legs(self):
        """Its unit is the service's."""
        pool = self.pool(fc_max_outstanding=1)
        conn = self.connect(pool)
        conn.send(self.leg("decode", "n", hold=1))
        pool.until(inflight=1)
        self.assert_refused(self.ask(pool, self.leg("decode", "m")), 429,
                            "admission_capacity")
        self.release("n")
        self.assertEqual(200, conn.receive().status)


class Failing(PairsCase):
    """Each test has a stack of its own, since engines die."""

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.pools = []
        self.stack = Stack()
        self.addCleanup(self.stack.stop)
        self.stack.start()
        self._ports = iter(self.stack.ports)

    def kill(self, engine):
        self.stack.engines[engine].process.kill()

    def redispatched(self):
        return int(self.stack.haproxy_stat()["pool", "BACKEND"]["wredis"])

    def test_an_engine_dies_and_the_retry_finds_another(self):
        """29: two requests, of which one was meant for the dead engine, hold
        two units."""
        pool = self.pool(fc_max_outstanding=4)
        self.kill(0)
        conns = [self.connect(pool), self.connect(pool)]
        for i, conn in enumerate(conns):
            conn.send(chat(nonce=f"r{i}", hold=1))
        pool.until(inflight=2)
        until(lambda: self.stack.engines[1].ask("held") == 2,
              "both run on the engine that lives")
        self.assertEqual(1, self.redispatched())
        self.assertEqual(2, pool.inflight())
        self.assertEqual(2, pool.inflight("normal"))
        self.stack.engines[1].ask("release_all")
        self.assertEqual([200, 200], [conn.receive().status for conn in conns])
        pool.until(inflight=0)
        self.assertEqual([2, 0], [pool.decisions("admitted"),
                                  self.anomalies()])

    def test_the_decode_engine_dies_in_the_middle(self):
        """25, 28: all units of the pair come back."""
        pool = self.pair()
        streams = self.begin(pool, "s", stream=True, tokens=9000, token_ms=5)
        held = self.begin(pool, "h")
        self.release_at(1, "s")
        pool.until_units(2, 1, 2)
        self.kill(1)
        with self.assertRaises(ConnectionError):
            streams.receive()
        self.assertEqual(502, held.receive().status)
        pool.until_units(0, 0, 0)
        self.assertEqual(0, self.anomalies())

    def test_the_prefill_engine_is_gone(self):
        """61: what its decode engine makes of it, until it is known; then
        there is no capacity."""
        pool = self.pair()
        self.kill(0)
        self.assertEqual(502, self.ask(pool).status)
        until(lambda: self.ask(pool).status == 503, "the agent knows")
        self.assert_refused(self.ask(pool), 503, "admission_no_capacity")
        pool.until_units(0, 0, 0)
        self.assertEqual(0, self.anomalies())


if __name__ == "__main__":
    unittest.main()

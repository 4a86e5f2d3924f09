# SPDX-License-Identifier: Apache-2.0
"""The three admission headers on admitted answers, and what they cost."""

import time
import unittest

import client

from case import REFUSAL_HEADERS, StackCase
from client import Request, burst, chat, count
from scripted import ScriptedCase
from stack import Stack, until


class HeadersCase(StackCase):
    def assert_has_once(self, answer, inflight, queued, limit):
        """Each of them, in one line."""
        self.assert_counts(answer, inflight, queued, limit)
        for name in REFUSAL_HEADERS:
            self.assertEqual(1, len(answer.all(name)), name)

    def assert_has_none(self, answer):
        self.assertEqual([], [name for name, _ in answer.headers
                              if name.startswith("x-loxilb-admission-")])

    def exposed(self, **arguments):
        return self.pool(fc_expose_headers="on", **arguments)

    def direct(self, request):
        """The same request's answer, of the engine itself."""
        return client.request(self.stack.engines[0].port, request)


class Exposed(HeadersCase):
    SERVICES = 20

    def test_every_admitted_answer_has_them(self):
        """290, 291: the request itself counted, as its head goes out."""
        pool = self.exposed(fc_max_outstanding=4)
        self.assert_has_once(self.ask(pool), 1, 0, 4)
        pool.until(inflight=0)
        held = self.hold(pool, 2)
        answer = self.ask(pool)
        self.assertEqual(200, answer.status)
        self.assert_has_once(answer, 3, 0, 4)
        pool.until(inflight=2)
        self.release("h0")
        self.assert_has_once(held[0].receive(), 2, 0, 4)
        pool.until(inflight=1)
        self.release("h1")
        self.assert_has_once(held[1].receive(), 1, 0, 4)

    def test_who_waits_is_counted(self):
        """290: as the head goes out, not as it was admitted."""
        pool = self.exposed(fc_max_outstanding=2, fc_max_queue_depth=4,
                            fc_max_queue_wait_ms=9000)
        held = self.hold(pool, 2)
        waiter, = self.queue(pool, 1)
        self.release("h0")
        self.assert_has_once(held[0].receive(), 2, 1, 2)
        answer = waiter.receive()
        self.assertEqual(200, answer.status)
        self.assert_has_once(answer, 2, 0, 2)

    def test_without_a_ceiling_the_limit_is_0(self):
        """297."""
        self.assert_has_once(self.ask(self.exposed()), 1, 0, 0)

    def test_a_stream_has_them_and_all_its_events(self):
        """292, 295: with a comment in front as well."""
        pool = self.exposed(fc_max_outstanding=4)
        for wishes in ({}, {"token_ms": 30}, {"comment": 1, "token_ms": 30}):
            with self.subTest(wishes):
                request = chat(stream=True, tokens=6, **wishes)
                answer = self.ask(pool, request)
                self.assert_has_once(answer, 1, 0, 4)
                self.assertEqual(self.direct(request).body, answer.body)
                self.assertEqual(7, len(answer.events()))
                self.assertEqual("[DONE]", answer.events()[-1])
                pool.until(inflight=0)

    def test_http_2_has_them_on_every_stream(self):
        """294: buffered and streamed ones on one connection."""
        pool = self.exposed(fc_max_outstanding=4)
        conn = self.connect_h2(pool)
        held = [conn.send(chat(nonce=f"s{i}", hold=1, stream=i == 1))
                for i in range(3)]
        pool.until(inflight=3)
        self.until_received(3)
        for i, stream in enumerate(held):
            self.release(f"s{i}")
            answer = conn.receive(stream)
            self.assertEqual(200, answer.status)
            self.assert_has_once(answer, 3 - i, 0, 4)
            pool.until(inflight=2 - i)
        self.assertEqual("[DONE]", held[1].response.events()[-1])

    def test_http_1_and_2_with_a_body_that_is_not_all_there(self):
        """290: a large upload's answer has them too."""
        pool = self.exposed(fc_max_outstanding=4)
        for request in (chat(pad=300_000), chat(chunk=4000, pad=300_000)):
            self.assert_has_once(self.ask(pool, request), 1, 0, 4)
            pool.until(inflight=0)
        self.assert_has_once(
            self.connect_h2(pool).request(chat(pad=300_000)), 1, 0, 4)

    def test_a_large_answer_is_the_engine_s_byte_by_byte(self):
        """295: one that fills many buffers, whole and streamed."""
        pool = self.exposed()
        for stream in (False, True):
            with self.subTest(stream=stream):
                request = chat(stream=stream, tokens=10_000)
                answer = self.ask(pool, request)
                self.assert_has_once(answer, 1, 0, 0)
                self.assertEqual(self.direct(request).body, answer.body)
                pool.until(inflight=0)

    def test_the_engine_s_own_are_replaced(self):
        """296: one line of each."""
        pool = self.exposed(fc_max_outstanding=4)
        for stream in (False, True):
            answer = self.ask(pool, chat(spoof_admission=1, stream=stream))
            self.assert_has_once(answer, 1, 0, 4)
            pool.until(inflight=0)

    def test_observe_reports_too_and_off_does_not(self):
        """299, 300."""
        pool = self.exposed(fc_mode="observe", fc_max_outstanding=1)
        self.hold(pool, 1)
        self.assert_has_once(self.ask(pool), 2, 0, 1)
        self.release("h0")
        pool.until(inflight=0)
        self.replace(pool, fc_mode="off")
        self.assert_has_none(self.ask(pool))

    def test_what_bypasses_has_none(self):
        """301."""
        pool = self.exposed(fc_max_outstanding=4)
        answer = self.ask(pool, Request("GET", "/v1/models"))
        self.assertEqual(200, answer.status)
        self.assert_has_none(answer)

    def test_a_pool_left_off_adds_none(self):
        """303: and an engine's own pass."""
        pool = self.pool(fc_max_outstanding=4)
        self.assert_has_none(self.ask(pool))
        pool.until(inflight=0)
        self.assert_has_once(self.ask(pool, chat(spoof_admission=1)),
                             999, 999, 999)

    def test_turned_on_and_off_live(self):
        """304: the next answer has them or not; who is held is served."""
        pool = self.pool(fc_max_outstanding=4)
        before, = self.hold(pool, 1, nonce="before")
        self.replace(pool, fc_expose_headers="on")
        self.assert_has_once(self.ask(pool), 2, 0, 4)
        between, = self.hold(pool, 1, nonce="between")
        self.replace(pool, fc_expose_headers="off")
        self.assert_has_none(self.ask(pool))
        self.stack.release_all()
        for conn in (before, between):
            answer = conn.receive()
            self.assertEqual(200, answer.status)
            self.assert_has_none(answer)

    def test_an_engine_s_error_has_them(self):
        """305: on HTTP/1.1 and HTTP/2."""
        pool = self.exposed(fc_max_outstanding=4)
        for status in (500, 503, 429):
            with self.subTest(status):
                answer = self.ask(pool, chat(fail=status))
                self.assertEqual(status, answer.status)
                self.assert_from_engine(answer)
                self.assert_has_once(answer, 1, 0, 4)
                pool.until(inflight=0)
        answer = self.connect_h2(pool).request(chat(fail=500))
        self.assertEqual(500, answer.status)
        self.assert_has_once(answer, 1, 0, 4)

    def test_what_haproxy_answers_itself_has_none(self):
        """An engine that breaks off: nobody's counts go with that."""
        pool = self.exposed(fc_max_outstanding=4)
        answer = self.ask(pool, chat(reset=1))
        self.assertEqual(502, answer.status)
        self.assert_has_none(answer)

    def test_many_at_once_have_them_all(self):
        """290: each of a burst, of streams and others."""
        pool = self.exposed(fc_max_outstanding=500)
        outcomes = burst(pool.port, [
            chat(stream=i % 2 == 0, delay_ms=20, token_ms=i % 3)
            for i in range(200)])
        self.assertEqual({200: 200}, count(outcomes))
        for outcome in outcomes:
            self.assertEqual("500", outcome.response.header(
                REFUSAL_HEADERS[2]))
            self.assertEqual([1, 1, 1], [len(outcome.response.all(name))
                                         for name in REFUSAL_HEADERS])

    def test_a_client_that_leaves_before_the_first_event(self):
        """23, 24: while the head waits for it."""
        pool = self.exposed(fc_max_outstanding=4)
        request = chat(stream=True, comment=1, token_ms=60000)
        silent = chat(stream=True, token_ms=60000)
        conns = [self.connect(pool), self.connect(pool)]
        conns[0].send(request)
        conns[1].send(silent)
        h2 = self.connect_h2(pool)
        streams = [h2.send(silent), h2.send(request)]
        self.until_received(4)
        self.assertEqual(200, conns[0].receive_head().status)
        for conn in conns:
            conn.reset()
        pool.until(inflight=2, timeout=2)
        for stream in streams:
            stream.reset()
        pool.until(inflight=0, timeout=2)

    def test_an_answer_that_breaks_off_has_had_them(self):
        """25: and its unit comes back."""
        pool = self.exposed(fc_max_outstanding=4)
        conn = self.connect(pool)
        conn.send(chat(stream=True, tokens=8, reset_mid=1))
        self.assert_has_once(conn.receive_head(), 1, 0, 4)
        with self.assertRaises(ConnectionError):
            conn.receive()


class Environment(HeadersCase):
    SERVICES = 2
    OPTIONS = {"agent_env": {"LLB_FC_EXPOSE_HEADERS": "on"}}

    def test_a_silent_rule_exposes(self):
        """302."""
        pool = self.pool(fc_max_outstanding=4)
        effective = self.stack.effective(pool.port)
        self.assertEqual("env", effective["source"]["expose_headers"])
        self.assert_has_once(self.ask(pool), 1, 0, 4)

    def test_a_rule_may_turn_it_off(self):
        """302, 303."""
        pool = self.pool(fc_max_outstanding=4, fc_expose_headers="off")
        self.assert_has_none(self.ask(pool))


class Bytes(ScriptedCase, HeadersCase):
    """Answers that an engine of ours would not send."""
    SERVICES = 6

    CHUNKS = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
              b"Transfer-Encoding: chunked\r\n\r\n",
              b"5\r\n{\"a\":\r\n", b"1;x=y\r\n1\r\n", b"1\r\n}\r\n0\r\n\r\n")

    def test_a_chunked_answer(self):
        """293, 295: byte by byte, in chunks of its own."""
        pool = self.exposed(fc_max_outstanding=4)
        for pieces in (self.CHUNKS, (b"".join(self.CHUNKS),)):
            self.script.pieces = pieces
            answer = self.ask(pool)
            self.assert_has_once(answer, 1, 0, 4)
            self.assertEqual("chunked", answer.header("transfer-encoding"))
            self.assertEqual(b'{"a":1}', answer.body)
            pool.until(inflight=0)

    def test_lines_of_an_engine_that_look_like_ours(self):
        """296: whatever begins so goes, in any case and number."""
        pool = self.exposed(fc_max_outstanding=4)
        self.script.pieces = [
            b"HTTP/1.1 200 OK\r\nX-LoxiLB-Admission-Limit: 7\r\n"
            b"x-loxilb-admission-limit: 8, 9\r\nX-Loxilb-Admission-Else: 1\r\n"
            b"X-Loxilb-Admission-: 2\r\nX-Loxilb-Other: kept\r\n"
            b"Content-Length: 2\r\n\r\n{}"]
        for answer in (self.ask(pool), self.connect_h2(pool).request(chat())):
            self.assert_has_once(answer, 1, 0, 4)
            self.assertIsNone(answer.header("x-loxilb-admission-else"))
            self.assertIsNone(answer.header("x-loxilb-admission-"))
            self.assertEqual("kept", answer.header("x-loxilb-other"))
            pool.until(inflight=0)

    def test_interim_heads_are_not_touched(self):
        """306: a 103 and a 100 before the answer."""
        pool = self.exposed(fc_max_outstanding=4)
        self.script.pieces = [
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n"
            b"X-Loxilb-Admission-Limit: 7\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"]
        answer = self.ask(pool)
        self.assertEqual([103], [head.status for head in answer.interim])
        self.assertEqual([("link", "</x>"), ("x-loxilb-admission-limit", "7")],
                         answer.interim[0].headers)
        self.assert_has_once(answer, 1, 0, 4)
        pool.until(inflight=0)
        answer = self.ask(pool, chat(headers={"Expect": "100-continue"}))
        self.assertIn(100, [head.status for head in answer.interim])
        for head in answer.interim:
            if head.status == 100:
                self.assert_has_none(head)
        self.assert_has_once(answer, 1, 0, 4)

    def test_a_head_in_pieces(self):
        """307: HAProxy has all of it before its rules run."""
        pool = self.exposed(fc_max_outstanding=4)
        self.script.pieces = [b"HTTP/1.1 200 OK\r\nX-Loxilb-Adm",
                              b"ission-Limit: 7\r\nContent-Le",
                              b"ngth: 2\r\n\r", b"\n{", b"}"]
        answer = self.ask(pool)
        self.assert_has_once(answer, 1, 0, 4)
        self.assertEqual(b"{}", answer.body)

    def test_a_stream_that_says_nothing(self):
        """It ends without an event: the head goes out all the same."""
        pool = self.exposed(fc_max_outstanding=4)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        for pieces in ([head + b"\r\n"], [head + b"Content-Length: 0\r\n\r\n"],
                       [head + b"Transfer-Encoding: chunked\r\n\r\n",
                        b"0\r\n\r\n"]):
            self.script.pieces = pieces
            answer = self.ask(pool)
            self.assertEqual((200, b""), (answer.status, answer.body))
            self.assert_has_once(answer, 1, 0, 4)
            pool.until(inflight=0)


class Cost(HeadersCase):
    SERVICES = 3

    def questions(self):
        return self.stack.metrics().get(
            "loxilb_ai_admission_spop_notifies_total")

    def asked_for(self, pool, requests):
        """Questions of HAProxy that these requests make, one by one."""
        before = self.questions()
        conn = self.connect(pool)
        for request in requests:
            self.assertEqual(200, conn.request(request).status)
            pool.until(inflight=0)
        return self.questions() - before

    def test_who_does_not_expose_pays_nothing(self):
        """One question for a request, and a second only for an answer that
        the agent wants to hear of."""
        # While one waits, HAProxy is sure that there is an agent.
        full = self.pool(fc_max_outstanding=1, fc_max_queue_depth=1,
                         fc_max_queue_wait_ms=60000)
        self.hold(full, 1)
        self.queue(full, 1)
        requests = [chat(), chat(stream=True), chat(stream=True, comment=1)]
        self.assertEqual(3, self.asked_for(self.pool(), requests))
        self.assertEqual(6, self.asked_for(self.exposed(), requests))


class Lost(HeadersCase):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        pass

    def test_without_the_agent_an_answer_goes_out_as_it_is(self):
        """Of one that was admitted while it was there."""
        self.pools = []
        with Stack() as self.stack:
            self._ports = iter(self.stack.ports)
            pool = self.exposed(fc_max_outstanding=4)
            held = self.hold(pool, 2)
            self.stack.agent.kill()
            self.release("h0")
            answer = held[0].receive()
            self.assertEqual(200, answer.status)
            self.assert_has_none(answer)
            until(lambda: self.stack.server_status("agents", "agent")
                  .startswith("DOWN"), "HAProxy knows that it is gone")
            began = time.monotonic()
            self.release("h1")
            answer = held[1].receive()
            self.assertLess(time.monotonic() - began, 0.4)
            self.assertEqual(200, answer.status)
            self.assert_has_none(answer)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tools of these tests, tried on the stub engine and on a HAProxy that
only forwards: if one of them lies, no other test means anything."""

import pathlib
import shutil
import tempfile
import time
import unittest

import client
import h2
import hpack

from client import Parser, Request, burst, chat, count
from stack import HAPROXY, Engine, Process, bound_socket, until

CONFIG = """
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 30s
frontend fe
    bind fd@{h1}
    bind fd@{h2} proto h2
    option http-buffer-request
    default_backend be
backend be
    server engine {engine}
"""


class Hpack(unittest.TestCase):
    # RFC 7541, C.6: three responses on one connection, in Huffman code, with
    # a table that holds no more than 256 octets.
    RESPONSES = (
        ("488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1b"
         "ff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
         [(":status", "302"), ("cache-control", "private"),
          ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
          ("location", "https://www.example.com")]),
        ("4883640effc1c0bf",
         [(":status", "307"), ("cache-control", "private"),
          ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
          ("location", "https://www.example.com")]),
        ("88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad"
         "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f95873160"
         "65c003ed4ee5b1063d5007",
         [(":status", "200"), ("cache-control", "private"),
          ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
          ("location", "https://www.example.com"),
          ("content-encoding", "gzip"),
          ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; "
                         "version=1")]))

    def test_the_examples_of_the_standard(self):
        decoder = hpack.Decoder(allowed=256)
        for block, headers in self.RESPONSES:
            self.assertEqual(decoder.decode(bytes.fromhex(block)), headers)
        self.assertEqual(decoder.size, 215)

    def test_what_is_encoded_is_decoded(self):
        headers = [(":path", "/v1/x"), ("x-empty", ""), ("x-long", "y" * 999)]
        self.assertEqual(hpack.Decoder().decode(hpack.encode(headers)), headers)

    def test_huffman_code_is_complete(self):
        self.assertEqual(len(hpack.HUFFMAN), 257)
        self.assertEqual(sum(2 ** (30 - length) for length, _ in
                             hpack.HUFFMAN), 2 ** 30)

    def test_bad_blocks_are_refused(self):
        for block in ("80", "be", "40", "0005616263", "ffffffffffffff",
                      "00816181ff00", "3fe2ff7f"):
            with self.assertRaises(hpack.HpackError, msg=block):
                hpack.Decoder().decode(bytes.fromhex(block))

    def test_a_smaller_table_forgets(self):
        decoder = hpack.Decoder()
        decoder.decode(bytes.fromhex(self.RESPONSES[0][0]))
        self.assertEqual(len(decoder.table), 4)
        decoder.decode(b"\x20")
        self.assertEqual((decoder.table, decoder.size), ([], 0))


class Parsing(unittest.TestCase):
    ANSWERS = (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n", b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
         b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"))

    def test_in_pieces_of_any_size(self):
        for answer, body in self.ANSWERS:
            for size in (1, 2, 7, len(answer)):
                parser = Parser()
                for i in range(0, len(answer), size):
                    self.assertFalse(parser.whole)
                    parser.feed(answer[i:i + size])
                self.assertTrue(parser.whole, answer)
                self.assertEqual((parser.response.body, parser.rest),
                                 (body, b""))

    def test_what_follows_stays(self):
        for answer, _ in self.ANSWERS:
            parser = Parser()
            parser.feed(answer + b"HTTP/1.1 2")
            self.assertTrue(parser.whole)
            self.assertEqual(parser.rest, b"HTTP/1.1 2")

    def test_interim_heads_are_kept_apart(self):
        parser = Parser()
        parser.feed(self.ANSWERS[4][0])
        self.assertEqual([head.status for head in parser.response.interim],
                         [100, 103])

    def test_without_a_length_the_end_ends_it(self):
        parser = Parser()
        parser.feed(b"HTTP/1.1 200 OK\r\n\r\nhello")
        self.assertFalse(parser.whole)
        parser.end()
        self.assertTrue(parser.whole)
        self.assertEqual(parser.response.body, b"hello")

    def test_an_end_too_early_is_no_answer(self):
        parser = Parser()
        parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell")
        parser.end()
        self.assertFalse(parser.whole)

    def test_head_has_no_body(self):
        parser = Parser("HEAD")
        parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        self.assertTrue(parser.whole)


class WithEngine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="helpers-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.engine = Engine("engine", cls.folder)
        cls.addClassCleanup(cls.stop_engine)

    @classmethod
    def stop_engine(cls):
        status = cls.engine.process.stop()
        assert status == 0, cls.engine.process.lines

    def setUp(self):
        self.port = self.engine.port
        self.engine.ask("release_all")
        until(lambda: self.engine.ask("active") == 0, "nothing in progress")
        self.engine.ask("reset")

    def until_active(self, number):
        until(lambda: self.engine.ask("active") == number,
              f"{number} active, not {self.engine.ask('active')}")


class OfEngine(WithEngine):
    PATHS = {"/v1/chat/completions": "choices", "/v1/completions": "choices",
             "/v1/embeddings": "data", "/v1/rerank": "results",
             "/v1/messages": "content", "/v1/responses": "output",
             "/generate": "text"}

    def test_each_path_in_its_shape(self):
        with client.Connection(self.port) as conn:
            for path, member in self.PATHS.items():
                answer = conn.request(chat(path=path))
                self.assertEqual(answer.status, 200)
                self.assertIn(member, answer.json())
                self.assertEqual(answer.header("x-test-engine"), "stub")
            models = conn.request(Request("GET", "/v1/models"))
            self.assertEqual(models.json()["data"][0]["id"], "stub")
            self.assertEqual(conn.request(Request("HEAD", "/health")).body, b"")
            self.assertEqual(conn.request(Request("GET", "/no")).status, 404)
        self.assertEqual(self.engine.ask("received"), len(self.PATHS))

    def test_query_and_slashes_do_not_matter(self):
        path = "/v1/chat/completions//?a=b"
        self.assertEqual(client.request(self.port, chat(path=path)).status, 200)
        self.assertEqual(self.engine.ask("received"), 1)

    def test_streams_in_events(self):
        answer = client.request(self.port, chat(stream=True, tokens=5))
        self.assertEqual(answer.header("content-type"), "text/event-stream")
        self.assertEqual(len(answer.events()), 6)
        self.assertEqual(answer.events()[-1], "[DONE]")

    def test_a_head_comes_before_a_slow_first_event(self):
        with client.Connection(self.port) as conn:
            conn.send(chat(stream=True, token_ms=60000, comment=1, nonce="s"))
            self.assertEqual(conn.receive_head().status, 200)
            self.assertEqual(conn.receive_part(1).events(), [])
            self.until_active(1)
        self.until_active(0)

    def test_holds_until_released(self):
        with client.Connection(self.port) as one, \
                client.Connection(self.port) as other:
            one.send(chat(nonce="a", hold=1))
            other.send(chat(nonce="b", hold=1))
            until(lambda: self.engine.ask("held") == 2, "two held")
            self.assertEqual(self.engine.ask("release/a"), 1)
            self.assertEqual(one.receive().status, 200)
            self.assertEqual(self.engine.ask("release/a"), 0)
            self.assertEqual(self.engine.ask("active/b"), 1)
            self.assertEqual(self.engine.ask("release_all"), 1)
            self.assertEqual(other.receive().status, 200)

    def test_receipts_order_and_peak(self):
        with client.Connection(self.port) as conn:
            for nonce in ("a", "b", "a"):
                conn.request(chat(nonce=nonce))
            conn.request(Request("GET", "/v1/models",
                                 client.wishes(nonce="m")))
        self.assertEqual(self.engine.ask("receipts"), {"a": 2, "b": 1})
        self.assertEqual(self.engine.ask("receipts/a"), 2)
        self.assertEqual(self.engine.ask("order"), ["a", "b", "a"])
        self.assertEqual(self.engine.ask("peak"), 1)
        self.assertEqual(self.engine.ask("received"), 3)

    def test_leaving_in_any_way_ends_it(self):
        for leave in ("close", "reset", "half_close"):
            conn = client.Connection(self.port)
            conn.send(chat(hold=1))
            self.until_active(1)
            getattr(conn, leave)()
            self.until_active(0)
            conn.close()

    def test_an_endless_stream_ends_with_its_client(self):
        with client.Connection(self.port) as conn:
            conn.send(chat(forever=1))
            conn.receive_part(100000)
            self.assertEqual(self.engine.ask("active"), 1)
        self.until_active(0)

    def test_a_release_ends_an_endless_stream(self):
        with client.Connection(self.port) as conn:
            conn.send(chat(forever=1, nonce="f"))
            conn.receive_part(1)
            self.assertEqual(self.engine.ask("release/f"), 1)
            self.assertEqual(conn.receive().events()[-1], "[DONE]")

    def test_fails_as_wished(self):
        self.assertEqual(client.request(self.port, chat(fail=1)).status, 500)
        self.assertEqual(client.request(self.port, chat(fail=429)).status, 429)

    def test_resets_as_wished(self):
        with client.Connection(self.port) as conn:
            conn.send(chat(reset=1))
            with self.assertRaises(ConnectionResetError):
                conn.receive()
        for stream in (False, True):
            with client.Connection(self.port) as conn:
                conn.send(chat(reset_mid=1, stream=stream, tokens=8))
                part = conn.receive_part(20)
                self.assertGreaterEqual(len(part.body), 20)
                with self.assertRaises(ConnectionResetError):
                    conn.receive()
        self.assertEqual(self.engine.ask("active"), 0)

    def test_delays_as_wished(self):
        outcome, = burst(self.port, [chat(delay_ms=80)])
        self.assertGreaterEqual(outcome.seconds, 0.08)

    def test_takes_large_bodies(self):
        for chunk in (0, 1000, 300000):
            big = chat(pad=3 << 20, chunk=chunk, stream=True)
            self.assertEqual(len(client.request(self.port, big).events()), 4)

    def test_pipelined_requests_in_turn(self):
        with client.Connection(self.port) as conn:
            conn.send(chat(delay_ms=20, nonce="a"))
            conn.send(chat(fail=1, nonce="b"))
            self.assertEqual(conn.receive().status, 200)
            self.assertEqual(conn.receive().status, 500)

    def test_continue_is_sent_when_expected(self):
        body = chat().body
        with client.Connection(self.port) as conn:
            conn.send_raw(b"POST /generate HTTP/1.1\r\nExpect: 100-continue\r\n"
                          b"Content-Length: %d\r\n\r\n" % len(body))
            self.assertEqual(conn.sock.recv(100, 2)[:12], b"HTTP/1.1 100")
            conn.send_raw(body, method=None)
            answer = conn.receive()
            self.assertEqual(200, answer.status)
            self.assertEqual([100], [head.status for head in answer.interim])

    def test_what_is_no_http_is_refused(self):
        for text in (b"nonsense\r\n\r\n",
                     b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                     b"zz\r\n",
                     b"GET /" + b"x" * 80000):
            with client.Connection(self.port) as conn:
                conn.send_raw(text)
                self.assertEqual(conn.receive().status, 400, text[:40])
                self.assertTrue(conn.closed())

    def test_metrics_say_what_they_are_told(self):
        self.engine.ask("waiting/7")
        with client.Connection(self.port) as conn:
            metrics = Request("GET", "/metrics")
            self.assertIn(b'vllm:num_requests_waiting{model_name="stub"} 7\n',
                          conn.request(metrics).body)
            self.engine.ask("metrics/off")
            self.assertEqual(conn.request(metrics).status, 503)
            self.engine.ask("metrics/on")
            self.assertEqual(conn.request(metrics).status, 200)
        self.assertEqual(self.engine.ask("scrapes"), 3)

    def test_dies_at_once(self):
        engine = Engine("mortal", self.folder)
        with client.Connection(engine.port) as conn:
            conn.send(chat(hold=1))
            until(lambda: engine.ask("held") == 1, "held")
            with client.Connection(engine.port) as other:
                other.send(Request("GET", "/__die"))
                with self.assertRaises(ConnectionResetError):
                    conn.receive()
        self.assertEqual(engine.process.wait(), 0)

    def test_thousands_held_at_once(self):
        conns = [client.Connection(self.port) for _ in range(3000)]
        for i, conn in enumerate(conns):
            conn.send(chat(nonce=f"n{i}", hold=1))
        self.until_active(3000)
        for conn in conns[:1000]:
            conn.reset()
        self.until_active(2000)
        self.assertEqual(self.engine.ask("release_all"), 2000)
        self.assertEqual({conn.receive().status for conn in conns[1000:]},
                         {200})
        self.assertEqual(self.engine.ask("peak"), 3000)
        for conn in conns[1000:]:
            conn.close()


class OfPairs(WithEngine):
    """An engine that is told of another has that do the prefill first; here
    it is its own other."""

    def pair(self, address=None, **wishes):
        return chat(headers={
            "x-prefiller-host-port": address or self.engine.address}, **wishes)

    def test_the_prefill_comes_first(self):
        with client.Connection(self.port) as conn:
            conn.send(self.pair(nonce="n", hold=1, prefill_hold=1))
            until(lambda: self.engine.ask("held") == 1, "prefill is held")
            self.assertEqual(self.engine.ask("received/n"), 2)
            self.assertEqual(self.engine.ask("release/n"), 1)
            until(lambda: self.engine.ask("held") == 1
                  and self.engine.ask("active") == 1, "decode is held")
            self.assertEqual(self.engine.ask("release/n"), 1)
            self.assertEqual(conn.receive().status, 200)

    def test_without_a_prefill_there_is_no_answer(self):
        with bound_socket() as nobody:
            gone = "127.0.0.1:%d" % nobody.getsockname()[1]
            self.assertEqual(client.request(
                self.port, self.pair(gone)).status, 502)
        self.assertEqual(client.request(
            self.port, self.pair("nowhere")).status, 400)

    def test_who_leaves_takes_the_prefill_along(self):
        conn = client.Connection(self.port)
        conn.send(self.pair(prefill_hold=1))
        self.until_active(2)
        conn.reset()
        self.until_active(0)


class Bursts(WithEngine):
    def test_each_with_its_outcome(self):
        outcomes = burst(self.port, [
            *(chat(nonce=f"r{i}", delay_ms=50) for i in range(60)),
            *(chat(fail=1) for _ in range(5)),
            *(chat(reset=1) for _ in range(3)),
            *(chat(reset_mid=1) for _ in range(2))])
        self.assertEqual(count(outcomes), {200: 60, 500: 5, "reset": 5})
        self.assertEqual(len(self.engine.ask("receipts")), 60)
        self.assertEqual(outcomes[7].request.headers["X-Test-Nonce"], "r7")
        self.assertGreaterEqual(outcomes[7].seconds, 0.05)

    def test_timeouts_and_absence_are_outcomes(self):
        with bound_socket() as sock:
            absent = burst(sock.getsockname()[1], [chat()])
        self.assertIn("Connect call failed", absent[0].result)
        slow = burst(self.port, [chat(hold=1)], timeout=0.1)
        self.assertEqual(slow[0].result, "timeout")
        self.until_active(0)

    def test_load_is_conserved(self):
        outcomes = client.load(self.port, lambda i: chat(
            nonce=f"l{i}", stream=i % 2 == 0), clients=8, seconds=0.5)
        self.assertEqual(set(count(outcomes)), {200})
        self.assertEqual(self.engine.ask("received"), len(outcomes))
        self.assertLessEqual(self.engine.ask("peak"), 8)
        self.assertTrue(all(o.first is not None for o in outcomes))


class OfHttp2(WithEngine):
    """Against HAProxy, whose HTTP/2 is not ours."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        socks = [bound_socket(), bound_socket()]
        cls.h1_port, cls.h2_port = (s.getsockname()[1] for s in socks)
        config = cls.folder / "haproxy.cfg"
        config.write_text(CONFIG.format(h1=socks[0].fileno(),
                                        h2=socks[1].fileno(),
                                        engine=cls.engine.address))
        cls.haproxy = Process("haproxy", [HAPROXY, "-db", "-f", config],
                              cls.folder, pass_fds=[s.fileno() for s in socks])
        cls.addClassCleanup(cls.haproxy.stop)
        for sock in socks:
            sock.listen()  # so that nobody is refused until HAProxy serves
            sock.close()

    def test_http1_passes_too(self):
        self.assertEqual(client.request(self.h1_port, chat()).status, 200)

    def test_one_after_the_other(self):
        with h2.Connection(self.h2_port) as conn:
            for i in range(20):
                answer = conn.request(chat(nonce=f"h{i}"))
                self.assertEqual(answer.status, 200)
                self.assertIn("choices", answer.json())
                self.assertEqual(answer.header("x-test-engine"), "stub")
            self.assertEqual(conn.request(Request("GET", "/no")).status, 404)

    def test_many_streams_of_which_some_leave(self):
        with h2.Connection(self.h2_port) as conn:
            streams = [conn.send(chat(nonce=f"s{i}", hold=1))
                       for i in range(12)]
            self.until_active(12)
            for stream in streams[:3]:
                stream.reset()
            self.until_active(9)
            self.assertEqual(self.engine.ask("release/s5"), 1)
            self.assertEqual(conn.receive(streams[5]).status, 200)
            self.engine.ask("release_all")
            for stream in streams[3:]:
                self.assertEqual(conn.receive(stream).status, 200)

    def test_a_reset_connection_takes_its_streams(self):
        conn = h2.Connection(self.h2_port)
        for _ in range(5):
            conn.send(chat(hold=1))
        self.until_active(5)
        conn.reset()
        self.until_active(0)

    def test_events_arrive_as_they_come(self):
        with h2.Connection(self.h2_port) as conn:
            stream = conn.send(chat(stream=True, forever=1, nonce="f"))
            self.assertEqual(conn.receive_head(stream).status, 200)
            conn.wait(lambda: len(stream.response.events()) >= 3)
            self.assertFalse(stream.ended)
            self.engine.ask("release/f")
            self.assertEqual(conn.receive(stream).events()[-1], "[DONE]")

    def test_more_than_the_windows_both_ways(self):
        with h2.Connection(self.h2_port) as conn:
            big = conn.send(chat(pad=1 << 20, tokens=200000))
            small = conn.send(chat())
            self.assertEqual(conn.receive(small).status, 200)
            answer = conn.receive(big)
            self.assertEqual(answer.status, 200)
            self.assertGreater(len(answer.body), 1 << 20)

    def test_a_broken_answer_is_seen(self):
        with h2.Connection(self.h2_port) as conn:
            with self.assertRaises(h2.H2Error):
                conn.request(chat(reset_mid=1))
            head = conn.request(Request("HEAD", "/health"))
            self.assertEqual((head.status, head.body), (200, b""))

    def test_a_stream_that_the_server_resets_is_an_error(self):
        with h2.Connection(self.h2_port) as conn:
            # To depend on itself is an error of the stream (RFC 7540 5.3.1).
            stream = conn.send(chat(hold=1))
            self.until_active(1)
            conn.send_frame(h2.PRIORITY, 0, stream.number,
                            stream.number.to_bytes(4, "big") + b"\0")
            with self.assertRaises(h2.H2Error):
                conn.receive(stream)

    def test_a_request_can_be_left_open(self):
        with h2.Connection(self.h2_port) as conn:
            request = chat()
            body, request.body = request.body, b""
            stream = conn.send(request, end=False)
            conn.ping()
            self.assertIsNone(stream.response)
            conn.send_data(stream, body)
            self.assertEqual(conn.receive(stream).status, 200)


class Waiting(unittest.TestCase):
    def test_until_returns_the_value(self):
        began = time.monotonic()
        self.assertEqual(until(lambda: time.monotonic() > began + 0.02 and 7,
                               "later"), 7)


if __name__ == "__main__":
    unittest.main()

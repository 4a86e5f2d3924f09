# SPDX-License-Identifier: Apache-2.0
"""An HTTP/1.1 client for tests: every byte and every departure at will.

One connection at a time, in the test's own hand:

    conn = Connection(port)
    conn.send(chat(nonce="a", hold=1))
    ...
    assert conn.receive().status == 200

Many at once, each with its outcome and its times:

    outcomes = burst(port, [chat(nonce=f"r{i}") for i in range(60)])
    assert count(outcomes) == {200: 48, 429: 12}

Servers are named by (host, port), or by a port of 127.0.0.1.
"""

import asyncio
import collections
import dataclasses
import itertools
import json
import socket
import struct
import time

from typing import Optional

TIMEOUT = 30.0
READ_SIZE = 65536
LINGER_NONE = struct.pack("ii", 1, 0)


class HttpError(Exception):
    """What came is no HTTP."""


def address(server):
    """Of (host, port), or of a port of 127.0.0.1."""
    return ("127.0.0.1", server) if isinstance(server, int) else server


# ---- requests


@dataclasses.dataclass
class Request:
    method: str = "POST"
    path: str = "/v1/chat/completions"
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    chunk: int = 0  # when not 0, the body goes in chunks of that size

    def encode(self):
        headers = {"Host": "test", **self.headers}
        body = self.body
        if self.chunk:
            headers["Transfer-Encoding"] = "chunked"
            body = in_chunks(body, self.chunk)
        elif body or self.method == "POST":
            headers["Content-Length"] = str(len(body))
        lines = [f"{self.method} {self.path} HTTP/1.1",
                 *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def in_chunks(body, size):
    out = b"".join(b"%x\r\n%b\r\n" % (len(part), part)
                   for part in (body[i:i + size]
                                for i in range(0, len(body), size)))
    return out + b"0\r\n\r\n"


def wishes(nonce=None, **wanted):
    """The headers that tell a stub engine how to answer: hold=1 is
    X-Test-Hold: 1, token_ms=20 is X-Test-Token-Ms: 20."""
    headers = {f"X-Test-{name.replace('_', '-').title()}": str(value)
               for name, value in wanted.items()}
    if nonce is not None:
        headers["X-Test-Nonce"] = nonce
    return headers


def chat(nonce=None, stream=False, model="stub", headers=None,
         path="/v1/chat/completions", pad=0, chunk=0, **wanted):
    """A chat request; pad makes its prompt so many bytes longer."""
    body = json.dumps({
        "model": model, "stream": stream,
        "messages": [{"role": "user", "content": "hi" + "." * pad}]})
    return Request(path=path, body=body.encode(), chunk=chunk, headers={
        "Content-Type": "application/json", **wishes(nonce, **wanted),
        **(headers or {})})


# ---- responses


@dataclasses.dataclass
class Response:
    status: int
    headers: list  # of (name in lower case, value)
    body: bytes = b""
    interim: tuple = ()  # the 1xx heads before it

    def all(self, name):
        return [value for key, value in self.headers if key == name.lower()]

    def header(self, name):
        """The value of the first of that name, or None."""
        return next(iter(self.all(name)), None)

    def json(self):
        return json.loads(self.body)

    def closes(self):
        return "close" in (self.header("connection") or "").lower()

    def events(self):
        """The data of a stream's events, in order."""
        return [line[6:].decode() for line in self.body.split(b"\n")
                if line.startswith(b"data: ")]


class Parser:
    """Bytes to one response. What follows it stays in rest."""

    def __init__(self, method="POST"):
        self.response = None  # from its head on, while its body still grows
        self.whole = False
        self.rest = b""
        self._bare = method == "HEAD"
        self._interim = []
        self._step = self._head

    def feed(self, data):
        self.rest += data
        while not self.whole and self._step():
            pass

    def end(self):
        """The server has closed."""
        if self._step == self._until_end:
            self.whole = True

    def _line(self):
        line, found, rest = self.rest.partition(b"\r\n")
        if not found:
            return None
        self.rest = rest
        return line

    def _head(self):
        head, found, rest = self.rest.partition(b"\r\n\r\n")
        if not found:
            return False
        self.rest = rest
        first, *lines = head.decode("latin-1").split("\r\n")
        version, status = first.split(" ")[:2]
        if not version.startswith("HTTP/1."):
            raise HttpError(first)
        headers = [(name.lower(), value.strip()) for name, _, value in
                   (line.partition(":") for line in lines)]
        self._begin(Response(int(status), headers))
        return True

    def _begin(self, response):
        if response.status < 200:
            self._interim.append(response)
            return
        self.response = response
        response.interim = tuple(self._interim)
        length = response.header("content-length")
        if self._bare or response.status in (204, 304):
            self.whole = True
        elif response.header("transfer-encoding") == "chunked":
            self._step = self._chunk_size
        elif length is not None:
            self._left, self._step = int(length), self._by_length
            self.whole = self._left == 0
        else:
            self._step = self._until_end

    def _take(self, size):
        data, self.rest = self.rest[:size], self.rest[size:]
        self.response.body += data
        return len(data)

    def _by_length(self):
        self._left -= self._take(self._left)
        self.whole = self._left == 0
        return False

    def _until_end(self):
        self._take(len(self.rest))
        return False

    def _chunk_size(self):
        line = self._line()
        if line is None:
            return False
        self._left = int(line.split(b";")[0], 16)
        self._step = self._chunk if self._left else self._trailer
        return True

    def _chunk(self):
        if self._left:
            self._left -= self._take(self._left)
        if self._left or self._line() is None:
            return False
        self._step = self._chunk_size
        return True

    def _trailer(self):
        line = self._line()
        if line is None:
            return False
        self.whole = line == b""
        return True


# ---- one connection


class Connection:
    """A connection, open at once. tls is an ssl.SSLContext."""

    def __init__(self, server, tls=None, timeout=TIMEOUT):
        self.sock = socket.create_connection(address(server), timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
        self._rest = b""
        self._methods = collections.deque()  # of requests without an answer
        self._parser = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, request):
        self._methods.append(request.method)
        self.sock.sendall(request.encode())

    def send_raw(self, data, method="POST"):
        """For half requests; method is for the answer, None for no answer."""
        if method is not None:
            self._methods.append(method)
        self.sock.sendall(data)

    def receive(self):
        """The whole answer to the oldest request that has none yet."""
        parser = self._pump(lambda p: p.whole)
        self._rest, self._parser = parser.rest, None
        self._methods.popleft()
        return parser.response

    def receive_head(self):
        """The answer once its head is here; receive() still returns it."""
        return self._pump(lambda p: p.response is not None).response

    def receive_part(self, size):
        """The answer once so many bytes of its body are here, or all."""
        return self._pump(lambda p: p.response is not None and (
            p.whole or len(p.response.body) >= size)).response

    def request(self, request):
        self.send(request)
        return self.receive()

    def _pump(self, enough):
        if self._parser is None:
            self._parser = Parser(self._methods[0])
            self._parser.feed(self._rest)
            self._rest = b""
        parser = self._parser
        while not enough(parser):
            data = self.sock.recv(READ_SIZE)
            if data:
                parser.feed(data)
                continue
            parser.end()
            if not enough(parser):
                raise ConnectionError("closed before the answer was whole")
        return parser

    def closed(self, timeout=5.0):
        """Whether the server closes within that time, and sends no more."""
        before = self.sock.gettimeout()
        self.sock.settimeout(timeout)
        try:
            return not self._rest and self.sock.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.sock.settimeout(before)

    def half_close(self):
        """Says that no more requests come, and still reads."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Leaves by a RST, as a killed client does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
        self.sock.close()

    def close(self):
        self.sock.close()


def request(server, what, tls=None, timeout=TIMEOUT):
    """One request on a connection of its own."""
    with Connection(server, tls, timeout) as conn:
        return conn.request(what)


# ---- many at once


@dataclasses.dataclass
class Outcome:
    """What became of one request; times are of time.monotonic()."""

    request: Request
    began: float
    ended: float = 0.0
    first: Optional[float] = None  # when the first byte of a body came
    response: Optional[Response] = None
    error: Optional[str] = None  # in place of a response

    @property
    def result(self):
        """The status, or the error."""
        return self.error or self.response.status

    @property
    def seconds(self):
        return self.ended - self.began

    @property
    def word(self):
        """The error word in the JSON of a refusal, or None."""
        try:
            return self.response.json().get("error")
        except (AttributeError, ValueError):
            return None


def count(outcomes):
    """How many there are of each status or error."""
    return collections.Counter(outcome.result for outcome in outcomes)


class _Client:
    """One keep-alive connection in the loop of asyncio."""

    def __init__(self, server, tls=None):
        self.server, self.tls = address(server), tls
        self.writer = None

    async def request(self, what, timeout):
        outcome = Outcome(what, time.monotonic())
        try:
            await asyncio.wait_for(self._exchange(what, outcome), timeout)
        except (asyncio.TimeoutError, TimeoutError):
            outcome.error = "timeout"
        except ConnectionResetError:
            outcome.error = "reset"
        except OSError as error:
            outcome.error = str(error)
        outcome.ended = time.monotonic()
        if outcome.error or outcome.response.closes():
            self.close()
        return outcome

    async def _exchange(self, what, outcome):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                *self.server, ssl=self.tls)
        self.writer.write(what.encode())
        parser = Parser(what.method)
        while not parser.whole:
            data = await self.reader.read(READ_SIZE)
            parser.feed(data)
            if not data:
                parser.end()
            if not data and not parser.whole:
                raise ConnectionError("closed")
            if outcome.first is None and parser.response is not None \
                    and parser.response.body:
                outcome.first = time.monotonic()
        outcome.response = parser.response

    def close(self):
        if self.writer is not None:
            self.writer.transport.abort()
        self.writer = None


async def _burst(server, requests, timeout, tls, ended):
    async def one(what):
        client = _Client(server, tls)
        outcome = await client.request(what, timeout)
        client.close()
        if ended:
            ended(outcome)
        return outcome
    return await asyncio.gather(*map(one, requests))


def burst(server, requests, timeout=TIMEOUT, tls=None, ended=None):
    """All of them at once, each on a connection of its own. Returns their
    outcomes in the same order; ended(outcome) is told of each as it ends."""
    return asyncio.run(_burst(server, requests, timeout, tls, ended))


async def _load(server, make, clients, seconds, timeout):
    numbers, outcomes = itertools.count(), []
    until = time.monotonic() + seconds

    async def one():
        client = _Client(server)
        while time.monotonic() < until:
            outcomes.append(await client.request(make(next(numbers)), timeout))
        client.close()
    await asyncio.gather(*(one() for _ in range(clients)))
    return outcomes


def load(server, make, clients, seconds, timeout=TIMEOUT):
    """So many clients, each on a kept connection and with one request after
    the other, for so long. make(i) makes the i-th request. Returns the
    outcomes in the order in which they came."""
    return asyncio.run(_load(server, make, clients, seconds, timeout))


async def _timetable(entries, timeout):
    start = time.monotonic()

    async def one(at, server, what):
        await asyncio.sleep(start + at - time.monotonic())
        client = _Client(server)
        outcome = await client.request(what, timeout)
        client.close()
        return outcome
    return await asyncio.gather(*(one(*entry) for entry in entries))


def timetable(entries, timeout=TIMEOUT):
    """Each of (seconds, server, request) so long after the first moment, on a
    connection of its own. Returns their outcomes in the same order."""
    return asyncio.run(_timetable(entries, timeout))

# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 client for tests: many streams on one connection, each of which
can be left at will.

    with Connection(port) as conn:
        streams = [conn.send(chat(nonce=f"s{i}", hold=1)) for i in range(8)]
        streams[0].reset()
        assert conn.receive(streams[1]).status == 200

Over cleartext by prior knowledge, or over TLS by ALPN. It speaks when it is
asked to: receive() and wait() read frames, of whatever stream they are.
"""

import socket
import struct
import time

import hpack

from client import LINGER_NONE, READ_SIZE, TIMEOUT, Response, address

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED = 1, 1, 4, 8, 32
ENABLE_PUSH, INITIAL_WINDOW, MAX_FRAME = 2, 4, 5
CANCEL = 8

# What HTTP/2 has no place for.
HOP_BY_HOP = {"connection", "host", "transfer-encoding"}


class H2Error(Exception):
    """The server broke the protocol, or ended the connection."""


class Stream:
    """One request and what has come of its answer."""

    def __init__(self, conn, number, method, window):
        self.conn = conn
        self.number = number
        self.method = method
        self.window = window  # what we may still send
        self.response = None  # from its head on, while its body still grows
        self.interim = []
        self.ended = False    # by its end or by a reset
        self.error = None     # the code of the server's reset

    def reset(self, code=CANCEL):
        """Leaves this stream; the others go on."""
        self.ended = True
        self.conn.send_frame(RST_STREAM, 0, self.number,
                             struct.pack("!I", code))


class Connection:
    """A connection, open at once. tls is an ssl.SSLContext that offers h2."""

    def __init__(self, server, tls=None, timeout=TIMEOUT):
        self.timeout = timeout
        self.sock = socket.create_connection(address(server), timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.scheme = "http"
        if tls is not None:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
            self.scheme = "https"
        self.streams = {}
        self.goaway = None  # the code of the server's GOAWAY
        self._number = 1
        self._window = self._stream_window = 65535
        self._max_frame = 16384
        self._decoder = hpack.Decoder()
        self._in = b""
        self._block = b""
        self.sock.sendall(PREFACE)
        self.send_frame(SETTINGS, 0, 0, struct.pack("!HI", ENABLE_PUSH, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- the test's side

    def send(self, request, end=True):
        """A client.Request on a stream of its own; end=False leaves it open
        for send_data()."""
        stream = Stream(self, self._number, request.method,
                        self._stream_window)
        self.streams[stream.number] = stream
        self._number += 2
        headers = [(":method", request.method), (":scheme", self.scheme),
                   (":authority", request.headers.get("Host", "test")),
                   (":path", request.path)]
        headers += [(name.lower(), value)
                    for name, value in request.headers.items()
                    if name.lower() not in HOP_BY_HOP]
        only_head = end and not request.body
        self.send_frame(HEADERS, END_HEADERS | (END_STREAM if only_head else 0),
                        stream.number, hpack.encode(headers))
        if not only_head:
            self.send_data(stream, request.body, end)
        return stream

    def send_data(self, stream, data, end=True):
        """Waits for the window where the data need it."""
        while True:
            size = min(len(data), self._max_frame, self._window, stream.window)
            if data and size <= 0:
                self.wait(lambda: stream.ended or (
                    self._window > 0 and stream.window > 0))
                if stream.ended:
                    return
                continue
            part, data = data[:size], data[size:]
            self._window -= len(part)
            stream.window -= len(part)
            self.send_frame(DATA, END_STREAM if end and not data else 0,
                            stream.number, part)
            if not data:
                return

    def receive(self, stream):
        """The whole answer; H2Error when there is none, or not all of it."""
        self.wait(lambda: stream.ended)
        if stream.error is not None or stream.response is None:
            raise H2Error(f"stream {stream.number} reset: {stream.error}")
        length = stream.response.header("content-length")
        if length not in (None, str(len(stream.response.body))) \
                and stream.method != "HEAD":
            raise H2Error("the body ends too early")
        return stream.response

    def receive_head(self, stream):
        """The answer once its head is here, or None after a reset."""
        self.wait(lambda: stream.ended or stream.response)
        return stream.response

    def request(self, request):
        return self.receive(self.send(request))

    def wait(self, condition, timeout=None):
        """Reads frames until condition() holds; TimeoutError if it does not."""
        deadline = time.monotonic() + (timeout or self.timeout)
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("HTTP/2: nothing came")
            self.sock.settimeout(left)
            data = self.sock.recv(READ_SIZE)
            if not data:
                raise H2Error(f"closed; GOAWAY {self.goaway}")
            self._in += data
            self._read_frames()

    def ping(self):
        """A round trip: what was sent before has arrived when it returns."""
        self._pong = False
        self.send_frame(PING, 0, 0, bytes(8))
        self.wait(lambda: self._pong)

    def reset(self):
        """Leaves with all streams by a RST, as a killed client does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
        self.sock.close()

    def close(self):
        self.sock.close()

    def send_frame(self, kind, flags, number, payload=b""):
        self.sock.settimeout(self.timeout)
        self.sock.sendall(struct.pack("!I", len(payload))[1:] + struct.pack(
            "!BBI", kind, flags, number) + payload)

    # ---- frames that come in

    def _read_frames(self):
        while len(self._in) >= 9:
            length = int.from_bytes(self._in[:3], "big")
            kind, flags, number = struct.unpack("!BBI", self._in[3:9])
            payload = self._in[9:9 + length]
            if len(payload) < length:
                return
            self._in = self._in[9 + length:]
            if number == 0:
                self._on_connection_frame(kind, flags, payload)
            else:
                self._on_stream_frame(kind, flags, self.streams[number],
                                      payload)

    def _on_connection_frame(self, kind, flags, payload):
        if kind == SETTINGS and not flags & ACK:
            self._on_settings(payload)
        elif kind == PING and flags & ACK:
            self._pong = True
        elif kind == PING:
            self.send_frame(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            self.goaway, = struct.unpack("!I", payload[4:8])
        elif kind == WINDOW_UPDATE:
            self._window += struct.unpack("!I", payload)[0]

    def _on_stream_frame(self, kind, flags, stream, payload):
        if kind == DATA:
            self._on_data(flags, stream, payload)
        elif kind in (HEADERS, CONTINUATION):
            self._on_headers(kind, flags, stream, payload)
        elif kind == WINDOW_UPDATE:
            stream.window += struct.unpack("!I", payload)[0]
        elif kind == RST_STREAM:
            stream.error, = struct.unpack("!I", payload)
            stream.ended = True

    def _on_settings(self, payload):
        for name, value in struct.iter_unpack("!HI", payload):
            if name == MAX_FRAME:
                self._max_frame = value
            if name == INITIAL_WINDOW:
                for stream in self.streams.values():
                    stream.window += value - self._stream_window
                self._stream_window = value
        self.send_frame(SETTINGS, ACK, 0)

    @staticmethod
    def _without_padding(flags, payload):
        if flags & PADDED:
            payload = payload[1:len(payload) - payload[0]]
        return payload

    def _on_data(self, flags, stream, payload):
        if payload:
            grant = struct.pack("!I", len(payload))
            self.send_frame(WINDOW_UPDATE, 0, 0, grant)
            if not stream.ended and not flags & END_STREAM:
                self.send_frame(WINDOW_UPDATE, 0, stream.number, grant)
        stream.response.body += self._without_padding(flags, payload)
        stream.ended = stream.ended or bool(flags & END_STREAM)

    def _on_headers(self, kind, flags, stream, payload):
        if kind == HEADERS:
            payload = self._without_padding(flags, payload)
            self._block = payload[5:] if flags & PRIORITIZED else payload
            self._last = bool(flags & END_STREAM)
        else:
            self._block += payload
        if not flags & END_HEADERS:
            return
        self._on_head(stream, self._decoder.decode(self._block))
        stream.ended = stream.ended or self._last

    @staticmethod
    def _on_head(stream, headers):
        status = int(dict(headers).get(":status", 0))  # trailers have none
        head = Response(status, [h for h in headers if h[0] != ":status"])
        if status >= 200:
            head.interim = tuple(stream.interim)
            stream.response = head
        elif status > 0:
            stream.interim.append(head)

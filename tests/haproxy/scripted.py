# SPDX-License-Identifier: Apache-2.0
"""An engine that sends the very bytes that a test wants, and keeps what it
was sent. It stands where the stack's second engine would:

    class Bytes(ScriptedCase):
        def test_something(self):
            pool = self.pool(fc_expose_headers="on")
            self.script.pieces = [b"HTTP/1.1 200 OK\r\n", b"\r\nhello"]
"""

import http.server
import socket
import threading
import time

from case import StackCase

# Between two pieces, so that they are read one by one.
PAUSE = 0.05


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.server.seen = self.headers
        self.read_body()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i, piece in enumerate(self.server.pieces):
            if i > 0:
                time.sleep(PAUSE)
            self.wfile.write(piece)
        self.close_connection = True

    def read_body(self):
        """By length, or in chunks, as HTTP/2 comes."""
        length = self.headers["Content-Length"]
        if length is not None:
            self.rfile.read(int(length))
            return
        while size := int(self.rfile.readline(), 16):
            self.rfile.read(size + 2)
        self.rfile.readline()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pieces = []  # of the next answers
        self.seen = None  # the headers of the last request
        self.address = f"127.0.0.1:{self.server_address[1]}"


class ScriptedCase(StackCase):
    """Its rules have the scripted engine and no other."""

    @classmethod
    def setUpClass(cls):
        cls.script = Server()
        thread = threading.Thread(target=cls.script.serve_forever)
        thread.start()
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(cls.script.server_close)
        cls.addClassCleanup(cls.script.shutdown)
        cls.OPTIONS = {**cls.OPTIONS, "engines": 1, "haproxy_env": {
            "ADMISSION_ENGINE_2": cls.script.address}}
        super().setUpClass()

    def pool(self, **arguments):
        return super().pool([self.script.address], **arguments)

# SPDX-License-Identifier: Apache-2.0
"""The shipped files themselves: HAProxy takes them without a warning, the
page beside them leaves nothing out, and the engines get what they should."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from client import chat
from scripted import ScriptedCase
from stack import HAPROXY, SHIPPED, Stack


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, **variables):
        """HAProxy reads it with warnings as errors."""
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("ADMISSION_")}
        done = subprocess.run(
            [HAPROXY, "-dW", "-c", "-f", SHIPPED / "haproxy.cfg"],
            capture_output=True, text=True, env={
                **clean, "ADMISSION_DIR": str(SHIPPED),
                "ADMISSION_SOCKET": str(self.folder / "haproxy.sock"),
                **variables})
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, "WARNING|ALERT")

    def test_the_defaults_are_valid(self):
        self.check()

    def test_every_option_is_valid(self):
        """TLS, tokens, syslog and the inner hop, together."""
        public = self.folder / "public.pem"
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA"],
                             check=True, capture_output=True).stdout
        public.write_bytes(subprocess.run(
            ["openssl", "pkey", "-pubout"], input=key, check=True,
            capture_output=True).stdout)
        self.check(ADMISSION_JWT_KEY=str(public),
                   ADMISSION_TLS_CERT=str(Stack.certificate(self.folder)),
                   ADMISSION_HOP="127.0.0.1:9020",
                   ADMISSION_SYSLOG="127.0.0.1:514",
                   ADMISSION_WITHOUT_AGENT="closed",
                   ADMISSION_KEYLESS="refuse")

    def test_the_page_names_every_variable(self):
        """Of the environment and of HAProxy."""
        page = (SHIPPED / "README.md").read_text()
        files = "".join((SHIPPED / name).read_text()
                        for name in ("haproxy.cfg", "spoe.conf"))
        rows = "\n".join(line.split("|")[1] for line in page.splitlines()
                         if line.startswith("| `"))
        named = set(re.findall(r"ADMISSION_\w+|txn\.[\w.]+|\.\w+|_\d", rows))
        for name in set(re.findall(r"ADMISSION_\w+", files)):
            self.assertTrue(name in named or name[-2:] in named
                            and name[:-2] + "_1" in named, name)
        for name in set(re.findall(r"txn\.[a-z_.]+[a-z_]", files)):
            last = "." + name.rsplit(".", 1)[1]
            self.assertTrue(name in named or last in named, name)


class ToTheEngine(ScriptedCase):
    SERVICES = 1

    def test_an_engine_gets_what_the_client_sent_and_no_more(self):
        """What is ours to say is dropped when a client says it."""
        self.script.pieces = [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
        pool = self.pool()
        answer = self.ask(pool, chat(headers={
            "x-prefiller-host-port": "127.0.0.1:1", "x-adm-http": "7",
            "x-adm-close": "1", "X-Other": "kept"}))
        self.assertEqual(200, answer.status)
        self.assertFalse(answer.closes())
        seen = self.script.seen
        self.assertIsNone(seen["x-prefiller-host-port"])
        self.assertEqual("kept", seen["x-other"])
        self.assertEqual("127.0.0.1", seen["x-forwarded-for"])
        if self.stack.haproxy_version() >= (2, 9):
            self.assertEqual([], [name for name in seen
                                  if name.lower().startswith("x-adm-")])


if __name__ == "__main__":
    unittest.main()

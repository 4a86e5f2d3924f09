# SPDX-License-Identifier: Apache-2.0
"""Who may change something through the API, and who may listen beyond this
machine (contract 1, interface 1)."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from agent import (AGENT, BASE, ENTRY, HOSTS, MAINTENANCE, RULES, running,
                   rule)

TOKEN = "correct-horse-battery"
WRITES = [("POST", RULES), ("DELETE", RULES + "/all"),
          ("DELETE", RULES + "/name/x"), ("DELETE", RULES + "/id/x"),
          ("DELETE", ENTRY), ("PATCH", ENTRY), ("PUT", MAINTENANCE),
          ("POST", HOSTS)]
READS = [RULES + "/all", MAINTENANCE, "/metrics", BASE + "/version",
         BASE + "/swagger.json", "/healthz", "/readyz"]


def bearer(token):
    return {"Authorization": "Bearer " + token}


class Guard(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "token"
        self.file.write_text(TOKEN + "\n")
        self.addCleanup(self.folder.cleanup)

    def secured(self):
        return running("--api-token-file", str(self.file))

    def check(self, *options):
        """Exit status and log of --check with these options."""
        done = subprocess.run([AGENT, "--check", *options], text=True,
                              stderr=subprocess.PIPE, env={}, timeout=10)
        return done.returncode, done.stderr

    def test_writes_need_the_token(self):
        with self.secured() as agent:
            for method, path in WRITES:
                for headers in ({}, bearer("wrong-horse-battery"),
                                {"Authorization": "Basic " + TOKEN}):
                    answer = agent.call(method, path, rule(), **headers)
                    self.assertEqual(answer.status, 401, (method, path))
                    self.assertEqual(answer.headers["WWW-Authenticate"],
                                     "Bearer")
                    self.assertEqual(answer.json["code"], 401)
                    self.assertEqual(answer.json["message"], "Invalid "
                                     "authentication credentials")
                    self.assertNotIn(TOKEN, answer.text)
            self.assertEqual(agent.rules(), [])

    def test_the_token_is_enough(self):
        with self.secured() as agent:
            agent.call("POST", RULES, rule(), **bearer(TOKEN)).must()
            self.assertEqual(len(agent.rules()), 1)
            agent.call("DELETE", RULES + "/all", **bearer(TOKEN)).must()
            agent.call("PUT", MAINTENANCE, {"enabled": False},
                       **bearer(TOKEN)).must()

    def test_reads_need_none(self):
        with self.secured() as agent:
            for path in READS:
                agent_says = agent.get(path)
                self.assertEqual(agent_says.status, 200, path)

    def test_a_hangup_reads_it_again(self):
        with self.secured() as agent:
            self.file.write_text("another-horse-battery")
            os.kill(agent.process.pid, signal.SIGHUP)
            agent.process.expect("hangup: token read again")
            self.assertEqual(agent.call("POST", RULES, rule(),
                                        **bearer(TOKEN)).status, 401)
            agent.call("POST", RULES, rule(),
                       **bearer("another-horse-battery")).must()

    def test_a_bad_file_changes_nothing(self):
        with self.secured() as agent:
            self.file.write_text("short")
            os.kill(agent.process.pid, signal.SIGHUP)
            agent.process.expect("hangup: the token stays as it was")
            agent.call("POST", RULES, rule(), **bearer(TOKEN)).must()
            self.file.unlink()
            os.kill(agent.process.pid, signal.SIGHUP)
            agent.process.expect("No such file or directory")
            agent.call("POST", RULES, rule(), **bearer(TOKEN)).must()

    def test_it_does_not_start_on_a_bad_one(self):
        for text, why in (("", "nothing is in it"), ("short", "too short"),
                          ("two lines\nof it", "several lines")):
            self.file.write_text(text)
            status, log = self.check("--api-token-file", str(self.file))
            self.assertEqual(status, 1)
            self.assertIn(why, log)
            self.assertNotIn("of it", log.replace("nothing is in it", ""))

    def test_beyond_this_machine_it_takes_a_token_or_a_word(self):
        token = "--api-token-file", str(self.file)
        for address in ("0.0.0.0:0", "[::]:0", "*:0", "192.0.2.1:0",
                        "[::ffff:192.0.2.1]:0", "[2001:db8::1]:0"):
            status, log = self.check("--api-listen", address)
            self.assertEqual(status, 1, address)
            self.assertIn("--api-token-file", log)
            self.assertIn("--api-open", log)
            for way in (token, ("--api-open",)):
                status, log = self.check("--api-listen", address, *way)
                self.assertEqual(status, 0, log)
        for address in ("127.0.0.1:0", "127.8.9.1:0", "[::1]:0", ":0",
                        "[::ffff:127.0.0.1]:0", "unix:/tmp/api.sock"):
            status, log = self.check("--api-listen", address)
            self.assertEqual(status, 0, log)

    def test_it_refuses_to_run_open(self):
        done = subprocess.run(
            [AGENT, "--api-listen", "0.0.0.0:0", "--spop-listen",
             "127.0.0.1:0", "--log-listen", "127.0.0.1:0"], text=True,
            stderr=subprocess.PIPE, env={}, timeout=10)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("listening api", done.stderr)


class Origin(unittest.TestCase):
    """A page in the browser of somebody on this machine."""

    def test_a_page_of_another_origin_changes_nothing(self):
        with running() as agent:
            for origin in ("http://evil.example", "null", "http://127.0.0.1",
                           "http://127.0.0.1:1", "garbage",
                           f"http://{agent.address}.evil.example"):
                for method, path in WRITES:
                    answer = agent.call(method, path, rule(), Origin=origin)
                    self.assertEqual(answer.status, 403, (origin, path))
            self.assertEqual(agent.rules(), [])

    def test_ours_and_no_page_do(self):
        with running() as agent:
            for origin in (f"http://{agent.address}",
                           f"https://{agent.address}"):
                agent.call("POST", RULES, rule(), Origin=origin).must()
            agent.call("POST", RULES, rule()).must()

    def test_reading_is_not_changing(self):
        with running() as agent:
            answer = agent.call("GET", "/metrics", Origin="http://evil.example")
            self.assertEqual(answer.status, 200)
            self.assertNotIn("Access-Control-Allow-Origin", answer.headers)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""What the agent reads of the engines, and what they cannot do to it; without
HAProxy, and so without traffic."""

import re
import socketserver
import threading
import time
import unittest

from agent import PORT, RULES, rule, running
from stack import Metrics, bound_socket, until

FAST = ("--scrape-interval", "100ms")
WAITING = "vllm:num_requests_waiting"
SCRAPES = "loxilb_ai_worker_scrape_total"


def answer(page, status="200 OK", length=None):
    length = len(page) if length is None else length
    return (f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n"
            f"{page}").encode()


class Engine(socketserver.ThreadingTCPServer):
    """Answers each question with the same bytes; with None it never does."""
    daemon_threads = True
    request_queue_size = 64

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while line := self.rfile.readline():
                if line != b"\r\n":
                    continue
                self.server.asked.append(time.monotonic())
                if self.server.answer is None:
                    self.rfile.read()
                    return
                self.wfile.write(self.server.answer)
                if self.server.closes:
                    return

    def __init__(self, text, closes=False):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.answer, self.closes, self.asked = text, closes, []
        threading.Thread(target=self.serve_forever, args=(0.01,),
                         daemon=True).start()

    def handle_error(self, request, client_address):
        """Whoever asked has hung up."""

    @property
    def port(self):
        return self.server_address[1]

    def stop(self):
        self.shutdown()
        self.server_close()


class EnginesCase(unittest.TestCase):
    def engine(self, *arguments, **more):
        engine = Engine(*arguments, **more)
        self.addCleanup(engine.stop)
        return engine

    def post(self, agent, ports, **arguments):
        """A rule with engines on these ports."""
        body = rule(**{"fc_mode": "enforce", "fc_max_outstanding": 8,
                       **arguments})
        body["endpoints"] = [{"endpointIP": "127.0.0.1", "targetPort": port,
                              "weight": 1} for port in ports]
        agent.post(body).must()

    def scrapes(self, agent, result):
        return Metrics(agent.get("/metrics").text).get(SCRAPES, result=result)


class Asking(EnginesCase):
    def test_who_adapts_has_its_engines_asked(self):
        """Rows 210, 211 and 213: and others have not, also after a change."""
        one, other = (self.engine(answer(f"{WAITING} 0\n")) for _ in range(2))
        with running(*FAST) as agent:
            self.post(agent, [one.port], fc_adaptive="on")
            self.post(agent, [other.port], port=PORT + 1)
            until(lambda: len(one.asked) >= 3, "it is asked")
            self.assertEqual([], other.asked)
            self.post(agent, [other.port], port=PORT + 1, fc_adaptive="on")
            self.post(agent, [one.port], fc_adaptive="off")
            before = len(one.asked)
            until(lambda: len(other.asked) >= 3, "so is the other one")
            # One question may have been under way.
            self.assertLessEqual(len(one.asked), before + 1)
            agent.delete(RULES + "/all").must()

    def test_once_in_ten_seconds(self):
        """Row 210: and so is each of two engines, not both at a time."""
        engines = [self.engine(answer(f"{WAITING} 0\n")) for _ in range(2)]
        with running() as agent:
            self.post(agent, [e.port for e in engines], fc_adaptive="on")
            until(lambda: all(len(e.asked) >= 2 for e in engines),
                  "each is asked twice", 20)
        for engine in engines:
            first, second = engine.asked[:2]
            self.assertAlmostEqual(10, second - first, delta=1)
        apart = abs(engines[0].asked[0] - engines[1].asked[0])
        self.assertAlmostEqual(5, apart, delta=1)

    def test_a_proxy_of_the_environment_is_none_of_ours(self):
        engine = self.engine(answer(f"{WAITING} 0\n"))
        with running(*FAST, http_proxy="http://127.0.0.1:1",
                     ALL_PROXY="http://127.0.0.1:1") as agent:
            self.post(agent, [engine.port], fc_adaptive="on")
            until(lambda: self.scrapes(agent, "ok"), "it is asked itself")


class Reading(EnginesCase):
    TIGHTENED, OPEN = ("tightened", "queued"), ("open", "clear")
    PAGES = {
        f'{WAITING}{{model_name="m",engine="0"}} 2.0\n': TIGHTENED,
        f"# TYPE {WAITING} gauge\nup 1\n{WAITING} 1\n": TIGHTENED,
        f'{WAITING}{{engine="0"}} 0\n{WAITING}{{engine="1"}} 1\n': TIGHTENED,
        "sglang:num_queue_reqs 4\n": TIGHTENED,
        f"{WAITING} 0\n": OPEN,
        f"{WAITING}_by_reason 7\n{WAITING} 0\n": OPEN,
        f"vllm:num_requests_running 9\n{WAITING} 0\n": OPEN,
    }

    def states(self, agent):
        """What each rule does and why, by its port."""
        rules = [entry["serviceArguments"] for entry in agent.rules()]
        return {one["port"]: (one["fc_effective"]["adapt_state"],
                              one["fc_effective"]["adapt_reason"])
                for one in rules}

    def test_what_waits_tightens(self):
        """Row 212: with labels, in one of several series, of any engine."""
        wanted = dict(enumerate(self.PAGES.values(), PORT))
        with running(*FAST) as agent:
            for port, page in enumerate(self.PAGES, PORT):
                self.post(agent, [self.engine(answer(page)).port], port=port,
                          fc_adaptive="on")
            until(lambda: all(reason not in ("none", "stale") for _, reason
                              in self.states(agent).values()), "a step each")
            self.assertEqual(wanted, self.states(agent))

    def test_what_is_no_evidence_is_counted_by_why(self):
        """Row 213: and said once."""
        page = f"{WAITING} 3\n"
        engines = {
            "ok": self.engine(answer(page)),
            "http_error": self.engine(answer(page, "500 No")),
            "body_error": self.engine(answer(page, length=999), closes=True),
            "unparseable": self.engine(answer("<html>\n")),
            "unknown": self.engine(answer("up 1\n")),
        }
        with running(*FAST) as agent, bound_socket() as nobody:
            for result in [*engines, "unreachable", "bad_request"]:
                self.assertEqual(0, self.scrapes(agent, result), result)
            self.post(agent, [nobody.getsockname()[1],
                              *(e.port for e in engines.values())],
                      fc_adaptive="on")
            for result in [*engines, "unreachable"]:
                until(lambda r=result: self.scrapes(agent, r) >= 3, result)
            self.assertEqual(0, self.scrapes(agent, "bad_request"))
            said = [re.search(r"result=(\w+)", line)[1] for line
                    in agent.process.lines if "no count of waiting" in line]
            self.assertEqual(sorted({*engines, "unreachable"} - {"ok"}),
                             sorted(said))


class Trouble(EnginesCase):
    def test_engines_that_hang_hold_nothing_up(self):
        """The API answers meanwhile, and the agent ends without them."""
        engines = [self.engine(None) for _ in range(64)]
        with running(*FAST) as agent:
            self.post(agent, [e.port for e in engines], fc_adaptive="on")
            until(lambda: all(e.asked for e in engines), "all are asked")
            began = time.monotonic()
            self.assertEqual(200, agent.get("/healthz").status)
            self.assertLess(time.monotonic() - began, 1)
            began = time.monotonic()
            self.assertEqual(0, agent.process.stop())
            self.assertLess(time.monotonic() - began, 1.5)


if __name__ == "__main__":
    unittest.main()

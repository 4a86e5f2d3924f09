#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A minute of the adaptive ceiling: through HAProxy, and beside it the same
minute in virtual time.

    adaptive_minute.py SIMULATE [on|sample]

Six minutes of the recorded hour at six times their speed, and two engines that
get slower when they are full, as those of tests/bench/simulate. Prints every
five seconds the ceiling in force and what runs in the engines, and exits with
1 where the two do not move alike.
"""

import asyncio
import csv
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

from client import chat, timetable
from stack import Stack, until

TRACE = pathlib.Path(__file__).resolve().parents[1] / "data/azure_llm_code.csv"
FROM, LENGTH, SPEED = 1440, 360, 6
CEILING, DEPTH, WINDOW = 48, 64, 5000
BUDGET = 2.0  # seconds to the first token
SLOTS, BATCH = 8, 12
PREFILL, DECODE = 0.0002, 0.02  # seconds a token
EVERY = 5     # seconds between two lines


class Engine:
    """Serves in a loop of its own; all that run progress alike."""

    def __init__(self):
        self.marks, self.running, self.work = {}, 0, 0.0
        self.numbers = itertools.count()
        self.timer = None
        self.ready = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()
        self.ready.wait(10)

    def _serve(self):
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_server(self._on_client, "127.0.0.1", 0))
        self.address = "{}:{}".format(*server.sockets[0].getsockname())
        self.then = self.loop.time()
        self.ready.set()
        self.loop.run_forever()

    def _speed(self):
        if self.running <= SLOTS:
            return 1.0
        return SLOTS / self.running / (1 + 0.03 * (self.running - SLOTS))

    def _advance(self):
        now = self.loop.time()
        self.work += (now - self.then) * self._speed()
        self.then = now

    def _plan(self):
        """Wakes whoever is there, and the next one when it is."""
        if self.timer:
            self.timer.cancel()
        due = [key for key in self.marks if key[0] <= self.work + 1e-9]
        for key in due:
            self.marks.pop(key).set_result(None)
        if self.marks:
            left = (min(self.marks)[0] - self.work) / self._speed()
            self.timer = self.loop.call_later(max(0, left), self._tick)

    def _tick(self):
        self._advance()
        self._plan()

    async def _reach(self, work):
        future = self.loop.create_future()
        self.marks[work, next(self.numbers)] = future
        self._plan()
        await future

    async def _answer(self, prompt, output, writer):
        self._advance()
        self.running += 1
        first = self.work + prompt * PREFILL
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        await self._reach(first)
        writer.write(b"a\r\ndata: {}\n\n\r\n")
        await self._reach(first + output * DECODE)
        self._advance()
        self.running -= 1
        self._plan()
        writer.write(b"0\r\n\r\n")

    async def _on_client(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"(?i)content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                work = re.search(r"(?i)x-tokens: (\d+),(\d+)", head)
                if work:
                    await self._answer(int(work[1]), int(work[2]), writer)
                else:
                    text = ("vllm:num_requests_waiting "
                            f"{max(0, self.running - BATCH)}\n")
                    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: "
                                 f"{len(text)}\r\n\r\n{text}".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def minute():
    """(seconds, prompt tokens, output tokens) of each request."""
    with open(TRACE, newline="") as file:
        for row in csv.DictReader(file):
            at = float(row["arrived_s"]) - FROM
            if 0 <= at < LENGTH:
                yield (at / SPEED, int(row["prompt_tokens"]),
                       int(row["output_tokens"]))


class Sampler(threading.Thread):
    """The ceiling in force and who runs, each second."""

    def __init__(self, stack, pool, engines):
        super().__init__(daemon=True)
        self.stack, self.pool, self.engines = stack, pool, engines
        self.series, self.over = [], threading.Event()

    def run(self):
        start = time.monotonic()
        for second in itertools.count():
            if self.over.wait(max(0, start + second - time.monotonic())):
                return
            self.series.append((int(self.pool.get("effective_limit")),
                                sum(e.running for e in self.engines),
                                int(self.pool.queued())))


def through_haproxy(follow):
    engines = [Engine(), Engine()]
    with Stack(agent_args=["--haproxy-manage"], haproxy_env={
            "ADMISSION_ENGINE_MAXCONN": "1000"}) as stack:
        pool = stack.rule(stack.ports[0], [e.address for e in engines],
                          fc_mode="enforce", fc_max_outstanding=CEILING,
                          fc_max_queue_depth=DEPTH,
                          fc_max_queue_wait_ms=WINDOW, fc_adaptive=follow)
        until(lambda: {e.address for e in engines} <= {
            row["addr"] for row in stack.haproxy_stat().values()
            if row["status"] == "UP"}, "both engines are servers", 20)
        entries = [(at, stack.ports[0], chat(stream=True, headers={
            "X-Tokens": f"{prompt},{output}"})) for at, prompt, output
            in minute()]
        sampler = Sampler(stack, pool, engines)
        sampler.start()
        outcomes = timetable(entries, 60)
        sampler.over.set()
        sampler.join()
    good = sum(o.result == 200 and o.first - o.began <= BUDGET
               for o in outcomes)
    return 100 * good / len(outcomes), sampler.series


def simulated(program, follow):
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as series:
        said = subprocess.run(
            [program, f"--trace={TRACE}", f"--from={FROM}",
             f"--to={FROM + LENGTH}", f"--speed={SPEED}",
             f"--series={series.name}", f"--ceiling={CEILING}",
             f"--queue={DEPTH}", f"--wait={WINDOW}", f"--adaptive={follow}",
             "--json"], check=True, capture_output=True, text=True).stdout
        rows = [(int(row["ceiling"]),
                 int(row["engine1"]) + int(row["engine2"]), int(row["queued"]))
                for row in csv.DictReader(series)]
    return json.loads(said)["goodput"], rows


def judge(real, virtual):
    (good, series), (virtual_good, virtual_series) = real, virtual
    low = [min(row[0] for row in rows[:60]) for rows in
           (series, virtual_series)]
    mean = [sum(row[0] for row in rows[:60]) / 60 for rows in
            (series, virtual_series)]
    facts = ((f"both tighten under the load: down to {low[0]} and {low[1]}",
              max(low) < CEILING),
             (f"by about as much: on average {mean[0]:.0f} and {mean[1]:.0f}",
              abs(mean[0] - mean[1]) < CEILING / 4),
             (f"and as many first tokens come in time: {good:.0f} and "
              f"{virtual_good:.0f} %", abs(good - virtual_good) < 10))
    for fact, holds in facts:
        print(f"{'so' if holds else 'NOT SO'}: {fact}")
    return all(holds for _, holds in facts)


def main():
    follow = sys.argv[2] if len(sys.argv) > 2 else "on"
    virtual = simulated(sys.argv[1], follow)
    real = through_haproxy(follow)
    print(f"{'':8}{'through HAProxy':^24}|{'in virtual time':^24}")
    print(f"{'second':>8}" + " |".join(
        [f"{'ceiling':>8}{'running':>8}{'queued':>7}"] * 2))
    for second in range(0, 60, EVERY):
        cells = ["".join(f"{value:>{width}}" for value, width
                         in zip(rows[second], (8, 8, 7)))
                 for _, rows in (real, virtual) if second < len(rows)]
        print(f"{second:>8}" + " |".join(cells))
    return 0 if judge(real, virtual) else 1


if __name__ == "__main__":
    sys.exit(main())

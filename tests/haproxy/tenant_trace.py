#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tenant shares do to a recorded workload, through HAProxy.

    tenant_trace.py [SPEED]    so many times as fast as the trace; or 5

Plays the trace of tests/data three times side by side, on three pools of one
size: without a share, with one of 10 %, and with one that may be borrowed.
Each tenant has an API key, and each answer takes as long as its tokens say.
The arrivals are moved together until half as much again is offered as a pool
can do. tests/bench/tenants does the same in virtual time, and exactly.

Prints what became of the requests of each tenant, and exits with 1 where a
promise is broken. Times are those of a run at speed 1.
"""

import collections
import csv
import dataclasses
import pathlib
import sys
import threading

from client import chat, timetable
from stack import Stack, until

TRACE = pathlib.Path(__file__).resolve().parents[1] / \
    "data/arena_27_tenants.csv"
PROMPT_TOKEN, OUTPUT_TOKEN = 0.0002, 0.02  # seconds each

CEILING, DEPTH, WINDOW = 40, 80, 5.0
SHARE = 10   # %
LOAD = 1.5   # of what the ceiling can do
HEAVY = 3    # tenants that are not among the lighter

OFF, HARD, BORROWED = RUNS = (
    ("no share", {"fc_tenant_max_share_pct": 100}),
    (f"share {SHARE} %", {"fc_tenant_max_share_pct": SHARE}),
    (f"share {SHARE} %, borrowing", {"fc_tenant_max_share_pct": SHARE,
                                     "fc_tenant_borrow": "on"}))
OFF, HARD, BORROWED = range(3)

SAMPLE = 0.02  # seconds between two readings of the metrics


@dataclasses.dataclass
class Arrival:
    at: float
    tenant: str
    service: float


def arrivals(load):
    """Of the trace, so close together that they offer load units."""
    with open(TRACE, newline="") as file:
        rows = [Arrival(float(row["arrived_s"]), row["tenant"],
                        int(row["prompt_tokens"]) * PROMPT_TOKEN
                        + int(row["output_tokens"]) * OUTPUT_TOKEN)
                for row in csv.DictReader(file)]
    offered = sum(row.service for row in rows) / rows[-1].at
    for row in rows:
        row.at *= offered / load
    return rows


# ---- what became of them


@dataclasses.dataclass
class Part:
    """Of the requests of some tenants on one pool."""

    served: int = 0
    refused: int = 0
    timed_out: int = 0
    odd: int = 0  # anything else
    waits: list = dataclasses.field(default_factory=list)

    @property
    def lost(self):
        return self.refused + self.timed_out

    def note(self, arrival, outcome, speed):
        if outcome.result == 200:
            self.served += 1
            self.waits.append(max(0, outcome.seconds * speed
                                  - arrival.service))
        elif outcome.result == 429:
            self.refused += 1
        elif outcome.result == 504:
            self.timed_out += 1
        else:
            self.odd += 1

    def wait(self, percent):
        """The smallest that so many percent do not exceed."""
        if not self.waits:
            return 0
        return sorted(self.waits)[-(-len(self.waits) * percent // 100) - 1]


def part_of(trace, outcomes, tenants, speed):
    part = Part()
    for arrival, outcome in zip(trace, outcomes):
        if arrival.tenant in tenants:
            part.note(arrival, outcome, speed)
    return part


def print_table(trace, results, speed):
    """Tenants by what they sent, and beside each other the three runs."""
    sent = collections.Counter(arrival.tenant for arrival in trace)
    order = [tenant for tenant, _ in sent.most_common()]
    rows = [(tenant, {tenant}) for tenant in order]
    rows += [(f"{len(order) - HEAVY} lighter", set(order[HEAVY:])),
             ("all", set(order))]
    head = "{:>7}{:>8}{:>8}{:>6}{:>6}".format(
        "served", "refused", "timed o.", "p50", "p99")
    print(" " * 15 + "".join(f" | {name:<{len(head)}}" for name, _ in RUNS))
    print(f"{'tenant':<10}{'sent':>5}" + f" | {head}" * len(RUNS))
    for name, tenants in rows:
        cells = [f"{name:<10}{sum(sent[t] for t in tenants):>5}"]
        for outcomes in results:
            part = part_of(trace, outcomes, tenants, speed)
            cells.append(f"{part.served:>7}{part.refused:>8}"
                         f"{part.timed_out:>8}{part.wait(50):>6.2f}"
                         f"{part.wait(99):>6.2f}")
        print(" | ".join(cells))
    light = [part_of(trace, outcomes, set(order[HEAVY:]), speed).lost
             for outcomes in results]
    return light


# ---- the pools meanwhile


class Sampler:
    """Reads the gauges again and again. One reading is of one moment, since
    the agent writes it between two of its steps."""

    def __init__(self, pools):
        self.pools = pools
        self.seen = [[] for _ in pools]  # of (inflight, queued)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _run(self):
        while not self._ended.wait(SAMPLE):
            now = self.pools[0].stack.metrics()
            for pool, seen in zip(self.pools, self.seen):
                seen.append(tuple(now.get(
                    "loxilb_ai_admission_" + family, service=pool.service,
                    **labels) for family, labels in (
                        ("inflight", {"role": "service"}), ("queued", {}))))

    def idle(self, run):
        """How often a unit was free while somebody waited."""
        return sum(inflight < CEILING and queued > 0
                   for inflight, queued in self.seen[run])

    def waited(self, run):
        return sum(queued > 0 for _, queued in self.seen[run])

    def busy(self, run):
        """In percent of what it could have done."""
        return 100 * sum(inflight for inflight, _ in self.seen[run]) / (
            CEILING * len(self.seen[run]))

    def peak(self, run):
        return max(inflight for inflight, _ in self.seen[run])


# ---- the run


def play(stack, trace, speed):
    pools = [stack.rule(port, fc_mode="enforce", fc_max_outstanding=CEILING,
                        fc_max_queue_depth=DEPTH,
                        fc_max_queue_wait_ms=round(1000 * WINDOW / speed),
                        **share)
             for port, (_, share) in zip(stack.ports, RUNS)]
    entries = [(arrival.at / speed, port, chat(
                    headers={"X-Api-Key": "key-" + arrival.tenant},
                    delay_ms=round(1000 * arrival.service / speed)))
               for arrival in trace for port in stack.ports]
    entries.sort(key=lambda entry: entry[0])
    with Sampler(pools) as sampler:
        outcomes = timetable(entries)
    results = [[outcome for (_, at, _), outcome in zip(entries, outcomes)
                if at == port] for port in stack.ports]
    for pool in pools:
        pool.until(inflight=0, queued=0)
    return pools, sampler, results


def agrees(pool, part):
    """Whether the agent has counted what the clients saw."""
    return [part.served, part.timed_out, part.refused] == [
        *pool.decisions("admitted", "queue_timeout"),
        sum(pool.decisions("tenant_share", "queue_full", "capacity_shed"))]


def judge(trace, pools, sampler, results, light):
    alls = [part_of(trace, outcomes, {a.tenant for a in trace}, 1)
            for outcomes in results]
    promises = (
        ("each request was served, refused or timed out",
         all(part.odd == 0 for part in alls)),
        ("the agent counted the same",
         all(map(agrees, pools, alls))),
        ("no pool was ever over its ceiling",
         all(sampler.peak(run) <= CEILING for run in range(3))),
        ("a share at least halves what the lighter tenants lose",
         2 * light[HARD] <= light[OFF]),
        ("borrowing adds a twentieth at most",
         20 * light[BORROWED] <= 21 * light[HARD]),
        ("with borrowing no unit is free while anybody waits",
         sampler.idle(BORROWED) == 0 and sampler.waited(BORROWED) > 0),
        # Or the last would be true of anything.
        ("a hard share leaves units free that are then lent",
         sampler.idle(HARD) > 0))
    for promise, kept in promises:
        print(f"{'kept' if kept else 'BROKEN'}: {promise}")
    return all(kept for _, kept in promises)


def main():
    speed = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    trace = arrivals(LOAD * CEILING)
    keys = {"key-" + arrival.tenant: arrival.tenant for arrival in trace}
    with Stack(services=len(RUNS), keys=keys, haproxy_env={
            "ADMISSION_ENGINE_MAXCONN": "1000"}) as stack:
        pools, sampler, results = play(stack, trace, speed)
        light = print_table(trace, results, speed)
        print()
        for run, (name, _) in enumerate(RUNS):
            print(f"{name}: units busy {sampler.busy(run):.1f} %; of "
                  f"{len(sampler.seen[run])} readings somebody waited in "
                  f"{sampler.waited(run)}, and a unit was free in "
                  f"{sampler.idle(run)} of those")
        print("lost by the lighter tenants: {} without a share, {} with one, "
              "{} with borrowing".format(*light))
        kept = judge(trace, pools, sampler, results, light)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gate at work: a burst of 60 requests on engines that can take 16.

Started by scripts/demo. Ends with 0 only if the burst went as it must.
"""

import argparse
import os
import re
import signal
import subprocess
import sys

from client import burst, chat
from stack import ROOT, Stack, StackError

REQUESTS = 60
RULE = {
    "fc_mode": "enforce",
    "fc_max_outstanding": 16,     # run at once, on both engines together
    "fc_ep_max_inflight": 8,      # and on each of them
    "fc_max_queue_depth": 32,     # wait for a turn
    "fc_max_queue_wait_ms": 5000,
}
MAY_RUN = RULE["fc_max_outstanding"]
MAY_WAIT = RULE["fc_max_queue_depth"]
PATIENCE = RULE["fc_max_queue_wait_ms"] / 1000

# Less than any request waits whose turn comes when another has ended.
AT_ONCE = 1.0

TTY = sys.stdout.isatty()
BLOCKS = sys.stdout.encoding.lower().startswith("utf")


def show_progress(done, total, what):
    """A bar that is drawn over by the next one; nothing in a log file."""
    if TTY:
        width = 40 * done // total
        print(f"\r\033[K  {'#' * width:.<40} {done}/{total}  {what[:30]}",
              end="", flush=True)


def end_progress():
    if TTY:
        print("\r\033[K", end="", flush=True)


# ---- build


def build():
    print("Building in build/ …", flush=True)
    log = []
    for command in (
            ["cmake", "-S", ".", "-B", "build", "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=RelWithDebInfo"],
            ["cmake", "--build", "build", "--target", "spoa-admission",
             "stub_engine"]):
        with subprocess.Popen(command, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            for line in process.stdout:
                log.append(line)
                step = re.match(r"\[(\d+)/(\d+)\] (.*)", line)
                if step:
                    show_progress(int(step[1]), int(step[2]),
                                  os.path.basename(step[3]))
        end_progress()
        if process.returncode != 0:
            sys.exit("".join(log[-30:]) + "demo: the build failed")


# ---- the burst


def delay_ms(i):
    """How long the engine takes for request i: 2.25 to 4.5 s. So all of the
    first sixteen end within the patience of those who wait, and most of the
    second sixteen do not."""
    return 2250 + 150 * (i % 16)


def waited(outcome):
    """How long a request that was served had to wait."""
    return outcome.seconds - int(
        outcome.request.headers["X-Test-Delay-Ms"]) / 1000


def send_burst(port):
    print(f"\nSending {REQUESTS} requests at once. {MAY_RUN} may run, "
          f"{MAY_WAIT} may wait, for {PATIENCE:.0f} s.", flush=True)
    ended = []

    def show(outcome):
        ended.append(outcome)
        show_progress(len(ended), REQUESTS, f"last: {outcome.result}")

    outcomes = burst(port, [chat(nonce=f"demo-{i}", delay_ms=delay_ms(i))
                            for i in range(REQUESTS)], ended=show)
    end_progress()
    return outcomes


def sort_out(outcomes):
    """Outcomes by what became of the request, in the order of the table."""
    kinds = {"200 at once": [], "200 after waiting": [],
             "429 no room to wait": [], "504 waited in vain": []}
    for outcome in outcomes:
        if outcome.result == 200 and waited(outcome) < AT_ONCE:
            kind = "200 at once"
        elif outcome.result == 200:
            kind = "200 after waiting"
        else:
            kind = next((k for k in kinds if k[:3] == str(outcome.result)),
                        str(outcome.result))
        kinds.setdefault(kind, []).append(outcome)
    return kinds


def bar(length):
    return ("█" if BLOCKS else "#") * length


def wait_of(outcome):
    return max(0.0, waited(outcome) if outcome.result == 200
               else outcome.seconds)


def print_table(kinds):
    print(f"\n  {'outcome':<22}{'requests':>8}  {'':<32}  wait in s")
    for kind, outcomes in kinds.items():
        waits = sorted(map(wait_of, outcomes))
        span = f"{waits[0]:.2f} – {waits[-1]:.2f}" if waits else ""
        print(f"  {kind:<22}{len(outcomes):>8}  {bar(len(outcomes)):<32}  "
              f"{span}")


def faults(kinds, peaks):
    """What is not as the rule demands, a line each."""
    at_once, after, refused, late = (len(o) for o in list(kinds.values())[:4])
    demands = (
        (at_once == MAY_RUN, f"{MAY_RUN} must run at once, {at_once} did"),
        (after + late == MAY_WAIT,
         f"{MAY_WAIT} must wait, {after + late} did"),
        (after > 0, "somebody must get a turn after a wait"),
        (late > 0, "somebody must wait in vain"),
        (refused == REQUESTS - MAY_RUN - MAY_WAIT,
         f"{REQUESTS - MAY_RUN - MAY_WAIT} must be refused, {refused} were"),
        (len(kinds) == 4, f"nothing else must happen: {', '.join(kinds)}"),
        (max(peaks) <= RULE["fc_ep_max_inflight"],
         f"an engine had {max(peaks)} at once"))
    return [text for met, text in demands if not met]


# ---- what there is to see


def print_counters(pool):
    reasons = ("admitted", "queued", "queue_full", "queue_timeout")
    print("\nThe agent's counters, loxilb_ai_admission_decisions_total:")
    for reason, value in zip(reasons, pool.decisions(*reasons)):
        print(f"  {reason:<22}{value:>8.0f}")


def print_places(stack):
    front = f"http://127.0.0.1:{stack.ports[0]}"
    print("\nWhere it is:")
    print(f"  front end             {front}/v1/chat/completions")
    print(f"  API                   http://{stack.api}/netlox/v1/"
          "config/loadbalancer/all")
    print(f"  metrics               http://{stack.api}/metrics")
    if stack.request("GET", "/")[0] == 200:
        print(f"  dashboard             http://{stack.api}/")
    for engine in stack.engines:
        print(f"  engine                http://{engine.address}/")


def make_stack(port_base):
    """On free ports, or the front end on port_base and the API after it."""
    if port_base is None:
        return Stack()
    stack = Stack(haproxy_env={"ADMISSION_BIND": f"127.0.0.1:{port_base}"})
    stack.ports[0] = port_base
    stack.api = f"127.0.0.1:{port_base + 1}"
    return stack


def demonstrate(stack):
    pool = stack.rule(stack.ports[0], **RULE)
    kinds = sort_out(send_burst(stack.ports[0]))
    peaks = [engine.ask("peak") for engine in stack.engines]
    print_table(kinds)
    print(f"\nMost that an engine had at once: {peaks[0]} and {peaks[1]}.")
    wrong = faults(kinds, peaks)
    print("\n".join(f"WRONG: {text}" for text in wrong)
          or "All of it as the rule demands.")
    print_counters(pool)
    print_places(stack)
    return not wrong


def wait_for_interrupt():
    print("\nRunning until Ctrl-C.", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print("\nStopping.", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--keep", action="store_true",
                        help="leave all of it running until Ctrl-C")
    parser.add_argument("--port-base", type=int, metavar="N",
                        help="front end on port N, API on N + 1")
    options = parser.parse_args()

    sys.stdout.reconfigure(errors="replace")  # where bars have no letters
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("demo: ended by a signal"))
    build()
    with make_stack(options.port_base) as stack:
        print("Started two engines, the agent and HAProxy.", flush=True)
        met = demonstrate(stack)
        if options.keep:
            wait_for_interrupt()
    return 0 if met else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except StackError as error:
        sys.exit(f"demo: {error}")

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The suite on every HAProxy that can be had, as a table.

    versions.py           the system's, without the slow tests
    versions.py --all     all of it, on those of other releases too

Each runs the shipped configuration as it comes: from 2.9 on with the inner hop.
A release that cannot be reached is a row too, and is not counted as passed. Two
run at a time, since they mostly wait; what each says is printed at its end.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = HERE.parents[1] / "scripts/haproxy-versions"
SYSTEM = os.environ.get("HAPROXY", "/usr/sbin/haproxy")


def system():
    text = subprocess.run([SYSTEM, "-v"], capture_output=True, text=True,
                          check=True).stdout
    return "system", re.search(r"version (\d+\.\d+\.\d+)", text)[1], SYSTEM


def others():
    """Rows of name, version and program; the program of a missing one is None
    and its version says why."""
    run = subprocess.run([VERSIONS], capture_output=True, text=True)
    for line in run.stdout.splitlines():
        yield tuple(line.split(" ", 2))
    for line in run.stderr.splitlines():
        found = re.match(r"haproxy-versions: (\S+) cannot be had: (.*)", line)
        if found:
            yield found[1], found[2], None


AT_ONCE = 2


def suite(program, words):
    """Passed, failed and skipped, the seconds, why some were skipped; and all
    that it said."""
    said = []
    passed = failed = skipped = seconds = 0
    reasons = set()
    with subprocess.Popen([sys.executable, HERE / "suite.py", *words],
                          text=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "HAPROXY": program}) as run:
        for line in run.stdout:
            said.append(line)
            if found := re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped",
                                 line):
                passed, failed, skipped = map(int, found.groups())
            elif found := re.match(r"(\d+) s$", line):
                seconds = int(found[1])
            elif found := re.match(r"---- \S+: (.+)", line):
                reasons.add(found[1])
    if run.returncode != 0 and failed == 0:
        failed = 1
    return (passed, failed, skipped, seconds,
            "; ".join(sorted(reasons))), "".join(said)


def main():
    whole = "--all" in sys.argv[1:]
    words = () if whole else ("--quick",)
    rows = [system(), *(others() if whole else ())]
    table, totals = [], [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [program and pool.submit(suite, program, words)
                for _, _, program in rows]
    for (name, version, _), run in zip(rows, runs):
        if run is None:
            table.append((name, "-", "", "", "", "", f"not reached: {version}"))
            totals[2] += 1
            continue
        result, said = run.result()
        print(f"-- HAProxy {version} ({name})\n{said}", end="", flush=True)
        table.append((name, version, *result))
        totals = [have + more for have, more in zip(totals, result)]
    form = "{:<14}{:<10}{:>7}{:>8}{:>9}{:>5}  {}"
    print(form.format("HAProxy", "version", "passed", "failed", "skipped", "s",
                      ""))
    for row in table:
        print(form.format(*map(str, row)))
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())

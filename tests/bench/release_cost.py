#!/usr/bin/env python3
"""release_cost.py PROGRAM: what a release costs does not depend on who waits.

Counts instructions with valgrind, not time, so it says the same each time.
Fails when a release past 65 535 waiters costs more than one past ten, or one
past 64 blocked tenants half as much again as one with nobody to pass.
"""
import os
import re
import subprocess
import sys

# What is compared with what, and how much dearer it may be.
PAIRS = [
    ("a release past 65535 waiters at their share", ("passed", 10), ("passed", 65535), 1.05),
    ("a unit handed on in a line of 65535", ("own", 100), ("own", 65535), 1.05),
    ("a turn past 64 blocked tenants", ("turn", 0), ("turn", 64), 1.5),
]


def instructions(program, case):
    """Those of one gate_end(), on the average."""
    ran = subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=gate_end",
         "--callgrind-out-file=" + os.devnull, program, case[0], str(case[1])],
        capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or counted is None or int(counted[1]) == 0:
        sys.exit(f"release_cost: {case}: {ran.stderr}")
    return int(counted[1]) / int(ran.stdout)


def main():
    dear = 0
    for what, few, many, bound in PAIRS:
        base, cost = instructions(sys.argv[1], few), instructions(sys.argv[1], many)
        print(f"{what}: {cost:.0f} instructions, {base:.0f} without: {cost / base:.2f} (at most {bound})")
        dear += cost > base * bound
    sys.exit(1 if dear else 0)


main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What ceilings are worth: an hour of a recorded workload at six times its
speed, once for each ceiling, in virtual time.

    goodput.py SIMULATE TRACE             prints the table
    goodput.py SIMULATE TRACE --svg FILE  draws it, too
    goodput.py SIMULATE TRACE --check     exits with 1 where it is not so

Good is a request whose first token came within two seconds of its arrival. The
engines are a model: see simulate.c.
"""

import argparse
import re
import subprocess
import sys

QUEUE = ("queue_depth=64", "queue_wait_ms=5000")
FIXED = (8, 12, 16, 20, 24, 32, 48, 64, 80, 96)
ADAPTIVE = tuple((follow, ceiling) for follow in ("on", "sample")
                 for ceiling in (32, 48))
WIDTH, BAR, LEFT = 640, 22, 170


def simulate(program, trace, *words):
    """The numbers of one run."""
    done = subprocess.run([program, trace, *words], check=True, text=True,
                          capture_output=True, timeout=120)
    return {name: float(value) for name, value
            in re.findall(r"(\w+)=([\d.]+)", done.stdout)}


def runs(program, trace):
    """(name, kind, numbers) of each."""
    yield "no gate", "none", simulate(program, trace)
    for ceiling in FIXED:
        yield f"fixed {ceiling}", "fixed", simulate(
            program, trace, "mode=enforce", f"max_outstanding={ceiling}",
            *QUEUE)
    for follow, ceiling in ADAPTIVE:
        yield (f"adaptive {follow}, of {ceiling}", follow, simulate(
            program, trace, "mode=enforce", f"max_outstanding={ceiling}",
            f"adaptive={follow}", *QUEUE))


def print_table(rows):
    print(f"{'':22}{'good':>7}{'late':>7}{'refused':>9}{'timed out':>11}"
          f"{'goodput':>9}")
    for name, _, now in rows:
        print(f"{name:22}{now['good']:7.0f}{now['late']:7.0f}"
              f"{now['refused']:9.0f}{now['timed_out']:11.0f}"
              f"{now['goodput']:8.1f}%")


def draw(rows):
    colours = {"none": "#999", "fixed": "#4c78a8", "on": "#e45756",
               "sample": "#54a24b"}
    most = max(now["goodput"] for _, _, now in rows)
    height = BAR * (len(rows) + 1) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
           f'{height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           '<text x="8" y="18">first token within 2 s, % of all requests'
           '</text>']
    for i, (name, kind, now) in enumerate(rows, 1):
        top = i * BAR + 6
        width = (WIDTH - LEFT - 60) * now["goodput"] / most
        out += [f'<text x="8" y="{top + 14}">{name}</text>',
                f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" '
                f'height="{BAR - 5}" fill="{colours[kind]}"/>',
                f'<text x="{LEFT + width + 6:.1f}" y="{top + 14}">'
                f'{now["goodput"]:.1f}</text>']
    return "\n".join([*out, "</svg>", ""])


def judge(rows):
    """Whether it is as the law of the ceiling has it."""
    best = {kind: max(now["goodput"] for _, k, now in rows if k == kind)
            for kind in ("none", "fixed", "on", "sample")}
    at_best = [name for name, kind, now in rows
               if kind == "fixed" and now["goodput"] == best["fixed"]]
    facts = (("without a gate hardly any is good", best["none"] < 3),
             ("the best fixed ceiling is 16, what the engines can do",
              at_best == ["fixed 16"]),
             ("it is worth ten times as much as none",
              best["fixed"] > 10 * best["none"]),
             ("a step each second is worth two thirds of it, not all",
              0.66 < best["on"] / best["fixed"] < 0.85),
             ("a step for each report is worth more",
              best["on"] < best["sample"] < best["fixed"]))
    for fact, holds in facts:
        print(f"{'so' if holds else 'NOT SO'}: {fact}")
    return all(holds for _, holds in facts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("simulate")
    parser.add_argument("trace")
    parser.add_argument("--svg")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    rows = list(runs(args.simulate, args.trace))
    print_table(rows)
    if args.svg:
        with open(args.svg, "w", encoding="utf-8") as file:
            file.write(draw(rows))
    return 1 if args.check and not judge(rows) else 0


if __name__ == "__main__":
    sys.exit(main())

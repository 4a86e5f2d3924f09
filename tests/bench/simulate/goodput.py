#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What ceilings are worth: an hour of a recorded workload at six times its
speed, once for each ceiling, in virtual time.

    goodput.py SIMULATE TRACE [NAME=VALUE ...]   prints the tables
    goodput.py SIMULATE TRACE --check            and judges them
    goodput.py SIMULATE TRACE --write PAGE       puts them into the page, and
                                                 the plot beside it
    goodput.py SIMULATE TRACE --compare PAGE     says where the page differs

SIMULATE is tests/bench/simulate/simulate of the build folder and TRACE
tests/data/azure_llm_code.csv. A setting by its name, such as queue_wait_ms=2000,
is in force in all runs that have a gate. Good is a request whose first token
came within two seconds of its arrival; the engines are a model, engine_model.h.
"""

import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys

QUEUE = ("--queue=64", "--wait=5000")
FIXED = tuple(range(8, 97, 8))
CONFIGURED = (32, 48)
FOLLOW = ("on", "sample")
WINDOWS = (500, 1000, 1250, 1500, 2000, 3000, 5000)
TARGETS = (500, 1000, 2000)
WIDTH, BAR, LEFT = 640, 22, 170
COLOURS = {"none": "#999", "fixed": "#4c78a8", "on": "#e45756",
           "sample": "#54a24b"}


class Simulator:
    def __init__(self, program, trace, words):
        self.base, self.words = (program, "--json", "--trace", trace), words

    @functools.lru_cache(maxsize=None)
    def run(self, *options):
        done = subprocess.run([*self.base, *options], check=True, text=True,
                              stdout=subprocess.PIPE, timeout=120)
        return json.loads(done.stdout)

    def none(self):
        return self.run()

    def gate(self, ceiling, *options):
        return self.run(f"--ceiling={ceiling}", *QUEUE, *options, *self.words)

    def follow(self, how, ceiling, *options):
        return self.gate(ceiling, f"--adaptive={how}", *options)

    def best(self):
        """(ceiling, numbers) of the best fixed one."""
        runs = [(ceiling, self.gate(ceiling)) for ceiling in FIXED]
        return max(runs, key=lambda run: run[1]["good"])

    def share(self, now):
        """Of what the best fixed ceiling gives, in percent."""
        return 100 * now["good"] / self.best()[1]["good"]

    def mean_share(self, how, *options):
        return sum(self.share(self.follow(how, ceiling, *options))
                   for ceiling in CONFIGURED) / len(CONFIGURED)


# ---- tables ----

def rows(sim):
    """(name, kind, numbers) of each run that the plot shows."""
    yield "no gate", "none", sim.none()
    for ceiling in FIXED:
        yield f"ceiling {ceiling}", "fixed", sim.gate(ceiling)
    for how in FOLLOW:
        for ceiling in CONFIGURED:
            yield f"`{how}`, of {ceiling}", how, sim.follow(how, ceiling)


def ceilings(sim):
    yield ("", "first token within 2 s", "of the best fixed", "later",
           "of them hopeless", "refused", "waited in vain", "no token")
    for name, _, now in rows(sim):
        yield (name, f"{now['goodput']:.1f} %", f"{sim.share(now):.0f} %",
               *(now[key] for key in ("late", "hopeless", "refused",
                                      "timed_out", "open")))


def windows(sim):
    kinds = (("ceiling 16", lambda wait: sim.gate(16, wait)),
             ("ceiling 32", lambda wait: sim.gate(32, wait)),
             ("`on`, of 32", lambda wait: sim.follow("on", 32, wait)),
             ("`sample`, of 32", lambda wait: sim.follow("sample", 32, wait)))
    yield ("`fc_max_queue_wait_ms`", *(str(window) for window in WINDOWS))
    for name, run in kinds:
        yield (name, *(f"{run(f'--wait={window}')['goodput']:.1f} %"
                       for window in WINDOWS))


def evidence(sim):
    kinds = (("asked in turn", ()),
             ("asked at the same moment", ("--scrapes=together",)),
             *((f"in turn, `fc_ttft_target_ms` {target}",
                (f"ttft_target_ms={target}",)) for target in TARGETS))
    yield ("of the best fixed", *(f"`{how}`, of {ceiling}" for how in FOLLOW
                                  for ceiling in CONFIGURED))
    for name, options in kinds:
        yield (name, *(f"{sim.share(sim.follow(how, ceiling, *options)):.0f} %"
                       for how in FOLLOW for ceiling in CONFIGURED))


TABLES = {"ceilings": ceilings, "windows": windows, "evidence": evidence}


def print_tables(sim):
    for make in TABLES.values():
        lines = [[str(cell).replace("`", "") for cell in row]
                 for row in make(sim)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        for line in lines:
            print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                            for i, (cell, width)
                            in enumerate(zip(line, widths))).rstrip())
        print()


def markdown(table):
    head, *body = table
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row
                     in (head, ("---",) * len(head), *body)) + "\n"


# ---- the page ----

def draw(sim):
    runs = [(name.replace("`", ""), kind, now) for name, kind, now
            in rows(sim)]
    most = max(now["goodput"] for _, _, now in runs)
    height = BAR * (len(runs) + 1) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
           f'{height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           '<text x="8" y="18">first token within 2 s, % of all requests'
           '</text>']
    for i, (name, kind, now) in enumerate(runs, 1):
        top = i * BAR + 6
        width = (WIDTH - LEFT - 60) * now["goodput"] / most
        out += [f'<text x="8" y="{top + 14}">{name}</text>',
                f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" '
                f'height="{BAR - 5}" fill="{COLOURS[kind]}"/>',
                f'<text x="{LEFT + width + 6:.1f}" y="{top + 14}">'
                f'{now["goodput"]:.1f}</text>']
    return "\n".join([*out, "</svg>", ""])


def made(sim, page):
    """The page as it should be: each table stands behind its mark."""
    text = page.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        text, found = re.subn(rf"(<!-- made: {name} -->\n\n)(\|.*\n)*",
                              lambda m: m[1] + markdown(make(sim)), text)
        if found != 1:
            raise SystemExit(f"{page}: no place for the table {name}")
    return {page: text, page.with_suffix(".svg"): draw(sim)}


def write(sim, page):
    for path, text in made(sim, page).items():
        path.write_text(text, encoding="utf-8")


def compare(sim, page):
    differing = [path for path, text in made(sim, page).items()
                 if path.read_text(encoding="utf-8") != text]
    for path in differing:
        print(f"{path} is not what the simulator says: ninja docs")
    return not differing


# ---- what must hold ----

def facts(sim):
    ceiling, best = sim.best()
    on, sample = (sim.mean_share(how) for how in FOLLOW)
    together = sim.mean_share("sample", "--scrapes=together")
    yield ("without a gate hardly any is good", sim.none()["goodput"] < 3)
    yield (f"the best fixed ceiling is {ceiling}: what the engines can do",
           ceiling == 16)
    yield ("it is worth ten times as much as none",
           best["good"] > 10 * sim.none()["good"])
    yield (f"a step each second gives {on:.0f} % of it", 65 < on < 85)
    yield (f"a step for each report gives {sample:.0f} %", 80 < sample < 95)
    yield ("and more than a step each second, whatever is configured",
           all(sim.follow("sample", n)["good"] > sim.follow("on", n)["good"]
               for n in CONFIGURED))
    yield (f"and {together:.0f} % with half as many moments to step at",
           75 < together < sample)
    yield ("a queue shorter than the promise is worth more than any ceiling",
           sim.gate(16, "--wait=1250")["good"] > 1.5 * best["good"])


def judge(sim):
    judged = list(facts(sim))
    for fact, holds in judged:
        print(f"{'so' if holds else 'NOT SO'}: {fact}")
    return all(holds for _, holds in judged)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulate")
    parser.add_argument("trace")
    parser.add_argument("words", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path)
    parser.add_argument("--compare", metavar="PAGE", type=pathlib.Path)
    args = parser.parse_intermixed_args()
    sim = Simulator(args.simulate, args.trace, tuple(args.words))
    if args.write:
        return write(sim, args.write)
    if args.compare:
        return 0 if compare(sim, args.compare) else 1
    print_tables(sim)
    return 1 if args.check and not judge(sim) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is each row of the contract that rows.txt lists named by a test of the real
program?

    rows.py           says which are not
    rows.py --list    says for each where it is named

A test names its rows in a comment, a docstring or a string: "Row 7", "Rows 1,
2 and 5", "Rows 3 to 9"; in tests/haproxy also as numbers that a docstring
begins with.
"""

import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
LIST = pathlib.Path(__file__).with_name("rows.txt")
FOLDERS = ("contract", "haproxy", "integration")
SUFFIXES = (".c", ".py", ".sh")

NUMBERS = r"\d+(?:(?:\s*(?:,|and|to|-)[\s*#/]*)\d+)*"
NAMED = re.compile(rf'\b[Rr]ows?\s+({NUMBERS})\b|"""({NUMBERS})[:.]')
RANGE = re.compile(r"(\d+)(?:\s*(?:to|-)[\s*#/]*(\d+))?")


def rows_of(text):
    """The numbers of the rows that a file names."""
    return {row for found in NAMED.finditer(text)
            for first, last in RANGE.findall(found[1] or found[2])
            for row in range(int(first), int(last or first) + 1)}


def wanted():
    """{row: what it says}; a row that is listed twice is a fault."""
    rows = {}
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        number, statement = line.split(None, 1)
        if int(number) in rows:
            raise SystemExit(f"row {number} is listed twice")
        rows[int(number)] = statement
    return rows


def named():
    """{row: the files that name it}."""
    rows = {}
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).rglob("*")):
            if path.suffix in SUFFIXES and path != pathlib.Path(__file__):
                for row in rows_of(path.read_text()):
                    rows.setdefault(row, []).append(
                        str(path.relative_to(TESTS)))
    return rows


def main():
    where, rows = named(), wanted()
    missing = [row for row in rows if row not in where]
    if "--list" in sys.argv[1:]:
        for row, statement in rows.items():
            print(f"{row:<4}{statement}: {' '.join(where.get(row, ['-']))}")
    for row in missing:
        print(f"no test names row {row}: {rows[row]}", file=sys.stderr)
    print(f"{len(rows) - len(missing)} of {len(rows)} rows are named")
    return 1 if missing or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped configuration on a real HAProxy, end to end.

    suite.py [--quick] [WORD]...   the tests whose name has one of the words;
                                   or all, with --quick without the slow ones

Prints a line for each test, and last how many passed and failed.
"""

import sys
import time
import traceback
import unittest

MODULES = ("test_config", "test_scope", "test_ceilings", "test_queue",
           "test_leaving", "test_answers", "test_policy", "test_live",
           "test_tenants",
           "test_outage", "test_differences", "test_ledger", "test_headers",
           "test_pairs", "test_adaptive", "test_manage", "test_valve")

# They wait for HAProxy's checks, or for seconds of the gate.
SLOW = ("test_outage", "test_differences", "test_adaptive", "test_manage",
        "test_valve")


def short(test):
    return test.id().removeprefix("test_")


class Lines(unittest.TestResult):
    """A line for each test, after what went wrong with it."""

    def __init__(self):
        super().__init__()
        self.bad = self.left_out = 0
        self.word = "ok  "  # a class may fail before its first test

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.word = "ok  "

    def stopTest(self, test):
        print(f"{self.word} {time.monotonic() - self.began:6.2f} s  "
              f"{short(test)}", flush=True)
        super().stopTest(test)

    def wrong(self, test, error):
        self.bad += self.word != "FAIL"
        self.word = "FAIL"
        print(f"---- {short(test)}")
        traceback.print_exception(*error, file=sys.stdout)

    def addFailure(self, test, err):
        self.wrong(test, err)

    def addError(self, test, err):
        self.wrong(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.wrong(subtest, err)

    def addSkip(self, test, reason):
        self.word = "skip"
        self.left_out += 1
        print(f"---- {short(test)}: {reason}")


def chosen(suite, words):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from chosen(test, words)
        elif not words or any(word in test.id() for word in words):
            yield test


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    quick = len(words) < len(sys.argv) - 1
    suite = unittest.defaultTestLoader.loadTestsFromNames(
        [name for name in MODULES if not (quick and name in SLOW)])
    result = Lines()
    began = time.monotonic()
    unittest.TestSuite(chosen(suite, words)).run(result)
    passed = result.testsRun - result.bad - result.left_out
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{passed} passed, {result.bad} failed, {result.left_out} skipped")
    return 1 if result.bad or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up JUnit files and prints `N passed, N failed` as the last line.

    scripts/count_tests.py FILE... [--skips LIST]

A file that is missing or cannot be read counts as one failure: its runner ended
before it wrote the results. A test that was skipped counts as a failure, too,
unless LIST names it: each of its lines is a pattern, a colon and the reason why
machines without something may skip the tests that the pattern matches. Exits with
1 if anything failed, or if nothing passed.
"""
import argparse
import fnmatch
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    """'passed', 'failed' or 'skipped' for one <testcase>."""
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def read_skips(path):
    """The patterns of the list at `path` with their reasons."""
    skips = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            pattern, colon, reason = line.partition(": ")
            if not colon or not reason.strip():
                sys.exit(f"{path}:{number}: not of the form 'pattern: reason': {line}")
            skips[pattern] = reason.strip()
    return skips


def test_name(case):
    return f"{case.get('classname')}.{case.get('name')}"


def skip_message(case):
    """What the runner says of a skipped test."""
    return next((child.get("message") for child in case if child.tag == "skipped"),
                None) or "no reason given"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="JUnit files")
    parser.add_argument("--skips", metavar="LIST", help="tests that may skip, with reasons")
    options = parser.parse_args()
    skips = read_skips(options.skips) if options.skips else {}
    passed, failed, allowed = 0, 0, {}
    for path in options.files:
        try:
            cases = list(ElementTree.parse(path).iter("testcase"))
        except (OSError, ElementTree.ParseError) as error:
            print(f"no test results in {path}: {error}")
            failed += 1
            continue
        for case in cases:
            result, name = outcome(case), test_name(case)
            pattern = next((p for p in skips if fnmatch.fnmatchcase(name, p)), None)
            if result == "passed":
                passed += 1
            elif result == "skipped" and pattern:
                allowed[pattern] = allowed.get(pattern, 0) + 1
            else:
                failed += 1
                why = f": skipped: {skip_message(case)}" if result == "skipped" else ""
                print(f"FAILED {name}{why}")
    for pattern, count in allowed.items():
        print(f"skipped {count} of {pattern}: {skips[pattern]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

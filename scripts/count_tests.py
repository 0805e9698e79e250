#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up JUnit files and prints `N passed, N failed` as the last line.

A file that is missing or cannot be read counts as one failure: its runner ended
before it wrote the results. Exits with 1 if anything failed, or if nothing
passed.
"""
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    """'passed', 'failed' or 'skipped' for one <testcase>."""
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        try:
            cases = list(ElementTree.parse(path).iter("testcase"))
        except (OSError, ElementTree.ParseError) as error:
            print(f"no test results in {path}: {error}")
            counts["failed"] += 1
            continue
        for case in cases:
            result = outcome(case)
            counts[result] += 1
            if result == "failed":
                print(f"FAILED {case.get('classname')} {case.get('name')}")
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        line += f", {counts['skipped']} skipped"
    print(line)
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails unless in the second of two reports (format=json) of the same functions
no step takes longer than in the first, and some step takes less time."""

import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        reports = map(json.loads, file)
        return {report["function"]: report["step_time_ns"] for report in reports}


def main():
    before, after = map(read, sys.argv[1:])
    failures = [(function, before[function], after.get(function))
                for function in before
                if after.get(function, float("inf")) > before[function]]
    for failure in failures:
        print(*failure)
    sys.exit(bool(failures) or sum(after.values()) >= sum(before.values()))


if __name__ == "__main__":
    main()

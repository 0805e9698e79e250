# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two reports (format=json) of the same functions.

Fails unless in every function of the second the peak memory is at most --peak
times that of the first, no more communication is exposed, and operations,
computation and communication are the same; and unless in all functions
together at most --exposed times as much communication is exposed.
"""

import argparse
import json
import sys

SAME = ["function", "num_ops", "num_collectives", "comm_bytes",
        "compute_time_ns", "comm_time_ns"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--peak", type=float, default=1)
    parser.add_argument("--exposed", type=float, default=1)
    args = parser.parse_args()
    before, after = read(args.before), read(args.after)
    failures = [] if before and len(before) == len(after) else [("functions",)]
    for old, new in zip(before, after):
        for key in SAME:
            if old[key] != new[key]:
                failures.append((old["function"], key, old[key], new[key]))
        for key, factor in [("peak_memory_bytes", args.peak), ("exposed_comm_ns", 1)]:
            if new[key] > old[key] * factor:
                failures.append((old["function"], key, old[key], new[key]))
    exposed = [sum(function["exposed_comm_ns"] for function in report)
               for report in (before, after)]
    if exposed[1] > exposed[0] * args.exposed:
        failures.append(("exposed", *exposed))
    for failure in failures:
        print(*failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

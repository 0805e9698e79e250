# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares three reports (format=json) of the same functions: of the program that
was read, as it is scheduled, and put back and read again.

Fails unless collectives were merged, and each step of the last report takes as
long as in the second one, but for 1 %.
"""

import json
import sys

TOLERANCE = 0.01


def read(path):
    with open(path, encoding="utf-8") as file:
        return {report["function"]: report for report in map(json.loads, file)}


def main():
    before, promised, made = map(read, sys.argv[1:])
    failed = False
    for name, promise in promised.items():
        step, put_back = promise["step_time_ns"], made[name]["step_time_ns"]
        if abs(put_back - step) > TOLERANCE * step:
            print(f"@{name} takes {put_back} ns, not {step} ns as promised")
            failed = True
    merged = [
        name
        for name, promise in promised.items()
        if promise["num_collectives"] < before[name]["num_collectives"]
    ]
    if not merged:
        print("nothing was merged")
    sys.exit(failed or not merged)


if __name__ == "__main__":
    main()

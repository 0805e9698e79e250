# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules random steps for growing budgets and checks what a larger one gives.

The steps come from random_steps.py. No budget may give a longer step than one
of the fixed budgets below it, nor an equal step that takes more memory; so the
fixed budgets, the whole percentages of `FIXED`, are monotone.
"""

import argparse
import json
import subprocess
import sys

from random_steps import PROLOGUE, Generator

FIXED = (0, 1, 2, 5, 10, 20, 50, 100)
BETWEEN = (3, 30)


class LongGenerator(Generator):
    """Writes functions of which the body has many operations."""

    operations = 0

    def fill(self, block, lines, values, length):
        if block.parent is None:
            length = self.operations
        super().fill(block, lines, values, length)


def schedule(tool, text, percent):
    """Function name -> (step in ns, peak in bytes) for that budget."""
    pipeline = (f"func.func(commsched-schedule{{memory-budget={percent}%}}),"
                "commsched-report{format=json}")
    result = subprocess.run(
        [*tool, "-", f"--pass-pipeline=builtin.module({pipeline})", "-o",
         "/dev/null"], input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"a budget of {percent} % failed:\n{result.stderr[:4000]}")
    reports = map(json.loads, result.stdout.splitlines())
    return {report["function"]: (report["step_time_ns"],
                                 report["peak_memory_bytes"])
            for report in reports}


def find_violations(outcomes):
    """The functions and pairs of budgets of which the larger gives less."""
    for large in sorted(outcomes):
        for small in FIXED:
            if small >= large:
                break
            for name, (step_ns, peak_bytes) in outcomes[large].items():
                before_ns, before_bytes = outcomes[small][name]
                if step_ns > before_ns or (step_ns == before_ns
                                           and peak_bytes > before_bytes):
                    yield (f"{name}: {step_ns} ns and {peak_bytes} bytes with "
                           f"{large} %, {before_ns} ns and {before_bytes} "
                           f"bytes with {small} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--functions", type=int, default=100)
    parser.add_argument("--operations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    LongGenerator.operations = arguments.operations
    text = PROLOGUE + "".join(
        LongGenerator(f"f{i}", arguments.seed * 100003 + i).generate().text
        for i in range(arguments.functions))
    outcomes = {percent: schedule(arguments.tool, text, percent)
                for percent in (*FIXED, *BETWEEN)}
    if violations := list(find_violations(outcomes)):
        sys.exit("\n".join(violations))
    gaining = sum(outcomes[100][name] < outcomes[0][name]
                  for name in outcomes[0])
    # Of few, perhaps none.
    if not gaining and arguments.functions >= 30:
        sys.exit("no function gains from memory")
    print(f"{arguments.functions} functions: all well; {gaining} gain from "
          "memory")


if __name__ == "__main__":
    main()

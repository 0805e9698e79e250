# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules many random regions with splitting and without, in one module.

With splitting, no function may take longer, or more memory than the budget
allows, and the result has to be the same every time.
"""

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

from seeds import parse_seeds
from split_regions import KINDS, write_function, write_module


BUDGETS = (0, 20)  # Percent over the peak.
SPLITS = ("auto", "sums")


class Scheduler:
    def __init__(self, opt, folder):
        self.opt = shlex.split(opt)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, program, pipeline):
        """The result, and a report by function."""
        report = self.folder / "report.json"
        passes = [*([pipeline] if pipeline else []),
                  f"commsched-report{{format=json output={report}}}"]
        result = subprocess.run(
            [*self.opt, "-",
             f"--pass-pipeline=builtin.module({','.join(passes)})"],
            input=program, text=True, capture_output=True, check=False)
        if result.returncode:
            sys.exit(f"{pipeline} failed:\n{result.stderr[-4000:]}")
        lines = map(json.loads, report.read_text().splitlines())
        return result.stdout, {line["function"]: line for line in lines}


def pipeline(split, budget):
    return f"commsched-pipeline{{memory-budget={budget} split={split}}}"


def compare(name, before, off, split, budget):
    if split["step_time_ns"] > off["step_time_ns"]:
        sys.exit(f"{name} takes {split['step_time_ns']} ns instead of "
                 f"{off['step_time_ns']}")
    limit = before["peak_memory_bytes"] * (1 + budget / 100)
    if split["peak_memory_bytes"] > limit:
        sys.exit(f"{name} takes {split['peak_memory_bytes']} bytes of {limit}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opt", default="commsched-opt")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seeds", type=parse_seeds, required=True,
                        help="of functions of each kind")
    parser.add_argument("--turn", type=int,
                        help="a number: one budget and one way to split; the "
                        "next ones for the next number")
    options = parser.parse_args()
    budgets, splits = BUDGETS, SPLITS
    if options.turn is not None:
        budgets = [BUDGETS[options.turn % 2]]
        splits = [SPLITS[options.turn // 2 % 2]]
    scheduler = Scheduler(options.opt, options.folder)
    program = write_module(
        write_function(kind, seed, name=f"{kind}_{seed}")
        for kind in KINDS for seed in options.seeds)
    program, before = scheduler.run(program, "")
    shorter = 0
    for budget in budgets:
        off = scheduler.run(program, pipeline("off", f"{budget}%"))[1]
        for split in splits:
            text = pipeline(split, f"{budget}%")
            result, reports = scheduler.run(program, text)
            for name, report in reports.items():
                compare(f"{name} with {text}", before[name], off[name], report,
                        budget)
                shorter += (report["step_time_ns"] <
                            off[name]["step_time_ns"])
            if scheduler.run(program, text)[0] != result:
                sys.exit(f"{text} is not deterministic")
    print(f"{len(before)} functions are never longer, {shorter} times shorter")


if __name__ == "__main__":
    main()

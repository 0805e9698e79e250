#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print how far split and scheduled small steps are from the optimum.

The optimum is the shortest step over all orders and all numbers of chunks up to
--max-chunks, within the memory budget: CP-SAT of OR-tools proves it for each
number of chunks. It is compared with the best schedule over the same numbers,
and with the step that commsched-schedule makes when it chooses itself.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import exact
import optima
from gap_tables import get_percentile, print_row
from simulate import simulate
from split_steps import FAMILIES, PROLOGUE, SplitStep

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEDULE = "func.func(commsched-schedule{{buckets=off memory-budget={} {}}})"


def transform(opt, text, pipeline):
    command = [opt, f"--pass-pipeline=builtin.module({pipeline})"]
    done = subprocess.run(
        command, input=text, text=True, check=True, stdout=subprocess.PIPE
    )
    return done.stdout


def read_problem(tool, text):
    """The problem of the only function of a module."""
    command = [tool, "-", "--runs=1"]
    done = subprocess.run(
        command, input=text, text=True, check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def schedule_program(options, text, limit, splitting="split=off"):
    """The problem of a program in the order of commsched-schedule."""
    scheduled = transform(options.opt, text, SCHEDULE.format(limit, splitting))
    return read_problem(options.tool, scheduled)


class Result:
    """What becomes of one step: times in nanoseconds."""

    def __init__(self, options, seed):
        self.step = step = SplitStep(seed)
        text = PROLOGUE + step.text()
        whole = read_problem(options.tool, text)
        peak = whole["costs"]["peak_memory_bytes"]
        limit = peak + peak * step.budget_percent // 100
        self.ours, self.optimum = {}, {}
        for chunks in range(1, options.max_chunks + 1):
            program = text
            if chunks > 1:
                split = f"func.func(commsched-split{{chunks={chunks} extent=widest}})"
                program = transform(options.opt, text, split)
            problem = schedule_program(options, program, limit)
            costs, order = problem["costs"], list(range(len(problem["nodes"])))
            if simulate(problem, order) != costs:
                raise optima.Contradiction(f"{step.name}: {costs}")
            fits = costs["peak_memory_bytes"] <= limit
            optimum = exact.solve(
                problem, limit, order if fits else None, options.seconds
            )
            if fits:
                self.ours[chunks] = costs["step_time_ns"]
            if optimum:
                self.optimum[chunks] = optimum.step_ns
        self.whole_ns = self.optimum[1]
        chosen = schedule_program(
            options, text, limit, f"max-chunks={options.max_chunks}"
        )
        self.chosen_ns = chosen["costs"]["step_time_ns"]

    @property
    def optimum_ns(self):
        return min(self.optimum.values())

    def get_gap(self, way):
        ours = min(self.ours.values()) if way == "best" else self.chosen_ns
        return ours / self.optimum_ns - 1

    @property
    def gain(self):
        """How much splitting can save at most."""
        return 1 - self.optimum_ns / self.whole_ns


def print_results(results, way, title):
    print_row(
        [title, "steps", "split is best", "largest gain", "optimal", "median gap",
         "95th percentile", "largest"]
    )
    print_row(["---"] + ["---:"] * 7)
    names = [family.__name__ for family in FAMILIES]
    for name in [*names, "all"]:
        rows = [r for r in results if name in ("all", r.step.family.__name__)]
        gaps, gains = [r.get_gap(way) for r in rows], [r.gain for r in rows]
        if rows:
            print_row(
                [name, len(rows), sum(gain > 0 for gain in gains),
                 f"{max(gains):.1%}", sum(gap <= 0 for gap in gaps)]
                + [f"{m:.2%}" for m in (get_percentile(gaps, 50),
                                        get_percentile(gaps, 95), max(gaps))]
            )
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bin_dir = ROOT / "build" / "bin"
    parser.add_argument("--opt", default=str(bin_dir / "commsched-opt"))
    parser.add_argument("--tool", default=str(bin_dir / "commsched-parity"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--max-chunks", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=30, help="for one proof")
    options = parser.parse_args()
    if exact.SKIP_REASON:
        print(exact.SKIP_REASON, file=sys.stderr)
        return 1
    results = []
    for seed in range(options.steps):
        try:
            results.append(Result(options, seed))
        except exact.NotProved as error:
            print(f"step {seed}: {error}", file=sys.stderr)
    print_results(results, "best", "best of all numbers of chunks")
    print_results(results, "chosen", "commsched-schedule")
    return 0


if __name__ == "__main__":
    sys.exit(main())

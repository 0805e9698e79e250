#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print how far small joint functions with a memory budget are from the optimum.

The optimum is the shortest step over all sets of saved values and all orders of
both halves, within the budget: CP-SAT of OR-tools proves it. The budgets of a
step divide what lies between the least and the most memory that any partition
takes in the order of the program.
"""

import argparse
import pathlib
import sys
import time

import exact
import joint_optima
from gap_tables import get_percentile, print_row
from joint_steps import FAMILIES, PROLOGUE, JointStep

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: What decides, with `{}` for the bytes. Collectives are not merged.
WAYS = {
    "commsched-partition-joint, commsched-schedule": (
        "commsched-partition-joint{{memory-budget={0} collectives=cost "
        "runtime-estimator=model}},func.func(commsched-schedule{{buckets=off "
        "memory-budget={0}}})"
    ),
    "commsched-fit-memory": (
        "commsched-fit-memory{{device-memory={0} buckets=off}}"
    ),
}


class Result:
    """What becomes of one step with one budget: times in nanoseconds."""

    def __init__(self, step, limit, optimum_ns):
        self.step, self.limit, self.optimum_ns = step, limit, optimum_ns
        self.ours = {}  # By way; none where the budget is exceeded.

    def get_gap(self, way):
        ours = self.ours.get(way)
        return None if ours is None else ours / self.optimum_ns - 1


def run_way(opt, step, way, limit):
    """The step time, or None where it takes more than the limit."""
    _, reports = joint_optima.transform(
        opt, PROLOGUE + step.text(), WAYS[way].format(limit)
    )
    report = reports[step.name]
    fits = report["peak_memory_bytes"] <= limit
    return report["step_time_ns"] if fits else None


def compare(options, seed):
    """Yields the results of a step."""
    step = JointStep(seed)
    partitions = joint_optima.Partitions(options.opt, options.parity, step)
    peaks = [partition.peak for partition in partitions.all]
    least, most = min(peaks), max(peaks)
    limits = [
        least + (most - least) * number // options.budgets
        for number in range(options.budgets)
    ]
    for limit in dict.fromkeys(limits):
        ours = {
            way: run_way(options.opt, step, way, limit) for way in options.ways
        }
        known = min((t for t in ours.values() if t is not None), default=None)
        solver = joint_optima.Solver(partitions, options.seconds)
        try:
            optimum = solver.solve(limit, known)
        except exact.NotProved as error:
            print(f"{step.name} with {limit} bytes: {error}", file=sys.stderr)
            continue
        result = Result(step, limit, optimum[0])
        result.ours = ours
        yield result


def print_table(results, way):
    print_row(
        [way, "budgets", "optimal", "within 1 %", "within 5 %", "median gap",
         "95th percentile", "largest", "over budget"]
    )
    print_row(["---"] + ["---:"] * 8)
    for name in [*(family.__name__ for family in FAMILIES), "all"]:
        rows = [r for r in results if name in ("all", r.step.family.__name__)]
        found = [r.get_gap(way) for r in rows]
        gaps = [gap for gap in found if gap is not None]
        if not gaps:
            continue
        counts = [sum(gap <= most for gap in gaps) for most in (0, 0.01, 0.05)]
        marks = [get_percentile(gaps, 50), get_percentile(gaps, 95), max(gaps)]
        print_row(
            [name, len(rows), *counts, *(f"{mark:.2%}" for mark in marks),
             len(found) - len(gaps)]
        )
    print()


def print_worst(results, way, count):
    missed = [r for r in results if r.get_gap(way)]
    if not missed:
        return
    print_row(["step", "operations", "budget", "optimum ns", "ours ns", "gap"])
    print_row(["---"] + ["---:"] * 5)
    for result in sorted(missed, key=lambda r: -r.get_gap(way))[:count]:
        print_row(
            [result.step.name, len(result.step.lines), result.limit,
             result.optimum_ns, result.ours[way], f"{result.get_gap(way):.2%}"]
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bin_dir = ROOT / "build" / "bin"
    parser.add_argument("--opt", default=str(bin_dir / "commsched-opt"))
    parser.add_argument("--parity", default=str(bin_dir / "commsched-parity"))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first step")
    parser.add_argument("--budgets", type=int, default=3, help="of each step")
    parser.add_argument("--seconds", type=int, default=30, help="for one proof")
    parser.add_argument("--worst", type=int, default=10, help="steps to name")
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    options = parser.parse_args()
    if exact.SKIP_REASON:
        print(exact.SKIP_REASON, file=sys.stderr)
        return 1
    results = []
    for seed in range(options.first, options.first + options.steps):
        begin = time.monotonic()
        try:
            results += compare(options, seed)
        except exact.NotProved as error:
            print(f"step {seed}: {error}", file=sys.stderr)
        seconds = time.monotonic() - begin
        print(f"step {seed}: {seconds:.1f} s", file=sys.stderr)
    for way in options.ways:
        print_table(results, way)
    print_worst(results, options.ways[-1], options.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print how far schedules of small random functions are from the optimum.

    run.py steps    steps with up to 12 collectives within memory budgets; their
                    optima are stored, and --prove finds them anew
    run.py splits   steps whose collectives may be split
    run.py merges   steps whose collectives may be merged within memory budgets
    run.py joint    joint functions, partitioned and scheduled within budgets

CP-SAT of OR-tools proves an optimum.
"""

import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks/common", "testsupport/optimum")
sys.path += [str(ROOT / folder) for folder in FOLDERS]

import optima  # noqa: E402

import exact  # noqa: E402
import joint_optima  # noqa: E402
import merges  # noqa: E402
import splits  # noqa: E402
from measured_steps import print_header, print_row  # noqa: E402
from small_steps import SmallStep  # noqa: E402

#: What schedules the steps; of None the program's order counts.
WAYS = {
    "the program": None,
    "commsched-simple-overlap": optima.SIMPLE_OVERLAP,
    "commsched-schedule": optima.SCHEDULE,
}


def get_percentile(values, percent):
    """The smallest value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def print_gaps(title, rows):
    """`rows`: a label, the gaps of what is within its budget, and the number of
    those that are over it."""
    print_header(
        [title, "number", "optimal", "within 1 %", "within 5 %", "median gap",
         "95th percentile", "largest", "over budget"]
    )
    for label, gaps, over in rows:
        if gaps:
            counts = [sum(gap <= most for gap in gaps) for most in (0, 0.01, 0.05)]
            marks = [statistics.median(gaps), get_percentile(gaps, 95), max(gaps)]
            print_row([label, len(gaps) + over, *counts,
                       *(f"{mark:.2%}" for mark in marks), over])
    print()


def by_family(results):
    """Pairs of a family's name and its results, and all of them."""
    groups = {}
    for result in results:
        groups.setdefault(result.step.family.__name__, []).append(result)
    return [*groups.items(), ("all", results)]


def draw(options, make):
    """What `make` yields for each step that CP-SAT proves in time."""
    results = []
    for seed in range(options.steps):
        try:
            results += make(seed)
        except exact.NotProved as error:
            print(f"step {seed}: {error}", file=sys.stderr)
    return results


def prove_all(tool):
    problems = optima.get_problems(tool, range(optima.NUM_STEPS))
    proofs = []
    for seed, problem in problems.items():
        begin = time.monotonic()
        proofs.append(optima.prove(tool, seed, problem))
        seconds = time.monotonic() - begin
        print(f"{SmallStep(seed).name}: {proofs[-1]}, {seconds:.1f} s", file=sys.stderr)
    optima.write_proofs(proofs)


def run_steps(options):
    if options.prove:
        prove_all(options.tool)
    proofs = list(optima.read_proofs().values())
    rows = []
    for way, pipeline in WAYS.items():
        outcomes = optima.schedule(options.tool, pipeline, proofs)
        fitting = [outcome.gap for outcome in outcomes if outcome.fits]
        rows.append((way, fitting, len(outcomes) - len(fitting)))
    print_gaps("schedule", rows)


def print_ways(results, titles):
    """A table for each way, with its title; a gap of None is over the budget."""
    for way, title in titles.items():
        rows = []
        for name, found in by_family(results):
            gaps = [result.get_gap(way) for result in found]
            fitting = [gap for gap in gaps if gap is not None]
            rows.append((name, fitting, len(gaps) - len(fitting)))
        print_gaps(title, rows)


def run_splits(options):
    results = draw(options, lambda seed: [splits.Result(options, seed)])
    print_ways(results, {"best": "best of all numbers of chunks",
                         "chosen": "commsched-schedule"})


def run_merges(options):
    results = draw(options, lambda seed: [merges.Result(options, seed)])
    print_ways(results, {"unmerged": "optimum without merging",
                         "auto": "commsched-schedule"})


def run_joint(options):
    options.ways = list(joint_optima.WAYS)
    results = draw(options, lambda seed: list(joint_optima.compare(options, seed)))
    print_ways(results, {way: way for way in options.ways})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runs = {"steps": run_steps, "splits": run_splits,
            "merges": run_merges, "joint": run_joint}
    add = parser.add_argument
    add("what", choices=runs)
    add("--opt", default=str(ROOT / "build" / "bin" / "commsched-opt"))
    add("--tool", default=str(ROOT / "build" / "bin" / "commsched-parity"))
    add("--prove", action="store_true", help="find the optima of steps anew")
    add("--steps", type=int, default=40, help="of splits, merges and joint")
    add("--budgets", type=int, default=3, help="of each joint function")
    add("--max-chunks", type=int, default=4, help="of a split collective")
    add("--seconds", type=int, default=30, help="for one proof")
    options = parser.parse_args()
    if exact.SKIP_REASON and (options.prove or options.what != "steps"):
        print(exact.SKIP_REASON, file=sys.stderr)
        return 1
    runs[options.what](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

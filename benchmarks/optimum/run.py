#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print how far schedules of small steps are from the optimum.

Schedules random steps with up to 12 collectives within memory budgets, and
compares their time with the shortest that any order within the budget takes.
Those optima are in optima.csv; --prove finds them anew with CP-SAT of OR-tools
and writes them there.
"""

import argparse
import pathlib
import statistics
import sys
import time

import exact
import optima
from gap_tables import get_percentile, print_row
from small_steps import SmallStep

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAYS = {
    "the program": None,
    "commsched-simple-overlap": optima.SIMPLE_OVERLAP,
    "commsched-schedule": optima.SCHEDULE,
}


def print_table(title, rows):
    """`rows`: a label and the outcomes that belong to it."""
    print_row(
        [title, "steps", "optimal", "within 1 %", "within 5 %", "median gap",
         "95th percentile", "largest", "over budget"]
    )
    print_row(["---"] + ["---:"] * 8)
    for label, outcomes in rows:
        gaps = [outcome.gap for outcome in outcomes]
        counts = [sum(gap <= most for gap in gaps) for most in (0, 0.01, 0.05)]
        marks = [statistics.median(gaps), get_percentile(gaps, 95), max(gaps)]
        over = sum(not outcome.fits for outcome in outcomes)
        print_row(
            [label, len(gaps), *counts, *(f"{mark:.2%}" for mark in marks), over]
        )
    print()


def print_worst(outcomes, count):
    print_row(["step", "operations", "budget", "optimum ns", "ours ns", "gap"])
    print_row(["---"] + ["---:"] * 5)
    missed = [outcome for outcome in outcomes if outcome.gap > 0]
    for outcome in sorted(missed, key=lambda o: -o.gap)[:count]:
        step = SmallStep(outcome.seed)
        print_row(
            [step.name, len(step.lines), f"{step.budget_percent} %",
             outcome.proof.optimum_ns, outcome.step_ns, f"{outcome.gap:.2%}"]
        )


def prove_all(tool, count):
    problems = optima.get_problems(tool, range(count))
    proofs = []
    for seed, problem in problems.items():
        begin = time.monotonic()
        proofs.append(optima.prove(tool, seed, problem))
        seconds = time.monotonic() - begin
        print(f"{SmallStep(seed).name}: {proofs[-1]}, {seconds:.1f} s", file=sys.stderr)
    optima.write_proofs(proofs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tool", default=str(ROOT / "build" / "bin" / "commsched-parity")
    )
    parser.add_argument("--prove", action="store_true", help="find the optima anew")
    parser.add_argument("--worst", type=int, default=10, help="steps to name")
    options = parser.parse_args()
    if options.prove:
        if exact.SKIP_REASON:
            print(exact.SKIP_REASON, file=sys.stderr)
            return 1
        prove_all(options.tool, optima.NUM_STEPS)
    proofs = list(optima.read_proofs().values())
    longer = sum(proof.optimum_ns > proof.unlimited_ns for proof in proofs)
    print(f"In {longer} of {len(proofs)} steps the budget costs time.\n")
    outcomes = {
        way: optima.schedule(options.tool, pipeline, proofs)
        for way, pipeline in WAYS.items()
    }
    print_table("schedule", outcomes.items())
    ours = outcomes["commsched-schedule"]
    families = dict.fromkeys(SmallStep(o.seed).family.__name__ for o in ours)
    print_table(
        "commsched-schedule, by kind of step",
        [
            (name, [o for o in ours if SmallStep(o.seed).family.__name__ == name])
            for name in families
        ],
    )
    print_worst(ours, options.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())

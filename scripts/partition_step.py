#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partition a joint training step for devices with less and less memory, print
what each costs, and draw step time against peak memory.

The step is a module with one joint function: a forward and its backward. For
every budget the training pipeline splits it, verifies the halves and schedules
them; the simulation of the report then gives the saved bytes, the peak memory
and the time of the step.
"""
import argparse
import csv
import json
import pathlib
import re
import sys

import frontier
from tools import Failure, memory, milliseconds, run_passes

MEMORIES = ("80GiB", "64GiB", "48GiB", "40GiB", "32GiB", "24GiB")


def get_option(budget):
    """The option of the training pipeline for a fraction or for bytes."""
    is_fraction = re.fullmatch(r"0(\.\d+)?|1(\.0+)?", budget)
    name = "activation-memory-budget" if is_fraction else "device-memory"
    return f"{name}={budget}"


def partition(opt, step, target, budget, output):
    """The report of the step that a budget gives: one JSON object."""
    estimate = f"func.func(commsched-estimate-runtime{{target={target}}})"
    pipeline = f"commsched-training-pipeline{{{get_option(budget)}}}"
    run_passes(opt, step, [estimate, pipeline],
               "--emit-bytecode", "-o", output)
    text = run_passes(opt, output, [estimate, "commsched-report{format=json}"],
                      "-o", "/dev/null")
    steps = [report for report in map(json.loads, text.splitlines())
             if "saved_bytes" in report]
    if len(steps) != 1:
        raise Failure(f"{step} has {len(steps)} joint functions, not one")
    return steps[0]


def write_points(path, name, rows):
    """The curve, as commsched.plot reads it."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("function", "budget", "peak_bytes", "step_time_ns",
                         "lower_bound_ns"))
        for budget, report in rows:
            writer.writerow((name, budget, report["peak_memory_bytes"],
                             report["step_time_ns"],
                             report["tight_lower_bound_ns"]))


# Heading, value of the report, how to print it.
COLUMNS = (
    ("saved", lambda r: r["saved_bytes"], memory),
    ("peak memory", lambda r: r["peak_memory_bytes"], memory),
    ("step time", lambda r: r["step_time_ns"], milliseconds),
    ("computation", lambda r: r["compute_time_ns"], milliseconds),
    ("exposed", lambda r: r["exposed_comm_ns"], milliseconds),
    ("collectives", lambda r: len(r["collectives"]), str),
)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path,
                        help="MLIR text or bytecode of the joint step")
    parser.add_argument("--opt", default="commsched-opt",
                        help="the commsched-opt to run")
    parser.add_argument("--target", default="h100",
                        help="preset that prices the operations")
    parser.add_argument("--budgets", nargs="+", default=MEMORIES,
                        help="memories of devices, such as 64GiB, or "
                        "fractions from 0 to 1 of the activation bytes that "
                        f"may be saved (default: {' '.join(MEMORIES)})")
    parser.add_argument("--output-dir", type=pathlib.Path, default=".",
                        help="where the partitioned steps go")
    args = parser.parse_args(argv)

    try:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        rows = []
        for budget in args.budgets:
            output = args.output_dir / f"{args.step.stem}.{budget}.mlirbc"
            rows.append((budget, partition(args.opt, args.step, args.target,
                                           budget, output)))
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    print(f"{args.step} on {args.target}, partitioned, verified and scheduled\n")
    width = max(len(budget) for budget in ["budget", *args.budgets])
    print(f"  {'budget':<{width}}"
          + "".join(f"{heading:>14}" for heading, _, _ in COLUMNS))
    for budget, report in rows:
        print(f"  {budget:<{width}}"
              + "".join(f"{show(value(report)):>14}"
                        for _, value, show in COLUMNS))
    try:
        points = args.output_dir / f"{args.step.stem}.memory.csv"
        write_points(points, "forward and backward", rows)
        picture = points.with_suffix(".png")
        is_drawn = frontier.draw(points, picture)
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"\n  step time against peak memory: "
          f"{picture if is_drawn else points}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

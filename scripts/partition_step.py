#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partition a joint training step for less and less memory, print what each
costs, and draw step time against peak memory.

The step is a module with one joint function: a forward and its backward. The
training pipeline splits it, verifies the halves and schedules them, and writes
the step times between which there is a choice up to the memory of the device:
without and with saved values in the memory of the host. With --budgets it does
so for each of these alone, and the simulation of the report gives what is saved.
"""
import argparse
import csv
import json
import pathlib
import re
import sys

import frontier
from tools import Failure, evidence, memory, milliseconds, run_passes


def get_option(budget):
    """The option of the training pipeline for a fraction or for bytes."""
    is_fraction = re.fullmatch(r"0(\.\d+)?|1(\.0+)?", budget)
    name = "activation-memory-budget" if is_fraction else "device-memory"
    return f"{name}={budget}"


def find_evidence(args):
    """What the times of the joint function rest on."""
    text = run_passes(args.opt, args.step,
                      [f"commsched-report{{format=json target={args.target}}}"],
                      "-o", "/dev/null")
    return evidence(map(json.loads, text.splitlines()))


def find_curve(args, name, options):
    """The points of the frontier that one call of the pipeline writes."""
    path = args.output_dir / f"{args.step.stem}.{name}.csv"
    estimate = f"func.func(commsched-estimate-runtime{{target={args.target}}})"
    pipeline = f"commsched-training-pipeline{{{options} frontier={path}}}"
    output = args.output_dir / f"{args.step.stem}.{name}.mlirbc"
    path.unlink(missing_ok=True)
    run_passes(args.opt, args.step, [estimate, pipeline],
               "--emit-bytecode", "-o", output)
    # Without a joint function there is none.
    curves = frontier.read(path) if path.exists() else {}
    if len(curves) != 1:
        raise Failure(f"{args.step} has {len(curves)} joint functions, not one")
    return next(iter(curves.values()))


def find_curves(args):
    """Name -> the points of a frontier."""
    device = f"device-memory={args.device_memory}"
    curves = {"device only": find_curve(args, "device", device)}
    if args.host_memory != "0":
        options = f"{device} host-memory={args.host_memory}"
        curves["with the host"] = find_curve(args, "host", options)
    return curves


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


def write_points(path, curves):
    """Curves of pairs of a budget and its point, as commsched.plot reads them."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("function", "budget", "peak_bytes", "step_time_ns",
                         "lower_bound_ns"))
        for name, pairs in curves.items():
            for budget, point in pairs:
                writer.writerow((name, budget, point.peak, point.step,
                                 point.bound))


# Heading, value of the report, how to print it.
COLUMNS = (
    ("saved", lambda r: r["saved_bytes"], memory),
    ("peak memory", lambda r: r["peak_memory_bytes"], memory),
    ("step time", lambda r: r["step_time_ns"], milliseconds),
    ("computation", lambda r: r["compute_time_ns"], milliseconds),
    ("exposed", lambda r: r["exposed_comm_ns"], milliseconds),
    ("collectives", lambda r: len(r["collectives"]), str),
)


def print_reports(rows):
    """Prints a row for every pair of a budget and its report."""
    width = max(len(budget) for budget in ["budget", *dict(rows)])
    print(f"  {'budget':<{width}}"
          + "".join(f"{heading:>14}" for heading, _, _ in COLUMNS))
    for budget, report in rows:
        print(f"  {budget:<{width}}"
              + "".join(f"{show(value(report)):>14}"
                        for _, value, show in COLUMNS))


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("step", type=pathlib.Path,
        help="MLIR text or bytecode of the joint step")
    add("--opt", default="commsched-opt", help="the commsched-opt to run")
    add("--target", default="h100", help="preset that prices the operations")
    add("--device-memory", default="80GiB",
        help="memory of the device (default: %(default)s)")
    add("--host-memory", default="512GiB",
        help="what saved values may take of the host for the second curve; 0 "
        "for none (default: %(default)s)")
    add("--budgets", nargs="+", default=[],
        help="instead of the curves: memories of devices, such as 64GiB, or "
        "fractions from 0 to 1 of the activation bytes that may be saved")
    add("--output-dir", type=pathlib.Path, default=".",
        help="where the partitioned steps go")
    return parser


def measure(args):
    """The curves, and a function that prints them."""
    if not args.budgets:
        curves = find_curves(args)
        return ({name: [(p.budget or "", p) for p in points]
                 for name, points in curves.items()},
                lambda: frontier.print_rows(list(curves.items())))
    rows = [(budget, partition(
                args.opt, args.step, args.target, budget,
                args.output_dir / f"{args.step.stem}.{budget}.mlirbc"))
            for budget in args.budgets]
    points = [(budget, frontier.Point(None, report["peak_memory_bytes"],
                                      report["step_time_ns"],
                                      report["tight_lower_bound_ns"],
                                      len(report["collectives"])))
              for budget, report in rows]
    return {"forward and backward": points}, lambda: print_reports(rows)


def main(argv=None):
    args = make_parser().parse_args(argv)
    try:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        curves, print_all = measure(args)
        points = args.output_dir / f"{args.step.stem}.memory.csv"
        write_points(points, curves)
        picture = points.with_suffix(".png")
        is_drawn = frontier.draw(points, picture)
        basis = find_evidence(args)
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{args.step} on {args.target}, partitioned, verified and scheduled\n"
          f"{basis}\n")
    print_all()
    print(f"\n  step time against peak memory: "
          f"{picture if is_drawn else points}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

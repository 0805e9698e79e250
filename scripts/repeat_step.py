#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule a training step with its optimizer as a step that repeats.

The step is a module whose functions `commsched.source` links: forward, backward
and optimizer. Each function is scheduled alone, then all of them as one step,
then the step with the repetitions before and after it. The period is the time
from one repetition to the next.
"""
import argparse
import json
import pathlib
import sys

from tools import Failure, evidence, memory, milliseconds, percent, run_passes

HEADER = ("period", "above bound", "exposed", "peak memory", "in progress")


def report(args, step, *passes):
    """The reports after passes, by function."""
    last = f"commsched-report{{format=json target={args.target}}}"
    text = run_passes(args.opt, step, [*passes, last], "-o", "/dev/null")
    return {one["function"]: one for one in map(json.loads, text.splitlines())}


class Repeated:
    """What a repetition of a step costs."""

    def __init__(self, period_ns, exposed_ns, peak_bytes, depth=1):
        self.period_ns, self.exposed_ns = period_ns, exposed_ns
        self.peak_bytes, self.depth = peak_bytes, depth

    @classmethod
    def read(cls, reports):
        """Of a step that repeats, in overlap if it has a steady state."""
        for one in reports.values():
            if one.get("repetitions_in_progress", 1) > 1:
                break
        else:
            one = find_step(reports)
        peak = max(other["peak_memory_bytes"] for other in reports.values())
        return cls(one["period_ns"], one["exposed_comm_ns"], peak,
                   one["repetitions_in_progress"])

    def cells(self, bound_ns):
        return (milliseconds(self.period_ns), percent(self.period_ns, bound_ns),
                milliseconds(self.exposed_ns), memory(self.peak_bytes),
                str(self.depth))


def find_step(reports):
    """The report on the function that repeats."""
    for one in reports.values():
        if "period_ns" in one:
            return one
    raise Failure("the module has no step that repeats: 'commsched.source' links "
                  "no result of a repetition to the next")


def add_up(reports, peak_bytes):
    """Functions that run one after the other, without a pause."""
    # A forward and its backward have a report together, too.
    parts = [one for one in reports.values() if "forward" not in one]
    return Repeated(sum(part["step_time_ns"] for part in parts),
                    sum(part["exposed_comm_ns"] for part in parts), peak_bytes)


def print_table(title, rows, bound_ns):
    print(f"{title:20}" + "".join(f"{cell:>14}" for cell in HEADER))
    for label, repeated in rows.items():
        cells = repeated.cells(bound_ns)
        print(f"  {label:18}" + "".join(f"{cell:>14}" for cell in cells))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path,
                        help="MLIR text or bytecode of the step")
    parser.add_argument("--opt", default="commsched-opt",
                        help="the commsched-opt to run")
    parser.add_argument("--target", default="h100",
                        help="preset that prices the operations")
    parser.add_argument("--memory-budget", default="5%",
                        help="what the step may take: live bytes, or a "
                        "percentage over its peak before (default: %(default)s)")
    parser.add_argument("--output-dir", type=pathlib.Path, default=".",
                        help="where the steady state and its trace go")
    args = parser.parse_args(argv)

    budget = f"target={args.target} memory-budget={args.memory_budget}"
    steady = args.output_dir / (args.step.stem + ".steady.mlirbc")
    trace = args.output_dir / (args.step.stem + ".steady.trace.json")
    try:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        merge, pipeline = "commsched-merge-step", f"commsched-pipeline{{{budget}}}"
        before = find_step(report(args, args.step, merge))
        apart = report(args, args.step, pipeline)
        together = report(args, args.step, pipeline, merge)
        once = report(args, args.step, merge, pipeline)
        run_passes(args.opt, args.step,
                   [f"commsched-pipeline{{steady-state {budget}}}"],
                   "--emit-bytecode", "-o", steady)
        ours = report(args, steady)
        run_passes(args.opt, steady,
                   [f"commsched-report{{format=trace target={args.target} "
                    f"output={trace}}}"],
                   "-o", "/dev/null")
        rows = {
            "unscheduled": Repeated.read({"step": before}),
            "functions apart": add_up(apart,
                                      find_step(together)["peak_memory_bytes"]),
            "one step": Repeated.read(once),
            "steady state": Repeated.read(ours),
        }
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    # Of the collectives that the schedule has merged.
    bound = max(ours.values(), key=lambda one: one.get("repetitions_in_progress", 0))
    bound_ns = bound["period_bound_ns"]
    print(f"{args.step} on {args.target}, repeated; memory budget: "
          f"{args.memory_budget} over the step before")
    print(evidence([before, *ours.values()]) + "\n")
    print_table("", rows, bound_ns)
    print(f"\n  bound of the period: {milliseconds(bound_ns)}, "
          f"{bound['period_limited_by']}")
    ramps = [one["ramp_ns"] for one in ours.values() if "ramp_ns" in one]
    for ramp_ns in ramps:
        print(f"  the first and the last repetition take {milliseconds(ramp_ns)} "
              "more, once")
    print(f"  steady state: {steady.resolve()}\n  trace: {trace.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

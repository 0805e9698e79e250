#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule a training step and print what it costs before and after.

The step is a module whose functions run one after the other (forward, then
backward). Its operations are priced for the target, the passes merge collectives
and reorder them within a memory budget, and the report's simulation tells both
versions apart.
"""
import argparse
import collections
import json
import pathlib
import sys

from tools import Failure, gibibytes, run_passes


def simulate(opt, step, estimate):
    """The report of every function: name -> its JSON object."""
    text = run_passes(opt, step, [estimate, "commsched-report{format=json}"],
               "-o", "/dev/null")
    reports = [json.loads(line) for line in text.splitlines()]
    if not reports:
        raise Failure(f"{step} has no function that can be simulated")
    return {report["function"]: report for report in reports}


def check_same_communication(before, after):
    """Raises unless both have the same collectives on each group, alone or as
    members of merged ones, with the same bytes."""
    def account(report):
        members, sizes = collections.Counter(), collections.Counter()
        for collective in report["collectives"]:
            key = (collective["group"], collective["kind"])
            sizes[key] += collective["bytes"]
            # The name of a merged collective lists its members'.
            members.update(key + (name,)
                           for name in collective["name"].split("+"))
        return members, sizes

    for name, report in before.items():
        old, new = account(report), account(after[name])
        changed = [key for one, two in zip(old, new) for key in one | two
                   if one[key] != two[key]]
        if changed:
            raise Failure(f"@{name} does not communicate what it did before "
                          f"scheduling: {changed[0]}")


def budget_bytes(budget, peak):
    """What a function with that peak may take, of a budget that the passes
    have accepted."""
    if budget.endswith("%"):
        return int(peak * (1 + float(budget[:-1]) / 100))
    return int(budget)


def hidden(report):
    return sum(c["exposed_ns"] == 0 for c in report["collectives"])


def milliseconds(ns):
    return f"{ns / 1e6:,.1f} ms"


# Label, value of one function's report, how to add up functions, how to print.
ROWS = (
    ("step time", lambda r: r["step_time_ns"], sum, milliseconds),
    ("computation", lambda r: r["compute_time_ns"], sum, milliseconds),
    ("communication", lambda r: r["comm_time_ns"], sum, milliseconds),
    ("exposed communication", lambda r: r["exposed_comm_ns"], sum, milliseconds),
    ("lower bound", lambda r: r["lower_bound_ns"], sum, milliseconds),
    ("tight lower bound", lambda r: r["tight_lower_bound_ns"], sum, milliseconds),
    ("peak memory", lambda r: r["peak_memory_bytes"], max, gibibytes),
    ("collectives", lambda r: len(r["collectives"]), sum, str),
    ("hidden collectives", hidden, sum, str),
)


def print_table(title, before, after):
    print(f"\n{title}")
    print(f"  {'':24}{'before':>14}{'after':>14}{'change':>10}")
    for label, value, combine, show in ROWS:
        old = combine(value(report) for report in before)
        new = combine(value(report) for report in after)
        change = f"{100 * (new - old) / old:+.1f} %" if old and new != old else ""
        print(f"  {label:24}{show(old):>14}{show(new):>14}{change:>10}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path,
                        help="MLIR text or bytecode of the step")
    parser.add_argument("--opt", default="commsched-opt",
                        help="the commsched-opt to run")
    parser.add_argument("--target", default="h100",
                        help="preset that prices the operations")
    parser.add_argument("--memory-budget", default="0%",
                        help="what a function may take: live bytes, or a "
                        "percentage over its peak before (default: %(default)s)")
    parser.add_argument("--output-dir", type=pathlib.Path, default=".",
                        help="where the scheduled step and the traces go")
    args = parser.parse_args(argv)

    estimate = f"func.func(commsched-estimate-runtime{{target={args.target}}})"
    schedule = f"commsched-pipeline{{memory-budget={args.memory_budget}}}"
    try:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        before = simulate(args.opt, args.step, estimate)
        # The tool verifies what it writes; what is written is read again.
        scheduled = args.output_dir / (args.step.stem + ".scheduled.mlirbc")
        run_passes(args.opt, args.step, [estimate, schedule],
            "--emit-bytecode", "-o", str(scheduled))
        after = simulate(args.opt, scheduled, estimate)
        check_same_communication(before, after)
        traces = {}
        for when, step in (("before", args.step), ("after", scheduled)):
            traces[when] = args.output_dir / f"{args.step.stem}.{when}.trace.json"
            run_passes(args.opt, step,
                [estimate, f"commsched-report{{format=trace output={traces[when]}}}"],
                "-o", "/dev/null")
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    print(f"{args.step} on {args.target}, scheduled and verified; "
          f"memory budget of each function: {args.memory_budget}")
    for name in before:
        print_table(f"@{name}", [before[name]], [after[name]])
    print_table("whole step", list(before.values()), list(after.values()))
    for name in before:
        over = (after[name]["peak_memory_bytes"] -
                budget_bytes(args.memory_budget, before[name]["peak_memory_bytes"]))
        if over > 0:
            print(f"\n@{name} is {gibibytes(over)} over its memory budget: that "
                  "is the schedule that needs least")
    print(f"\nscheduled step: {scheduled.resolve()}")
    for when, path in traces.items():
        print(f"trace {when}: {path.resolve()}")
    print("Open a trace in https://ui.perfetto.dev or chrome://tracing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

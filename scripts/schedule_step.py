#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule a training step and print what it costs before and after.

The step is a module whose functions run one after the other (forward, then
backward). `commsched-pipeline` schedules each of them for the target, within
the memory budget, and the simulation of the report compares both versions. Then
the results of other budgets follow.
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import urllib.parse

import draw_page
import frontier
from tools import Failure, evidence, memory, milliseconds, percent, run_passes


# The end of the name of a collective that is one chunk of another.
CHUNK = re.compile(r"\.chunk(\d+)$")


def report(args, step, options):
    """What the report on the step for the target prints."""
    return run_passes(args.opt, step,
                      [f"commsched-report{{target={args.target} {options}}}"],
                      "-o", "/dev/null")


def simulate(args, step):
    """The report of every function: name -> its JSON object."""
    text = report(args, step, "format=json")
    reports = [json.loads(line) for line in text.splitlines()]
    if not reports:
        raise Failure(f"{step} has no function that can be simulated")
    return {report["function"]: report for report in reports}


def is_split(report):
    return any(CHUNK.search(collective["name"])
               for collective in report["collectives"])


def check_same_communication(before, after):
    """Raises unless both have the same collectives on each group, alone, as
    members of merged ones or in chunks, with the same bytes."""
    def account(report):
        members, sizes = collections.Counter(), collections.Counter()
        for collective in report["collectives"]:
            key = (collective["group"], collective["kind"])
            sizes[key] += collective["bytes"]
            # The name of a merged collective lists its members'.
            for name in collective["name"].split("+"):
                chunk = CHUNK.search(name)
                if not chunk or chunk[1] == "0":
                    members[key + (CHUNK.sub("", name),)] += 1
        return members, sizes

    for name, report in before.items():
        old, new = account(report), account(after[name])
        changed = [key for one, two in zip(old, new) for key in one | two
                   if one[key] != two[key]]
        if changed:
            raise Failure(f"@{name} does not communicate what it did before "
                          f"scheduling: {changed[0]}")


def find_budget(budget, before):
    """The budget of each function in bytes. A percentage is one over the peak of
    the step, which is the largest of its functions'. The passes refuse what is
    neither a percentage nor bytes."""
    bytes_and_unit = re.fullmatch(r"(\d+)([KMGT]i?)?B", budget)
    if bytes_and_unit:
        count, prefix = bytes_and_unit.groups(default="")
        base = 1024 if prefix.endswith("i") else 1000
        return str(int(count) * base ** (" KMGT".index(prefix[:1] or " ")))
    if not re.fullmatch(r"\d+(\.\d+)?%", budget):
        return budget
    peak = max(report["peak_memory_bytes"] for report in before.values())
    return str(int(peak * (1 + float(budget[:-1]) / 100)))


def add_up(reports):
    """One report on functions that run one after the other."""
    total = {key: sum(report[key] for report in reports)
             for key in ("step_time_ns", "compute_time_ns", "comm_time_ns",
                         "exposed_comm_ns", "tight_lower_bound_ns")}
    total["peak_memory_bytes"] = max(report["peak_memory_bytes"]
                                     for report in reports)
    total["collectives"] = [collective for report in reports
                            for collective in report["collectives"]]
    return total


def count_hidden(report):
    return sum(c["exposed_ns"] == 0 for c in report["collectives"])


# Label, value of a report, how to print it.
ROWS = (
    ("step time", lambda r: r["step_time_ns"], milliseconds),
    ("tight lower bound", lambda r: r["tight_lower_bound_ns"], milliseconds),
    ("computation", lambda r: r["compute_time_ns"], milliseconds),
    ("communication", lambda r: r["comm_time_ns"], milliseconds),
    ("exposed communication", lambda r: r["exposed_comm_ns"], milliseconds),
    ("peak memory", lambda r: r["peak_memory_bytes"], memory),
    ("collectives", lambda r: len(r["collectives"]), str),
    ("hidden collectives", count_hidden, str),
)


def print_table(title, *versions):
    print(f"\n{title}")
    print(f"  {'':24}{'before':>14}{'after':>14}{'change':>10}")
    for label, value, show in ROWS:
        old, new = map(value, versions)
        change = f"{100 * (new - old) / old:+.1f} %" if old and new != old else ""
        print(f"  {label:24}{show(old):>14}{show(new):>14}{change:>10}")
        if label == "tight lower bound":
            gaps = [percent(version["step_time_ns"], value(version))
                    for version in versions]
            print(f"  {'step above it':24}" + "".join(f"{g:>14}" for g in gaps))
            if is_split(versions[1]):
                # No order of the input is shorter than its bound.
                gap = percent(versions[1]["step_time_ns"], value(versions[0]))
                print(f"  {'  above that before':24}{'':14}{gap:>14}")


def print_excess(after, budget):
    for name, report in after.items():
        over = report["peak_memory_bytes"] - int(budget)
        if over > 0:
            print(f"\n@{name} is {memory(over)} over the memory budget: that "
                  "is the schedule that needs least")


def print_frontier(path):
    frontiers = frontier.read(path)
    print("\nfrontier: the shortest steps that are known, where more memory "
          "makes them shorter")
    frontier.print_table(frontiers)
    if all(len(points) == 1 for points in frontiers.values()):
        print("  No larger budget gives a shorter one.")
    picture = path.with_suffix(".png")
    if frontier.draw(path, picture):
        print(f"\nfrontier: {path.resolve()}\ndrawn: {picture.resolve()}")
    else:
        print(f"\nfrontier: {path.resolve()}\n"
              "pip install -e './python[plot]' to have it drawn")


def draw_timeline(page, after):
    """Draws the page of the function that takes longest, with what it has most
    exposed selected. Returns what to say of it."""
    longest = max(after.values(), key=lambda report: report["step_time_ns"])
    exposed = max(longest["collectives"], default=None,
                  key=lambda collective: collective["exposed_ns"])
    shown = {"function": longest["function"], "theme": "light"}
    if exposed and exposed["exposed_ns"]:
        shown["find"] = exposed["name"]
    picture = page.with_suffix(".png")
    try:
        draw_page.draw(page, picture, urllib.parse.urlencode(shown))
    except Failure as error:
        return f"not drawn: {error}"
    return f"drawn: {picture.resolve()}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path,
                        help="MLIR text or bytecode of the step")
    parser.add_argument("--opt", default="commsched-opt",
                        help="the commsched-opt to run")
    parser.add_argument("--target", default="h100",
                        help="preset that prices the operations")
    parser.add_argument("--memory-budget", default="0%",
                        help="what the step may take: live bytes, or a "
                        "percentage over its peak before (default: %(default)s)")
    parser.add_argument("--output-dir", type=pathlib.Path, default=".",
                        help="where the scheduled step, the timeline, the traces "
                        "and the frontier go")
    args = parser.parse_args(argv)

    stem = args.output_dir / args.step.stem
    try:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        before = simulate(args, args.step)
        budget = find_budget(args.memory_budget, before)
        points = pathlib.Path(f"{stem}.frontier.csv")
        # The tool verifies what it writes; what is written is read again.
        scheduled = pathlib.Path(f"{stem}.scheduled.mlirbc")
        run_passes(args.opt, args.step,
                   [f"commsched-pipeline{{target={args.target} "
                    f"memory-budget={budget} frontier={points}}}"],
                   "--emit-bytecode", "-o", scheduled)
        after = simulate(args, scheduled)
        check_same_communication(before, after)
        traces = {}
        for when, step in (("before", args.step), ("after", scheduled)):
            traces[when] = pathlib.Path(f"{stem}.{when}.trace.json")
            report(args, step, f"format=trace output={traces[when]}")
        page = pathlib.Path(f"{stem}.timeline.html")
        report(args, scheduled, f"format=html before={args.step} "
               f"frontier={points} output={page}")

        print(f"{args.step} on {args.target}, scheduled and verified; memory "
              f"budget: {memory(int(budget))} ({args.memory_budget})")
        print(evidence([*before.values(), *after.values()]))
        for name in before:
            print_table(f"@{name}", before[name], after[name])
        if len(before) > 1:
            print_table("whole step", add_up(before.values()),
                        add_up(after.values()))
        print_excess(after, budget)
        print_frontier(points)
        print(f"timeline: {page.resolve()}\n{draw_timeline(page, after)}")
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    print(f"scheduled step: {scheduled.resolve()}")
    for when, path in traces.items():
        print(f"trace {when}: {path.resolve()}")
    print("Open a trace in https://ui.perfetto.dev or chrome://tracing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

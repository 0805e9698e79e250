# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule a training step, and print what it costs before and after.

    python -m commsched.demo schedule STEP    a step within its memory
    python -m commsched.demo repeat STEP      a step that repeats
    python -m commsched.demo run STEP         a small step, on ranks
    python -m commsched.demo partition STEP   a joint graph, within less memory
    python -m commsched.demo draw PAGE PNG    a page of commsched-report

STEP is MLIR text or bytecode whose functions run one after the other. Runs
`commsched-opt`, which COMMSCHED_OPT names or PATH has, and the `commsched-run`
beside it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Optional

from commsched import opt, plot


class Failure(Exception):
    """A step could not be worked on; the text says why."""


def call(*command: object) -> str:
    """Runs a program; returns what it printed."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"cannot run {words[0]}: {error}") from error
    if done.returncode:
        text = (done.stderr + done.stdout).strip()
        raise Failure(text or f"{words[0]} failed")
    return done.stdout


def find_opt() -> str:
    found = opt.find()
    if found is None:
        raise Failure(
            "no commsched-opt: put it on PATH, or let COMMSCHED_OPT name it"
        )
    return found


def run_passes(step: pathlib.Path, passes: Sequence[str], output="/dev/null") -> str:
    """Runs passes and writes bytecode; returns what they printed."""
    return call(
        find_opt(), step, "--mlir-print-op-on-diagnostic=false",
        f"--pass-pipeline=builtin.module({','.join(passes)})",
        "--emit-bytecode", "-o", output,
    )


def costs(args) -> str:
    """The pass that says what all later passes and reports are for."""
    return f"commsched-set-costs{{target={args.target}}}"


def report(args, step: pathlib.Path, *passes: str) -> dict[str, dict]:
    flags = [costs(args), *passes, "commsched-report{format=json}"]
    reports = map(json.loads, run_passes(step, flags).splitlines())
    found = {one["function"]: one for one in reports}
    if not found:
        raise Failure(f"{step} has no function that can be simulated")
    return found


def write_report(args, step: pathlib.Path, output: pathlib.Path, options: str) -> None:
    run_passes(
        step, [costs(args), f"commsched-report{{{options} output={output}}}"]
    )


def evidence(reports) -> str:
    """What the figures of reports rest on: a line for each text."""
    return "\n".join(dict.fromkeys(one["evidence"] for one in reports))


def memory(size: int) -> str:
    """In GiB, or in MiB where that is less than one."""
    unit, name = (2**20, "MiB") if size < 2**30 else (2**30, "GiB")
    return f"{size / unit:,.2f} {name}"


def milliseconds(ns: int) -> str:
    return f"{ns / 1e6:,.1f} ms"


def percent(value: int, base: int) -> str:
    """By how much `value` is above `base`."""
    return f"{100 * (value - base) / base:.1f} %" if base else ""


# -- A step within its memory ----------------------------------------------


def check_same_communication(before: Mapping, after: Mapping) -> None:
    """Raises unless both communicate as many bytes of each kind on each group,
    in however many collectives."""
    for name, one in before.items():
        sizes: collections.Counter = collections.Counter()
        for sign, version in ((1, one), (-1, after[name])):
            for collective in version["collectives"]:
                key = collective["group"], collective["kind"]
                sizes[key] += sign * collective["bytes"]
        changed = [key for key, size in sizes.items() if size]
        if changed:
            group, kind = changed[0]
            raise Failure(
                f"@{name} does not communicate what it did before scheduling: "
                f"{kind} on {group}"
            )


def add_up_reports(reports: Sequence[Mapping]) -> dict:
    """One report on functions that run one after the other."""
    keys = ("step_time_ns", "compute_time_ns", "comm_time_ns", "exposed_comm_ns",
            "tight_lower_bound_ns", "merging_lower_bound_ns")
    total: dict = {key: sum(one[key] for one in reports) for key in keys}
    total["peak_memory_bytes"] = max(one["peak_memory_bytes"] for one in reports)
    total["collectives"] = [c for one in reports for c in one["collectives"]]
    return total


class Row(NamedTuple):
    label: str
    value: Callable[[Mapping], int]
    show: Callable[[int], str]


ROWS = (
    Row("step time", lambda r: r["step_time_ns"], milliseconds),
    Row("tight lower bound", lambda r: r["tight_lower_bound_ns"], milliseconds),
    Row("computation", lambda r: r["compute_time_ns"], milliseconds),
    Row("communication", lambda r: r["comm_time_ns"], milliseconds),
    Row("exposed communication", lambda r: r["exposed_comm_ns"], milliseconds),
    Row("peak memory", lambda r: r["peak_memory_bytes"], memory),
    Row("collectives", lambda r: len(r["collectives"]), str),
    Row("hidden collectives",
        lambda r: sum(c["exposed_ns"] == 0 for c in r["collectives"]), str),
)


def print_versions(title: str, before: Mapping, after: Mapping) -> None:
    print(f"\n{title}")
    print(f"  {'':24}{'before':>14}{'after':>14}{'change':>10}")
    for label, value, show in ROWS:
        old, new = value(before), value(after)
        change = f"{100 * (new - old) / old:+.1f} %" if old and new != old else ""
        print(f"  {label:24}{show(old):>14}{show(new):>14}{change:>10}")
        if label == "tight lower bound":
            # That of what was merged holds for what is left to merge.
            bound = before["merging_lower_bound_ns"]
            gaps = [percent(one["step_time_ns"], bound) for one in (before, after)]
            print(f"  {'merging lower bound':24}" + 2 * f"{show(bound):>14}")
            print(f"  {'step above it':24}" + "".join(f"{g:>14}" for g in gaps))


def add_up_frontiers(frontiers: Sequence[Sequence[plot.Point]]) -> list[plot.Point]:
    """The points of the step in which one function runs after the other: for
    each memory the shortest schedules of all that keep it."""
    added: list[plot.Point] = []
    for peak in sorted({p.peak_bytes for points in frontiers for p in points}):
        fitting = [[p for p in points if p.peak_bytes <= peak] for points in frontiers]
        if not all(fitting):
            continue
        chosen = [min(points, key=lambda p: p.step_time_ns) for points in fitting]
        point = plot.Point(max(p.peak_bytes for p in chosen),
                           sum(p.step_time_ns for p in chosen),
                           sum(p.lower_bound_ns for p in chosen), peak,
                           sum(p.num_collectives for p in chosen))
        if not added or point.step_time_ns < added[-1].step_time_ns:
            added.append(point)
    return added


def print_frontiers(
    frontiers: Mapping[str, Sequence[plot.Point]], bounds: Mapping[str, int]
) -> None:
    """Prints the points of each function and how far they are above its bound, or
    else above their own."""
    width = max(map(len, frontiers))
    heads = ("budget", "peak memory", "step time", "above bound", "collectives")
    print(f"  {'':{width}}" + "".join(f"{head:>14}" for head in heads))
    for name, points in frontiers.items():
        for index, p in enumerate(points):
            budget, bound = p.budget_bytes, bounds.get(name, p.lower_bound_ns)
            cells = ("none" if budget is None else memory(budget),
                     memory(p.peak_bytes), milliseconds(p.step_time_ns),
                     percent(p.step_time_ns, bound), str(p.num_collectives))
            print(f"  {'' if index else name:{width}}"
                  + "".join(f"{cell:>14}" for cell in cells))


def draw_frontiers(frontiers: Mapping, picture: pathlib.Path) -> str:
    """Draws what commsched.plot has read; returns what to say of it."""
    try:
        plot.save(plot.draw(frontiers), str(picture))
    except ModuleNotFoundError:
        return "not drawn: pip install -e './python[plot]'"
    return f"drawn: {picture.resolve()}"


def draw_timeline(page: pathlib.Path, after: Mapping) -> str:
    """Draws the page of the function that takes longest, with what it has most
    exposed selected. Returns what to say of it."""
    longest = max(after.values(), key=lambda one: one["step_time_ns"])
    exposed = max(longest["collectives"], default=None,
                  key=lambda collective: collective["exposed_ns"])
    shown = {"function": longest["function"], "theme": "light"}
    if exposed and exposed["exposed_ns"]:
        shown["find"] = exposed["name"]
    picture = page.with_suffix(".png")
    try:
        draw_page(page, picture, urllib.parse.urlencode(shown))
    except Failure as error:
        return f"not drawn: {error}"
    return f"drawn: {picture.resolve()}"


def schedule(args) -> None:
    def path(ending: str) -> pathlib.Path:
        return args.output_dir / f"{args.step.stem}.{ending}"

    scheduled, points = path("scheduled.mlirbc"), path("frontier.csv")
    before = report(args, args.step)
    # The tool verifies what it writes; what is written is read again.
    run_passes(
        args.step,
        [f"commsched-pipeline{{target={args.target} "
         f"memory-budget={args.memory_budget} frontier={points}}}"],
        scheduled,
    )
    after = report(args, scheduled)
    check_same_communication(before, after)
    for when, step in (("before", args.step), ("after", scheduled)):
        write_report(args, step, path(f"{when}.trace.json"), "format=trace")
    page = path("timeline.html")
    write_report(args, scheduled, page,
                 f"format=html before={args.step} frontier={points}")

    print(f"{args.step} on {args.target}, scheduled and verified; memory budget: "
          f"{args.memory_budget}")
    print(evidence([*before.values(), *after.values()]))
    for name in before:
        print_versions(f"@{name}", before[name], after[name])
    frontiers = plot.read_frontiers(str(points))
    drawn = draw_frontiers(frontiers, path("frontier.png"))
    bounds = {name: one["merging_lower_bound_ns"] for name, one in before.items()}
    # A function that repeats calls the others.
    parts = [name for name, one in before.items() if "period_ns" not in one]
    if len(parts) > 1:
        print_versions("whole step", add_up_reports([before[p] for p in parts]),
                       add_up_reports([after[p] for p in parts]))
        frontiers["whole step"] = add_up_frontiers([*frontiers.values()])
        bounds["whole step"] = sum(bounds[part] for part in parts)
    print("\nfrontier: the shortest steps that are known, where more memory makes "
          "them shorter")
    print_frontiers(frontiers, bounds)
    if all(len(found) == 1 for found in frontiers.values()):
        print("  No larger budget gives a shorter one.")
    print(f"\nfrontier: {points.resolve()}\n{drawn}")
    print(f"timeline: {page.resolve()}\n{draw_timeline(page, after)}")
    print(f"scheduled step: {scheduled.resolve()}")
    for when in ("before", "after"):
        print(f"trace {when}: {path(f'{when}.trace.json').resolve()}")
    print("Open a trace in https://ui.perfetto.dev or chrome://tracing.")


# -- A step that repeats ---------------------------------------------------


class Repeated(NamedTuple):
    """What a repetition of a step costs."""

    period_ns: int
    exposed_ns: int
    peak_bytes: int
    depth: int = 1


def find_step(reports: Mapping[str, dict]) -> dict:
    """The report on the function that repeats: of a steady state, that whose
    repetitions overlap."""
    found = [one for one in reports.values() if "period_ns" in one]
    if not found:
        raise Failure("the module has no step that repeats: 'commsched.carried' "
                      "names no result that the next repetition takes")
    return max(found, key=lambda one: one.get("repetitions_in_progress", 1))


def read_repeated(reports: Mapping[str, dict]) -> Repeated:
    one = find_step(reports)
    peak = max(other["peak_memory_bytes"] for other in reports.values())
    return Repeated(one["period_ns"], one["exposed_comm_ns"], peak,
                    one["repetitions_in_progress"])


def repeat(args) -> None:
    """Schedules each function alone, then all of them as one step, then the step
    with the repetitions before and after it."""
    budget = f"target={args.target} memory-budget={args.memory_budget}"
    steady = args.output_dir / f"{args.step.stem}.steady.mlirbc"
    trace = args.output_dir / f"{args.step.stem}.steady.trace.json"
    merge, pipeline = "test-commsched-merge-step", f"commsched-pipeline{{{budget}}}"
    before = find_step(report(args, args.step, merge))
    together = find_step(report(args, args.step, pipeline, merge))
    apart = find_step(report(args, args.step, pipeline))
    once = report(args, args.step, merge, pipeline)
    run_passes(args.step, [f"commsched-pipeline{{steady-state {budget}}}"], steady)
    ours = report(args, steady)
    write_report(args, steady, trace, "format=trace")
    rows = {
        "unscheduled": read_repeated({"step": before}),
        "functions apart": Repeated(
            apart["step_time_ns"], apart["exposed_comm_ns"],
            together["peak_memory_bytes"]),
        "one step": read_repeated(once),
        "steady state": read_repeated(ours),
    }
    # Of the collectives that the schedule has merged.
    bound = find_step(ours)
    bound_ns = bound["period_bound_ns"]
    print(f"{args.step} on {args.target}, repeated; memory budget: "
          f"{args.memory_budget} over the step before")
    print(evidence([before, *ours.values()]) + "\n")
    heads = ("period", "above bound", "exposed", "peak memory", "in progress")
    print(f"{'':20}" + "".join(f"{head:>14}" for head in heads))
    for label, one in rows.items():
        cells = (milliseconds(one.period_ns), percent(one.period_ns, bound_ns),
                 milliseconds(one.exposed_ns), memory(one.peak_bytes),
                 str(one.depth))
        print(f"  {label:18}" + "".join(f"{cell:>14}" for cell in cells))
    print(f"\n  bound of the period: {milliseconds(bound_ns)}, "
          f"{bound['period_limited_by']}")
    for one in ours.values():
        if "ramp_ns" in one:
            print("  the first and the last repetition take "
                  f"{milliseconds(one['ramp_ns'])} more, once")
    print(f"  steady state: {steady.resolve()}\n  trace: {trace.resolve()}")


# -- A small step on ranks -------------------------------------------------


def run(args) -> None:
    """Compares the results of both versions bit by bit on ranks that are threads
    of one process, then times each, with collectives and operators that take as
    long as the model of the machine says."""
    runner = pathlib.Path(find_opt()).with_name("commsched-run")
    ranks = ["--ranks", args.ranks]
    after = args.output_dir / f"{args.step.stem}.scheduled.mlirbc"
    run_passes(args.step, ["commsched-pipeline"], after)
    verdict = call(runner, after, *ranks, f"--compare={args.step}")
    measured = [
        json.loads(call(runner, step, *ranks, "--modelled-times", "--format=json",
                        "--emulate-data=0", f"--repeat={args.repeat}"))
        for step in (args.step, after)
    ]
    print(f"{args.step} on {args.ranks} ranks, before and after scheduling")
    print(f"  results: {verdict.strip().splitlines()[-1]}")
    for text in filter(None, measured[1]["evidence"].values()):
        print(f"  {text}")
    print(f"  {'':24}{'before':>22}{'after':>22}")
    print(f"  {'':24}" + f"{'predicted':>11}{'measured':>11}" * 2)
    for label, key, show in (
        ("step time", "step_time_ns", lambda ns: f"{ns / 1e6:,.2f} ms"),
        ("peak memory", "peak_memory_bytes", memory),
    ):
        cells = [show(step[key][side]) for step in measured
                 for side in ("predicted", "measured")]
        print(f"  {label:24}" + "".join(f"{cell:>11}" for cell in cells))
    counts = [len(step["collectives"]) for step in measured]
    print(f"  {'collectives':24}{counts[0]:>22}{counts[1]:>22}")


# -- A joint graph within less memory --------------------------------------


def partition(args) -> None:
    """The pipeline splits the joint graph, verifies the halves, schedules them,
    and writes the step times between which there is a choice:
    without and with saved values in the memory of the host."""
    device = f"memory-budget={args.memory_budget}"
    ways = {"device only": device}
    if args.host_memory != "0":
        ways["with the host"] = f"{device} host-memory={args.host_memory}"
    basis = evidence(report(args, args.step).values())
    curves = {}
    for number, (label, options) in enumerate(ways.items()):
        stem = f"{args.step.stem}.{('device', 'host')[number]}"
        path = args.output_dir / f"{stem}.csv"
        path.unlink(missing_ok=True)
        run_passes(
            args.step,
            [costs(args), "func.func(commsched-estimate-runtime)",
             f"commsched-pipeline{{{options} collectives=cost frontier={path}}}"],
            args.output_dir / f"{stem}.mlirbc",
        )
        found = plot.read_frontiers(str(path))
        if len(found) != 1:
            raise Failure(f"{args.step} has {len(found)} joint functions, not one")
        (curves[label],) = found.values()
    picture = args.output_dir / f"{args.step.stem}.memory.png"
    print(f"{args.step} on {args.target}, partitioned, verified and scheduled\n"
          f"{basis}\n")
    # Each partition has other operations.
    print_frontiers(curves, bounds={})
    print(f"\n  step time against peak memory: {draw_frontiers(curves, picture)}")


# -- A page as a picture ---------------------------------------------------

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def draw_page(page: pathlib.Path, picture: pathlib.Path, show: str,
              size=(1280, 860), scale=1.5) -> None:
    """Draws what the address of the page shows behind `#`."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise Failure(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    picture = picture.resolve()
    picture.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless=new", "--disable-gpu", "--hide-scrollbars",
            # Containers have little of it.
            "--disable-dev-shm-usage",
            # The sandbox does not start for root, and the page is our own.
            "--no-sandbox", f"--user-data-dir={profile}",
            f"--force-device-scale-factor={scale}",
            f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}",
            f"{page.resolve().as_uri()}#{show}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=120)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{browser} has not drawn {page} in two "
                          "minutes") from error
    if done.returncode or not picture.exists():
        raise Failure(f"{browser} has not drawn {page}: "
                      f"{done.stderr.strip()[-500:]}")


def draw(args) -> None:
    if not args.page.is_file():
        raise Failure(f"{args.page} is no file")
    draw_page(args.page, args.picture, args.show, (args.width, args.height))
    print(args.picture)


# -- The command -----------------------------------------------------------


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m commsched.demo", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add_command(function, budget=None):
        command = commands.add_parser(function.__name__)
        command.set_defaults(function=function)
        add = command.add_argument
        if function is not draw:
            add("step", type=pathlib.Path, help="MLIR text or bytecode")
            add("--output-dir", type=pathlib.Path, default=pathlib.Path(),
                help="where the files go")
            add("--target", default="h100", help="preset that prices the operations")
        if budget:
            add("--memory-budget", default=budget,
                help="of the pipeline (default: %(default)s)")
        return add

    add_command(schedule, "0%")
    add_command(repeat, "5%")
    add = add_command(run)
    add("--ranks", type=int, default=4, help="of the step (default: %(default)s)")
    add("--repeat", type=int, default=5,
        help="timed runs of each version (default: %(default)s)")
    add = add_command(partition, "80GiB")
    add("--host-memory", default="512GiB",
        help="the same; 0: none (default: %(default)s)")
    add = add_command(draw)
    add("page", type=pathlib.Path, help="what commsched-report=format=html wrote")
    add("picture", type=pathlib.Path, help="the PNG to write")
    add("--show", default="theme=light",
        help="what the address of the page shows, such as "
        "function=backward&find=all_gather_3&theme=dark (default: %(default)s)")
    add("--width", type=int, default=1280)
    add("--height", type=int, default=860)
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    args = make_parser().parse_args(arguments)
    try:
        if hasattr(args, "output_dir"):
            os.makedirs(args.output_dir, exist_ok=True)
        args.function(args)
    except (Failure, OSError, plot.FrontierError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

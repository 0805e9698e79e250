# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Say from the traces of a run what was exposed and why, or make a cost file."""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import sys
import tempfile
from collections.abc import Sequence
from typing import Optional

from commsched.output import check_output, write_members
from commsched.profile import report as reports
from commsched.profile.activities import Trace, TraceError
from commsched.profile.costs import make_costs
from commsched.profile.exposure import measure_all, median_exposures
from commsched.profile.kineto import operator_name, read_kineto
from commsched.profile.matching import match
from commsched.profile.page import write_page
from commsched.profile.predictions import (
    Prediction,
    model_times,
    predict,
    read_targets,
)
from commsched.profile.programs import Target
from commsched.profile.reading import read_events, read_header
from commsched.profile.tax import measure_tax, remove_tax
from commsched.profile.timeline import is_timeline, read_timeline
from commsched.running import RunError, check_program

NAME = "python -m commsched.profile"


def read_trace(path: str, operators: Optional[set] = None) -> Trace:
    """Reads a timeline of commsched-run or a trace of torch.profiler.
    `operators` are those of the program, if there is one."""
    header = read_header(path)
    events = read_events(path, header[""])
    first = next(events, None)
    if first is None:
        raise TraceError(f"{path}: has no events")
    everything = itertools.chain([first], events)
    if is_timeline(first):
        return read_timeline(path, everything)
    return read_kineto(path, everything, header, operators)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    add = parser.add_argument
    add("traces", nargs="+", metavar="TRACE", help="trace of torch.profiler, "
        "one for each rank, or timeline of commsched-run; may be compressed "
        "by gzip")
    add("--program", metavar="FILE", action="append", default=[],
        help="the program that ran, as MLIR; needed but for --exposure. Given "
        "several times if its functions are in several files, in the order "
        "in which they ran")
    add("-o", "--output", metavar="FILE", help="cost file to write, for the "
        "option 'profile' of passes and pipelines")
    add("--exposure", action="store_true",
        help="report what was exposed in place of the costs")
    add("--page", metavar="FILE", help="draw a step of each rank as a page of "
        "HTML, with --exposure")
    add("--format", choices=("text", "json"), default="text",
        help="of the report on standard output")
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command; returns its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.program and (options.output or not options.exposure):
        parser.error("needs --program, or only --exposure")
    if options.page and not options.exposure:
        parser.error("--page shows what was exposed: it needs --exposure")
    try:
        if options.page:
            check_output(options.page)
        text = _run(options)
    except (TraceError, RunError) as error:
        print(f"{NAME}: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{NAME}: error: '{error.filename}': {error.strerror}",
              file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0


def _run(options: argparse.Namespace) -> str:
    if not options.program:
        traces = [read_trace(path) for path in options.traces]
        return _exposure(options, traces, [], None)
    check_program()
    modules = [pathlib.Path(path).read_bytes() for path in options.program]
    files = [read_targets(module) for module in modules]
    _check_functions(options.program, files)
    targets = [target for found in files for target in found]
    operators = {operator_name(t.operator) for t in targets if not t.kind}
    traces = [read_trace(path, operators) for path in options.traces]
    model = model_times(modules)
    matching = match(targets, traces, model[0])
    tax = measure_tax(targets, matching)
    if tax:
        remove_tax(targets, matching, tax)
    costs = make_costs(targets, matching, ", ".join(options.traces), tax)
    with tempfile.TemporaryDirectory(prefix="commsched-") as folder:
        path = options.output or os.path.join(folder, "costs.json")
        write_members(path, costs)
        prediction = predict(modules, path, schedules=options.exposure)
    if options.exposure:
        return _exposure(options, traces, targets, prediction)
    return _text(options, reports.costs_report(
        targets, matching, tax, model, prediction))


def _exposure(options: argparse.Namespace, traces: list[Trace],
              targets: list[Target], prediction: Optional[Prediction]) -> str:
    """The report of what was exposed, and the page if it is wanted."""
    steps = [step for trace in traces for step in trace.steps]
    measured = measure_all(steps)
    report = reports.exposure_report(
        median_exposures(measured), targets, prediction)
    if options.page:
        write_page(options.page, steps, measured, report)
    return _text(options, report)


def _check_functions(paths: list[str], files: list[list[Target]]) -> None:
    """Raises TraceError if two files have functions of one name."""
    places: dict[str, str] = {}
    for path, targets in zip(paths, files):
        for name in sorted({target.function for target in targets}):
            if name in places:
                raise TraceError(
                    f"{path}: has a function '@{name}', and so has "
                    f"{places[name]}; expected functions of different names")
            places[name] = path


def _text(options: argparse.Namespace, report: dict) -> str:
    if options.format == "json":
        return reports.to_json(report)
    if options.exposure:
        return reports.exposure_text(report)
    return reports.costs_text(report)


if __name__ == "__main__":
    sys.exit(main())

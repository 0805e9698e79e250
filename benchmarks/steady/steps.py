#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare traced training steps with AdamW that repeat.

    apart       forward, backward and optimizer, each by commsched-pipeline: a
                function begins when all communication of the one before has ended
    FSDP2       the same functions with a bucket for each transformer block and
                the next one prefetched, as FSDP2 does by itself
    XLA         the whole step in one function, with the same buckets, by XLA's
                latency hiding scheduler; its CollectivePipeliner moves nothing over
                the boundary of a step
    one step    the whole step by commsched-pipeline, repetitions one by one
    ours        commsched-pipeline=steady-state

All have the same costs and the same simulator. What XLA's CollectivePipeliner
moves is known an iteration ahead or needed an iteration later: in a step the
optimizer takes every reduction and changes every parameter. The bound is that of
the period for the collectives that ours has merged.
"""

import argparse
import json
import pathlib
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

import measured_steps  # noqa: E402
from measured_steps import (  # noqa: E402
    Failure,
    bucket_blocks,
    compare_in_folder,
    make_parser,
    print_header,
    print_row,
    run,
)

BUDGET = "memory-budget=5%"
REPORT = "commsched-report{format=json}"
GIB = 1 << 30


class Answer(NamedTuple):
    period_ns: int
    peak_bytes: int
    seconds: float
    bound_ns: int = 0


class Step:
    """One traced step, and the tools."""

    def __init__(self, options: argparse.Namespace, traced: pathlib.Path, folder):
        self.options, self.traced, self.folder = options, traced, folder
        self.merged = folder / "merged.mlirbc"
        self.run(["test-commsched-merge-step"], self.traced, self.merged)
        (program,) = self.report([], self.merged)
        self.peak_bytes = program["peak_memory_bytes"]

    def run(self, passes: list, source: pathlib.Path, target: pathlib.Path) -> str:
        pipeline = f"--pass-pipeline=builtin.module({','.join(passes)})"
        command = [self.options.opt, source, pipeline, "-o", target]
        return run([*command, "--emit-bytecode", "--mlir-disable-threading"])

    def report(self, passes: list, source: pathlib.Path) -> list:
        text = self.run([*passes, REPORT], source, self.folder / "out.mlirbc")
        return [json.loads(line) for line in text.splitlines()]

    def measure(self, passes: list, source: pathlib.Path) -> tuple[list, float]:
        """The reports after passes, and how long the passes took."""
        begin = time.monotonic()
        target = self.folder / "scheduled.mlirbc"
        self.run(passes, source, target)
        seconds = time.monotonic() - begin
        return self.report([], target), seconds

    def apart(self, passes: str) -> Answer:
        reports, seconds = self.measure([passes], self.traced)
        whole = self.report([passes, "test-commsched-merge-step"], self.traced)
        names = ("forward", "backward", "optimizer")
        parts = [report for report in reports if report["function"] in names]
        if len(parts) != len(names):
            raise Failure(f"{self.traced} has not the functions {', '.join(names)}")
        return Answer(
            sum(report["step_time_ns"] for report in parts if "forward" not in report),
            whole[0]["peak_memory_bytes"],
            seconds,
        )

    def fsdp(self) -> Answer:
        return self.apart(bucket_blocks(self.options.opt, self.traced))

    def xla(self) -> Answer:
        bucketed = self.folder / "bucketed.mlirbc"
        passes = [
            bucket_blocks(self.options.opt, self.traced),
            "test-commsched-merge-step",
        ]
        self.run(passes, self.traced, bucketed)
        lines = run([self.options.tool, bucketed, "--latency-hiding=xla=5%"])
        answers = [json.loads(line) for line in lines.splitlines()]
        (answer,) = (a for a in answers if a["peer"] == "xla")
        if "error" in answer:
            raise Failure(answer["error"])
        seconds = answer["schedule_ms"] / 1000
        return Answer(answer["step_time_ns"], answer["peak_memory_bytes"], seconds)

    def one_step(self) -> Answer:
        passes = [f"commsched-pipeline{{{BUDGET}}}"]
        (report,), seconds = self.measure(passes, self.merged)
        return Answer(report["period_ns"], report["peak_memory_bytes"], seconds)

    def ours(self) -> Answer:
        passes = [f"commsched-pipeline{{steady-state {BUDGET}}}"]
        reports, seconds = self.measure(passes, self.traced)
        by_name = {report["function"]: report for report in reports}
        steady = by_name.get("step_steady", by_name["step"])
        peak = max(report["peak_memory_bytes"] for report in reports)
        return Answer(steady["period_ns"], peak, seconds, steady["period_bound_ns"])

    def print_row(self, label: str):
        peers = {
            "apart": lambda: self.apart(f"commsched-pipeline{{{BUDGET}}}"),
            "FSDP2": self.fsdp,
            "XLA": self.xla,
            "one step": self.one_step,
            "ours": self.ours,
        }
        answers = {name: answer() for name, answer in peers.items()}
        ours = answers["ours"]
        cells = [label, f"{ours.bound_ns / 1e6:,.1f}"]
        for answer in answers.values():
            growth = 100 * (answer.peak_bytes / self.peak_bytes - 1)
            cells.append(f"{answer.period_ns / 1e6:,.1f} ({growth:+.1f} %)")
        cells += [f"{ours.peak_bytes / GIB:.1f}", f"{ours.seconds:.1f}"]
        print_row(cells)


def trace(options: argparse.Namespace, model: str, ranks: int) -> pathlib.Path:
    """The traced step, made where it is missing."""
    path = options.traces / f"{model}-dp{ranks}-adamw.mlirbc"
    arguments = ["--model", model, "--dp", str(ranks), "--seq", "8192"]
    arguments += ["--optimizer", "adamw"]
    return measured_steps.trace(options.python, options.opt, arguments, path)


def compare(options: argparse.Namespace, folder: pathlib.Path):
    peers = ("apart", "FSDP2", "XLA", "one step", "ours")
    print_header(["step", "bound", *peers, "ours, GiB", "s"])
    for model in options.models:
        for ranks in options.ranks:
            label = f"{model.removeprefix('llama3-')}, {ranks} ranks"
            Step(options, trace(options, model, ranks), folder).print_row(label)


def main() -> int:
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--models", nargs="+", default=["llama3-8b", "llama3-70b"])
    add("--ranks", type=int, nargs="+", default=[8, 64, 512])
    add(
        "--traces",
        type=pathlib.Path,
        default=ROOT / "build" / "traces",
        help="folder of the traced steps; those that are missing are traced",
    )
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

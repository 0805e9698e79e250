#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare loops that overlap their iterations with the unrolled program.

A training step of Llama 3 8B whose layers are scanned (scanned_model.py), with
the costs of `commsched-estimate-runtime`:

    no overlap       each collective is waited for where it starts
    within a layer   commsched-pipeline without pipeline-loops
    XLA's rule       CollectivePipeliner: one iteration ahead and behind, always
    loops            commsched-pipeline
    unrolled         the unrolled program, by commsched-pipeline

Steps are simulated; peaks are beyond that without overlap. Time is the processor
time of the tool with its passes, less that without.
`--growth` measures the time of loops by the size of their bodies instead.
"""

import argparse
import json
import math
import pathlib
import resource
import subprocess
import sys
import tempfile
from typing import NamedTuple

from scanned_model import ScannedModel, Sizes

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOOPS = "func.func(commsched-pipeline-loops)"
PIPELINE = "commsched-pipeline"
WITHIN_LAYERS = "commsched-pipeline{pipeline-loops=false}"
REPORT = "commsched-report{format=json}"


class Answer(NamedTuple):
    step_ns: int
    # What is live at most beyond what is live without overlap.
    more_bytes: int
    operations: int
    seconds: float | None = None


class Tool:
    """Runs pipelines on programs."""

    def __init__(self, path: str, folder: pathlib.Path):
        self.path, self.folder = path, folder

    def run(self, source: pathlib.Path, passes: list[str]) -> tuple[float, str]:
        """Processor time and standard output."""
        command = [self.path, str(source), "-o", str(self.folder / "out.mlir")]
        command.append("--mlir-disable-threading")
        command.append(f"--pass-pipeline=builtin.module({','.join(passes)})")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if result.returncode:
            sys.exit(f"{' '.join(command)}:\n{result.stderr}")
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, result.stdout

    def time(self, source: pathlib.Path, passes: list[str]) -> float:
        """The least of three runs, less the time to read and write."""
        with_passes = min(self.run(source, passes)[0] for _ in range(3))
        return with_passes - min(self.run(source, [])[0] for _ in range(3))

    def write(self, text: str) -> pathlib.Path:
        source = self.folder / "in.mlir"
        source.write_text(text)
        return source

    def count_operations(self) -> int:
        """Of the last program written, constants aside."""
        lines = (self.folder / "out.mlir").read_text().splitlines()
        return sum(
            " = " in line and "arith.constant" not in line
            for line in lines
            if "func.func" not in line
        )

    def report(self, text: str, passes: list[str]) -> tuple[int, int]:
        """Step time and peak memory."""
        _, output = self.run(self.write(text), [*passes, REPORT])
        report = json.loads(output)
        return report["step_time_ns"], report["peak_memory_bytes"]


class Comparison:
    """Measures the schedules of one model."""

    def __init__(self, tool: Tool, sizes: Sizes):
        self.tool, self.sizes = tool, sizes
        self.loop = ScannedModel(sizes).write(unrolled=False)
        self.flat = ScannedModel(sizes).write(unrolled=True)
        _, self.peak_bytes = tool.report(self.flat, [])

    def measure(self, text: str, passes: list[str]) -> Answer:
        step_ns, peak_bytes = self.tool.report(text, passes)
        more_bytes = peak_bytes - self.peak_bytes
        operations = self.tool.count_operations()
        seconds = self.tool.time(self.tool.write(text), passes) if passes else None
        return Answer(step_ns, more_bytes, operations, seconds)

    def print_rows(self):
        unrolled = self.measure(self.flat, [PIPELINE])
        by_rule = ScannedModel(self.sizes).write_by_rule()
        rows = {
            "no overlap": self.measure(self.flat, []),
            "within a layer": self.measure(self.loop, [WITHIN_LAYERS]),
            "XLA's rule": self.measure(by_rule, []),
            "loops": self.measure(self.loop, [PIPELINE]),
            "unrolled": unrolled,
        }
        for name, row in rows.items():
            seconds = f"{row.seconds:.2f}" if row.seconds is not None else "–"
            print(
                f"| {self.sizes.ranks} | {self.sizes.tokens} | {name} "
                f"| {row.step_ns / 1e6:.1f} "
                f"| {row.step_ns / unrolled.step_ns - 1:+.1%} "
                f"| {row.more_bytes / 2**20:+.0f} | {row.operations} | {seconds} |",
                flush=True,
            )


def print_growth(tool: Tool, bodies: list[int], sizes: Sizes):
    print("| operations of the bodies | s |\n| ---: | ---: |")
    points = []
    for layers in bodies:
        model = ScannedModel(sizes._replace(layers=4 * layers), layers)
        text = model.write(unrolled=False)
        source = tool.write(text)
        operations = text.count(" = ") - model.iterations
        seconds = tool.time(source, [LOOPS])
        points.append((math.log(operations), math.log(seconds)))
        print(f"| {operations} | {seconds:.2f} |", flush=True)
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points)
    slope /= sum((x - mean_x) ** 2 for x, _ in points)
    print(f"\nThe exponent of the growth is {slope:.2f}.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--opt", default=str(ROOT / "build" / "bin" / "commsched-opt"))
    add("--layers", type=int, default=32)
    add("--ranks", type=int, nargs="+", default=[8, 64])
    add("--tokens", type=int, nargs="+", default=[8192, 4096, 2048])
    add("--growth", action="store_true", help="measure the time by size")
    add(
        "--bodies",
        type=int,
        nargs="+",
        default=[6, 20, 60, 200, 600],
        help="layers in an iteration, for --growth",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.opt, pathlib.Path(folder))
        if options.growth:
            sizes = Sizes(1, tokens=options.tokens[0], ranks=options.ranks[-1])
            print_growth(tool, options.bodies, sizes)
            return 0
        print(
            "| ranks | tokens | schedule | step, ms | against unrolled | "
            "peak, MiB | operations | s |\n"
            "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
        )
        for ranks in options.ranks:
            for tokens in options.tokens:
                sizes = Sizes(options.layers, tokens=tokens, ranks=ranks)
                Comparison(tool, sizes).print_rows()
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print how the time and memory of CommSched's passes grow with the program.

Runs commsched-scaling on training steps of growing size and prints, for every
stage, the processor time and peak memory, the ratio to the time of parsing the
same program's text, and the exponent of growth between sizes. The programs live
in a temporary directory only.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
FOLDERS = (("benchmarks", "common"), ("testsupport", "steps"))
sys.path += [os.path.join(ROOT, *folder) for folder in FOLDERS]

import make_step  # noqa: E402
from measured_steps import print_header, print_row  # noqa: E402

MODELS = ("8b", "70b", "405b")
BUILT_BENCHMARK = os.path.join(ROOT, "build", "bin", "commsched-scaling")


def write_programs(options: argparse.Namespace, folder: str):
    """Yields the label and the path of one program after the other."""

    def write(label: str, model: str, layers: int) -> tuple:
        path = os.path.join(folder, "step.mlir")
        with open(path, "w", encoding="utf-8") as out:
            make_step.write_step(make_step.MODELS[model], layers, options, out)
        return label, path

    for model in MODELS:
        yield write(model, model, make_step.MODELS[model].layers)
    for operations in options.operations:
        layers = make_step.layers_for(MODELS[-1], operations, options)
        yield write(f"{MODELS[-1]}, {layers} layers", MODELS[-1], layers)


def measure(options: argparse.Namespace, path: str, runs: int) -> dict:
    command = [options.benchmark, f"--runs={runs}", path]
    command += [f"--pipeline={pipeline}" for pipeline in options.pipeline]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(result.stdout)


def measure_all(options: argparse.Namespace) -> tuple:
    labels, programs = [], []
    with tempfile.TemporaryDirectory() as folder:
        sources = (
            ((os.path.basename(path), path) for path in options.programs)
            if options.programs
            else write_programs(options, folder)
        )
        for label, path in sources:
            large = os.path.getsize(path) > 10**8
            runs = max(1, options.runs // 3) if large else options.runs
            programs.append(measure(options, path, runs))
            labels.append(label)
    return labels, programs


def stage_label(stage: dict, pipelines: list) -> str:
    # A pipeline of one pass is called by the name of the pass, unless it was
    # asked for.
    name = stage["name"]
    if name not in pipelines:
        name = re.sub(r"^func\.func\((.*)\)$|\{.*\}", r"\1", name)
    if stage["verified"] and name != "verify":
        name += " + verifier"
    return name


def exponent(stages: list, programs: list) -> float:
    """The slope between two points in logarithmic axes."""
    small, large = (stage["time_ns"] for stage in stages)
    few, many = (program["num_ops"] for program in programs)
    return math.log(large / small) / math.log(many / few)


def print_sizes(labels: list, programs: list):
    print_header(["program", "operations", "text, MB", "bytecode, MB", "runs"])
    for label, program in zip(labels, programs):
        sizes = [program["text_bytes"] / 1e6, program["bytecode_bytes"] / 1e6]
        print_row(
            [label, program["num_ops"]]
            + [f"{size:.1f}" for size in sizes]
            + [program["runs"]]
        )


def print_times(labels: list, programs: list, pipelines: list):
    """Beside the times: of the last program the ratio to parsing and the peak,
    and the exponent of growth from the first to the last."""
    last = labels[-1]
    print_header(
        ["time, ms", *labels, "/ parse", "growth", f"peak at {last}, MB"]
    )
    rows = list(zip(*(program["stages"] for program in programs)))
    for row in rows:
        growth = ""
        if len(programs) > 1:
            ends = [programs[0], programs[-1]]
            growth = f"{exponent([row[0], row[-1]], ends):.2f}"
        print_row(
            [stage_label(row[0], pipelines)]
            + [f"{stage['time_ns'] / 1e6:.2f}" for stage in row]
            + [f"{row[-1]['time_ns'] / rows[0][-1]['time_ns']:.2f}", growth]
            + [f"{row[-1]['peak_bytes'] / 1e6:.0f}"]
        )


def main() -> int:
    parser = make_step.make_parser(__doc__.splitlines()[0])
    add = parser.add_argument
    add("programs", nargs="*", help="measure these files instead, smallest first")
    add("--benchmark", default=BUILT_BENCHMARK, help="commsched-scaling")
    add("--pipeline", action="append", default=[], help="instead of each pass")
    add(
        "--runs",
        type=make_step.positive,
        default=9,
        help="of every stage; a third on files of more than 100 MB",
    )
    add(
        "--operations",
        type=make_step.positive,
        nargs="*",
        default=[10**5, 10**6],
        help="also measure the largest model repeated to so many operations",
    )
    options = parser.parse_args()
    try:
        labels, programs = measure_all(options)
    except subprocess.CalledProcessError as error:
        # It has said why.
        return error.returncode
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print_sizes(labels, programs)
    print()
    print_times(labels, programs, options.pipeline)
    return 0


if __name__ == "__main__":
    sys.exit(main())

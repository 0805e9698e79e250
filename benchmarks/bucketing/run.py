#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare ways to bucket the collectives of training steps.

Runs commsched-opt on steps of sharded transformers, and prints for every way
the number of collectives, the simulated time, the exposed communication and the
peak memory. The functions of a step, such as forward and backward, run one
after the other.
"""

import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import (  # noqa: E402
    compare_in_folder,
    make,
    make_parser,
    print_header,
    print_row,
    run,
)
from plans import buckets, find_plan  # noqa: E402

# Label and the options of make_step.py.
STEPS = (
    ("8b, 8 ranks", ["--model=8b", "--dp=8"]),
    ("8b, 64 ranks", ["--model=8b", "--dp=64"]),
    ("8b, 512 ranks", ["--model=8b", "--dp=512"]),
    ("70b, 64 ranks", ["--model=70b", "--dp=64"]),
    ("70b, 512 ranks", ["--model=70b", "--dp=512"]),
    ("405b, 512 ranks", ["--model=405b", "--dp=512"]),
    ("8b, 8 ranks x 8 replicas", ["--model=8b", "--dp=8", "--replicas=8"]),
    ("moe-8x7b, 64 ranks, 8 for experts", ["--model=moe-8x7b", "--dp=64"]),
)


def find_ways(program: str) -> dict:
    """Label -> pipeline."""
    return {
        "input": "",
        "greedy, 500 MB + simple overlap": buckets(
            "cap-mb=500", "commsched-simple-overlap"
        ),
        "by transformer block": buckets(f"mode=auto plan={find_plan(program)}"),
        "commsched-pipeline": "commsched-pipeline",
    }


def measure(opt: str, step: pathlib.Path, pipeline: str) -> dict:
    report = "commsched-report{format=json}"
    passes = f"{pipeline},{report}" if pipeline else report
    command = [opt, step, f"--pass-pipeline=builtin.module({passes})"]
    lines = run([*command, "-o", "/dev/null"]).splitlines()
    functions = [json.loads(line) for line in lines]

    def total(key: str) -> int:
        return sum(function[key] for function in functions)

    return {
        "collectives": total("num_collectives"),
        "step": total("step_time_ns") / 1e6,
        "exposed": total("exposed_comm_ns") / 1e6,
        "bound": total("lower_bound_ns") / 1e6,
        "peak": max(f["peak_memory_bytes"] for f in functions) / 2**30,
    }


def print_step(label: str, opt: str, step: pathlib.Path, program: str):
    reference = None
    for way, pipeline in find_ways(program).items():
        costs = measure(opt, step, pipeline)
        if way == "by transformer block":
            reference = costs["step"]
        ratio = f"{costs['step'] / reference:.3f}" if reference else ""
        print_row(
            [label, way, f"{costs['collectives']}"]
            + [f"{costs[key]:,.1f}" for key in ("step", "exposed", "bound", "peak")]
            + [ratio]
        )


def compare(options: argparse.Namespace, folder: pathlib.Path):
    print_header(
        ["step", "buckets", "collectives", "step, ms", "exposed, ms"]
        + ["lower bound, ms", "peak, GiB", "time / by block"], 2
    )
    for path in options.programs:
        print_step(path.stem, options.opt, path, run([options.opt, path]))
    for label, arguments in STEPS:
        if re.search(options.steps, label):
            path = make(arguments, folder / "step.mlir")
            print_step(label, options.opt, path, path.read_text())


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument(
        "programs", nargs="*", type=pathlib.Path, help="also measure these files"
    )
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

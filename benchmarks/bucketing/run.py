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
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks/common", "testsupport/steps")
sys.path += [str(ROOT / folder) for folder in FOLDERS]

import make_step  # noqa: E402
from measured_steps import Failure, print_header, print_row  # noqa: E402
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


def run(opt: str, step: pathlib.Path, pipeline: str, *arguments: str) -> str:
    command = [opt, str(step), f"--pass-pipeline=builtin.module({pipeline})"]
    result = subprocess.run(
        command + list(arguments), capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise Failure(result.stderr.strip())
    return result.stdout


def measure(opt: str, step: pathlib.Path, pipeline: str) -> dict:
    report = "commsched-report{format=json}"
    passes = f"{pipeline},{report}" if pipeline else report
    lines = run(opt, step, passes, "-o", "/dev/null").splitlines()
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("programs", nargs="*", type=pathlib.Path, help="also measure these files")
    add("--opt", default=str(ROOT / "build" / "bin" / "commsched-opt"))
    add("--steps", default=".", help="only the steps whose label this matches")
    options = parser.parse_args()
    print_header(
        ["step", "buckets", "collectives", "step, ms", "exposed, ms"]
        + ["lower bound, ms", "peak, GiB", "time / by block"], 2
    )
    try:
        for path in options.programs:
            program = run(options.opt, path, "")
            print_step(path.stem, options.opt, path, program)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "step.mlir")
            for label, arguments in STEPS:
                if not re.search(options.steps, label):
                    continue
                with open(path, "w", encoding="utf-8") as out:
                    make = [sys.executable, make_step.__file__, *arguments]
                    subprocess.run(make, stdout=out, check=True)
                print_step(label, options.opt, path, path.read_text())
    except (Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

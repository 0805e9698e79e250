#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the robustness of schedules of training steps to wrong costs.

Runs commsched-noise on steps of sharded transformers, and prints for every
schedule the time of the step as expected and over draws of other costs, which
are the same for all schedules of a step.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testsupport" / "steps"))
sys.path.insert(0, str(ROOT / "benchmarks" / "bucketing"))

import make_step  # noqa: E402
import plans  # noqa: E402

# Label and the options of make_step.py.
STEPS = (
    ("8b, batch 1", ["--model=8b", "--batch=1"]),
    ("8b, batch 4", ["--model=8b", "--batch=4"]),
    ("70b, batch 1", ["--model=70b", "--batch=1"]),
    ("70b, batch 4", ["--model=70b", "--batch=4"]),
)
# Label and file.
TRACED = (("8b, traced", ROOT / "examples" / "llama3-8b-fsdp64.mlirbc"),)

SLACKS = (0, 5, 10, 20, 40)
BUDGET = "5%"


def find_ways(program: str) -> dict:
    """Label -> pipeline. `program` is the text of the step."""
    by_block = f"mode=auto plan={plans.find_plan(program)}"
    ways = {
        "input": "",
        "simple overlap": "func.func(commsched-simple-overlap)",
        "Inductor's passes": "commsched-inductor-pipeline",
        "buckets by block": plans.buckets(by_block),
        "commsched-pipeline": f"commsched-pipeline{{memory-budget={BUDGET}}}",
    }
    for slack in SLACKS:
        options = f"memory-budget={BUDGET} slack={slack}"
        ways[f"slack {slack} %"] = f"func.func(commsched-schedule{{{options}}})"
    return ways


def measure(options: argparse.Namespace, path: pathlib.Path, ways: dict) -> list:
    command = [options.noise, f"--draws={options.draws}", str(path)]
    command += [f"--pipeline={way}={passes}" for way, passes in ways.items()]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def print_row(cells: list):
    print("| " + " | ".join(cells) + " |", flush=True)


def print_step(options: argparse.Namespace, label: str, path: pathlib.Path):
    text = subprocess.run(
        [options.opt, str(path)], stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    ways = {
        way: passes
        for way, passes in find_ways(text).items()
        if re.search(options.ways, way)
    }
    for row in measure(options, path, ways):
        times = [row[key] for key in ("median_ns", "p95_ns", "worst_ns")]
        print_row(
            [label, row["pipeline"], f"{row['collectives']}"]
            + [f"{time / 1e6:,.1f}" for time in [row["nominal_ns"], *times]]
            + [f"{time / row['nominal_ns']:.4f}" for time in times[:2]]
            + [f"{row['peak_memory_bytes'] / 2**30:,.2f}"]
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    tools = ROOT / "build" / "bin"
    add("--noise", default=str(tools / "commsched-noise"))
    add("--opt", default=str(tools / "commsched-opt"))
    add("--draws", type=make_step.positive, default=100)
    add("--steps", default=".", help="only the steps whose label this matches")
    add("--ways", default=".", help="only the schedules whose label this matches")
    options = parser.parse_args()
    print_row(
        ["step", "schedule", "collectives", "nominal, ms", "median, ms"]
        + ["95th percentile, ms", "worst, ms", "median / nominal"]
        + ["95th / nominal", "peak, GiB"]
    )
    print_row(["---"] * 2 + ["---:"] * 8)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "step.mlir")
            for label, arguments in STEPS:
                if not re.search(options.steps, label):
                    continue
                with open(path, "w", encoding="utf-8") as out:
                    make = [sys.executable, make_step.__file__, *arguments]
                    subprocess.run(make, stdout=out, check=True)
                print_step(options, label, path)
        for label, path in TRACED:
            if re.search(options.steps, label):
                print_step(options, label, path)
    except subprocess.CalledProcessError as error:
        # It has said why.
        return error.returncode
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

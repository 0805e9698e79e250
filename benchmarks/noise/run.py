#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare the robustness of schedules of training steps to wrong costs.

Prints for every schedule the time of the step as expected and over draws of
other costs, which are the same for all schedules of a step: each cost is
multiplied by a lognormal factor with a deviation of 0.2 and a mean of 1 that
depends on the name of the operation; a merged collective has the mean factor of
its members, weighted by their costs. The order stays.
"""

import argparse
import json
import pathlib
import random
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks/common", "testsupport", "testsupport/steps")
sys.path += [str(ROOT / folder) for folder in FOLDERS]

from make_step import positive  # noqa: E402
from measured_steps import (  # noqa: E402
    bucket_blocks,
    compare_in_folder,
    make,
    make_parser,
    print_header,
    print_row,
    run,
)
from simulate import simulate_time  # noqa: E402

# Label and the options of make_step.py, or a file.
STEPS = (
    ("8b, batch 1", ["--model=8b", "--batch=1"]),
    ("70b, batch 1", ["--model=70b", "--batch=1"]),
    ("8b, traced", ROOT / "examples" / "llama3-8b-fsdp64.mlirbc"),
)
BUDGET = "memory-budget=5%"


def find_ways(by_block: str) -> dict:
    """Label -> pipeline. `by_block` is that which buckets by transformer block."""
    schedule = ("commsched-set-costs{{slack={}}},"
                "func.func(commsched-schedule{{memory-budget=5%}})")
    return {
        "Inductor's passes": "commsched-inductor-pipeline",
        "buckets by block": by_block,
        "commsched-pipeline": f"commsched-pipeline{{{BUDGET}}}",
        "commsched-schedule, slack 0 %": schedule.format(0),
        "commsched-schedule, slack 10 %": schedule.format(10),
    }


def read_problems(opt: str, path: pathlib.Path, passes: str, folder) -> list:
    """The problem of each function after the passes, in their order."""
    file = folder / "problem.json"
    pipeline = f"builtin.module({passes},commsched-dump-problem{{file={file}}})"
    run([opt, str(path), f"--pass-pipeline={pipeline}", "-o", "/dev/null"])
    return json.loads(file.read_text())["functions"]


class Noise:
    """The factors of operations, by name."""

    def __init__(self, draws: int, problems: list):
        self.draws = draws
        self.costs = {
            name: node[1]
            for one in problems
            for name, node in zip(one["names"], one["nodes"])
        }
        self.factors: dict = {}

    def find(self, name: str) -> list:
        """A factor for each draw."""
        if name not in self.factors:
            members = name.split("+")
            weights = [self.costs.get(member, 0) for member in members]
            if len(members) > 1 and all(weights):
                columns = zip(*map(self.find, members))
                self.factors[name] = [statistics.fmean(c, weights) for c in columns]
            else:
                rng = random.Random(name)
                self.factors[name] = [
                    rng.lognormvariate(-0.02, 0.2) for _ in range(self.draws)
                ]
        return self.factors[name]

    def simulate(self, problem: dict) -> list:
        """The time of each draw, in nanoseconds."""
        order = range(len(problem["nodes"]))
        factors = [self.find(name) for name in problem["names"]]
        times = []
        for draw in range(self.draws):
            nodes = [
                [kind, round(cost * factor[draw]), *rest]
                for (kind, cost, *rest), factor in zip(problem["nodes"], factors)
            ]
            times.append(simulate_time({"nodes": nodes}, order)[0])
        return times


def print_step(options, label: str, path: pathlib.Path, folder: pathlib.Path):
    before = read_problems(options.opt, path, "canonicalize", folder)
    noise = Noise(options.draws, before)
    ways = find_ways(bucket_blocks(options.opt, path))
    for way, passes in {"input": "canonicalize", **ways}.items():
        if not re.search(options.ways, way):
            continue
        problems = read_problems(options.opt, path, passes, folder)
        nominal = sum(
            simulate_time(one, range(len(one["nodes"])))[0] for one in problems
        )
        times = sorted(map(sum, zip(*map(noise.simulate, problems))))
        marks = [statistics.median(times), times[len(times) * 95 // 100]]
        print_row(
            [label, way]
            + [f"{time / 1e6:,.1f}" for time in [nominal, *marks, times[-1]]]
            + [f"{time / nominal:.4f}" for time in marks]
        )


def compare(options: argparse.Namespace, folder: pathlib.Path):
    print_header(
        ["step", "schedule", "nominal, ms", "median, ms", "95th percentile, ms",
         "worst, ms", "median / nominal", "95th / nominal"], 2
    )
    for label, step in [(path.stem, path) for path in options.programs] or STEPS:
        if not re.search(options.steps, label):
            continue
        if isinstance(step, list):
            step = make(step, folder / "step.mlir")
        print_step(options, label, step, folder)


def main() -> int:
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("programs", nargs="*", type=pathlib.Path, help="instead of the known steps")
    add("--draws", type=positive, default=100)
    add("--ways", default=".", help="only the schedules whose label this matches")
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

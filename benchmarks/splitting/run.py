#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare rules that split collectives, on traced steps of tensor and expert
parallelism.

Traces the steps, lets each rule divide collectives and the computation beside
them, orders the results by the same pipeline, and prints a row for each step
and rule. Forward and backward run one after the other; `bound` is the least
that any order of the step as it was traced takes. What it leaves exposed is the
bound less the computation, and `hidden` the part of that by which a step is
below the bound.
"""

import argparse
import json
import pathlib
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import (  # noqa: E402
    Failure,
    compare_in_folder,
    make_parser,
    print_header,
    print_row,
    run,
    traced,
)

# Label -> options of examples/models/torch_step.py.
STEPS = {
    "8B, tp 8": ["--model=llama3-8b", "--tp=8"],
    "8B, dp 8, tp 8": ["--model=llama3-8b", "--dp=8", "--tp=8"],
    "16B experts, ep 8": ["--model=deepseek-v3-16b", "--ep=8"],
    "16B experts, ep 32": ["--model=deepseek-v3-16b", "--ep=32"],
    "70B, tp 8": ["--model=llama3-70b", "--tp=8"],
}
# Rule -> option of commsched-peers, how it splits. The pipelines may not take
# more memory than the step in its traced order.
RULES = {
    "off": ("pipeline", "off"),
    "XLA": ("windowed-einsum", "off"),
    "PyTorch": ("micro-pipeline", "off"),
    "auto": ("pipeline", "auto"),
    "sums": ("pipeline", "sums"),
}
HEADER = ("step", "rule", "step, ms", "against bound", "exposed, ms", "hidden")
HEADER += ("peak / input", "collectives", "time, ms", "time / off")


class Cost(NamedTuple):
    """A step, over its functions; times in ms."""

    step: float
    exposed: float
    schedule: float
    collectives: int
    peaks: tuple  # Bytes, of each function.
    bounds: tuple  # Of each function.

    @property
    def computation(self) -> float:
        return self.step - self.exposed


def make_arguments(budget: str) -> list:
    arguments = []
    for rule, (option, split) in RULES.items():
        pipeline = f"commsched-pipeline{{memory-budget={budget} split={split}}}"
        arguments.append(f"--{option}={rule}={pipeline}")
    return arguments


def measure(program: pathlib.Path, options: argparse.Namespace) -> dict:
    """Rule -> cost; `input` is the step as it was traced."""
    command = [options.tool, program, *make_arguments(options.memory_budget)]
    functions = {}
    for line in map(json.loads, run(command).splitlines()):
        if "error" in line:
            raise Failure(f"{line['function']}, {line['peer']}: {line['error']}")
        functions.setdefault(line["peer"], []).append(line)
    return {peer: add_up(lines) for peer, lines in functions.items()}


def add_up(lines: list) -> Cost:
    """The cost of a step of which `lines` are the functions."""

    def total(key: str) -> float:
        return sum(line[key] for line in lines)

    bounds = tuple(line["tight_lower_bound_ns"] / 1e6 for line in lines)
    return Cost(
        step=total("step_time_ns") / 1e6,
        exposed=total("exposed_comm_ns") / 1e6,
        schedule=total("schedule_ms"),
        collectives=total("num_collectives"),
        peaks=tuple(line["peak_memory_bytes"] for line in lines),
        bounds=bounds,
    )


def print_step(label: str, costs: dict):
    before, reference = costs["input"], costs["off"]
    # Merged collectives take less time than single ones.
    bound = sum(map(min, before.bounds, reference.bounds))
    at_bound = bound - before.computation
    for rule in ("input", *RULES):
        cost = costs[rule]
        is_timed = rule != "input"
        hidden = (bound - cost.step) / at_bound
        peak = max(new / old for new, old in zip(cost.peaks, before.peaks))
        print_row(
            [label, rule, f"{cost.step:,.1f}"]
            + [f"{100 * (cost.step / bound - 1):+.1f} %"]
            + [f"{cost.exposed:,.1f}", f"{100 * hidden:.0f} %" if hidden > 0 else ""]
            + [f"{100 * (peak - 1):+.2f} %", f"{cost.collectives:,}"]
            + [f"{cost.schedule:,.0f}" if is_timed else ""]
            + [f"{cost.schedule / reference.schedule:.2f}" if is_timed else ""]
        )
    print_row(
        [label, "bound", f"{bound:,.1f}", "", f"{at_bound:,.1f}"]
        + [""] * (len(HEADER) - 5)
    )


def compare(options: argparse.Namespace, folder: pathlib.Path):
    print_header(HEADER, 2)
    for label, program in traced(STEPS, options, folder):
        try:
            print_step(label, measure(program, options))
        except Failure as failure:
            raise Failure(f"{label}: {failure}") from None


def main() -> int:
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--traces", help="a folder to keep the traced steps in")
    add("--memory-budget", default="0%", help="over the traced order's peak")
    return compare_in_folder(compare, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

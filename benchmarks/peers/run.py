#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare schedulers on training steps, with the same costs and simulator.

Prints a row for every step and scheduler: the simulated step, how far that is
above the bound, the peak of memory against the input's, the collectives, and the
processor time that scheduling took, against that of the reference peer. The
functions of a step, such as forward and backward, run one after the other. The
bound is the least that any scheduler of the step could reach with the operations
that one of them leaves, however it merges and splits them (the merging lower
bound of docs/guide/model.md).
"""

import argparse
import json
import pathlib
import re
import shlex
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import (  # noqa: E402
    Failure,
    bucket_blocks,
    compare_in_folder,
    list_steps,
    make,
    make_parser,
    print_header,
    print_row,
    run,
)

TRACED = ROOT / "examples" / "llama3-8b-fsdp64.mlirbc"
ALL_BUCKETS = " ".join(
    f"bucket_{kind}_fx=all"
    for kind in ("all_gathers", "reduce_scatters", "all_reduces")
)
BUDGETS = ("0%", "5%", "20%")
# Peer -> its option of commsched-peers. By transformer block is not among them:
# its pipeline depends on the program.
PEERS = {
    "input": None,
    "inductor-scheduler": "--pipeline=commsched-inductor-pipeline",
    "inductor-scheduler, buckets": (
        f"--pipeline=commsched-inductor-pipeline{{{ALL_BUCKETS}}}"
    ),
    "fx-overlap": None,
    "simple-overlap": "--pipeline=func.func(commsched-simple-overlap)",
    "xla-lhs": "--latency-hiding=none",
    **{f"xla-lhs+{budget}": f"--latency-hiding={budget}" for budget in BUDGETS},
    "block-buckets": None,
    **{
        f"ours+{budget}, no buckets": "--pipeline=func.func("
        f"commsched-schedule{{memory-budget={budget} buckets=off}})"
        for budget in BUDGETS
    },
    **{
        f"ours+{budget}": f"--pipeline=commsched-pipeline{{memory-budget={budget}}}"
        for budget in BUDGETS
    },
}
HEADER = ("step", "scheduler", "step, ms", "over bound", "peak / input")
HEADER += ("collectives", "to schedule, ms", "ratio")


class Cost(NamedTuple):
    """What a scheduler makes of a step, over its functions."""

    step: float  # ms
    bound: float  # ms
    peak: int  # bytes
    collectives: int
    schedule: float  # ms
    notes: tuple = ()


def add_up(lines: list) -> Cost:
    """The cost of a step of which `lines` are the functions."""
    for line in lines:
        if "error" in line:
            raise Failure(line["error"])
    return Cost(
        step=sum(line["step_time_ns"] for line in lines) / 1e6,
        bound=sum(line["merging_lower_bound_ns"] for line in lines) / 1e6,
        peak=max(line["peak_memory_bytes"] for line in lines),
        collectives=sum(line["num_collectives"] for line in lines),
        schedule=sum(line["schedule_ms"] for line in lines),
        notes=tuple(
            f"{line['function']}: {line['note']}" for line in lines if "note" in line
        ),
    )


class Comparison:
    """Runs the peers that are wanted on one step after the other."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options = options
        self.folder = folder
        self.peers = [name for name in PEERS if self.is_wanted(name)]
        self.peers += [text.partition("=")[0] for text in options.pipeline]
        self.notes = []

    def is_wanted(self, name: str) -> bool:
        return name == "input" or bool(re.search(self.options.peers, name))

    def ask_fx(self, program: pathlib.Path) -> pathlib.Path:
        """Lets PyTorch schedule the program. Its answer."""
        dump, answer = self.folder / "dump.json", self.folder / "answer.json"
        run([self.options.tool, program, f"--dump={dump}"])
        command = [self.options.python, ROOT / "benchmarks/peers/fx_overlap.py", dump]
        command += ["-o", answer, f"--timeout={self.options.fx_timeout}"]
        run(command, limit=4 * self.options.fx_timeout)
        return answer

    def make_arguments(self, program: pathlib.Path, failures: dict) -> list:
        arguments = [f"--pipeline={text}" for text in self.options.pipeline]
        for name in filter(PEERS.__contains__, self.peers):
            try:
                if name == "block-buckets":
                    blocks = bucket_blocks(self.options.opt, program)
                    arguments.append(f"--pipeline={name}={blocks}")
                elif name == "fx-overlap":
                    arguments.append(f"--external={name}={self.ask_fx(program)}")
                elif name != "input":
                    option, _, value = PEERS[name].partition("=")
                    arguments.append(f"{option}={name}={value}")
            except Failure as failure:
                failures[name] = str(failure)
        return arguments

    def measure(self, program: pathlib.Path) -> tuple:
        """The costs by peer, and why others have none."""
        failures, costs = {}, {}
        arguments = self.make_arguments(program, failures)
        lines = run([self.options.tool, program, *arguments]).splitlines()
        by_peer = {}
        for line in map(json.loads, lines):
            by_peer.setdefault(line["peer"], []).append(line)
        for name, functions in by_peer.items():
            try:
                costs[name] = add_up(functions)
            except Failure as failure:
                failures[name] = str(failure)
        return costs, failures

    def print_step(self, label: str, program: pathlib.Path):
        costs, failures = self.measure(program)
        if "input" not in costs:
            raise Failure(f"{label}: {failures['input']}")
        bound = min(cost.bound for cost in costs.values())
        reference = costs.get(self.options.reference)
        for name in self.peers:
            if name in costs:
                print_cost(label, name, costs[name], bound, costs["input"], reference)
                self.notes += [f"{label}, {name}: {n}" for n in costs[name].notes]
            else:
                print_row([label, name] + ["-"] * (len(HEADER) - 2))
                self.notes.append(f"{label}, {name}: {failures[name]}")


def print_cost(
    label: str, name: str, cost: Cost, bound: float, before: Cost, reference: Cost
):
    is_timed = name != "input"
    ratio = is_timed and reference and reference.schedule
    print_row(
        [label, name, f"{cost.step:,.1f}"]
        + [f"{100 * (cost.step / bound - 1):.2f} %"]
        + [f"{100 * (cost.peak / before.peak - 1):+.2f} %"]
        + [f"{cost.collectives:,}"]
        + [f"{cost.schedule:,.1f}" if is_timed else ""]
        + [f"{cost.schedule / reference.schedule:,.2f}" if ratio else ""]
    )


def compare(options: argparse.Namespace, folder: pathlib.Path):
    comparison = Comparison(options, folder)
    print_header(HEADER, 2)
    programs = [(path.stem, path) for path in options.programs or [TRACED]]
    for label, path in programs:
        if options.programs or re.search(options.steps, label):
            comparison.print_step(label, path)
    for label, arguments in [] if options.programs else list_steps((1, 4)):
        if not re.search(options.steps, label):
            continue
        more = shlex.split(options.make)
        step = make([*arguments, *more], folder / "step.mlir")
        comparison.print_step(label, step)
    if comparison.notes:
        print()
    for note in comparison.notes:
        print(f"- {note}")


def main() -> int:
    parser = make_parser(__doc__)
    add = parser.add_argument
    add(
        "programs",
        nargs="*",
        type=pathlib.Path,
        help="instead of the traced step and those of make_step.py",
    )
    add("--peers", default=".", help="only the peers whose name this matches")
    add(
        "--pipeline",
        action="append",
        default=[],
        metavar="NAME=PASSES",
        help="one more peer; may be given several times",
    )
    add("--make", default="", help="more options of make_step.py, in one text")
    add("--reference", default="ours+5%", help="the peer that ratios are against")
    add(
        "--fx-timeout",
        type=float,
        default=600.0,
        help="processor seconds of fx-overlap for a function",
    )
    options = parser.parse_args()
    return compare_in_folder(compare, options)


if __name__ == "__main__":
    sys.exit(main())

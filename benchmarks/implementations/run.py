#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare steps with and without a choice of implementations.

    nccl        commsched-pipeline for a machine that has NCCL only, with its tax
    copies      all gathers on one node by copy engines, whatever that costs, and
                the rest as chosen
    chosen      commsched-pipeline for a machine that lists all implementations

All have the same costs and are simulated with the same taxes and links. Prints a
row for each step: its time, the additional time of computation beside
collectives, and what carries out the collectives. The list of implementations is
in testsupport/implementations.json; its figures are assumptions, which the
file explains.
"""

import argparse
import collections
import json
import pathlib
import re
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks" / "common"))

from measured_steps import (  # noqa: E402
    compare_in_folder,
    list_steps,
    make,
    make_parser,
    print_row,
    run,
)

TRACED = ROOT / "examples" / "llama3-8b-fsdp64.mlirbc"
LIST = ROOT / "testsupport" / "implementations.json"
HEADER = ("step", "nccl, ms", "slowdown, ms", "copies", "chosen", "slowdown, ms")
HEADER += ("to choose, s", "collectives by implementation")


class Answer(NamedTuple):
    """A step, over its functions."""

    step: float  # ms
    slowdown: float  # ms
    seconds: float
    implementations: collections.Counter


class Comparison:
    """Runs one step after the other, with the profiles in a folder."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options, self.folder = options, folder
        listed = json.loads(LIST.read_text())
        if options.copy_bandwidth:
            engine = listed["implementations"]["copy-engine"]
            engine["bandwidth_gb_s"] = options.copy_bandwidth
        self.all = self.write("all.json", listed)
        nccl = {"nccl": listed["implementations"]["nccl"]}
        self.nccl = self.write("nccl.json", {**listed, "implementations": nccl})

    def write(self, name: str, profile: dict) -> pathlib.Path:
        path = self.folder / name
        path.write_text(json.dumps(profile))
        return path

    def schedule(self, program: pathlib.Path, profile: pathlib.Path) -> Answer:
        scheduled = self.folder / "scheduled.mlirbc"
        budget = f"memory-budget={self.options.budget}"
        passes = f"--commsched-pipeline={budget} profile={profile}"
        begin = time.monotonic()
        run([self.options.opt, program, passes, "-o", scheduled, "--emit-bytecode"])
        seconds = time.monotonic() - begin
        costs = f"--commsched-set-costs=profile={self.all}"
        text = run([self.options.opt, scheduled, costs,
                    "--commsched-report=format=json", "-o", "/dev/null"])
        functions = [json.loads(line) for line in text.splitlines()]
        return Answer(
            sum(function["step_time_ns"] for function in functions) / 1e6,
            sum(f.get("compute_slowdown_ns", 0) for f in functions) / 1e6,
            seconds,
            collections.Counter(
                collective.get("implementation", "nccl")
                for function in functions
                for collective in function["collectives"]
            ),
        )

    def copy_all_gathers(self, program: pathlib.Path) -> pathlib.Path:
        """The program in which every gather that can be is copied."""
        text = run([self.options.opt, program, "--mlir-print-debuginfo=false"])
        size = re.compile(r"commsched\.group (@\S+) size\((\d+)\)")
        one_node = {name for name, ranks in size.findall(text) if int(ranks) <= 8}
        gather = re.compile(r"(commsched\.all_gather .*? on (@\S+) .*?)(\{|:)")

        def mark(match: re.Match) -> str:
            if match[2] not in one_node:
                return match[0]
            name = 'commsched.implementation = "copy-engine"'
            return match[1] + ("{" + name + (", " if match[3] == "{" else "} :"))

        copied = self.folder / "copied.mlir"
        copied.write_text(gather.sub(mark, text))
        return copied

    def compare(self, label: str, program: pathlib.Path) -> tuple:
        nccl = self.schedule(program, self.nccl)
        copies = self.schedule(self.copy_all_gathers(program), self.all)
        chosen = self.schedule(program, self.all)
        counts = chosen.implementations.most_common()
        return (
            label,
            f"{nccl.step:,.1f}",
            f"{nccl.slowdown:,.1f}",
            f"{100 * (copies.step / nccl.step - 1):+.1f} %",
            f"{100 * (chosen.step / nccl.step - 1):+.1f} %",
            f"{chosen.slowdown:,.1f}",
            f"{chosen.seconds:.1f}",
            ", ".join(f"{count} {name}" for name, count in counts),
        )


def compare_all(options: argparse.Namespace, folder: pathlib.Path) -> None:
    comparison = Comparison(options, folder)
    print_row(HEADER)
    print_row(("---",) + ("---:",) * (len(HEADER) - 2) + ("---",))
    if re.search(options.steps, TRACED.stem):
        print_row(comparison.compare(TRACED.stem, TRACED))
    for label, arguments in list_steps((1,)):
        if not re.search(options.steps, label):
            continue
        program = make(arguments, folder / "step.mlir")
        print_row(comparison.compare(label, program))


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--budget", default="5%", help="memory budget")
    parser.add_argument(
        "--copy-bandwidth", type=float, help="GB/s of copy engines, in the list's place"
    )
    options = parser.parse_args()
    return compare_in_folder(compare_all, options)


if __name__ == "__main__":
    sys.exit(main())

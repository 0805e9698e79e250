#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare commsched-pipeline with simple rules of merging.

A rule merges the collectives of a random step, which `commsched-schedule` then
orders, without merging more. From the peak of what the rule made on, that takes as
a budget what commsched-pipeline takes, which may not make a longer step. Prints a
row for each step and budget; the status is 1 if a rule made a shorter step.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

SUPPORT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(SUPPORT / "rules"), str(SUPPORT / "steps")]

import model_steps  # noqa: E402
import rules  # noqa: E402

BUILT_TOOL = SUPPORT.parent / "build" / "bin" / "commsched-opt"
#: How much more than the least peak of a rule the budgets are.
FACTORS = (1.0, 1.05, 1.2, 1.5, 2.0)


class Cost(NamedTuple):
    step_ns: int
    peak_bytes: int
    collectives: int
    #: Of all orders with these collectives, unless some are split.
    bound_ns: int


class Row(NamedTuple):
    """A step within a budget: ours, and the best of the rules that fit."""

    budget: int
    ours: Cost
    rule: str
    best: Cost

    @property
    def loss(self) -> float:
        """By what part the rule's step is shorter; negative if it is longer."""
        return self.ours.step_ns / self.best.step_ns - 1


class Tool:
    """Runs commsched-opt in a folder."""

    def __init__(self, program: str, folder: str):
        self.program = str(program)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)

    def run(self, source: pathlib.Path, passes: str, target: str = "") -> Cost:
        """What the step costs after the passes; it is written to `target`."""
        report = "commsched-report{format=json}"
        passes = ",".join(filter(None, (passes, report)))
        command = [self.program, source, f"--pass-pipeline=builtin.module({passes})"]
        # The report is on standard output, the program in the file.
        output = self.folder / target if target else "/dev/null"
        result = subprocess.run(
            [*command, "-o", output], capture_output=True, text=True, check=False
        )
        if result.returncode:
            raise RuntimeError(f"{passes}\n{result.stderr[:300]}")
        report = json.loads(result.stdout)
        return Cost(
            report["step_time_ns"],
            report["peak_memory_bytes"],
            report["num_collectives"],
            report["tight_lower_bound_ns"],
        )


def schedule(budget: int) -> str:
    return f"func.func(commsched-schedule{{buckets=off memory-budget={budget}}})"


class Peers:
    """What the rules make of one step: by name the program and its cost. Of rules
    that make one program, the first is kept."""

    def __init__(self, tool: Tool, pool: ThreadPoolExecutor, text: str):
        self.tool, self.pool = tool, pool
        self.source = tool.folder / "step.mlir"
        self.source.write_text(text, encoding="utf-8")
        self.may_split = " split = " in text
        passes = rules.make_rules(text)
        files = {name: re.sub(r"\W+", "-", name) + ".mlir" for name in passes}
        costs = list(
            pool.map(
                lambda name: tool.run(self.source, passes[name], files[name]), passes
            )
        )
        self.programs = {}
        known = set()
        for name, cost in zip(passes, costs):
            path = tool.folder / files[name]
            content = path.read_text(encoding="utf-8")
            if content not in known:
                known.add(content)
                self.programs[name] = (path, cost)

    def budgets(self, rng: random.Random, count: int) -> list[int]:
        """So many, from the least peak of a rule on: that, what rules take, and
        more than they take."""
        peaks = sorted({cost.peak_bytes for _, cost in self.programs.values()})
        more = {*peaks, *(int(factor * peaks[0]) for factor in FACTORS)}
        found = rng.sample(sorted(more - {peaks[0]}), min(count, len(more)) - 1)
        return sorted([peaks[0], *found])

    def compare(self, budget: int) -> Row:
        """Ours, and the best of the rules that fit. A rule whose bound is above
        ours is not ordered: it is not shorter."""
        passes = f"commsched-pipeline{{memory-budget={budget}}}"
        ours = self.tool.run(self.source, passes)
        fitting = {
            name: cost
            for name, (_, cost) in self.programs.items()
            if cost.peak_bytes <= budget
        }
        names = [
            name
            for name, cost in fitting.items()
            if self.may_split or cost.bound_ns < ours.step_ns
        ]
        costs = self.pool.map(
            lambda name: self.tool.run(self.programs[name][0], schedule(budget)),
            names,
        )
        best, rule = min(zip([*costs, *fitting.values()], [*names, *fitting]))
        return Row(budget, ours, rule, best)


def compare_step(
    tool: Tool, pool: ThreadPoolExecutor, seed: int, count: int
) -> Iterator[tuple[str, Row]]:
    """The label of the step of a seed, and a row for each of so many budgets."""
    step = model_steps.make_random_step(seed)
    peers = Peers(tool, pool, step.text)
    for budget in peers.budgets(random.Random(seed), count):
        yield step.label, peers.compare(budget)


def make_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count())


def print_row(seed: int, label: str, row: Row) -> None:
    cells = [
        seed,
        label,
        f"{row.budget / 2**20:,.1f}",
        f"{row.ours.step_ns / 1e3:,.1f} ({row.ours.collectives})",
        f"{row.best.step_ns / 1e3:,.1f} ({row.best.collectives})",
        row.rule,
        f"{100 * row.loss:+.2f} %",
        f"{row.ours.peak_bytes / row.budget:.3f}",
        f"{row.best.peak_bytes / row.budget:.3f}",
    ]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--steps", type=int, default=20)
    add("--seed", type=int, default=1, help="of the first step")
    add("--budgets", type=int, default=3, help="of a step")
    add("--losses", action="store_true", help="print only what is longer")
    add("--opt", default=BUILT_TOOL)
    add("--keep", help="a folder for step.mlir and what the rules make of it")
    options = parser.parse_args()
    columns = ["seed", "step", "budget, MiB", "ours, us (collectives)"]
    columns += ["best rule, us", "rule", "loss", "our peak / budget", "rule's peak"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    losses = []
    count = 0
    with make_pool() as pool, tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.opt, options.keep or folder)
        for seed in range(options.seed, options.seed + options.steps):
            for label, row in compare_step(tool, pool, seed, options.budgets):
                count += 1
                if row.loss > 0:
                    losses.append(row.loss)
                if row.loss > 0 or not options.losses:
                    print_row(seed, label, row)
    print(
        f"{len(losses)} of {count} are longer than by a rule, by"
        f" {100 * max(losses, default=0):.2f} % at most;"
        f" {sum(loss > 0.001 for loss in losses)} by over 0.1 %"
    )
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())

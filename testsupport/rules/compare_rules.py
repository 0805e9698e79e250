# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare commsched-pipeline with simple rules of merging.

A rule merges the collectives of a random step, which `commsched-schedule` then
orders, without merging more. From the peak of what the rule made on, that takes as
a budget what commsched-pipeline takes, which may not make a longer step.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

SUPPORT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(SUPPORT / "rules"), str(SUPPORT / "steps")]

import model_steps  # noqa: E402
import rules  # noqa: E402

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

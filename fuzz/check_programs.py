#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs commsched-pipeline on many random programs and checks every schedule.

Programs and model are those of test/Transforms/Inputs/random_steps.py and
step_model.py, which know nothing of how the tool sees a program. A batch is one
module, scheduled under the next of CASES. Of every program:

- the result holds the operations of the input, line by line, in an order that
  keeps data dependences, effects, and what has to stay in order of collectives;
  each wait is there once, behind its start,
- the peak by the model is within the budget, and the step is no longer,
- the report states the peak and the time that the model gives.

Where collectives were merged or split the operations are others; only the report
is compared then, and such programs are counted apart. Every batch of which the
number divides by --align-every is also scheduled on two ranks that measured it
with up to 10 % of noise: once their times are aligned they decide alike.

The last line says how many programs were checked, also when --minutes, SIGINT or
SIGTERM ends the run. A violation ends it with the program and its seed.
"""

import argparse
import math
import random
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent
                       / "test/Transforms/Inputs"))

from printed_steps import Step, Tool  # noqa: E402
from random_steps import PROLOGUE, Generator  # noqa: E402

TIME = re.compile(r"(commsched\.runtime_ns = )(\d+)")


@dataclass
class Case:
    """Options of the pipeline, and the budget in percent over the peak."""

    options: str
    percent: float

    @property
    def pipeline(self):
        return (f"commsched-pipeline{{memory-budget={self.percent:g}% "
                f"{self.options}}}")

    @property
    def keeps_operations(self):
        return MOVES in self.options


MOVES = "buckets=off split=off"
CASES = [
    Case(MOVES, 0),
    Case(MOVES, 10),
    Case("", 5),
    Case(f"{MOVES} slack=0", 50),
    Case("mode=coalesced", 20),
    Case(f"{MOVES} slack=100", 2.5),
]


class ShortGenerator(Generator):
    """Writes functions of about 6 to 30 operations."""

    def fill(self, block, lines, values, length):
        most = 10 if block.parent is None else 3
        super().fill(block, lines, values, min(length, most))


@dataclass
class Counts:
    programs: int = 0
    moved: int = 0
    changed: int = 0  # Merged or split; by the report alone.
    aligned: int = 0
    alone: int = 0  # Of these, those that differ without alignment.
    operations: int = 0

    def __str__(self):
        return (f"{self.programs} programs of {self.operations} operations: "
                f"all well; {self.moved} in another order, {self.changed} "
                f"with merged or split collectives; {self.aligned} scheduled "
                f"alike by ranks with noise, {self.alone} of them only when "
                "aligned")

    def add(self, other):
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)
                    + getattr(other, field.name))


class Batch:
    def __init__(self, tool, number, size, seed):
        self.tool = tool
        self.case = CASES[number % len(CASES)]
        self.first = seed * 1_000_000_007 + number * size
        functions = [ShortGenerator(f"f{i}", self.first + i).generate()
                     for i in range(size)]
        self.text = PROLOGUE + "".join(f.text for f in functions)
        self.input = tool.schedule(self.text, "")
        self.steps = [Step(f, self.input.bodies[f.name]) for f in functions]
        self.counts = Counts(size, operations=sum(
            len(b.ops) for f in functions for b in f.blocks))

    def fail(self, step, problem, output):
        name = step.function.name
        seed = self.first + int(name[1:])
        sys.exit(f"{self.case.pipeline} on the program of seed {seed}: {problem}\n"
                 f"before:\n{step.printed}\nafter:\n{output.bodies[name]}")

    def check(self):
        output = self.tool.schedule(self.text, self.case.pipeline)
        for step in self.steps:
            self.check_step(step, output)

    def check_step(self, step, output):
        name = step.function.name
        report = output.reports[name]
        found = report["peak_memory_bytes"], report["step_time_ns"]
        orders = step.read(output.bodies[name], False)
        if orders is None and self.case.keeps_operations:
            self.fail(step, "another program", output)
        if orders is None:
            self.counts.changed += 1
        else:
            self.check_orders(step, orders, found, output)
        limit = step.peak + math.floor(step.peak * self.case.percent / 100)
        if found[0] > limit:
            self.fail(step, f"{found[0]} bytes of {limit}", output)
        if found[1] > step.time:
            self.fail(step, f"{found[1]} ns instead of {step.time}", output)

    def check_orders(self, step, orders, found, output):
        if violation := step.find_violation(orders, "free"):
            self.fail(step, "%s and %s change places" % violation, output)
        costs = step.price(orders)
        if found != costs[0]:
            self.fail(step, f"the report says {found} instead of {costs[0]}",
                      output)
        for before, after in zip(step.costs[1:], costs[1:]):
            if after[0] > before[0] or after[1] > before[1]:
                self.fail(step, f"{after} in a region instead of {before}",
                          output)
        self.counts.moved += orders != step.original

    def check_alignment(self, folder):
        """Two ranks with noise decide alike once their times are aligned."""
        rng = random.Random(self.first)
        # Small times hardly change when rounded.
        texts = [TIME.sub(lambda m: m[1] + str(
            round(int(m[2]) * rng.uniform(0.9, 1.1))), self.text)
            for _ in range(2)]
        files = [f"{folder}/{rank}.json" for rank in range(2)]
        for text, file in zip(texts, files):
            self.tool.run(text, f"commsched-align-runtimes{{output={file}}}",
                          "-o", "/dev/null")
        align = f"commsched-align-runtimes{{ranks={','.join(files)}}},"
        alike, alone = ([self.tool.schedule(text, first + self.case.pipeline)
                         for text in texts] for first in (align, ""))
        for step in self.steps:
            name = step.function.name
            if alike[0].bodies[name] != alike[1].bodies[name]:
                self.fail(step, "aligned ranks differ", alike[1])
            self.counts.alone += len(
                {TIME.sub("", run.bodies[name]) for run in alone}) > 1
        self.counts.aligned += len(self.steps)


class Ended(Exception):
    """A signal, or the end of --minutes."""


def stop(*_):
    raise Ended


def run(arguments, counts):
    tool = Tool(arguments.tool or ["commsched-opt"])
    end = time.monotonic() + 60 * arguments.minutes
    number = 0
    with tempfile.TemporaryDirectory() as folder:
        while counts.programs < arguments.programs and time.monotonic() < end:
            size = min(arguments.batch, arguments.programs - counts.programs)
            batch = Batch(tool, number, size, arguments.seed)
            batch.check()
            if number % arguments.align_every == 0:
                batch.check_alignment(folder)
            counts.add(batch.counts)
            number += 1
            if number % 20 == 0:
                print(counts, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--programs", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--batch", type=int, default=250,
                        help="programs in one module")
    parser.add_argument("--align-every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    counts = Counts()
    try:
        run(arguments, counts)
    except Ended:
        pass
    if not counts.moved:
        sys.exit("nothing moves: nothing is shown")
    print(counts)


if __name__ == "__main__":
    main()

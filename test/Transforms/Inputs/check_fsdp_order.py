# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs commsched-enforce-fsdp-order on random steps and checks its promises.

The result holds the operations of the input in an order that the model of the
step allows, with collectives in order on their streams. A copy-in and its
gather stand together. The gather is waited for before the next copy-in, unless
a remark says otherwise. A second run changes nothing.
"""

import argparse
import re
import sys

from printed_steps import Step, Tool
from random_steps import PROLOGUE, Generator, Type

PASS = "func.func(commsched-enforce-fsdp-order)"
COPY_IN = re.compile(r"\S+, \S+ = commsched.all_gather_copy_in ")
KEPT = re.compile(r"FsdpOrderKept .*?Function=(\w+).*?all_gather '(\w+)'")
# What has to stand together cannot, as another operation runs between.
SPLIT = re.compile(r"FsdpGroupSplit .*?Function=(\w+).*?all_gather '(\w+)'")


class FsdpGenerator(Generator):
    """Steps of many gathers with copy-ins, not all of them directly before."""

    def __init__(self, name, seed):
        super().__init__(name, seed)
        self.types.append(Type(16, "f32"))
        self.gathers = []  # Copy-in and start.

    def start(self, block, lines, values, pending, *operands):
        if operands or self.rng.random() < 0.2:
            super().start(block, lines, values, pending, *operands)
        else:
            self.coalesced(block, lines, values, pending)

    def coalesced(self, block, lines, values, pending):
        self.values = values
        super().coalesced(block, lines, values, pending)

    def launch(self, block, lines, pending, group, kind, clause, operands, types, into):
        has_copy_in = lines and COPY_IN.match(lines[-1])
        copy_in = block.ops[-1] if has_copy_in else None
        if copy_in and self.rng.random() < 0.5:
            self.compute(block, lines, self.values, pending)
        super().launch(block, lines, pending, group, kind, clause, operands,
                       types, into)
        if copy_in:
            self.gathers.append((copy_in, block.ops[-1]))


class Checker:
    def __init__(self, tool, programs):
        self.tool = tool
        source = PROLOGUE + "".join(p.function.text for p in programs)
        self.input = tool.schedule(source, "")
        self.steps = [Step(p.function, self.input.bodies[p.function.name])
                      for p in programs]
        self.output = tool.schedule(source, PASS, remarks=True)
        self.again = tool.schedule(source, f"{PASS},{PASS}")
        self.kept, self.split = (
            {match.groups() for match in remark.finditer(self.output.remarks)}
            for remark in (KEPT, SPLIT))
        self.gathers = {p.function.name: p.gathers for p in programs}
        self.counts = dict.fromkeys(["moved", "in order", "out of order"], 0)

    def fail(self, problem, step):
        name = step.function.name
        sys.exit(f"on @{name}: {problem}\nbefore:\n{step.printed}\nafter:\n"
                 f"{self.output.bodies[name]}")

    def check(self, step):
        name = step.function.name
        orders = step.read(self.output.bodies[name], False)
        if not orders or self.output.tails[name] != self.input.tails[name]:
            self.fail("another program", step)
        if violation := step.find_violation(orders, "stream"):
            self.fail("%s and %s change places" % violation, step)
        if self.again.bodies[name] != self.output.bodies[name]:
            self.fail("a second run changes it", step)
        self.counts["moved"] += orders != step.original
        for block, order in zip(step.function.blocks, orders):
            self.check_block(step, block, order)

    def check_block(self, step, block, order):
        name = step.function.name
        position = {index: place for place, index in enumerate(order)}
        waits = {op.start: op for op in block.ops if op.kind == "wait"}
        last = None
        for copy_in, start in self.gathers[name]:
            if start.block is not block:
                continue
            place = position[copy_in.index]
            if position[start.index] != place + 1 and (
                    (name, start.name) not in self.split):
                self.fail(f"{start.name} and its copy-in", step)
            if last:
                is_in_order = position[waits[last].index] < place
                if is_in_order == ((name, start.name) in self.kept):
                    self.fail(f"{last.name} and {copy_in.name}", step)
                self.counts["in order" if is_in_order else "out of order"] += 1
            last = start

    def run(self):
        for step in self.steps:
            self.check(step)
        if not all(self.counts.values()):
            sys.exit(f"some never happen: {self.counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER,
                        help="commsched-opt and options for all of its runs")
    parser.add_argument("--functions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    programs = [FsdpGenerator(f"f{i}", arguments.seed * 100003 + i)
                for i in range(arguments.functions)]
    for program in programs:
        program.generate()
    checker = Checker(Tool(arguments.tool),
                      [program for program in programs if program.gathers])
    checker.run()
    print(f"{arguments.functions} functions: all well; {checker.counts}")


if __name__ == "__main__":
    main()

# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers in place in random functions.

Gathers are in place where nothing uses the storage of the copy-in's buffer after
the start but the wait, and nowhere else. All else is as it was, and a second run
changes nothing.
"""

import argparse
import random
import subprocess
import sys
from collections import Counter

from generic_ir import list_ops, parse

PASS = "--commsched-reinplace-all-gather"
GROUPS = ("commsched.group @a size(2)\n"
          "commsched.group @b size(2) stride(2)\n")
COPY_IN, GATHER = "commsched.all_gather_copy_in", "commsched.all_gather"


def tensor(size):
    return f"tensor<{size}xf32>"


class Generator:
    """Writes one random function."""

    def __init__(self, name, seed):
        self.rng = random.Random(seed)
        self.name = name
        self.count = 0
        self.lines = []
        # How often what is packed is used otherwise.
        self.evil = self.rng.choice([0.02, 0.15])

    def function(self):
        self.values = [("%x", 2), ("%y", 2)]
        self.packed = []  # Slices and buffers, and views of them.
        self.slices = []  # With the size and the group.
        self.pending = []
        body = self.block(self.rng.randint(4, 16), 0)
        returned = self.values[-2:]
        if self.rng.random() < self.evil and self.packed:
            returned.append(self.rng.choice(self.packed))
        types = ", ".join(tensor(size) for _, size in returned)
        body += f"return {', '.join(v for v, _ in returned)} : {types}\n"
        return (f"func.func @{self.name}(%x: {tensor(2)}, %y: {tensor(2)}, "
                f"%c: i1) -> ({types}) {{\n"
                "%i0 = arith.constant 0 : index\n"
                f"%i2 = arith.constant 2 : index\n{body}}}\n")

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def block(self, length, depth):
        outside = self.lines, self.pending
        self.lines, self.pending = [], []
        steps = [(self.copy_in, 3), (self.gather, 5), (self.finish, 3),
                 (self.compute, 3), (self.view, 1), (self.write, 1)]
        if depth == 0:
            steps.append((self.nest, 1))
        for _ in range(length):
            self.rng.choices([s for s, _ in steps], [w for _, w in steps])[0]()
        while self.pending:
            self.wait(self.pending[0])
        lines, (self.lines, self.pending) = self.lines, outside
        return "".join(line + "\n" for line in lines)

    def pick(self):
        """A value to use, seldom one that is packed."""
        if self.packed and self.rng.random() < self.evil:
            return self.rng.choice(self.packed)
        return self.rng.choice(self.values)

    def copy_in(self):
        group = self.rng.choice("ab")
        inputs = [self.pick() for _ in range(self.rng.randint(1, 2))]
        size = sum(size for _, size in inputs)
        if size > 16:
            return
        name = self.fresh()
        self.lines.append(
            f"{name}:2 = {COPY_IN} {', '.join(v for v, _ in inputs)} on "
            f"@{group} : {', '.join(tensor(size) for _, size in inputs)} -> "
            f"{tensor(size)}, {tensor(2 * size)}")
        self.slices.append((f"{name}#0", size, group))
        self.packed += [(f"{name}#0", size), (f"{name}#1", 2 * size)]

    def gather(self):
        if not self.slices:
            return
        slice, size, group = self.slices.pop()
        if self.rng.random() < self.evil:
            group = self.rng.choice("ab")
        if self.rng.random() < self.evil:
            self.slices.append((slice, size, group))
        sent = [(slice, size)]
        if self.rng.random() < self.evil:
            sent.append(self.pick())
        name = self.fresh()
        types = ", ".join(tensor(2 * size) for _, size in sent)
        self.lines.append(
            f"{name} = {GATHER} {', '.join(v for v, _ in sent)} on @{group} "
            f"dim(0) : {', '.join(tensor(size) for _, size in sent)} -> "
            f"!commsched.future<{types}>")
        self.pending.append((name, [2 * size for _, size in sent], types))

    def wait(self, start):
        self.pending.remove(start)
        future, sizes, types = start
        name = self.fresh()
        self.lines.append(f"{name}:{len(sizes)} = commsched.wait {future} : "
                          f"!commsched.future<{types}>")
        self.values += [(f"{name}#{i}", size) for i, size in enumerate(sizes)]

    def finish(self):
        if self.pending:
            self.wait(self.rng.choice(self.pending))

    def emit(self, operands, attributes, result):
        name = self.fresh()
        self.lines.append(
            f'{name} = commsched.compute "op"('
            f"{', '.join(v for v, _ in operands)}) {{{attributes}}} : "
            f"({', '.join(tensor(size) for _, size in operands)}) -> "
            f"{tensor(result)}")
        return name, result

    def compute(self):
        self.values.append(self.emit([self.pick(), self.pick()], "", 2))

    def view(self):
        value = self.pick()
        where = self.packed if value in self.packed else self.values
        where.append(self.emit([value], "alias = 0 : i64", value[1]))

    def write(self):
        self.values.append(self.emit([self.pick(), self.pick()],
                                     "mutates = array<i64: 0>", 2))

    def nest(self):
        outside = list(self.values), list(self.packed), list(self.slices)
        body = self.block(self.rng.randint(1, 6), 1)
        self.values, self.packed, self.slices = outside
        head = self.rng.choice([
            "scf.if %c {",
            f"scf.for {self.fresh()} = %i0 to %i2 step %i2 {{",
            f"scf.for {self.fresh()} = %i0 to %i2 step %i1 {{"])
        if "%i1" in head:
            head = f"%i1_{self.count} = arith.constant 1 : index\n" + (
                head.replace("%i1", f"%i1_{self.count}"))
        self.lines.append(f"{head}\n{body}}}")


class Rules:
    """Says of each gather whether it is to be in place."""

    def __init__(self, function):
        self.verdicts = {}
        self.storage = {}
        self.sent = {}
        self.visit(function.blocks[0])

    def uses(self, op):
        """The storages that an operation uses, with all that is in it."""
        operands = list(op.operands)
        if op.name == "commsched.wait":
            operands += self.sent[operands[0]]
        found = {self.storage.get(v, v) for v in operands}
        for block in op.blocks:
            for inner in block.ops:
                found |= self.uses(inner)
        return found

    def visit(self, block):
        for op in block.ops:
            for inner in op.blocks:
                self.visit(inner)
            if op.name == GATHER:
                self.sent[op.results[0]] = op.operands
            for result in op.results:
                self.storage[result] = result
            if op.name == COPY_IN:
                self.storage[op.results[0]] = op.results[1]
            elif "alias" in op.attributes:
                self.storage[op.results[0]] = self.storage.get(
                    op.operands[0], op.operands[0])
        made = {op.results[0]: op for op in block.ops if op.name == COPY_IN}
        for place, op in enumerate(block.ops):
            if op.name == GATHER:
                self.verdicts[op.results[0]] = self.judge(
                    op, made.get(op.operands[0]), block.ops[place + 1:])

    def judge(self, gather, copy_in, later):
        if (not copy_in or len(gather.operands) > 1
                or gather.group() != copy_in.group()):
            return False
        return not any(copy_in.results[1] in self.uses(op) for op in later
                       if op.operands != gather.results)


def run(tool, text, *options):
    result = subprocess.run(
        [*tool, "--mlir-print-op-generic", *options, "-"], input=text,
        capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{options} failed:\n{result.stderr[:4000]}")
    return result.stdout


def describe(function):
    """All operations, without the buffers of gathers."""
    for op in list_ops(function):
        attributes, sent = dict(op.attributes), len(op.operands)
        if op.name == GATHER:
            sent, _ = op.integers("operandSegmentSizes")
            del attributes["operandSegmentSizes"]
        yield op.name, op.results, op.operands[:sent], attributes


def check(before, after):
    gathers = [op for op in list_ops(after) if op.name == GATHER]
    verdicts = Rules(before).verdicts
    for gather in gathers:
        sent, into = gather.integers("operandSegmentSizes")
        if bool(into) != verdicts[gather.results[0]]:
            return verdicts, f"{gather.results[0]} is wrong"
        slice = gather.operands[0]
        if into and gather.operands[sent:] != [slice.replace("#0", "#1")]:
            return verdicts, f"{gather.results[0]} writes something else"
    if list(describe(before)) != list(describe(after)):
        return verdicts, "something else has changed"
    return verdicts, None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", nargs=argparse.REMAINDER)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    source = GROUPS + "".join(
        Generator(f"f{i}", arguments.seed * 100003 + i).function()
        for i in range(arguments.functions))
    texts = [run(arguments.tool, source)]
    texts.append(run(arguments.tool, texts[0], PASS))
    if run(arguments.tool, texts[1], PASS) != texts[1]:
        sys.exit(f"{PASS} changes its own result")
    modules = [parse(text) for text in texts]
    count = Counter()
    for before, after in zip(*modules, strict=True):
        if before.name != "func.func":
            continue
        verdicts, problem = check(before, after)
        count.update(verdicts.values())
        if problem:
            sys.exit(f"@{before.symbol()}: {problem}; {verdicts}")
    assert min(count[True], count[False]) > arguments.functions // 5, count
    print(f"{arguments.functions} functions: all well, {count[True]} gathers "
          f"in place, {count[False]} not")


if __name__ == "__main__":
    main()

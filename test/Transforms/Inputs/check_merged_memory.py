# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what is predicted of merged programs on those of random_steps.py.

Each function is merged in random ways by -test-bucketed-problem, which compares
its step time and its live bytes at every operation with the prediction.
"""

import argparse
import subprocess
import sys
from dataclasses import replace

from random_steps import PROLOGUE, Generator


class MergingGenerator(Generator):
    """Steps of many collectives of one group, also of what is cast for them."""

    def __init__(self, name, seed):
        super().__init__(name, seed)
        self.groups = self.rng.sample(self.groups, 1)

    def start(self, block, lines, values, pending, operands=None):
        for _ in range(self.rng.randint(1, 4)):
            sent = operands or self.pick(self.readable(values, pending), 1, least=1)
            if sent and self.rng.random() < 0.5:
                sent = [self.cast(block, lines, value) for value in sent]
            super().start(block, lines, values, pending, sent)

    def cast(self, block, lines, value):
        if value.type.element == "i8":
            return value
        op = self.add(block, "compute", 0)
        self.read(op, [value])
        element = "f32" if value.type.element == "bf16" else "bf16"
        result = self.result(op, replace(value.type, element=element))
        self.emit(lines, op, (
            f'{result.text} = commsched.compute "aten._to_copy"({value.text}) '
            f"{self.attributes(op)} : ({value.type}) -> {result.type}"))
        return result

    def add_constants(self, block, lines):
        """No writes in place and no regions, which need them: other orders
        change what is copied and what may be written between a cast and its
        use."""

    def attributes(self, op, *extra):
        """A collective has no given time: its bucket could not have it."""
        text = super().attributes(op, *extra)
        given = f", commsched.runtime_ns = {op.cost} : i64"
        return text.replace(given, "") if op.stream else text

    def launch(self, block, lines, pending, group, kind, clause, *rest):
        if kind == "all_reduce":
            kind, clause = self.rng.choice([
                (kind, clause), (kind, "reduction(max)"), ("broadcast", "root(1)"),
                ("permute", "pairs(dense<[[0, 1]]> : tensor<1x2xi64>)")])
        super().launch(block, lines, pending, group, kind, clause, *rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tool")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    text = PROLOGUE + "".join(
        MergingGenerator(f"f{i}", options.seed * 100003 + i).generate().text
        for i in range(options.functions))
    result = subprocess.run(
        [options.tool, "--test-bucketed-problem", "-o", "/dev/null"],
        input=text, text=True, capture_output=True, check=False)
    print(result.stdout)
    sys.exit(result.stderr[:4000] if result.returncode else 0)


if __name__ == "__main__":
    main()

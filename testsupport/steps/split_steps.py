# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random steps, as MLIR text, with collectives between products that can
be split: a gather before products, a scatter behind them, both, and experts
between two exchanges. Times and sizes are drawn, and every time is pinned.
"""

import random

from step_text import (GROUP_SIZE, StepText, Value, get_collective, list_values,
                       write_groups)

PROLOGUE = write_groups("tp")
WIDTH = 2048
# Rows of a shard are multiples of this: what 2, 3 and 4 chunks divide.
UNIT = 384
BUDGETS = (0, 10, 25)


class SplitStep(StepText):
    """One function; the same for the same seed."""

    always_lists = False

    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = random.Random(seed)
        self.lines, self.arguments = [], []
        self.shard_rows = UNIT * rng.randint(1, 6)
        self.comm_share = rng.choice((0.2, 0.5, 0.8, 1.2))
        self.family = FAMILIES[seed % len(FAMILIES)]
        self.budget_percent = rng.choice(BUDGETS)
        before = self.mix(self.argument(self.shard_rows))
        self.result = self.mix(self.family(self, before))

    def text(self):
        arguments = ", ".join(f"{v.name}: {v.type}" for v in self.arguments)
        return self.write_function(arguments, [self.result], self.lines)

    # Operations.

    def argument(self, rows):
        self.arguments.append(Value(f"%a{len(self.arguments)}", rows, WIDTH))
        return self.arguments[-1]

    def make(self, rows):
        return Value(f"%{len(self.lines)}", rows, WIDTH)

    def write(self, name, rule, inputs, time, flops=0):
        result = self.make(inputs[0].size)
        names, types = list_values(inputs)
        flops = f", flops = {flops}.0" if flops else ""
        self.lines.append(
            f'{result.name} = commsched.compute "{name}"'
            f"({names}) "
            f'{{split = "{rule}"{flops}, commsched.runtime_ns = {self.vary(time)} '
            f": i64}} : ({types}) -> ({result.type})"
        )
        return result

    def mix(self, value):
        """What only the whole value is enough for."""
        return self.write("mix", "_ _ -> _ _", [value], 20_000)

    def multiply(self, value, time=100_000):
        flops = 2 * value.size * WIDTH * WIDTH
        inputs = [value, self.argument(WIDTH)]
        return self.write("aten.mm", "m k, k n -> m n", inputs, time, flops)

    def run(self, kind, operand):
        rows, clause = get_collective(kind, operand.size)
        time = self.vary(100_000 * self.comm_share)
        future = self.make(rows).name
        self.lines.append(
            f"{future} = commsched.{kind} {operand.name} on @tp {clause} "
            f"{{commsched.runtime_ns = {time} : i64}} : "
            f"{operand.type} -> !commsched.future<tensor<{rows}x{WIDTH}xf32>>"
        )
        result = self.make(rows)
        self.lines.append(
            f"{result.name} = commsched.wait {future} "
            f": !commsched.future<{result.type}>"
        )
        return result


def gathered(step, value):
    """A gather, and products of what it delivers."""
    value = step.run("all_gather", value)
    for _ in range(step.rng.randint(1, 2)):
        value = step.multiply(value)
    return value


def scattered(step, value):
    """Products, and a scatter of their sum."""
    value = step.mix(step.argument(value.size * GROUP_SIZE))
    for _ in range(step.rng.randint(1, 2)):
        value = step.multiply(value)
    return step.run("reduce_scatter", value)


def block(step, value):
    """A gather, products and a scatter."""
    value = step.multiply(step.run("all_gather", value))
    return step.run("reduce_scatter", value)


def experts(step, value):
    """Tokens travel to experts and back."""
    value = step.multiply(step.run("all_to_all", value))
    return step.run("all_to_all", value)


FAMILIES = (gathered, scattered, block, experts)

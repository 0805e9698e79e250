# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random steps whose collectives may be merged.

There are few enough collectives to try every way to merge them. The computation
is pinned; collectives take what the cost model says of them, alone or merged:
parameters are as large as that latency rules, or bandwidth, or both.
"""

import random

from step_text import StepText, Value, list_values, write_groups

PROLOGUE = write_groups("shard")


class MergeStep(StepText):
    """A function. `mergeable` has by kind the operands of its collectives."""

    def __init__(self, seed):
        self.seed = seed
        self.rng = random.Random(seed)
        self.family = FAMILIES[seed % len(FAMILIES)]
        self.budget_percent = self.rng.choice((0, 5, 20, 50, 100))
        #: Elements of an activation, and of this rank's shard of a parameter.
        self.activation = 4 << self.rng.randint(10, 20)
        self.shard = 4 << self.rng.randint(8, 19)
        self.compute_ns = self.rng.choice((3_000, 10_000, 30_000))
        self.arguments, self.returned, self.lines = [], [], []
        self.mergeable = {}
        self.count = 0
        self.family(self)

    def add_argument(self, elements, role):
        value = Value(f"%a{len(self.arguments)}", elements)
        self.arguments.append(f'{value.name}: {value.type} {{commsched.role = "{role}"}}')
        return value

    def make_value(self, elements):
        self.count += 1
        return Value(f"%{self.count}", elements)

    def compute(self, inputs, elements):
        result = self.make_value(elements)
        names, types = list_values(inputs)
        self.lines.append(
            f'{result.name} = commsched.compute "op"({names}) '
            f"{{commsched.runtime_ns = {self.vary(self.compute_ns)} : i64}} : "
            f"({types}) -> {result.type}"
        )
        return result

    def communicate(self, kind, value, elements, clauses):
        """A start, which has the module {kind}.{number}, and its wait."""
        operands = self.mergeable.setdefault(kind, [])
        number = len(operands)
        operands.append(value.name)
        result = self.make_value(elements)
        future = f"!commsched.future<{result.type}>"
        module = f'{{commsched.module = "{kind}.{number}"}}'
        self.lines.append(
            f"%f{self.count} = commsched.{kind} {value.name} on @shard {clauses} "
            f"{module} : {value.type} -> {future}"
        )
        self.lines.append(
            f"{result.name} = commsched.wait %f{self.count} {module} : {future}"
        )
        return result

    def gather(self, parameter):
        return self.communicate("all_gather", parameter, 4 * parameter.size, "dim(0)")

    def scatter(self, gradient):
        self.returned.append(
            self.communicate(
                "reduce_scatter", gradient, gradient.size // 4, "reduction(sum) dim(0)"
            )
        )

    def text(self, name=None, buckets=None):
        """`buckets`: by kind, for each collective the number of its bucket, which
        becomes its module."""
        lines = "\n".join(self.lines)
        for kind, numbers in (buckets or {}).items():
            for number, bucket in enumerate(numbers):
                lines = lines.replace(f'"{kind}.{number}"', f'"bucket.{bucket}"')
        return self.write_function(
            ", ".join(self.arguments), self.returned, lines.split("\n"), name
        )


def run_forward(step, layers):
    """Triples of the activation before a layer, its parameters, and the gathered
    ones."""
    value = step.add_argument(step.activation, "input")
    tape = []
    for count in layers:
        parameters = [
            step.add_argument(4 * step.vary(step.shard // 4), "parameter")
            for _ in range(count)
        ]
        whole = [step.gather(parameter) for parameter in parameters]
        tape.append((value, parameters, whole))
        value = step.compute([value, *whole], step.activation)
    return value, tape


def kept(step):
    """Gathered parameters are kept for the backward."""
    gradient, tape = run_forward(step, step.rng.choice(((1, 1, 1), (2, 1), (1, 1, 2))))
    for value, _, whole in reversed(tape):
        for tensor in whole:
            step.scatter(step.compute([value, gradient], tensor.size))
        gradient = step.compute([gradient, *whole], step.activation)
    step.returned.append(gradient)


def regathered(step):
    """Parameters are gathered again in the backward."""
    gradient, tape = run_forward(step, (1, 1))
    for value, parameters, _ in reversed(tape):
        whole = [step.gather(parameter) for parameter in parameters]
        for tensor in whole:
            step.scatter(step.compute([value, gradient], tensor.size))
        gradient = step.compute([gradient, *whole], step.activation)
    step.returned.append(gradient)


FAMILIES = (kept, regathered)

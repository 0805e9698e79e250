# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random training steps, as MLIR text, of at most 12 collectives.

The parts of a step of a real model, with few layers: parameters that are
gathered for a product and freed behind it, gradients that leave a chain of
products to the side and are scattered or reduced, a second group that reduces
them once more, reductions and exchanges between two products, casts before a
collective and updates behind it. Times and sizes are drawn, and every time is
pinned. As in a traced step, a collective is waited for where it starts, except
that some programs start one early or wait for one late.
"""

import random
from dataclasses import dataclass

from step_text import (GROUP_SIZE, StepText, Value, get_collective, list_values,
                       write_groups)

UNIT = 64  # In elements of f32; every size is a multiple of it.
PROLOGUE = write_groups("shard", "replica")
MOST_COLLECTIVES = 12
# By how many percent more memory than the program's a schedule may take.
BUDGETS = (0, 0, 2, 5, 10, 25)


@dataclass(frozen=True)
class Future:
    name: str
    result: Value


@dataclass(frozen=True)
class Layer:
    parameter: Value  # A shard of it, or all.
    full: int  # Elements of the whole parameter.
    product_ns: int
    comm_ns: int


class SmallStep(StepText):
    """One function; the same for the same seed."""

    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = random.Random(seed)
        self.arguments, self.lines, self.returned = [], [], []
        self.num_values = self.num_collectives = 0
        self.pending = []  # Futures of which the waits come late.
        self.activation = UNIT * rng.randint(2, 24)
        self.weight = UNIT * rng.choice((2, 6, 12, 24))
        self.comm_share = rng.choice((0.2, 0.5, 0.8, 1.2))
        self.uneven = rng.choice((0.1, 0.5, 0.9))
        self.waits_late = rng.random() < 0.2
        self.casts = rng.random() < 0.4
        self.family = FAMILIES[seed % len(FAMILIES)]
        self.budget_percent = rng.choice(BUDGETS)
        self.family(self)
        self.wait_for_pending()

    def text(self, order=None):
        """The function; with its operations in another order if there is one."""
        lines = self.lines
        if order is not None:
            lines = [lines[place] for place in order]
        arguments = ", ".join(f"{v.name}: {v.type}" for v in self.arguments)
        return self.write_function(arguments, self.returned, lines)

    # Operations.

    def argument(self, elements):
        value = Value(f"%a{len(self.arguments)}", elements)
        self.arguments.append(value)
        return value

    def make(self, elements):
        self.num_values += 1
        return Value(f"%{self.num_values}", elements)

    def compute(self, inputs, elements, time, alias=False):
        result = self.make(elements)
        alias = "alias = 0 : i64, " if alias else ""
        names, types = list_values(inputs)
        self.lines.append(
            f'{result.name} = commsched.compute "op"'
            f"({names}) {{{alias}commsched.runtime_ns = {time} : i64}} : "
            f"({types}) -> ({result.type})"
        )
        return result

    def start(self, kind, operand, time, group="shard"):
        elements, clause = get_collective(kind, operand.size)
        if self.casts:
            operand = self.compute([operand], operand.size, self.vary(3))
        future = Future(self.make(elements).name, self.make(elements))
        self.num_collectives += 1
        self.lines.append(
            f"{future.name} = commsched.{kind} {operand.name} on @{group} "
            f"{clause} {{commsched.runtime_ns = {max(1, time)} : i64}} : "
            f"{operand.type} -> !commsched.future<{future.result.type}>"
        )
        return future

    def wait(self, future):
        self.lines.append(
            f"{future.result.name} = commsched.wait {future.name} "
            f": !commsched.future<{future.result.type}>"
        )
        return future.result

    def run(self, kind, operand, time, group="shard"):
        return self.wait(self.start(kind, operand, time, group))

    # Parts of a step.

    def layers(self, count, divisor=GROUP_SIZE):
        for _ in range(count):
            # A parameter that a group shares splits evenly.
            full = max(1, self.vary(self.weight) // (UNIT * divisor)) * UNIT * divisor
            product = self.vary(100)
            comm = round(self.vary(100) * self.comm_share)
            yield Layer(self.argument(full // divisor), full, product, comm)

    def forward(self, value, layer, weight):
        out = self.compute([value, weight], self.activation, layer.product_ns)
        return self.compute([out], self.activation, self.vary(8))

    def finish(self, layer, gradient):
        """What is left to do with a gradient: an update, or to return it."""
        if self.rng.random() < 0.5:
            gradient = self.compute([gradient], gradient.size, self.vary(5))
        self.returned.append(gradient)

    def wait_for_pending(self):
        for layer, future in self.pending:
            self.finish(layer, self.wait(future))
        self.pending = []

    def reduce(self, kind, layer, gradient, group="shard"):
        future = self.start(kind, gradient, layer.comm_ns, group)
        if self.waits_late:
            self.pending.append((layer, future))
        else:
            self.finish(layer, self.wait(future))


def sharded(step, replicas=False):
    """Parameters are gathered, and gathered again for the backward."""
    per_layer = 4 if replicas else 3
    count = step.rng.randint(2, MOST_COLLECTIVES // per_layer)
    layers = list(step.layers(count))
    gathers_again = step.rng.random() < 0.8
    value = step.argument(step.activation)
    kept = []
    for layer in layers:
        weight = step.run("all_gather", layer.parameter, layer.comm_ns)
        kept.append((value, weight))
        value = step.forward(value, layer, weight)
    gradient = step.compute([value], step.activation, step.vary(20))
    for layer, (saved, weight) in reversed(list(zip(layers, kept))):
        if gathers_again:
            weight = step.run("all_gather", layer.parameter, layer.comm_ns)
        below = step.compute([gradient, weight], step.activation, layer.product_ns)
        own = step.compute([gradient, saved], layer.full, layer.product_ns)
        gradient = below
        if replicas:
            own = step.run("reduce_scatter", own, layer.comm_ns)
            step.reduce("all_reduce", layer, own, "replica")
        else:
            step.reduce("reduce_scatter", layer, own)
    step.returned.append(gradient)


def hybrid(step):
    """As sharded; then the replicas reduce what the shards have reduced."""
    sharded(step, replicas=True)


def replicated(step):
    """Gradients of whole parameters are reduced."""
    layers = list(step.layers(step.rng.randint(3, 7), divisor=1))
    value = step.argument(step.activation)
    kept = []
    for layer in layers:
        kept.append(value)
        value = step.forward(value, layer, layer.parameter)
    gradient = step.compute([value], step.activation, step.vary(20))
    for layer, saved in reversed(list(zip(layers, kept))):
        own = step.compute([gradient, saved], layer.full, layer.product_ns)
        gradient = step.compute(
            [gradient, layer.parameter], step.activation, layer.product_ns
        )
        step.reduce("all_reduce", layer, own, "replica")
    step.returned.append(gradient)


def halved(step):
    """Two halves of a batch, with a reduction between any two products, and
    gradients that are scattered."""
    layers = list(step.layers(step.rng.randint(2, 3)))
    halves = [step.argument(step.activation) for _ in range(2)]
    for layer in layers:
        weight = step.run("all_gather", layer.parameter, layer.comm_ns)
        for index, value in enumerate(halves):
            partial = step.forward(value, layer, weight)
            halves[index] = step.run(
                "all_reduce", partial, step.vary(100 * step.comm_share), "replica"
            )
    own = step.compute(halves, layers[0].full, step.vary(100))
    step.reduce("reduce_scatter", layers[0], own)
    step.returned += halves


def experts(step):
    """Tokens travel to experts and back while something shared runs beside."""
    layers = list(step.layers(step.rng.randint(2, 3)))
    value = step.argument(step.activation)
    for layer in layers:
        weight = step.run("all_gather", layer.parameter, layer.comm_ns)
        time = step.vary(60 * step.comm_share)
        routed = step.compute([value], step.activation, step.vary(20))
        there = step.run("all_to_all", routed, time, "replica")
        shared = step.compute([value, weight], step.activation, step.vary(60))
        expert = step.compute([there], step.activation, layer.product_ns)
        back = step.run("all_to_all", expert, time, "replica")
        own = step.compute([routed, there], layer.full, step.vary(50))
        value = step.compute([back, shared], step.activation, step.vary(10))
        step.reduce("reduce_scatter", layer, own)
    step.returned.append(value)


def tangled(step):
    """Nothing in particular: chains of products that meet, with collectives
    and views in them."""
    units = step.activation // UNIT
    values = [step.argument(step.vary(units) * UNIT) for _ in range(2)]
    for layer in step.layers(step.rng.randint(3, 5)):
        values.append(layer.parameter)
    futures = []
    for _ in range(step.rng.randint(12, 20)):
        if futures and step.rng.random() < 0.5:
            values.append(step.wait(futures.pop(step.rng.randrange(len(futures)))))
        recent = values[-5:]
        value = step.rng.choice(recent)
        dice = step.rng.random()
        if dice < 0.35 and step.num_collectives < MOST_COLLECTIVES:
            kind = step.rng.choice(("all_gather", "reduce_scatter", "all_reduce"))
            if kind == "reduce_scatter" and value.size % (UNIT * GROUP_SIZE):
                kind = "all_gather"
            if value.size > 100 * UNIT:
                kind = "all_reduce"
            time = step.vary(150 * step.comm_share)
            group = step.rng.choice(("shard", "shard", "replica"))
            futures.append(step.start(kind, value, time, group))
        elif dice < 0.45:
            values.append(step.compute([value], value.size, 0, alias=True))
        else:
            inputs = list(dict.fromkeys((value, step.rng.choice(recent))))
            elements = step.vary(units) * UNIT
            values.append(step.compute(inputs, elements, step.vary(60)))
    values += [step.wait(future) for future in futures]
    step.returned.append(step.compute(values[-3:], UNIT, 1))


FAMILIES = (sharded, hybrid, replicated, halved, experts, tangled)


def generate(seeds):
    """A module with a function for each seed."""
    return PROLOGUE + "".join(SmallStep(seed).text() for seed in seeds)

# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random joint functions, a forward and its backward, for four ranks.

Parameters are shards that are gathered, or whole. Some programs say which half
operations belong to, what is saved, what is computed again and in which region
of checkpointing; some write memory that they get as an argument. Forward and
backward have several results, arguments come in any order.
"""

import random
from dataclasses import dataclass

from joint_operators import JointOperators
from linalg_text import Function
from mlir_values import Type

PROLOGUE = """commsched.group @world size(4)
commsched.group @rows size(2)
"""
POLICIES = ["must_recompute", "must_recompute", "prefer_recompute",
            "prefer_save", "must_save"]


@dataclass(frozen=True)
class Argument:
    name: str
    type: str
    role: str


class JointProgram(JointOperators):
    def __init__(self, name, seed):
        rng = self.rng = random.Random(seed)
        self.f = Function(name)
        self.arguments = []
        self.values = []
        self.entries = []  # What the backward does, in the forward's order.
        self.gradients = {}  # By value, or by the name of a parameter.
        self.shards = {}  # Parameters by name: shape and gathered value.
        self.has_tags = rng.random() < 0.5
        self.memories = []
        self.reach = rng.choice([2, 4, 100])
        # Of all operators some.
        operators = [self.silu, self.sigmoid, self.relu, self.multiply,
                     self.add, self.measured, self.linear, self.norm,
                     self.swap, self.flat, self.known, self.several,
                     self.dropout, self.reshaped, self.reduce_all,
                     self.exchange, self.unused]
        self.operators = [*rng.sample(operators, rng.randint(5, 12)),
                          self.multiply, self.linear, self.linear]
        if rng.random() < 0.3:
            self.operators.append(self.memory_used)

    # What operators ask for.

    def argument(self, name, type, role):
        self.arguments.append(Argument(name, str(type), role))
        return self.f.argument(name, type, role)

    def pick(self):
        return self.rng.choice(self.values[-self.reach:])

    def like(self, value):
        """Another value of this type, if there is one."""
        return self.rng.choice([v for v in self.values
                                if v.type == value.type])

    def parameter(self, sizes):
        """Its name and all of it: a new one, or one that is there."""
        known = [(name, value) for name, (shape, value) in
                 self.shards.items() if shape == sizes]
        if known and self.rng.random() < 0.3:
            return self.rng.choice(known)
        f, name = self.f, f"w{len(self.shards)}"
        group, ranks = self.rng.choice([("world", 4), ("rows", 2), (None, 1)])
        shard = self.argument(
            name, Type((sizes[0] // ranks, sizes[1]), "f32"), "parameter")
        value = shard
        if group:
            value, = f.wait(f.start("all_gather", [shard], group, "dim(0)",
                                    [Type(sizes, "f32")]))
        self.shards[name] = (sizes, value)
        self.entries.append(lambda: self.reduce(name, group, shard))
        return name, value

    def memory(self):
        if not self.memories or self.rng.random() < 0.3:
            name = f"m{len(self.memories)}"
            self.argument(name, "memref<4xf32>", "input")
            self.memories.append(f"%{name}")
        return self.rng.choice(self.memories)

    def record(self, result, operands, pull):
        self.values.append(result)

        def run():
            gradient = self.gradients.get(result)
            if gradient is not None:
                for value, part in zip(operands, pull(gradient), strict=True):
                    self.accumulate(value, part)

        self.entries.append(run)

    def accumulate(self, value, part):
        known = self.gradients.get(value)
        self.gradients[value] = part if known is None else self.f.sum(
            known, part)

    def reduce(self, name, group, shard):
        """Reduces the gradient of a parameter over the ranks that have it."""
        gradient = self.gradients.get(name)
        if gradient is None:
            return
        if group:
            gradient, = self.f.wait(self.f.start(
                "reduce_scatter", [gradient], group,
                "reduction(avg) dim(0)", [shard.type]))
        if self.rng.random() < 0.3:  # The backward needs no tangent for it.
            decay = self.map("mul", [shard], lambda _, e: e * 0.125)
            gradient = self.f.sum(gradient, decay)
        self.gradients[name] = gradient

    # The function.

    def half(self, name):
        return {"partition": name} if self.has_tags else {}

    def tags(self, region):
        """For the next operators, and for how many of them."""
        policy = self.rng.choice(POLICIES)
        return {"recompute": policy, **self.half("forward"),
                **({"recompute_region": region}
                   if self.rng.random() < 0.7 else {})}, self.rng.randint(1, 5)

    def write_forward(self):
        rng, region, left, tags = self.rng, 0, 0, self.half("forward")
        uses_policies = rng.random() < 0.4
        for _ in range(rng.randint(6, 14)):
            if uses_policies and left == 0 and rng.random() < 0.5:
                region += 1
                tags, left = self.tags(region)
            elif left == 0:
                tags = self.half("forward")
            left = max(0, left - 1)
            with self.f.within(**tags):
                rng.choice(self.operators)()

    def write(self):
        rng, f = self.rng, self.f
        for index in range(rng.randint(1, 3)):
            type = Type((4, rng.choice([4, 8])), "f32")
            self.values.append(self.argument(f"x{index}", type, "input"))
        inputs = list(self.values)
        self.write_forward()
        results = rng.sample(self.values, min(len(self.values),
                                              rng.randint(1, 3)))
        if self.values[-1] not in results:
            results.append(self.values[-1])
        if rng.random() < 0.2:
            results.append(results[0])
        for index, value in enumerate(results):
            if index == 0 or rng.random() < 0.7:
                self.accumulate(value, self.argument(
                    f"t{index}", value.type, "tangent"))
        with f.within(**self.half("backward")):
            for run in reversed(self.entries):
                run()
        gradients = [self.gradients[key] for key in [*inputs, *self.shards]
                     if key in self.gradients]
        if rng.random() < 0.2:  # A value of the forward, by the backward.
            gradients.append(self.pick())
        order = list(range(len(self.arguments)))
        rng.shuffle(order)
        self.arguments = [self.arguments[i] for i in order]
        f.arguments = [f.arguments[i] for i in order]
        return f.finish([*results, *gradients], forward=len(results))

# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs that repeat, for four ranks: a step that results feed, the
same of several functions, and loops."""

import random

from exact_values import SMALL, Exact, shrink
from mlir_values import Type
from random_collectives import prologue
from random_tensors import Program

LINKED = ["forward", "backward", "optimizer"]
# No slice of a loop's iteration begins behind that.
MOST_ROUNDS = 7


class RandomFunction(Program):
    """A function of a step. The next repetition, or a later function, may take
    results of any type of it."""

    def __init__(self, seed, name):
        super().__init__(seed)
        self.f.name = name
        self.types = []
        self.results = []

    def declare(self):
        for index in range(self.rng.randint(2, 5)):
            self.types.append(Type(self.shape() if index else (4,),
                                   self.element()))
            role = self.rng.choice(["input", "input", "parameter", None])
            value = self.f.argument(f"a{index}", self.types[-1], role)
            self.values.append(shrink(self.f, Exact(value.text, value.type,
                                                    grain=6)))

    def write_body(self, length, depth=0):
        self.fill(length, depth)
        unused = [v for v in self.values if v not in self.used]
        self.results = unused[:8] or self.values[:1]

    def give(self, type):
        """The number of a result of that type: perhaps one that there is,
        perhaps an argument."""
        known = [i for i, v in enumerate(self.results) if v.type == type]
        if known and self.rng.random() < 0.3:
            return self.rng.choice(known)
        passed = [Exact(f"%a{i}", t) for i, t in enumerate(self.types)
                  if t == type]
        if passed and self.rng.random() < 0.2:
            self.results.append(self.rng.choice(passed))
        else:
            self.results.append(self.resample(self.pick(), type))
        return len(self.results) - 1

    def finish(self):
        return self.f.finish(self.results)


def write_functions(seed, names):
    """Functions of one step. What feeds nothing else may be overwritten."""
    rng = random.Random(seed)
    functions = [RandomFunction(100000 + seed * len(names) + i, name)
                 for i, name in enumerate(names)]
    length = 24 // len(names)
    for function in functions:
        function.declare()
        function.write_body(rng.randint(length // 2, length))
    fed = {}
    for place, function in enumerate(functions):
        for index, type in enumerate(function.types):
            # The first argument of each function keeps them together.
            if index and rng.random() < 0.4:
                continue
            earlier = [(f, 0) for f in functions[:place]]
            before = [(f, 1) for f in functions]
            source, iterations = rng.choice(
                earlier if earlier and (not index or rng.random() < 0.5)
                else before)
            result = source.give(type)
            function.f.link(index, source.f.name, result, iterations)
            fed.setdefault((source.f.name, result), []).append(
                (function, index))
    for takers in fed.values():
        if len(takers) == 1 and rng.random() < 0.5:
            function, index = takers[0]
            function.f.mark_argument(index, "commsched.freeable")
    return prologue() + "\n".join(f.finish() for f in functions)


def write_step(seed):
    """A step of one function."""
    return write_functions(seed, ["step"])


def write_linked(seed):
    """A step of several."""
    return write_functions(seed, LINKED)


class LoopProgram(Program):
    """A loop over slices of a stacked argument, for each of a number of rounds
    (none: an argument) one."""

    def __init__(self, seed, rounds):
        super().__init__(seed)
        self.rounds = rounds
        self.f.name = "step"

    def write(self):
        rng, f = self.rng, self.f
        stack = f.argument("stack", Type((MOST_ROUNDS + 1, 4), "f32"),
                           "parameter")
        for index in range(2):
            value = f.argument(f"a{index}", Type(
                self.shape() if index else (4,), self.element()))
            self.values.append(shrink(f, Exact(value.text, value.type,
                                               grain=6)))
        upper = "%rounds"
        if self.rounds is None:
            f.arguments.append(f"{upper}: index")
        else:
            f.lines.append(f"{upper} = arith.constant {self.rounds} : index")
        f.lines += ["%zero = arith.constant 0 : index",
                    "%one = arith.constant 1 : index"]
        self.fill(rng.randint(1, 4), depth=2)
        carried = [self.small(self.pick()) for _ in range(rng.randint(1, 3))]
        self.loop_over(stack, carried, upper)
        self.fill(rng.randint(1, 4), depth=2)
        unused = [v for v in self.values if v not in self.used]
        return prologue() + f.finish(unused[:24] or self.values[:1])

    def loop_over(self, stack, carried, upper):
        f = self.f
        types = [v.type for v in carried]
        names = [f.fresh() for _ in carried]
        result = f.fresh()
        count = f":{len(carried)}" * (len(carried) > 1)
        pairs = ", ".join(f"{n} = {v.text}" for n, v in zip(names, carried))
        listed = ", ".join(map(str, types))
        f.lines.append(
            f"{result}{count} = scf.for %round = %zero to {upper} step %one "
            f"iter_args({pairs}) -> ({listed}) {{")
        outer = self.values
        self.values = outer + [
            Exact(name, type, SMALL.get(type.element, 0))
            for name, type in zip(names, types)]
        part = f.add(f"tensor.extract_slice {stack.text}[%round, 0] [1, 4] "
                     f"[1, 1] : {stack.type} to tensor<4xf32>",
                     Type((4,), "f32"))
        self.values.append(shrink(f, Exact(part.text, part.type, grain=6)))
        self.fill(self.rng.randint(5, 10), depth=2)
        yielded = [self.resample(self.pick(), type) for type in types]
        f.lines += [f"scf.yield {', '.join(v.text for v in yielded)} : "
                    f"{listed}", "}"]
        self.values = outer + [
            Exact(f"{result}#{i}" if count else result, type,
                  SMALL.get(type.element, 0))
            for i, type in enumerate(types)]


def write_loop(seed, rounds):
    return LoopProgram(200000 + seed, rounds).write()

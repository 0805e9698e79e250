# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs that repeat, for four ranks: a step that results feed, the
same of several functions, and loops."""

import random

from exact_values import SMALL, Exact, shrink
from joint_halves import write_function
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
        self.roles = []
        self.results = []

    def declare(self):
        for index in range(self.rng.randint(2, 5)):
            self.types.append(Type(self.shape() if index else (4,), self.element()))
            role = self.rng.choice(["input", "input", "parameter", None])
            self.roles.append(role)
            value = self.f.argument(f"a{index}", self.types[-1], role)
            self.values.append(shrink(self.f, Exact(value.text, value.type, grain=6)))

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
        passed = [Exact(f"%a{i}", t) for i, t in enumerate(self.types) if t == type]
        if passed and self.rng.random() < 0.2:
            self.results.append(self.rng.choice(passed))
        else:
            self.results.append(self.resample(self.pick(), type))
        return len(self.results) - 1

    def finish(self):
        return self.f.finish(self.results)


def make_functions(seed, names):
    functions = [RandomFunction(100000 + seed * len(names) + i, name)
                 for i, name in enumerate(names)]
    length = 24 // len(names)
    for function in functions:
        function.declare()
        function.write_body(random.Random(seed).randint(length // 2, length))
    return functions


def write_step(seed):
    """A step of one function."""
    rng = random.Random(seed)
    step, = make_functions(seed, ["step"])
    taken = set()
    for index, type in enumerate(step.types):
        if index and rng.random() < 0.4:
            continue
        result = step.give(type)
        if result in taken:
            # The same value for another argument.
            step.results.append(step.results[result])
            result = len(step.results) - 1
        taken.add(result)
        step.f.carry(index, result)
    return prologue() + step.finish()


class LinkedStep:
    """A step that calls functions: some of their arguments are results of
    earlier ones, of the same repetition or of the one before."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.functions = make_functions(seed, LINKED)
        # By function and argument: the function and the result that feed it.
        self.passed, self.carried = {}, {}
        for place, function in enumerate(self.functions):
            for index, type in enumerate(function.types):
                # The first argument of each function keeps them together.
                if not index or self.rng.random() < 0.6:
                    self.feed(place, index, type)

    def feed(self, place, index, type):
        earlier = self.functions[:place]
        links = self.carried
        if earlier and (not index or self.rng.random() < 0.5):
            links = self.passed
        source = self.rng.choice(earlier if links is self.passed else self.functions)
        links[self.functions[place], index] = source, source.give(type)

    def write(self):
        arguments, lines, results, types = [], [], [], []
        numbers, shared = {}, {}
        for function in self.functions:
            operands = []
            for index, type in enumerate(function.types):
                key = function, index
                if key in self.passed:
                    operands.append(results[numbers[self.passed[key]]])
                elif self.carried.get(key) in shared:
                    operands.append(shared[self.carried[key]])
                else:
                    operands.append(f"%{function.f.name}_{index}")
                    arguments.append((operands[-1], type, function.roles[index],
                                      self.carried.get(key)))
                    if key in self.carried:
                        shared[self.carried[key]] = operands[-1]
            listed = ", ".join(str(v.type) for v in function.results)
            count = len(function.results)
            for index, value in enumerate(function.results):
                numbers[function, index] = len(results)
                results.append(f"%{function.f.name}#{index}")
                types.append(str(value.type))
            lines.append(
                f"%{function.f.name}:{count} = call @{function.f.name}"
                f"({', '.join(operands)}) : "
                f"({', '.join(map(str, function.types))}) -> ({listed})")
        return prologue() + write_function(
            "step", [(name, type) for name, type, _, _ in arguments],
            [role for _, _, role, _ in arguments], lines, results, types,
            [numbers.get(source) for _, _, _, source in arguments]) + "".join(
                f.finish().replace("func.func @", "func.func private @")
                for f in self.functions)


def write_linked(seed):
    """A step of several."""
    return LinkedStep(seed).write()


class LoopProgram(Program):
    """A loop over slices of a stacked argument, for each of a number of rounds
    (none: an argument) one."""

    def __init__(self, seed, rounds):
        super().__init__(seed)
        self.rounds = rounds
        self.f.name = "step"

    def write(self):
        rng, f = self.rng, self.f
        stack = f.argument("stack", Type((MOST_ROUNDS + 1, 4), "f32"), "parameter")
        for index in range(2):
            value = f.argument(f"a{index}", Type(
                self.shape() if index else (4,), self.element()))
            self.values.append(shrink(f, Exact(value.text, value.type, grain=6)))
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


def write_loops(seeds):
    """A module of functions with loops that have 1, 2 or more iterations."""
    module = prologue()
    for seed in seeds:
        program = LoopProgram(200000 + seed, (1, 2, MOST_ROUNDS)[seed % 3])
        program.f.name = f"loop_{seed}"
        module += program.write().removeprefix(prologue())
    return module

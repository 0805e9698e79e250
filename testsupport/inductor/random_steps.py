# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random steps with collectives, as MLIR text.

Chains, diamonds and views; matrix products and cheap operations; gathers,
scatters and reductions of a few groups with waits near and far, some of them
coalesced or into buffers that are there already; blocking collectives, and calls
that may communicate; arguments that may be freed and such that stay. Sizes span several orders of magnitude in one step, so that
a few values decide about the peak. Every time is pinned.
"""

import random
from dataclasses import dataclass

# In elements of f32; every group's size divides it.
UNIT = 64
GROUPS = {"g0": 2, "g1": 4, "g2": 8}
PROLOGUE = "".join(
    f"commsched.group @{name} size({size})\n" for name, size in GROUPS.items()
) + "func.func private @unknown()\n"


@dataclass
class Value:
    text: str
    elements: int
    storage: str

    @property
    def type(self):
        return f"tensor<{self.elements}xf32>"


def names(values):
    return ", ".join(v.text for v in values)


def types(values):
    return ", ".join(v.type for v in values)


class Step:
    """Writes one function."""

    def __init__(self, name, seed):
        self.rng = rng = random.Random(seed)
        self.name = name
        self.count = 0
        self.lines = []
        self.values = []
        # Collectives in flight: future, results, operands, destinations.
        self.pending = []
        self.scales = rng.choice([0, 1, 4, 8, 14])
        # Short lives and equal sizes make memory flat, so that one value that
        # lives longer exceeds the budget.
        self.window = rng.choice([2, 4, 8])
        # One value after the other is hot, and then used again and again.
        self.hot = None
        self.fan_out = rng.choice([0, 0.3, 0.6])
        self.locality = rng.choice([0.2, 0.8, 1.0])
        self.patience = rng.choice([0.1, 0.4, 0.9])
        self.groups = rng.sample(list(GROUPS), rng.randint(1, len(GROUPS)))
        self.weights = {
            self.compute: rng.uniform(4, 10),
            self.view: rng.uniform(0, 3),
            self.mutate: rng.uniform(0, 1),
            self.start: rng.choice([0.3, 1, 2, 5]),
            self.block: rng.choice([0, 0, 0.1, 0.3]),
            self.call: rng.choice([0, 0, 0, 0.1]),
        }
        self.gemms = rng.choice([0, 0.05, 0.2, 0.5])

    def fresh(self):
        self.count += 1
        return f"%{self.count}"

    def new_size(self):
        return UNIT << self.rng.randint(0, self.scales)

    def text(self):
        rng = self.rng
        arguments = []
        for index in range(rng.choice([1, 1, 2, 6])):
            value = Value(f"%a{index}", self.new_size(), f"%a{index}")
            self.values.append(value)
            role = rng.choice(
                ["", "", " {commsched.freeable}",
                 ' {commsched.role = "saved_activation"}']
            )
            arguments.append(f"{value.text}: {value.type}{role}")
        for _ in range(rng.choice([5, 10, 20, 40, 80, 160])):
            if self.pending and rng.random() < self.patience:
                self.wait()
            else:
                makers, weights = zip(*self.weights.items())
                rng.choices(makers, weights)[0]()
        while self.pending:
            self.wait()
        count = min(len(self.values), rng.choice([0, 0, 1, 4]))
        returned = rng.sample(self.values, count)
        head = f"func.func @{self.name}({', '.join(arguments)})"
        if returned:
            head += f" -> ({types(returned)})"
            self.lines.append(f"return {names(returned)} : {types(returned)}")
        else:
            self.lines.append("return")
        return "\n  ".join([head + " {", *self.lines]) + "\n}\n"

    # Choice of operands.

    def pick(self, most, usable):
        """Up to `most` values, later ones more often where there is locality."""
        usable = list(usable)
        recent = usable[-self.window :] if self.rng.random() < self.locality else usable
        picked = self.rng.sample(recent, self.rng.randint(0, min(most, len(recent))))
        if self.hot in usable and self.rng.random() < self.fan_out:
            picked = [self.hot, *(v for v in picked if v is not self.hot)][:most]
        elif picked and self.rng.random() < 0.2:
            self.hot = picked[0]
        return picked

    def readable(self):
        busy = {v.storage for *_, into in self.pending for v in into}
        return [v for v in self.values if v.storage not in busy]

    def writable(self):
        busy = {v.storage for _, _, sent, _ in self.pending for v in sent}
        return [v for v in self.readable() if v.storage not in busy]

    # Operations.

    def emit(self, results, inputs, *attributes, time=None):
        if time is None:
            time = self.rng.choice([0, 1, 5, 20, 100, 1000])
        attributes = [*attributes, f"commsched.runtime_ns = {time} : i64"]
        head = f"{names(results)} = " if results else ""
        self.lines.append(
            f'{head}commsched.compute "op"({names(inputs)}) '
            f"{{{', '.join(attributes)}}} : ({types(inputs)}) -> "
            f"({types(results)})"
        )
        self.values += results

    def make(self, elements):
        name = self.fresh()
        return Value(name, elements, name)

    def compute(self):
        inputs = self.pick(3, self.readable())
        sizes = [self.new_size()]
        if inputs and self.rng.random() < 0.5:
            sizes = [self.rng.choice(inputs).elements]
        if self.rng.random() < 0.05:
            sizes = []
        attributes = []
        if self.rng.random() < self.gemms:
            attributes.append("flops = 1.0e+12 : f64")
        self.emit([self.make(size) for size in sizes], inputs, *attributes)

    def view(self):
        inputs = self.pick(1, self.readable())
        if inputs:
            result = Value(self.fresh(), inputs[0].elements, inputs[0].storage)
            self.emit([result], inputs, "alias = 0 : i64", time=0)

    def mutate(self):
        written = self.pick(1, self.writable())
        if written:
            inputs = written + self.pick(1, self.readable())
            self.emit([self.make(self.new_size())], inputs, "mutates = array<i64: 0>")

    def start(self):
        rng = self.rng
        group = rng.choice(self.groups)
        size = GROUPS[group]
        kind = rng.choice(["all_gather", "reduce_scatter", "all_reduce"])
        sent = self.pick(
            2, (v for v in self.readable() if v.elements % (size * UNIT) == 0
                or kind != "reduce_scatter")
        )
        if not sent:
            return
        factor, divisor, spec = {
            "all_gather": (size, 1, "dim(0)"),
            "reduce_scatter": (1, size, "reduction(sum) dim(0)"),
            "all_reduce": (1, 1, "reduction(sum)"),
        }[kind]
        results = [
            Value(self.fresh(), v.elements * factor // divisor, "") for v in sent
        ]
        into = []
        if rng.random() < 0.15:
            into = [self.make(v.elements) for v in results]
            for value in into:
                self.emit([value], [], time=0)
        future = self.fresh()
        self.lines.append(
            f"{future} = commsched.{kind} {names(sent)} on @{group} {spec} "
            + (f"into {names(into)} " if into else "")
            + f"{{commsched.runtime_ns = {rng.choice([0, 10, 200, 3000])} : i64}} "
            + f": {types(sent)} "
            + (f"into {types(into)} " if into else "")
            + f"-> !commsched.future<{types(results)}>"
        )
        for index, value in enumerate(results):
            value.storage = into[index].storage if into else value.text
        self.pending.append((future, results, sent, into))

    def block(self):
        time = self.rng.choice([0, 10, 200, 3000])
        self.lines.append(
            f"commsched.barrier on @{self.rng.choice(self.groups)} "
            f"{{commsched.runtime_ns = {time} : i64}}"
        )

    def call(self):
        time = self.rng.choice([0, 10, 200])
        self.lines.append(
            f"func.call @unknown() {{commsched.runtime_ns = {time} : i64}} "
            ": () -> ()"
        )

    def wait(self):
        future, results, _, _ = self.pending.pop(
            self.rng.randrange(len(self.pending))
        )
        self.lines.append(
            f"{names(results)} = commsched.wait {future} "
            f": !commsched.future<{types(results)}>"
        )
        self.values += results


def generate(count, seed):
    """A module of `count` functions, the same for the same seed."""
    return PROLOGUE + "".join(
        Step(f"step{i}", seed * 100003 + i).text() for i in range(count)
    )

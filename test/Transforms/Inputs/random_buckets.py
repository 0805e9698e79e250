# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions with many collectives that may travel together, as text.

Bursts of collectives of one group, chains, pairs of buckets that would make a
cycle, casts with one and several users, all dimensions, coalesced collectives
and such that write into buffers, other communication and barriers between
them, writes in place, and regions. No program has a race: nothing touches what a
collective has in flight.
"""

import math
import random
from dataclasses import dataclass

KINDS = ["all_gather", "reduce_scatter", "all_reduce"]
EXCHANGES = ["permute", "broadcast", "all_to_all"]
# World size, and the groups with their sizes.
WORLDS = [
    (4, {"dp": (2, "stride(2)"), "tp": (2, "")}),
    (4, {"all": (4, "ranks_per_node(2)"), "odd": (
        2, "ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)")}),
    (6, {"dp": (3, "ranks_per_node(1) stride(2)"), "tp": (2, "")}),
    (8, {"dp": (4, "ranks_per_node(1) stride(2)"), "tp": (2, ""),
         "one": (1, "")}),
]
WIDTHS = {"i1": 1, "i8": 1, "bf16": 2, "f16": 2, "f32": 4, "i32": 4}
FLOATS = ["bf16", "f16", "f32"]
# Often chosen ones come several times.
ELEMENTS = [*FLOATS, *FLOATS, "i1", "i8", "i32"]
SHAPES = [(), (4,), (8,), (3,), (2, 4), (1, 4), (4, 1), (1, 1, 4), (2, 3, 2),
          (12,), (6, 2), (4, 1, 2), (0, 4)]
LARGEST = 64  # Elements.
MODULES = ["head", "layers.0", "layers.0.mlp", "layers.1.attention",
           "layers.1.mlp"]
EXTERNAL = "tensor<4xf32>"


@dataclass(frozen=True)
class Type:
    shape: tuple
    element: str

    def __str__(self):
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{self.element}>"

    @property
    def count(self):
        return math.prod(self.shape)

    def resized(self, dim, size):
        shape = list(self.shape)
        shape[dim] = size
        return Type(tuple(shape), self.element)


@dataclass(eq=False)
class Value:
    """`places`: the storages that it may live in."""

    text: str
    type: Type
    places: frozenset


@dataclass(eq=False)
class Flight:
    name: str
    types: list
    sent: frozenset
    into: list


def list_types(values):
    return ", ".join(str(value.type) for value in values)


def list_texts(values):
    return ", ".join(value.text for value in values)


def all_places(values):
    return frozenset().union(*(value.places for value in values))


class Generator:
    """Writes one random function."""

    def __init__(self, name, groups, kind, seed):
        rng = self.rng = random.Random(seed)
        self.name = name
        self.count = 0
        self.number = 0
        self.groups = {g: size for g, (size, _) in groups.items()}
        self.likely = rng.sample(list(groups), rng.randint(1, 2))
        self.elements = rng.sample(ELEMENTS, rng.randint(1, 3))
        self.shapes = rng.sample(SHAPES, rng.randint(3, 6)) + [(4,)]
        # Operands are among the latest so many values: a chain, or a thicket.
        self.reach = rng.choice([2, 4, 8, 100])
        # How many of the collectives are numbered, have a module, and a side.
        self.numbered = rng.choice([0, 0, 0, 0, 0.5, 1])
        self.placed = rng.choice([0, 1, 1])
        self.sided = rng.choice([0, 0, 0, 0.5])
        self.kinds = rng.choice([[kind], [kind, kind, *KINDS], KINDS])
        self.exchanges = EXCHANGES
        self.exchange_weight = 1
        if kind in EXCHANGES:
            self.kinds = KINDS
            self.exchanges = rng.choice([[kind], EXCHANGES])
            self.exchange_weight = rng.choice([6, 12])
        self.wait_chance = rng.choice([0.1, 0.3, 0.7])
        self.loops = rng.random() < 0.5

    def generate(self):
        rng = self.rng
        values, arguments = [], []
        roles = rng.choice([["parameter"], ["parameter", "input"], [None]])
        for index in range(rng.randint(2, 6)):
            value = Value(f"%a{index}", self.random_type(),
                          frozenset([f"a{index}"]))
            values.append(value)
            role = rng.choice(roles)
            arguments.append(f"{value.text}: {value.type}" + (
                f' {{commsched.role = "{role}"}}' if role else ""))
        self.arguments = list(values)
        lines = ["%zero = arith.constant 0 : index",
                 "%one = arith.constant 1 : index",
                 "%two = arith.constant 2 : index"]
        self.fill(lines, values, rng.randint(5, 20), depth=0)
        made = values[len(arguments):] or values
        returned = rng.sample(made, min(len(made), rng.randint(1, 8)))
        return (
            f"func.func @{self.name}({', '.join(arguments)}, %condition: i1) "
            f"-> ({list_types(returned)}) {{\n  " + "\n  ".join(lines)
            + f"\n  return {list_texts(returned)} : {list_types(returned)}\n"
            "}\n")

    def fill(self, lines, values, length, depth):
        """Appends to `lines`, and to `values` what they make."""
        pending = []
        makers = [(self.compute, 5), (self.cast, 2), (self.view, 1.5),
                  (self.mutate, 1.5), (self.effect, 0.5), (self.start, 8),
                  (self.burst, 5), (self.rewrite, 1.5), (self.cross, 1),
                  (self.hide, 1), (self.exchange, self.exchange_weight),
                  (self.send, 0.5),
                  (self.receive, 0.5), (self.barrier, 0.4), (self.call, 0.3)]
        if "reduce_scatter" in self.kinds:
            makers += [(self.add, 1.5)]
        if depth < 2:
            makers += [(self.conditional, 0.6), (self.loop, 0.4)]
        for _ in range(length):
            if pending and self.rng.random() < self.wait_chance:
                self.wait(lines, values, pending)
                continue
            maker = self.rng.choices([m for m, _ in makers],
                                     [w for _, w in makers])[0]
            if maker in (self.conditional, self.loop):
                maker(lines, values, pending, depth)
            else:
                maker(lines, values, pending)
        while pending:
            self.wait(lines, values, pending)

    # What the makers of operations share.

    def fresh(self):
        self.count += 1
        return f"o{self.count}"

    def random_type(self, element=None):
        return Type(self.rng.choice(self.shapes),
                    element or self.rng.choice(self.elements))

    def attributes(self, name, *extra):
        return "{" + ", ".join([f'commsched.name = "{name}"', *extra]) + "}"

    @staticmethod
    def readable(values, pending):
        """What no collective in flight writes."""
        busy = all_places(v for flight in pending for v in flight.into)
        return [v for v in values if not v.places & busy]

    def writable(self, values, pending):
        """What no collective in flight touches."""
        busy = frozenset().union(*(flight.sent for flight in pending))
        return [v for v in self.readable(values, pending)
                if not v.places & busy]

    def pick(self, values, most, least=0):
        """Some of the latest values, each once."""
        values = values[-max(self.reach, least):]
        if len(values) < least:
            return []
        return self.rng.sample(
            values, self.rng.randint(least, min(most, len(values))))

    def made(self, name, type, suffix=""):
        return Value(f"%{name}{suffix}", type,
                     frozenset([f"{self.name}_{name}{suffix}"]))

    # Computation.

    def call_operator(self, lines, name, operator, operands, types, *extra):
        results = f"%{name} = " if len(types) == 1 else (
            f"%{name}:{len(types)} = " if types else "")
        lines.append(
            f'{results}commsched.compute "{operator}"({list_texts(operands)}) '
            f"{self.attributes(name, *extra)} : ({list_types(operands)}) -> "
            f"({', '.join(map(str, types))})")

    def compute(self, lines, values, pending, operands=None, types=None,
                flops=None):
        if operands is None:
            operands = self.pick(self.readable(values, pending), 3)
        extra = []
        if flops is None and self.rng.random() < 0.3:
            flops = self.rng.choice([1e9, 1e10, 1e11])
        if flops is not None:  # Hides something.
            extra.append(f"flops = {flops:.1e} : f64")
        if self.rng.random() < 0.05:
            extra.append("random")
        if types is None:
            types = [self.random_type()
                     for _ in range(self.rng.choice([1, 1, 1, 2]))]
        name = self.fresh()
        self.call_operator(lines, name, f"op.{name}", operands, types, *extra)
        made = [self.made(name, type, f"#{i}" if len(types) > 1 else "")
                for i, type in enumerate(types)]
        values += made
        return made

    def cast(self, lines, values, pending, value=None):
        floats = [v for v in self.readable(values, pending)
                  if v.type.element in FLOATS]
        if value is None:
            if not floats:
                return None
            value, = self.pick(floats, 1, least=1)
        old = value.type.element
        new = self.rng.choice([e for e in FLOATS if e != old])
        type = Type(value.type.shape, new)
        result = self.made(self.fresh(), type)
        name = result.text[1:]
        if WIDTHS[old] != WIDTHS[new] and self.rng.random() < 0.6:
            op = "truncf" if WIDTHS[old] > WIDTHS[new] else "extf"
            lines.append(f"{result.text} = arith.{op} {value.text} "
                         f"{self.attributes(name)} : {value.type} to {type}")
        else:
            self.call_operator(lines, name, "aten._to_copy", [value], [type])
        values.append(result)
        return result

    def view(self, lines, values, pending, seen=None):
        if seen is None:
            shaped = [v for v in self.readable(values, pending)
                      if v.type.shape]
            if not shaped:
                return None
            seen, = self.pick(shaped, 1, least=1)
        name, shape = self.fresh(), seen.type.shape
        choice = self.rng.randrange(3)
        if choice == 0:
            type = Type((1, seen.type.count), seen.type.element)
            self.call_operator(lines, name, "aten.view", [seen], [type],
                               "alias = 0 : i64")
        elif choice == 1 and shape[0] > 1:
            type = seen.type.resized(0, shape[0] - 1)
            zeros = ", ".join(["1"] + ["0"] * (len(shape) - 1))
            ones = ", ".join(["1"] * len(shape))
            sizes = ", ".join(map(str, type.shape))
            lines.append(
                f"%{name} = tensor.extract_slice {seen.text}[{zeros}] "
                f"[{sizes}] [{ones}] {self.attributes(name)} : {seen.type} "
                f"to {type}")
        else:
            type = Type((seen.type.count,), seen.type.element)
            dims = ", ".join(map(str, range(len(shape))))
            if len(shape) == 1:
                return None
            lines.append(
                f"%{name} = tensor.collapse_shape {seen.text} [[{dims}]] "
                f"{self.attributes(name)} : {seen.type} into {type}")
        values.append(Value(f"%{name}", type, seen.places))
        return values[-1]

    def mutate(self, lines, values, pending, operands=(), types=None):
        """Writes one of `operands`, or another value if they are in flight."""
        writable = self.writable(values, pending)
        operands = ([v for v in operands if v in writable]
                    or self.pick(writable, 2, least=1))
        if not operands:
            return []
        if types is None:
            types = [self.random_type()] if self.rng.random() < 0.5 else []
        index = self.rng.randrange(len(operands))
        name = self.fresh()
        self.call_operator(lines, name, f"op.{name}", operands, types,
                           f"mutates = array<i64: {index}>")
        made = [self.made(name, type) for type in types]
        values += made
        return made

    def effect(self, lines, values, pending):
        name = self.fresh()
        self.call_operator(lines, name, f"op.{name}",
                           self.pick(self.readable(values, pending), 2), [])

    # Communication.

    def collective_attributes(self, name, is_numbered=True):
        extra = []
        if is_numbered and self.rng.random() < self.numbered:
            self.number += self.rng.randint(1, 3)
            extra.append(f"commsched.order = {self.number} : i64")
        if self.rng.random() < self.placed:
            module = self.rng.choice(MODULES)
            extra.append(f'commsched.module = "{module}"')
        if self.rng.random() < self.sided:
            side = self.rng.choice(["forward", "backward"])
            extra.append(f'commsched.partition = "{side}"')
        return self.attributes(name, *extra)

    def random_group(self):
        return self.rng.choice(self.likely if self.rng.random() < 0.85
                               else list(self.groups))

    def reduction(self, element):
        if element not in FLOATS:
            return self.rng.choice(["sum", "sum", "max", "bor"])
        return self.rng.choice(["sum", "sum", "sum", "avg", "max"])

    def start(self, lines, values, pending, operands=None, kind=None,
              group=None, clause=None):
        if operands is None:
            most = 3 if self.rng.random() < 0.15 else 1
            operands = self.pick(self.readable(values, pending), most, 1)
            if operands and self.rng.random() < 0.3:
                operands = self.cast_operands(lines, values, pending, operands)
        if not operands:
            return
        group = group or self.random_group()
        kind = kind or self.rng.choice(self.kinds)
        size = self.groups[group]
        if kind == "all_reduce":
            dims = [None]
        else:
            dims = [
                dim for dim in range(min(len(v.type.shape) for v in operands))
                if all(v.type.count * size <= LARGEST
                       if kind == "all_gather"
                       else v.type.shape[dim] % size == 0 for v in operands)]
        if not dims:
            return
        dim = self.rng.choice(dims)
        element = operands[0].type.element
        if kind == "all_gather":
            types = [v.type.resized(dim, v.type.shape[dim] * size)
                     for v in operands]
            clause = f"dim({dim})"
        else:
            if any(v.type.element != element for v in operands):
                return
            clause = clause or f"reduction({self.reduction(element)})"
            types = [v.type for v in operands]
            if kind == "reduce_scatter":
                types = [t.resized(dim, t.shape[dim] // size) for t in types]
                clause += f" dim({dim})"
        self.launch(lines, values, pending, kind, group, clause, operands,
                    types)

    def cast_operands(self, lines, values, pending, operands):
        return [(self.cast(lines, values, pending, v)
                 if v.type.element in FLOATS else v) for v in operands]

    def launch(self, lines, values, pending, kind, group, clause, operands,
               types):
        into = []
        if self.rng.random() < 0.1:
            sent = all_places(operands)
            into = [v for v in self.writable(values, pending)
                    if v.type == types[0] and not v.places & sent][-1:]
            if not into:
                into = self.compute(lines, values, pending, [], types[:1])
            if len(types) > 1:
                into += self.compute(lines, values, pending, [], types[1:])
        name = self.fresh()
        written = (f"into {list_texts(into)} ", f"into {list_types(into)} "
                   ) if into else ("", "")
        lines.append(
            f"%{name} = commsched.{kind} {list_texts(operands)} on @{group} "
            f"{clause} {written[0]}{self.collective_attributes(name)} : "
            f"{list_types(operands)} {written[1]}-> "
            f"!commsched.future<{', '.join(map(str, types))}>")
        pending.append(Flight(name, types, all_places(operands), into))

    def burst(self, lines, values, pending):
        """Collectives with one key, mostly of arguments."""
        kind, group = self.rng.choice(self.kinds), self.random_group()
        element = self.rng.choice(self.elements)
        clause = f"reduction({self.reduction(element)})"
        if kind == "all_gather":
            clause = None
        for _ in range(self.rng.randint(2, 4)):
            sources = (self.arguments if self.rng.random() < 0.5 else values)
            pool = [v for v in self.readable(values, pending) if v in sources
                    and (clause is None or v.type.element == element)]
            type = self.random_type(element)
            if kind == "reduce_scatter":
                size = self.groups[group]
                pool = [v for v in pool
                        if any(n % size == 0 for n in v.type.shape)]
                if type.shape:
                    type = type.resized(0, size)
            operands = self.pick(pool, 1, least=1) or self.compute(
                lines, values, pending, [], [type])
            if self.rng.random() < 0.4:
                operands = self.cast_operands(lines, values, pending, operands)
            self.start(lines, values, pending, operands, kind, group, clause)
            if pending and self.rng.random() < self.wait_chance / 2:
                self.wait(lines, values, pending)

    def rewrite(self, lines, values, pending):
        """What is cast for a collective is written before the next starts."""
        kind, group = self.rng.choice(self.kinds), self.random_group()
        type = Type((self.groups[group],), self.rng.choice(FLOATS))
        source, = self.compute(lines, values, pending, types=[type])
        cast = self.cast(lines, values, pending, source)
        written = source
        if self.rng.random() < 0.5:
            written = self.view(lines, values, pending, source) or source
        clause = None if kind == "all_gather" else "reduction(sum)"
        self.start(lines, values, pending, [cast], kind, group, clause)
        made = self.mutate(lines, values, pending, [written], [cast.type])
        self.start(lines, values, pending, made, kind, group, clause)

    def hide(self, lines, values, pending):
        """Computation hides two collectives; it would hide no bucket."""
        kind, group = self.rng.choice(self.kinds), self.random_group()
        type = Type((self.groups[group],), self.rng.choice(self.elements))
        clause = None if kind == "all_gather" else "reduction(sum)"
        first = self.compute(lines, values, pending, [], [type])
        self.start(lines, values, pending, first, kind, group, clause)
        second = self.compute(lines, values, pending, [], [type], flops=3e9)
        flight = pending[-1]
        self.start(lines, values, pending, second, kind, group, clause)
        pending.append(pending.pop(pending.index(flight)))
        self.compute(lines, values, pending,
                     self.wait(lines, values, pending, last=True), flops=3e9)

    def add(self, lines, values, pending):
        """Adds up what two or three reduce-scatters deliver."""
        group, element = self.random_group(), self.rng.choice(self.elements)
        type = Type(self.rng.choice([(2,), (1, 3)]), element)
        type = type.resized(0, type.shape[0] * self.groups[group])
        clause = f"reduction({self.rng.choice(['sum', 'sum', 'max'])})"
        total = None
        for _ in range(self.rng.choice([2, 2, 3])):
            operands = self.pick([v for v in self.readable(values, pending)
                                  if v.type == type], 1, least=1)
            self.launch(
                lines, values, pending, "reduce_scatter", group,
                clause + " dim(0)",
                operands or self.compute(lines, values, pending, [], [type]),
                [type.resized(0, type.shape[0] // self.groups[group])])
            part, = self.wait(lines, values, pending, last=True)
            if total is None:
                total = part
                continue
            name, operands = self.fresh(), [total, part]
            total = self.made(name, part.type)
            if self.rng.random() < 0.5:
                self.call_operator(lines, name, "aten.add.Tensor", operands,
                                   [total.type])
            else:
                add = "addf" if element in FLOATS else "addi"
                lines.append(
                    f"{total.text} = arith.{add} {list_texts(operands)} "
                    f"{self.attributes(name)} : {total.type}")
            # Who else uses a part may keep it.
            for operand in operands:
                if operand in values and self.rng.random() < 0.8:
                    values.remove(operand)
            values.append(total)

    def cross(self, lines, values, pending):
        """a -> b and c -> d: of {a, d} and {b, c} only one is possible."""
        type = Type((4,), self.rng.choice(self.elements))
        keys = [(self.rng.choice(self.kinds), self.random_group(),
                 f"reduction({self.reduction(type.element)})")
                for _ in range(2)]
        for order in (keys, keys[::-1]):
            operands = self.compute(lines, values, pending, [], [type])
            for kind, group, clause in order:
                flights = len(pending)
                self.start(lines, values, pending, operands, kind, group,
                           clause if kind != "all_gather" else None)
                if len(pending) == flights:
                    return
                operands = self.compute(
                    lines, values, pending,
                    self.wait(lines, values, pending, last=True), [type])

    def exchange(self, lines, values, pending):
        """Some of one key and a few of another, mostly of arguments."""
        kind, group = self.rng.choice(self.exchanges), self.random_group()
        element, clause = self.rng.choice(self.elements), None
        for _ in range(self.rng.choice([1, 2, 3])):
            if clause is None or self.rng.random() < 0.2:
                clause = self.exchange_clause(kind, self.groups[group])
            operands = self.pick(
                [v for v in self.readable(values, pending) if v.type.shape
                 and v.type.element == element
                 and v.type.shape[0] % self.groups[group] == 0],
                2 if self.rng.random() < 0.1 else 1, least=1)
            if not operands:
                operands = self.compute(lines, values, pending, [], [
                    Type((self.groups[group], 2), element)])
            if any(v.type.element != element for v in operands):
                return
            self.launch(lines, values, pending, kind, group, clause, operands,
                        [v.type for v in operands])

    def exchange_clause(self, kind, size):
        if kind == "all_to_all":
            return "split_dim(0) concat_dim(0)"
        if kind == "broadcast":
            return f"root({self.rng.randrange(size)})"
        step = self.rng.choice([1, size - 1])
        pairs = [[rank, (rank + step) % size] for rank in range(size)]
        self.rng.shuffle(pairs)
        if self.rng.random() < 0.5:  # No ring: the last one gets zeros.
            pairs = sorted(pairs)[1:] or pairs
        return f"pairs(dense<{pairs}> : tensor<{len(pairs)}x2xi64>)"

    def send(self, lines, values, pending):
        operands = self.pick(self.readable(values, pending), 2, least=1)
        if not operands:
            return
        name, group = self.fresh(), self.random_group()
        lines.append(
            f"%{name} = commsched.send {list_texts(operands)} on @{group} "
            f"to({self.rng.randrange(self.groups[group])}) "
            f"{self.collective_attributes(name)} : {list_types(operands)} -> "
            "!commsched.future")
        pending.append(Flight(name, [], all_places(operands), []))

    def receive(self, lines, values, pending):
        name, group = self.fresh(), self.random_group()
        type = self.random_type()
        lines.append(
            f"%{name} = commsched.recv on @{group} "
            f"from({self.rng.randrange(self.groups[group])}) "
            f"{self.collective_attributes(name)} : !commsched.future<{type}>")
        pending.append(Flight(name, [type], frozenset(), []))

    def wait(self, lines, values, pending, last=False):
        flight = pending.pop(-1 if last else self.rng.randrange(len(pending)))
        name, count = self.fresh(), len(flight.types)
        types = ", ".join(map(str, flight.types))
        results = f"%{name}:{count} = " if count > 1 else (
            f"%{name} = " if count else "")
        lines.append(
            f"{results}commsched.wait %{flight.name} {self.attributes(name)} "
            f": !commsched.future{'<' + types + '>' if types else ''}")
        made = [self.made(name, type, f"#{i}" if count > 1 else "")
                for i, type in enumerate(flight.types)]
        for value, buffer in zip(made, flight.into):
            value.places = buffer.places
        values += made
        return made

    def barrier(self, lines, values, pending):
        name = self.fresh()
        lines.append(f"commsched.barrier on @{self.random_group()} "
                     f"{self.collective_attributes(name)}")

    def call(self, lines, values, pending):
        """The callee may write its argument."""
        tensors = [v for v in self.writable(values, pending)
                   if str(v.type) == EXTERNAL]
        if not tensors:
            return
        name, given = self.fresh(), self.rng.choice(tensors)
        lines.append(
            f"%{name} = func.call @external({given.text}) "
            f"{self.attributes(name)} : ({EXTERNAL}) -> {EXTERNAL}")
        values.append(Value(f"%{name}", given.type, given.places))

    # Regions.

    def conditional(self, lines, values, pending, depth):
        usable = self.writable(values, pending)
        if not usable:
            return
        name, other = self.fresh(), self.rng.choice(usable)
        branches, passed = [], []
        for _ in range(2):
            inner, branch = list(usable), []
            if self.rng.random() < 0.8:
                self.fill(branch, inner, self.rng.randint(1, 6), depth + 1)
            passed.append(self.rng.choice(
                [v for v in inner if v.type == other.type]))
            branch.append(f"scf.yield {passed[-1].text} : {other.type}")
            branches.append("\n    ".join(branch))
        lines.append(
            f"%{name} = scf.if %condition -> ({other.type}) {{\n    "
            f"{branches[0]}\n  }} else {{\n    {branches[1]}\n  }} "
            f"{self.attributes(name)}")
        values.append(Value(f"%{name}", other.type, all_places(passed)))

    def loop(self, lines, values, pending, depth):
        usable = self.writable(values, pending)
        if not usable or not self.loops:
            return
        name, first = self.fresh(), self.rng.choice(usable)
        carried = Value(f"%{name}_it", first.type, first.places)
        inner, body = usable + [carried], []
        self.fill(body, inner, self.rng.randint(1, 6), depth + 1)
        # A second round may write what the first one passes on, so that must
        # not be anything that the block knows by another name.
        outer = all_places(usable)
        made = [v for v in inner if v.type == first.type
                and not v.places & outer]
        passed = self.rng.choice(made or [carried])
        rounds = self.rng.choice(["%one", "%two"])
        body.append(f"scf.yield {passed.text} : {first.type}")
        lines.append(
            f"%{name} = scf.for %{name}_i = %zero to {rounds} step %one "
            f"iter_args({carried.text} = {first.text}) -> ({first.type}) "
            "{\n    " + "\n    ".join(body)
            + f"\n  }} {self.attributes(name)}")
        values.append(Value(f"%{name}", first.type,
                            passed.places | first.places))


def prologue(groups):
    return "".join(
        f"commsched.group @{group} size({size}) {rest}\n"
        for group, (size, rest) in groups.items()
    ) + f"func.func private @external({EXTERNAL}) -> {EXTERNAL}\n"


def generate(groups, kind, count, seed):
    """`count` functions, most with collectives of one kind."""
    return [Generator(f"f{i}", groups, kind, seed * 1009 + i).generate()
            for i in range(count)]

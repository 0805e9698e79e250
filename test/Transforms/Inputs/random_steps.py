# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions whose buffers differ in size, with their step_model.py.

Chains and diamonds of cheap and expensive operations, collectives, sends and
receives on several groups, views, writes in place, coalesced gathers, and
regions that communicate. Every operation carries its name and, as location,
the name of its first result: printed with `--mlir-use-nameloc-as-prefix`, an
operation is the same line wherever it stands.
"""

import random
from dataclasses import dataclass, replace

from step_model import Function, Value, access, keep, need, use

GROUPS = {"dp": 4, "tp": 2, "pp": 2}
POINT_TO_POINT = ["dp", "pp"]  # One shared with collectives, one of its own.
COUNTS = [1, 3, 7, 16, 100, 1000, 4096, 65537, 1 << 20, 1 << 26]
LARGEST = 1 << 32
WIDTHS = {"i8": 1, "bf16": 2, "f32": 4}

PROLOGUE = "".join(
    f"commsched.group @{group} size({size})\n"
    for group, size in GROUPS.items())


@dataclass(frozen=True)
class Type:
    count: int
    element: str
    rows: int = 0  # Of a matrix, whose columns collectives divide. 0: a list.

    def __str__(self):
        rows = f"{self.rows}x" if self.rows else ""
        return f"tensor<{rows}{self.columns}x{self.element}>"

    @property
    def columns(self):
        return self.count // max(1, self.rows)

    @property
    def bytes(self):
        return self.count * WIDTHS[self.element]

    def times(self, number):
        return replace(self, count=self.count * number)


def list_types(values):
    return ", ".join(str(value.type) for value in values)


def list_texts(values):
    return ", ".join(value.text for value in values)


class Generator:
    """Writes one random function."""

    def __init__(self, name, seed):
        rng = self.rng = random.Random(seed)
        self.function = Function(name)
        self.count = 0
        self.number = 0
        self.has_loop = False
        # Few types, so that some fit each other.
        self.types = [self.random_type() for _ in range(rng.randint(1, 4))]
        self.groups = list(GROUPS)
        # Operands are among the latest so many values: a chain, or a thicket.
        self.reach = rng.choice([1, 2, 4, 100])
        # How many of the collectives are numbered.
        self.numbered = rng.choice([0, 0, 0, 0.5, 1])
        self.state = object()  # What random numbers and effects share.
        self.constants = {}

    def generate(self):
        function, rng = self.function, self.rng
        body = function.add_block()
        values, arguments = [], []
        for index in range(rng.randint(1, 4)):
            type = rng.choice(self.types)
            buffer = body.allocate(type.bytes)
            attribute = rng.choice(
                [None, None, "commsched.freeable",
                 'commsched.role = "saved_activation"',
                 'commsched.role = "parameter"'])
            buffer.stays = attribute in (None, 'commsched.role = "parameter"')
            value = Value(f"%a{index}", type, None, body, buffer, object(),
                          is_fresh=False)
            values.append(value)
            arguments.append(f"{value.text}: {type}" + (
                f" {{{attribute}}}" if attribute else "")
                + f' loc("a{index}")')
        lines = []
        if rng.random() < 0.5:
            self.add_constants(body, lines)
        self.fill(body, lines, values, rng.randint(4, 18))
        returned = rng.sample(values, rng.randint(1, min(3, len(values))))
        for value in returned:
            value.buffer.stays = True
        function.text = (
            f"func.func @{function.name}({', '.join(arguments)}) -> "
            f"({list_types(returned)}) {{\n  " + "\n  ".join(lines)
            + f"\n  return {list_texts(returned)} : {list_types(returned)}\n"
            "}\n")
        return function

    def add_constants(self, block, lines):
        for name, value in [("true", "true"), ("zero", "0 : index"),
                            ("one", "1 : index"), ("f", "0.0 : f32")]:
            op = self.constants[name] = self.add(block, "compute", 0, name)
            self.emit(lines, op, f"%{op.name} = arith.constant "
                                 f"{self.attributes(op)} {value}")

    def fill(self, block, lines, values, length):
        """Appends to `lines` and `block`, and to `values` what it makes."""
        pending = []
        makers = [(self.compute, 10), (self.view, 2), (self.mutate, 2),
                  (self.effect, 1), (self.diamond, 1), (self.start, 7),
                  (self.coalesced, 1), (self.send, 1), (self.receive, 1),
                  (self.barrier, 0.5)]
        if self.constants:
            makers += [(self.insert, 2)]
        if self.constants and block.parent is None:
            makers += [(self.conditional, 1), (self.loop, 0.5)]
        for _ in range(length):
            if pending and self.rng.random() < 0.3:
                self.wait(block, lines, values, pending)
                continue
            maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
            maker(block, lines, values, pending)
        while pending:
            self.wait(block, lines, values, pending)

    # What the makers of operations share.

    def random_type(self):
        count, rows = self.rng.choice(COUNTS), self.rng.choice([0, 0, 0, 1, 2])
        return Type(count, self.rng.choice(list(WIDTHS)),
                    0 if count % max(1, rows) else rows)

    def add(self, block, kind, cost, name=None):
        if name is None:
            self.count += 1
            name = f"o{self.count}"
        op = block.add(name, kind, cost)
        self.function.by_name[name] = op
        return op

    def attributes(self, op, *extra):
        items = [f'commsched.name = "{op.name}"',
                 f"commsched.runtime_ns = {op.cost} : i64", *extra]
        if op.number >= 0:
            items.append(f"commsched.order = {op.number} : i64")
        return "{" + ", ".join(items) + "}"

    @staticmethod
    def emit(lines, op, text):
        lines.append(f'{text} loc("{op.name}")')

    @staticmethod
    def result(op, type, suffix="", buffer=None, place=None):
        """A value in a buffer and a place of its own unless one is given."""
        is_fresh = place is None
        if buffer is None:
            buffer = op.block.allocate(type.bytes, op)
        else:
            keep(op, buffer)
        return Value(f"%{op.name}{suffix}", type, op, op.block, buffer,
                     place or object(), is_fresh)

    def alias(self, op, type, seen, suffix=""):
        return self.result(op, type, suffix, seen.buffer, seen.place)

    def readable(self, values, pending):
        """What no collective in flight writes."""
        busy = {v.place for start in pending for v in start.into}
        return [v for v in values if v.place not in busy]

    def writable(self, values, pending):
        """What no collective in flight touches."""
        busy = {v.place for start in pending for v in start.sent}
        return [v for v in self.readable(values, pending) if v.place not in busy]

    def pick(self, values, most, least=0):
        """Some of the latest values, each once."""
        values = values[-max(self.reach, least):]
        if len(values) < least:
            return []
        return self.rng.sample(values, self.rng.randint(least, min(most, len(values))))

    @staticmethod
    def read(op, values):
        for value in values:
            use(op, value)

    # Computation.

    def cost(self):
        return self.rng.choice([0, 1000, 3000, 10000, 50000])

    def call(self, lines, op, operands, types, *extra):
        names = f"%{op.name} = " if len(types) == 1 else (
            f"%{op.name}:{len(types)} = " if types else "")
        self.emit(lines, op, (
            f'{names}commsched.compute "{op.name}_fn"({list_texts(operands)}) '
            f"{self.attributes(op, *extra)} : ({list_types(operands)}) -> "
            f"({', '.join(map(str, types))})"))

    def compute(self, block, lines, values, pending, operands=None):
        op = self.add(block, "compute", self.cost())
        if operands is None:
            operands = self.pick(self.readable(values, pending), 3)
        self.read(op, operands)
        extra = []
        if self.rng.random() < 0.35:  # More than 8 for every byte: expensive.
            extra.append("flops = 1.0e+14 : f64")
        if self.rng.random() < 0.1:
            extra.append("random")
            access(op, self.state, writes=True)
        count = self.rng.choice([1, 1, 1, 1, 2, 3])
        types = self.rng.choices(self.types, k=count)
        results = [
            self.result(op, type, suffix=f"#{index}" if count > 1 else "")
            for index, type in enumerate(types)]
        self.call(lines, op, operands, types, *extra)
        values += results
        return results

    def view(self, block, lines, values, pending):
        operands = self.pick(self.readable(values, pending), 2, least=1)
        if not operands:
            return
        op = self.add(block, "compute", self.rng.choice([0, 1000]))
        self.read(op, operands)
        index = self.rng.randrange(len(operands))
        seen = operands[index]
        type = self.rng.choice(self.types)
        values.append(self.alias(op, type, seen))
        self.call(lines, op, operands, [type], f"alias = {index} : i64")

    def mutate(self, block, lines, values, pending):
        operands = self.pick(self.writable(values, pending), 2, least=1)
        if not operands:
            return
        op = self.add(block, "compute", self.cost())
        self.read(op, operands)
        index = self.rng.randrange(len(operands))
        access(op, operands[index].place, writes=True)
        types = self.rng.choices(self.types, k=self.rng.randint(0, 1))
        if not types:
            access(op, self.state, writes=True)
        values += [self.result(op, type) for type in types]
        self.call(lines, op, operands, types, f"mutates = array<i64: {index}>")

    def insert(self, block, lines, values, pending):
        """Writes in place if the tensor has no other users, and otherwise into
        a copy."""
        floats = [v for v in self.readable(values, pending)
                  if v.type.element == "f32" and v.block is block]
        if not floats:
            return
        target = self.rng.choice(floats)
        if not target.uses and not target.is_fresh:
            return
        op = self.add(block, "compute", self.cost())
        need(op, self.constants["f"])
        need(op, self.constants["zero"])
        if target.uses:
            result = self.result(op, target.type)
            block.overwrites.append((op, target.buffer, result.buffer))
        else:
            result = self.alias(op, target.type, target)
            values.remove(target)
        self.read(op, [target])
        values.append(result)
        zeros = "%zero, %zero" if target.type.rows else "%zero"
        self.emit(lines, op, (
            f"{result.text} = tensor.insert %f into {target.text}[{zeros}] "
            f"{self.attributes(op)} : {target.type}"))

    def effect(self, block, lines, values, pending):
        op = self.add(block, "compute", self.cost())
        operands = self.pick(self.readable(values, pending), 2)
        self.read(op, operands)
        access(op, self.state, writes=True)
        self.call(lines, op, operands, [])

    def diamond(self, block, lines, values, pending):
        """Branches from one value, some of which communicate, joined again."""
        heads = self.pick(self.readable(values, pending), 1, least=1)
        if not heads:
            return
        ends = []
        for _ in range(self.rng.randint(2, 3)):
            branch = list(heads)
            for _ in range(self.rng.randint(1, 2)):
                branch += self.compute(block, lines, values, pending, branch[-1:])
            if self.rng.random() < 0.4:
                self.start(block, lines, values, pending, branch[-1:])
                self.wait(block, lines, branch, pending, last=True)
                values.append(branch[-1])
            ends.append(branch[-1])
        self.compute(block, lines, values, pending, ends)

    # Communication.

    def add_collective(self, block, kind, group):
        op = self.add(block, kind, self.rng.choice([0, 5000, 20000, 80000]))
        op.stream = group
        if block.parent is None and self.rng.random() < self.numbered:
            op.number = self.number
            self.number += self.rng.randint(1, 3)
        return op

    def start(self, block, lines, values, pending, operands=None):
        if operands is None:
            operands = self.pick(self.readable(values, pending), 2, least=1)
        if not operands:
            return
        group = self.rng.choice(self.groups)
        size = GROUPS[group]
        dims = {int(v.type.rows > 0) for v in operands}
        dim = f"dim({min(dims)})"
        kind, clause, types = "all_reduce", "reduction(sum)", [v.type for v in operands]
        if self.rng.random() < 0.4 and len(dims) == 1 and all(
                v.type.bytes * size <= LARGEST for v in operands):
            kind, clause = "all_gather", dim
            types = [v.type.times(size) for v in operands]
        elif self.rng.random() < 0.5 and len(dims) == 1 and all(
                v.type.columns % size == 0 for v in operands):
            kind, clause = "reduce_scatter", f"reduction(sum) {dim}"
            types = [replace(v.type, count=v.type.count // size) for v in operands]
        into = self.find_buffers(block, lines, values, pending, operands, types)
        self.launch(block, lines, pending, group, kind, clause, operands, types, into)

    def find_buffers(self, block, lines, values, pending, operands, types):
        """What to write the collective's results into; maybe nothing."""
        if self.rng.random() < 0.7:
            return []
        taken = {v.place for v in operands}
        into = []
        for type in types:
            fitting = [v for v in self.writable(values, pending)
                       if v.type == type and v.place not in taken]
            if not fitting:
                op = self.add(block, "compute", 0)
                fitting = [self.result(op, type)]
                self.call(lines, op, [], [type])
                values += fitting
            into.append(self.rng.choice(fitting))
            taken.add(into[-1].place)
        return into

    def launch(self, block, lines, pending, group, kind, clause, operands, types, into):
        op = self.add_collective(block, "start", group)
        op.sent, op.into = operands, into
        self.read(op, operands + into)
        for value in into:
            access(op, value.place, writes=True)
        if into:
            op.delivers = [(v.type, v.buffer, v.place) for v in into]
        else:
            op.delivers = [(type, block.allocate(type.bytes, op), object())
                           for type in types]
        delivered = ", ".join(map(str, types))
        self.emit(lines, op, (
            f"%{op.name} = commsched.{kind} {list_texts(operands)} on "
            f"@{group} {clause} {'into ' + list_texts(into) if into else ''} "
            f"{self.attributes(op)} : {list_types(operands)} "
            f"{'into ' + list_types(into) if into else ''} -> "
            f"!commsched.future<{delivered}>"))
        pending.append(op)

    def coalesced(self, block, lines, values, pending):
        """Packs shards into a slice of a buffer, and gathers into that."""
        shards = self.pick(
            [v for v in self.readable(values, pending)
             if v.type.element == "f32" and v.type.bytes < LARGEST / 4], 2, 1)
        if not shards:
            return
        op = self.add(block, "compute", 1000)
        self.read(op, shards)
        slice_type = Type(sum(v.type.count for v in shards), "f32")
        type = slice_type.times(GROUPS["dp"])
        buffer = self.result(op, type, "_0")
        part = self.alias(op, slice_type, buffer)
        self.emit(lines, op, (
            f"{part.text}, {buffer.text} = commsched.all_gather_copy_in "
            f"{list_texts(shards)} on @dp {self.attributes(op)} : "
            f"{list_types(shards)} -> {slice_type}, {type}"))
        self.launch(block, lines, pending, "dp", "all_gather", "dim(0)",
                    [part], [type], [buffer])

    def send(self, block, lines, values, pending):
        operands = self.pick(self.readable(values, pending), 2, least=1)
        if not operands:
            return
        op = self.add_collective(block, "start", self.rng.choice(POINT_TO_POINT))
        op.is_point_to_point = True
        op.sent = operands
        self.read(op, operands)
        self.emit(lines, op, (
            f"%{op.name} = commsched.send {list_texts(operands)} on "
            f"@{op.stream} to(1) tag(7) {self.attributes(op)} : "
            f"{list_types(operands)} -> !commsched.future"))
        pending.append(op)

    def receive(self, block, lines, values, pending):
        op = self.add_collective(block, "start", self.rng.choice(POINT_TO_POINT))
        op.is_point_to_point = True
        type = self.rng.choice(self.types)
        op.delivers = [(type, block.allocate(type.bytes, op), object())]
        self.emit(lines, op, (
            f"%{op.name} = commsched.recv on @{op.stream} from(1) tag(7) "
            f"{self.attributes(op)} : !commsched.future<{type}>"))
        pending.append(op)

    def wait(self, block, lines, values, pending, last=False):
        start = pending.pop(-1 if last else self.rng.randrange(len(pending)))
        op = self.add(block, "wait", 0)
        op.start = start
        need(op, start)
        for value in start.sent:
            keep(op, value.buffer)
            access(op, value.place, writes=False)
        count = len(start.delivers)
        for index, (type, buffer, place) in enumerate(start.delivers):
            access(op, place, writes=True)
            values.append(self.result(
                op, type, f"#{index}" if count > 1 else "", buffer, place))
            values[-1].is_fresh = not start.into
        types = ", ".join(str(type) for type, _, _ in start.delivers)
        names = f"%{op.name}:{count} = " if count > 1 else (
            f"%{op.name} = " if count else "")
        self.emit(lines, op, (
            f"{names}commsched.wait %{start.name} {self.attributes(op)} : "
            f"!commsched.future{'<' + types + '>' if types else ''}"))

    def barrier(self, block, lines, values, pending):
        op = self.add_collective(block, "blocking", self.rng.choice(list(GROUPS)))
        self.emit(lines, op, (
            f"commsched.barrier on @{op.stream} {self.attributes(op)}"))

    # Regions.

    def conditional(self, block, lines, values, pending):
        usable = self.writable(values, pending)
        if not usable:
            return
        op = self.add(block, "region", self.cost())
        need(op, self.constants["true"])
        other = self.rng.choice(usable)
        inner, passed = self.region(op, usable, other.type)
        self.read(op, [other])
        result = self.result(op, other.type, place=passed.place)
        values.append(result)
        self.emit(lines, op, "\n    ".join([
            f"{result.text} = scf.if %true -> ({other.type}) {{", *inner,
            f"scf.yield {passed.text} : {other.type}"])
            + f"\n  }} else {{\n    scf.yield {other.text} : {other.type}\n"
            f"  }} {self.attributes(op)}")

    def loop(self, block, lines, values, pending):
        """Runs once. Two loops would number their arguments in any order. It
        starts with what stays, whose storage it does not take over."""
        usable = self.writable(values, pending)
        firsts = [v for v in usable if v.owner is None and v.buffer.stays]
        if not firsts or self.has_loop:
            return
        self.has_loop = True
        op = self.add(block, "region", self.cost())
        need(op, self.constants["zero"])
        need(op, self.constants["one"])
        first = self.rng.choice(firsts)
        self.read(op, [first])
        inner, passed = self.region(op, usable, first.type, first)
        is_kept = passed.text == "%it"
        result = self.result(op, first.type, place=passed.place,
                             buffer=first.buffer if is_kept else None)
        values.append(result)
        self.emit(lines, op, "\n    ".join([
            f"{result.text} = scf.for %i = %zero to %one step %one "
            f"iter_args(%it = {first.text}) -> ({first.type}) {{", *inner,
            f"scf.yield {passed.text} : {first.type}"])
            + f"\n  }} {self.attributes(op)}")

    def region(self, op, usable, type, carried=None):
        """The lines of the block in `op`, and what it yields of `type`."""
        body = op.body = self.function.add_block(op)
        op.counted = type.bytes
        inner_values, lines = list(usable), []
        if carried:
            buffer = body.allocate(type.bytes)
            inner_values.append(
                Value("%it", type, None, body, buffer, carried.place, is_fresh=False))
        self.fill(body, lines, inner_values, self.rng.randint(1, 7))
        passed = self.rng.choice([v for v in inner_values if v.type == type])
        passed.uses += 1
        access(op, passed.place, writes=False)
        if passed.block is not body:
            use(op, passed)
        elif passed.buffer.block is body:
            passed.buffer.stays = True
        if carried and not buffer.users and not buffer.stays:
            buffer.bytes = 0  # It gives way, at once, to what is passed on.
        return lines, passed


def generate(count, seed):
    """`count` functions, the same for the same seed."""
    return [Generator(f"f{i}", seed * 100003 + i).generate() for i in range(count)]

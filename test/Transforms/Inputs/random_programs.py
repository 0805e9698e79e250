# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions in the dialect, as MLIR text and as a model to execute.

Every operation carries a unique `commsched.name`, so that a rewritten function
can be matched with the model. The model says which values an operation reads
and writes, and in whose storage its results live when aliasing is as bad as
the program allows.
"""

import random
from dataclasses import dataclass, field

GROUPS = {"g0": 2, "g1": 4, "g2": 2}
TENSOR = "tensor<16xf32>"
MEMREF = "memref<16xf32>"
BYTES = 64

PROLOGUE = (
    "".join(f"commsched.group @{g} size({n})\n" for g, n in GROUPS.items())
    + f"func.func private @external({TENSOR}, {MEMREF}) -> {TENSOR}\n"
)


@dataclass
class Value:
    """A tensor or memref. `storage`: where it lives in the worst case."""

    text: str
    type: str
    storage: object
    memory: bool = False  # Unknown code may write it.


@dataclass
class Op:
    """One operation of the model."""

    name: str
    kind: str  # compute, start, wait, blocking, unknown, region
    cost: int = 0
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    makes: list = field(default_factory=list)  # values in new storage
    views: list = field(default_factory=list)  # values in old storage
    random: bool = False
    effect: bool = False  # Touches all memory that is not local.
    group: str = ""
    order: int = -1
    start: "Op" = None
    wait: "Op" = None
    into: list = field(default_factory=list)
    body: list = field(default_factory=list)

    def communicates(self):
        return self.kind in ("start", "wait", "blocking", "unknown") or any(
            op.communicates() for op in self.body
        )

    def is_barrier(self):
        return self.kind in ("blocking", "unknown") or any(
            op.communicates() for op in self.body
        )


@dataclass
class Function:
    name: str
    text: str
    arguments: list
    ops: list
    returned: list
    world: set  # Storages that unknown code may touch.
    has_regions: bool
    resizes: bool


class Generator:
    """Writes one random function."""

    def __init__(self, name, seed):
        self.rng = random.Random(seed)
        self.name = name
        self.count = 0
        self.has_regions = False
        self.resizes = False
        self.world = set()
        self.ordered = self.rng.random() < 0.3
        self.order = 0

    def fresh(self):
        self.count += 1
        return f"{self.name}_{self.count}"

    def function(self):
        rng = self.rng
        args, values = [], []
        for index in range(rng.randint(2, 4)):
            value = Value(f"%t{index}", TENSOR, f"t{index}")
            values.append(value)
            args.append(f"{value.text}: {TENSOR}")
        # In the worst case a caller passes one memref twice.
        for index in range(rng.randint(0, 2)):
            value = Value(f"%m{index}", MEMREF, "m", True)
            self.world.add("m")
            values.append(value)
            args.append(f"{value.text}: {MEMREF}")
        if rng.random() < 0.4:
            value = Value("%p", MEMREF, "p", True)
            self.world.add("p")
            values.append(value)
            args.append(
                f'%p: {MEMREF} {{commsched.role = "unsharded_param"}}')
        arguments = list(values)
        lines = ["%c = arith.constant true", "%i0 = arith.constant 0 : index",
                 "%i1 = arith.constant 1 : index"]
        ops = self.block(lines, values, rng.randint(4, 22), depth=0)
        returned = [v for v in values if v.type == TENSOR][-2:]
        head = f"func.func @{self.name}({', '.join(args)}) -> ("
        head += ", ".join(v.type for v in returned) + ") {"
        tail = "return " + ", ".join(v.text for v in returned) + " : "
        tail += ", ".join(v.type for v in returned)
        text = "\n  ".join([head] + lines + [tail]) + "\n}\n"
        return Function(self.name, text, arguments, ops, returned, self.world,
                        self.has_regions, self.resizes)

    def block(self, lines, values, length, depth):
        """Appends to `lines`, and to `values` what the block makes."""
        ops, pending = [], []
        makers = [(self.compute, 10), (self.effectful, 1), (self.start, 7),
                  (self.barrier, 1), (self.call, 1), (self.unknown, 1),
                  (self.select, 1), (self.memory, 2), (self.view, 2),
                  (self.resize, 2)]
        if depth < 2:
            makers += [(self.conditional, 1), (self.loop, 1)]
        for _ in range(length):
            if pending and self.rng.random() < 0.35:
                self.wait(lines, values, ops, pending)
                continue
            maker = self.rng.choices([m for m, _ in makers],
                                     [w for _, w in makers])[0]
            maker(lines, values, ops, pending, depth)
        while pending:
            self.wait(lines, values, ops, pending)
        return ops

    # What a new operation may touch while collectives are in flight.

    def readable(self, values, pending, type=None):
        busy = {v.storage for s, _ in pending for v in s.into}
        return [v for v in values
                if v.storage not in busy and (not type or v.type == type)]

    def writable(self, values, pending, type=None):
        busy = {v.storage for s, _ in pending for v in s.reads}
        return [v for v in self.readable(values, pending, type)
                if v.storage not in busy]

    def attrs(self, op, *extra):
        items = [f'commsched.name = "{op.name}"',
                 f"commsched.runtime_ns = {op.cost} : i64", *extra]
        return "{" + ", ".join(items) + "}"

    def emit(self, ops, lines, op, text):
        ops.append(op)
        lines.append(text)

    # Operations.

    def compute(self, lines, values, ops, pending, depth):
        op = Op(self.fresh(), "compute", self.rng.choice([0, 1, 3, 10]))
        inputs = self.sample(self.readable(values, pending), 3)
        extra = []
        writable = [v.text for v in self.writable(values, pending)]
        written = [i for i, v in enumerate(inputs)
                   if v.text in writable and self.rng.random() < 0.25]
        if written:
            indices = ", ".join(map(str, written))
            extra.append(f"mutates = array<i64: {indices}>")
            op.writes = [inputs[i] for i in written]
        op.reads = inputs
        if self.rng.random() < 0.15:
            op.random = True
            extra.append("random")
        result = Value(f"%{op.name}", TENSOR, op.name)
        if inputs and self.rng.random() < 0.3:
            index = self.rng.randrange(len(inputs))
            extra.append(f"alias = {index} : i64")
            result.storage = inputs[index].storage
            result.memory = inputs[index].memory
            op.views.append(result)
        else:
            op.makes.append(result)
        self.emit(ops, lines, op, f"{result.text} = " + self.call_text(
            "op", inputs, self.attrs(op, *extra), f"-> {TENSOR}"))
        values.append(result)

    @staticmethod
    def call_text(callee, inputs, attrs, results):
        return (f'commsched.compute "{callee}"('
                + ", ".join(v.text for v in inputs) + f") {attrs} : ("
                + ", ".join(v.type for v in inputs) + f") {results}")

    def sample(self, values, most):
        count = self.rng.randint(0, min(most, len(values)))
        return self.rng.sample(values, count)

    def effectful(self, lines, values, ops, pending, depth):
        op = Op(self.fresh(), "compute", 2, effect=True)
        op.reads = self.sample(self.readable(values, pending), 2)
        self.emit(ops, lines, op,
                  self.call_text("print", op.reads, self.attrs(op), "-> ()"))

    def start(self, lines, values, ops, pending, depth):
        op = Op(self.fresh(), "start", self.rng.choice([0, 2, 5, 20]))
        op.group = self.rng.choice(list(GROUPS))
        op.reads = self.sample(self.readable(values, pending, TENSOR), 2)
        if not op.reads:
            return
        extra = []
        if self.ordered and depth == 0:
            op.order = self.order
            extra.append(f"commsched.order = {self.order} : i64")
            self.order += 1
        into = [v for v in self.writable(values, pending, TENSOR)
                if v.storage not in {r.storage for r in op.reads}]
        into = {v.storage: v for v in into}.values()
        if len(into) >= len(op.reads) and self.rng.random() < 0.3:
            op.into = list(into)[:len(op.reads)]
        types = ", ".join([TENSOR] * len(op.reads))
        names = ", ".join(v.text for v in op.reads)
        buffers = ", ".join(v.text for v in op.into)
        self.emit(ops, lines, op, (
            f"%{op.name} = commsched.all_reduce {names} on @{op.group} "
            f"reduction(sum) {'into ' + buffers if op.into else ''} "
            f"{self.attrs(op, *extra)} : {types} "
            f"{'into ' + types if op.into else ''} "
            f"-> !commsched.future<{types}>"))
        pending.append((op, types))

    def wait(self, lines, values, ops, pending):
        start, types = pending.pop(self.rng.randrange(len(pending)))
        op = Op(self.fresh(), "wait", start=start)
        start.wait = op
        for index, _ in enumerate(start.reads):
            result = Value(f"%{op.name}#{index}", TENSOR, f"{op.name}#{index}")
            if start.into:
                result.storage = start.into[index].storage
                result.memory = start.into[index].memory
                op.views.append(result)
            else:
                op.makes.append(result)
            values.append(result)
        self.emit(ops, lines, op, (
            f"%{op.name}:{len(start.reads)} = commsched.wait %{start.name} "
            f"{self.attrs(op)} : !commsched.future<{types}>"))
        if len(start.reads) == 1:
            lines[-1] = lines[-1].replace(":1 =", " =")
            for value in op.views + op.makes:
                value.text = f"%{op.name}"

    def barrier(self, lines, values, ops, pending, depth):
        op = Op(self.fresh(), "blocking", 4)
        op.group = self.rng.choice(list(GROUPS))
        self.emit(ops, lines, op,
                  f"commsched.barrier on @{op.group} {self.attrs(op)}")

    def call(self, lines, values, ops, pending, depth):
        """The callee may write its arguments, and return one of them."""
        writable = self.writable(values, pending)
        tensors = [v for v in writable if v.type == TENSOR]
        memrefs = [v for v in writable if v.type == MEMREF]
        if not tensors or not memrefs:
            return
        op = Op(self.fresh(), "unknown", 3, effect=True)
        op.reads = op.writes = [self.rng.choice(tensors),
                                self.rng.choice(memrefs)]
        result = Value(f"%{op.name}", TENSOR, op.reads[0].storage,
                       op.reads[0].memory)
        op.views.append(result)
        self.emit(ops, lines, op, (
            f"{result.text} = func.call @external({op.reads[0].text}, "
            f"{op.reads[1].text}) {self.attrs(op)} : ({TENSOR}, {MEMREF}) "
            f"-> {TENSOR}"))
        values.append(result)

    def unknown(self, lines, values, ops, pending, depth):
        op = Op(self.fresh(), "unknown", 3, effect=True)
        op.reads = self.sample(self.readable(values, pending), 2)
        self.emit(ops, lines, op, (
            '"foreign.op"(' + ", ".join(v.text for v in op.reads) + ") "
            + self.attrs(op) + " : (" + ", ".join(v.type for v in op.reads)
            + ") -> ()"))

    def select(self, lines, values, ops, pending, depth):
        tensors = self.readable(values, pending, TENSOR)
        if len(tensors) < 2:
            return
        op = Op(self.fresh(), "compute", 1)
        op.reads = self.rng.sample(tensors, 2)
        result = Value(f"%{op.name}", TENSOR, op.reads[0].storage,
                       op.reads[0].memory)
        op.views.append(result)
        self.emit(ops, lines, op, (
            f"{result.text} = arith.select %c, {op.reads[0].text}, "
            f"{op.reads[1].text} {self.attrs(op)} : {TENSOR}"))
        values.append(result)

    def memory(self, lines, values, ops, pending, depth):
        op = Op(self.fresh(), "compute", 1)
        memrefs = self.writable(values, pending, MEMREF)
        tensors = self.readable(values, pending, TENSOR)
        choice = self.rng.randrange(3)
        if choice == 0 or not memrefs:
            result = Value(f"%{op.name}", MEMREF, op.name)
            op.makes.append(result)
            values.append(result)
            text = f"{result.text} = memref.alloc() {self.attrs(op)} : {MEMREF}"
        elif choice == 1 and tensors:
            source = self.rng.choice(tensors)
            target = self.rng.choice(memrefs)
            op.reads, op.writes = [source], [target]
            text = (f"commsched.fsdp_copy {source.text} into {target.text} "
                    f"{self.attrs(op)} : {TENSOR}, {MEMREF}")
        else:
            source, target = self.rng.choice(memrefs), self.rng.choice(memrefs)
            op.reads, op.writes = [source], [target]
            text = (f"memref.copy {source.text}, {target.text} "
                    f"{self.attrs(op)} : {MEMREF} to {MEMREF}")
        self.emit(ops, lines, op, text)

    def resize(self, lines, values, ops, pending, depth):
        parameters = [v for v in self.writable(values, pending)
                      if v.text == "%p"]
        if not parameters:
            return
        self.resizes = True
        op = Op(self.fresh(), "compute", 1)
        op.writes = parameters
        self.emit(ops, lines, op, (
            f"commsched.resize_storage %p bytes({self.rng.choice([0, BYTES])}) "
            f"{self.attrs(op)} : {MEMREF}"))

    def view(self, lines, values, ops, pending, depth):
        memrefs = self.readable(values, pending, MEMREF)
        if not memrefs:
            return
        op = Op(self.fresh(), "compute", 1)
        source = self.rng.choice(memrefs)
        op.reads = [source]
        kind = TENSOR if self.rng.random() < 0.7 else MEMREF
        result = Value(f"%{op.name}", kind, source.storage, source.memory)
        op.views.append(result)
        if kind == TENSOR:
            text = (f"{result.text} = bufferization.to_tensor {source.text} "
                    f"{self.attrs(op)} : {MEMREF} to {TENSOR}")
        else:
            text = (f"{result.text} = memref.cast {source.text} "
                    f"{self.attrs(op)} : {MEMREF} to {MEMREF}")
        self.emit(ops, lines, op, text)
        values.append(result)

    def conditional(self, lines, values, ops, pending, depth):
        """The condition holds, so the result is the value passed on first."""
        self.region(lines, values, ops, pending, depth, None)

    def loop(self, lines, values, ops, pending, depth):
        tensors = self.writable(values, pending, TENSOR)
        if tensors:
            self.region(lines, values, ops, pending, depth,
                        self.rng.choice(tensors))

    def region(self, lines, values, ops, pending, depth, carried):
        usable = self.writable(values, pending)
        tensors = [v for v in usable if v.type == TENSOR]
        if not tensors:
            return
        self.has_regions = True
        op = Op(self.fresh(), "region", 5)
        inner = list(usable)
        if carried:
            argument = Value(f"%{op.name}_it", TENSOR, carried.storage,
                             carried.memory)
            inner.append(argument)
            op.reads = [carried]
        body = []
        op.body = self.block(body, inner, self.rng.randint(1, 6), depth + 1)
        passed = self.rng.choice([v for v in inner if v.type == TENSOR])
        result = Value(f"%{op.name}", TENSOR, passed.storage, passed.memory)
        op.views.append(result)
        body.append(f"scf.yield {passed.text} : {TENSOR}")
        if carried:
            head = (f"{result.text} = scf.for %{op.name}_i = %i0 to %i1 step "
                    f"%i1 iter_args({argument.text} = {carried.text}) -> "
                    f"({TENSOR}) {{")
            end = "} " + self.attrs(op)
        else:
            head = f"{result.text} = scf.if %c -> ({TENSOR}) {{"
            end = ("} else {\n    scf.yield "
                   f"{tensors[0].text} : {TENSOR}\n  }} " + self.attrs(op))
        self.emit(ops, lines, op, "\n    ".join([head] + body) + "\n  " + end)
        values.append(result)


def generate(count, seed):
    """`count` functions, the same for the same seed."""
    return [Generator(f"f{i}", seed * 100003 + i).function()
            for i in range(count)]

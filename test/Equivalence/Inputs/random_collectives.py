# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random collectives of every kind, on groups of four ranks.

Operands are made to fit what is asked for. A buffer that is written in place
is made for that, and nothing else uses it.
"""

from dataclasses import dataclass

from exact_values import BITS, SMALL, exact, shrink
from mlir_values import Type, is_float

# Group -> size and what else declares it.
GROUPS = {"world": (4, "ranks_per_node(2)"), "rows": (2, ""),
          "columns": (2, 'stride(2) {commsched.backend = "gloo"}'),
          "odd": (2, "ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)"),
          "one": (1, "")}
RANKS = 4
FLOAT_REDUCTIONS = ["sum", "sum", "avg", "avg", "max", "min", "prod"]
INTEGER_REDUCTIONS = ["sum", "sum", "prod", "max", "min", "band", "bor", "bxor"]
PATTERNS = {1: [[[0, 0]]], 2: [[[0, 1], [1, 0]], [[1, 0]], [[0, 0], [1, 1]]],
            4: [[[0, 1], [1, 2], [2, 3], [3, 0]], [[0, 3], [2, 1]],
                [[1, 0], [0, 1], [3, 3]], [[2, 0]]]}


def prologue():
    return "".join(f"commsched.group @{group} size({size}) {rest}\n"
                   for group, (size, rest) in GROUPS.items())


@dataclass(eq=False)
class Flight:
    future: tuple
    most: list  # Of each delivered value.
    grain: list


class Collectives:
    """What of a random program communicates."""

    def __init__(self, rng, program):
        self.rng = rng
        self.program = program
        self.f = program.f
        self.reduction = None  # Chosen one by one.
        self.groups = rng.choices(list(GROUPS), [4, 3, 3, 2, 0.5], k=2)

    def group(self):
        """Its name and size; two are more likely than the others."""
        name = self.rng.choice(self.groups if self.rng.random() < 0.85
                               else list(GROUPS))
        return name, GROUPS[name][0]

    def launch(self, pending, kind, inputs, group, clause, types, most=None,
               grain=None):
        """A start, sometimes into buffers; `most` and `grain` of what it
        delivers are the operands' by default."""
        into = []
        if kind in ("all_reduce", "broadcast", "permute", "all_gather",
                    "reduce_scatter", "all_to_all") and (self.rng.random() < 0.15):
            into = [self.buffer(type) for type in types]
        future = self.f.start(kind, inputs, group, clause, types, into)
        pending.append(Flight(future, most or [v.most for v in inputs],
                              grain or [v.grain for v in inputs]))

    def buffer(self, type):
        """For a collective to write into."""
        choice = self.rng.randrange(3)
        if choice == 0:
            return self.f.empty(type)
        if choice == 1:
            return self.f.full(1, type)
        return self.program.resample(self.program.pick(), type)

    def wait(self, pending, last=False):
        flight = pending.pop(-1 if last else self.rng.randrange(len(pending)))
        return [exact(value, most, grain) for value, most, grain in zip(
            self.f.wait(flight.future), flight.most, flight.grain)]

    def operands(self):
        """Of one element type: a coalesced launch if they are several."""
        count = self.rng.randint(2, 3) if self.rng.random() < 0.2 else 1
        element = self.program.element()
        return [self.program.obtain(Type(self.program.shape(), element))
                for _ in range(count)]

    # One kind each. Shapes are made to divide.

    def choose_dim(self, values):
        """One that all have; None if there is none."""
        ranks = min(len(v.type.shape) for v in values)
        return self.rng.randrange(ranks) if ranks else None

    def all_gather(self, pending, values=None, group=None, dim=None):
        name, size = group or self.group()
        values = values or self.operands()
        if dim is None:
            dim = self.choose_dim(values)
        if dim is None:
            return
        self.launch(pending, "all_gather", values, name, f"dim({dim})", [
            v.type.resized(dim, v.type.shape[dim] * size) for v in values])

    def reduced(self, values, size, reduction):
        """Most and grain of what a reduction over `size` ranks makes."""
        results = []
        for v in values:
            most, grain = v.most, v.grain
            if reduction == "sum":
                most *= size
            elif reduction == "avg":  # By 1, 2 or 4.
                most *= size
                grain += size.bit_length() - 1
            elif reduction == "prod":
                most, grain = most**size, grain * size
            results.append((most, grain))
        return map(list, zip(*results))

    def choose_reduction(self, element):
        return self.rng.choice(FLOAT_REDUCTIONS if is_float(element)
                               else INTEGER_REDUCTIONS)

    def reducible(self, values, size):
        """Operands and a reduction that is exact on them."""
        element = values[0].element
        reduction = self.reduction or self.choose_reduction(element)
        if reduction == "prod" and (SMALL.get(element, 0) ** size
                                    >= 1 << BITS.get(element, 64)):
            reduction = "max"
        return [shrink(self.f, v) for v in values], reduction

    def all_reduce(self, pending, values=None, group=None, _=None):
        name, size = group or self.group()
        values, reduction = self.reducible(values or self.operands(), size)
        self.launch(pending, "all_reduce", values, name,
                    f"reduction({reduction})", [v.type for v in values],
                    *self.reduced(values, size, reduction))

    def reduce_scatter(self, pending, values=None, group=None, dim=None):
        name, size = group or self.group()
        values, reduction = self.reducible(values or self.operands(), size)
        if dim is None:
            dim = self.choose_dim(values)
        if dim is None:
            return
        values = [v if v.type.shape[dim] % size == 0 else
                  self.program.obtain(v.type.resized(dim, size))
                  for v in values]
        self.launch(pending, "reduce_scatter", values, name,
                    f"reduction({reduction}) dim({dim})",
                    [v.type.resized(dim, v.type.shape[dim] // size) for v in values],
                    *self.reduced(values, size, reduction))

    def all_to_all(self, pending):
        (name, size), values = self.group(), self.operands()
        split, join = (self.choose_dim(values) for _ in range(2))
        if split is None:
            return
        if self.rng.random() < 0.4:
            self.uneven(pending, name, size, values[:1], split)
            return
        values = [self.program.obtain(v.type.resized(
            split, size * self.rng.randint(1, 2))) for v in values]
        types = []
        for v in values:
            type = v.type.resized(split, v.type.shape[split] // size)
            types.append(type.resized(join, type.shape[join] * size))
        self.launch(pending, "all_to_all", values, name,
                    f"split_dim({split}) concat_dim({join})", types)

    def uneven(self, pending, name, size, values, dim):
        """Every rank receives what all ranks send to it: with one program for
        all of them, as many rows from each; or, along the first dimension,
        other numbers, which depend on the rank and are values."""
        rows = self.rng.randint(0, 3)
        splits = [rows] * size
        values = [self.program.obtain(v.type.resized(dim, rows * size)) for v in values]
        lists = [f"{side}_splits({splits})" for side in ("input", "output")
                 if self.rng.random() < 0.7]
        if dim == 0 and len(lists) == 2:
            lists = self.split_values(name, size, rows)
        self.launch(pending, "all_to_all", values, name, " ".join(
            [f"split_dim({dim}) concat_dim({dim})", *lists]),
            [v.type for v in values])

    def split_values(self, name, size, rows):
        """Rank r sends `counts[s - r]` rows to rank s: all ranks send and
        receive as many as the others."""
        counts = [rows] * size
        counts[0], counts[-1] = 0, counts[-1] + counts[0]
        if size == 1:
            counts = [rows]
        table = [[counts[(to - rank) % size] for to in range(size)]
                 for rank in range(size)]
        f, rank = self.f, self.f.fresh()
        whole, row = Type((size, size), "i64"), Type((size,), "i64")
        f.lines.append(f"{rank} = commsched.rank on @{name} : index")
        lists = []
        for side, numbers in (("input", table),
                              ("output", [list(c) for c in zip(*table)])):
            text = str(numbers) if rows else "0"
            constant = f.add(f"arith.constant dense<{text}> : {whole}", whole)
            part = f.add(f"tensor.extract_slice {constant.text}[{rank}, 0] "
                         f"[1, {size}] [1, 1] : {whole} to {row}", row)
            lists.append(f"{side}_splits({part.text} : {row})")
        return lists

    def broadcast(self, pending):
        (name, size), values = self.group(), self.operands()
        self.launch(pending, "broadcast", values, name,
                    f"root({self.rng.randrange(size)})",
                    [v.type for v in values])

    def permute(self, pending):
        (name, size), values = self.group(), self.operands()
        pairs = self.rng.choice(PATTERNS[size])
        self.launch(pending, "permute", values, name,
                    f"pairs(dense<{pairs}> : tensor<{len(pairs)}x2xi64>)",
                    [v.type for v in values])

    def barrier(self, _):
        name, _ = self.group()
        self.f.lines.append(f"commsched.barrier on @{name}")

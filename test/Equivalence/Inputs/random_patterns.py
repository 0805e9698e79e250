# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random communication of several operations, which passes look for."""

from exact_values import Exact, exact
from mlir_values import Type, is_float
from random_collectives import PATTERNS, RANKS, Collectives


class Patterns(Collectives):
    def burst(self, pending):
        """Collectives that may travel together."""
        kind = self.rng.choice([self.all_gather, self.reduce_scatter, self.all_reduce])
        group, element = self.group(), self.program.element()
        shape = self.program.shape() or (4,)
        dim = self.rng.randrange(len(shape))
        if self.rng.random() < 0.2:  # As good as the first one.
            shape, dim = (1, shape[dim]), 1
        if kind == self.reduce_scatter:
            shape = Type(shape, element).resized(dim, group[1]).shape
        self.reduction = self.choose_reduction(element)
        for _ in range(self.rng.randint(2, 4)):
            value = self.program.obtain(Type(shape, element))
            if self.rng.random() < 0.2:
                value = self.program.change_width(value)
            is_like = self.rng.random() < 0.8
            kind(pending, [value], group, dim if is_like else None)
            if pending and self.rng.random() < 0.2:
                self.program.values += self.wait(pending)
        self.reduction = None

    def neighbours(self, pending):
        """Small messages with one of two sets of pairs, or from one root, or
        of experts, and at times a message from rank to rank between them."""
        name, size = self.group()
        kind = self.rng.choice(["permute", "permute", "broadcast", "all_to_all"])
        clauses = {
            "permute": [f"pairs(dense<{pairs}> : tensor<{len(pairs)}x2xi64>)"
                        for pairs in PATTERNS[size][:2]],
            "broadcast": [f"root({size - 1})", "root(0)"],
            "all_to_all": ["split_dim(0) concat_dim(0)"]}[kind]
        element = self.program.element()
        for _ in range(self.rng.randint(2, 5)):
            shape = self.program.shape() or (1,)
            value = self.program.obtain(
                Type((size * self.rng.randint(1, 2), *shape[1:]), element))
            self.launch(pending, kind, [value], name,
                        self.rng.choice(clauses), [value.type])
            if self.rng.random() < 0.1:
                self.message(pending)

    def packed_gather(self, pending):
        """Shards in one buffer, gathered in place or not."""
        name, size = self.group()
        element = self.rng.choice(["f32", "bf16", "i32"])
        shapes = [(self.rng.randint(1, 3), *self.program.shape()[:1])
                  for _ in range(self.rng.randint(1, 3))]
        shards = [self.program.obtain(Type(shape, element)) for shape in shapes]
        part, buffer = self.f.copy_in(shards, name, size, element)
        into = [buffer] if self.rng.random() < 0.5 else []
        future = self.f.start("all_gather", [part], name, "dim(0)", [buffer.type], into)
        whole, = self.f.wait(future)
        self.program.values += [
            exact(value, shard.most) for value, shard in zip(
                self.f.copy_out(whole, name, [
                    shard.type.resized(0, shard.type.shape[0] * size)
                    for shard in shards]), shards)]

    def packed_scatter(self, pending):
        """Gradients in one buffer, of another type than they are summed in,
        and padded."""
        name, size = self.group()
        element, wide = self.rng.choice([("f32", "f32"), ("bf16", "f32"),
                                         ("f16", "f32"), ("i8", "i32")])
        values = [self.program.obtain(
            Type((self.rng.randint(1, 6), *self.program.shape()[:1]),
                 element)) for _ in range(self.rng.randint(1, 3))]
        packed = self.f.chunk_cat(values, name, size, wide)
        packed = exact(packed, max(v.most for v in values))
        self.launch(
            pending, "reduce_scatter", [packed], name,
            "reduction(sum) dim(0)",
            [packed.type.resized(0, packed.type.count // size)],
            [packed.most * size], [0])

    def added_scatters(self, pending):
        """What may be added before it is scattered."""
        name, size = self.group()
        type = Type((size * self.rng.randint(1, 2), 2),
                    self.rng.choice(["f32", "i32", "bf16"]))
        parts = []
        for _ in range(2):
            value = self.program.obtain(type)
            self.launch(pending, "reduce_scatter", [value], name,
                        "reduction(sum) dim(0)",
                        [type.resized(0, type.shape[0] // size)],
                        [value.most * size], [0])
            parts += self.wait(pending, last=True)
        add = "addf" if is_float(type.element) else "addi"
        result = self.f.add(
            f"arith.{add} {parts[0].text}, {parts[1].text} : "
            f"{parts[0].type}", parts[0].type)
        self.program.values.append(exact(result, sum(part.most for part in parts)))

    def message(self, _):
        """From one rank to another; the others go on."""
        f = self.f
        source, target = self.rng.sample(range(RANKS), 2)
        value = self.program.obtain(Type(self.program.shape(), self.program.element()))
        f.lines += [f"scf.if {self.is_rank(source, target)} {{"]
        f.wait(f.start("send", [value], "world", f"to({target})", []))
        f.lines += ["}"]
        result = f.fresh()
        f.lines += [f"{result} = scf.if {self.is_rank(target, source)} -> "
                    f"({value.type}) {{"]
        future = f.fresh()
        f.lines += [f"{future} = commsched.recv on @world from({source}) "
                    f"{{{f.marks('recv')}}} : "
                    f"!commsched.future<{value.type}>"]
        received, = f.wait((future, (value.type,)))
        f.lines += [f"scf.yield {received.text} : {value.type}", "} else {",
                    f"scf.yield {value.text} : {value.type}", "}"]
        self.program.values.append(Exact(result, value.type, value.most, value.grain))

    def is_rank(self, rank, other):
        """Distinguishes `rank` by a value that it alone receives from
        `other`."""
        f = self.f
        one = f.constant(1, Type((), "i32"))
        sent, = f.wait(f.start(
            "permute", [one], "world",
            f"pairs(dense<[[{other}, {rank}]]> : tensor<1x2xi64>)",
            [one.type]))
        return self.program.is_positive(sent)

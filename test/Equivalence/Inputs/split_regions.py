# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random regions that can be divided into chunks, for four ranks.

Each is a collective with the computation around it, as in tensor parallelism or
a mixture of experts, with random sizes and users. Sizes along the dimensions to
divide are multiples of 12, so that 2, 3, 4 and 6 divide them. Elements are
integers, small whole numbers, of which sums are exact, or any floats.
"""

import argparse
import random
import sys

from exact_values import Exact, shrink
from linalg_text import Function
from mlir_values import Type

RANKS = 4
GROUPS = (f"commsched.group @tp size({RANKS}) ranks_per_node({RANKS})\n"
          f"commsched.group @pair size(2) stride(2)\n")


def sigmoid(x):
    return x.body.constant(1, x.element) / (
        (x.body.constant(0, x.element) - x).math("exp") + 1)


class Region:
    """One function. `numbers` is `exact` for sums that come out the same in
    any order, `any` for floats as they come; None chooses."""

    def __init__(self, kind, seed, numbers=None, name="main"):
        self.rng = random.Random(f"{kind}.{seed}")
        self.f = Function(name)
        numbers = numbers or self.rng.choice(["exact", "any"])
        self.is_exact = numbers == "exact"
        self.element = self.rng.choice(["i32", "f32"] if self.is_exact else ["f32"])
        self.kind = kind
        self.group, self.size = self.rng.choice(
            [("tp", RANKS), ("tp", RANKS), ("pair", 2)])
        self.count = 0

    # What regions are made of.

    def small(self, most=6):
        return self.rng.randint(2, most)

    def rows(self):
        return 12 * self.rng.randint(1, 2)

    def input(self, *shape):
        self.count += 1
        value = self.f.argument(f"a{self.count}", Type(shape, self.element), "input")
        if self.is_exact and self.element == "f32":
            return shrink(self.f, Exact(value.text, value.type, grain=6))
        return value

    def collective(self, kind, value, clause, shape):
        result, = self.f.wait(self.f.start(
            kind, [value], self.group, clause,
            [Type(tuple(shape), value.type.element)]))
        return result

    def gather(self, value, dim=0):
        shape = list(value.type.shape)
        shape[dim] *= self.size
        return self.collective("all_gather", value, f"dim({dim})", shape)

    def scatter(self, value, dim=0):
        shape = list(value.type.shape)
        shape[dim] //= self.size
        return self.collective("reduce_scatter", value,
                               f"reduction(sum) dim({dim})", shape)

    def exchange(self, value):
        return self.collective("all_to_all", value,
                               "split_dim(0) concat_dim(0)",
                               value.type.shape)

    def activate(self, value):
        letters = "abcde"[:len(value.type.shape)]
        if self.is_exact:
            make = lambda _, x: x.max(0)  # noqa: E731
        else:
            make = lambda _, x: x * sigmoid(x)  # noqa: E731
        return self.f.map("activation", f"{letters}->{letters}", [value], make)

    def norm(self, value):
        """Each row against its sum, of [s, d]."""
        f, size = self.f, value.type.shape[1]
        if self.is_exact:
            total = f.reduce("sum", "sd->s", [value], lambda _, e, t: t + e)
            return f.map("center", "sd,s->sd", [value, total],
                         lambda _, e, t: e * size - t)
        mean = f.reduce("mean", "sd->s", [value], lambda _, e, t: t + e * e / size)
        return f.map("norm", "sd,s->sd", [value, mean],
                     lambda _, e, t: e * (t + 1e-5).math("rsqrt"))

    def maybe(self, *values):
        """Some of `values`, which are then used outside of the region."""
        return [value for value in values if self.rng.random() < 0.25]

    # The regions; each returns results.

    def gather_products_scatter(self):
        f, (d, h) = self.f, (self.small(), self.small())
        whole = self.gather(self.input(self.rows(), d))
        gate = f.matmul("mm", whole, self.input(d, h))
        up = f.matmul("mm", whole, self.input(d, h))
        hidden = f.map("mul", "sh,sh->sh", [self.activate(gate), up],
                       lambda _, a, b: a * b)
        down = f.matmul("mm", hidden, self.input(h, d))
        return [self.scatter(down), *self.maybe(whole, up, down)]

    def scatter_norm_gather(self):
        f, (d, h) = self.f, (self.small(), self.small())
        rows = self.rows() * self.size
        product = f.matmul("mm", self.input(rows, h), self.input(h, d))
        part = self.scatter(product)
        residual = f.sum(part, self.input(*part.type.shape))
        whole = self.gather(self.norm(residual))
        return [f.matmul("mm", whole, self.input(d, h)), residual,
                *self.maybe(whole, product)]

    def experts(self):
        """[ranks * experts * places, d], to the experts of this rank and
        back."""
        f, (d, h) = self.f, (self.small(), self.small())
        local, places = self.rng.randint(1, 2), self.rows()
        rows = self.size * local * places
        sent = self.exchange(self.input(rows, d))
        parts = f.reshape(sent, [[0, 1, 2], [3]], (self.size, local, places, d))
        turned = f.transpose("permute", parts, [1, 0, 2, 3])
        tokens = f.reshape(turned, [[0], [1, 2], [3]], (local, self.size * places, d))
        hidden = self.activate(f.matmul("bmm", tokens, self.input(local, d, h)))
        made = f.matmul("bmm", hidden, self.input(local, h, d))
        parts = f.reshape(made, [[0], [1, 2], [3]], (local, self.size, places, d))
        turned = f.transpose("permute", parts, [1, 0, 2, 3])
        back = self.exchange(f.reshape(turned, [[0, 1, 2], [3]], (rows, d)))
        return [back, *self.maybe(sent)]

    def batch_block(self):
        """Batches of sequences through attention, gathered and scattered
        along the sequence."""
        f, d, batch = self.f, self.small(4), self.rng.choice([2, 4, 6])
        length = self.rng.randint(1, 3)
        shard = self.input(batch, length, d)
        whole = self.gather(shard, 1)
        query = self.project(whole, d)
        key = self.project(whole, d)
        scores = f.matmul("bmm", query, f.transpose("t", key, [0, 2, 1]))
        mixed = f.matmul("bmm", self.activate(scores), whole)
        part = self.scatter(mixed, 1)
        return [f.sum(part, shard), *self.maybe(whole, mixed)]

    def dual_batch(self):
        """Batches of sequences through attention and through experts that get
        as many tokens of each sequence, in a dimension of its own."""
        f, d, batch = self.f, self.small(4), self.rng.choice([2, 4])
        local, places = self.rng.randint(1, 2), self.rng.randint(1, 2)
        experts = self.size * local
        shard = self.input(batch, experts * places, d)
        query = self.project(shard, d)
        key = self.project(shard, d)
        scores = f.matmul("bmm", query, f.transpose("t", key, [0, 2, 1]))
        mixed = self.narrow(f.matmul("bmm", self.activate(scores), shard))
        parts = f.reshape(mixed, [[0], [1, 2], [3]], (batch, experts, places, d))
        sent = self.exchange(f.transpose("permute", parts, [1, 0, 2, 3]))
        parts = f.reshape(sent, [[0, 1], [2], [3], [4]],
                          (self.size, local, batch, places, d))
        turned = f.transpose("permute", parts, [1, 2, 0, 3, 4])
        rows = batch * self.size * places
        tokens = f.reshape(turned, [[0], [1, 2, 3], [4]], (local, rows, d))
        made = f.matmul("bmm", tokens, self.input(local, d, d))
        parts = f.reshape(made, [[0], [1, 2, 3], [4]],
                          (local, batch, self.size, places, d))
        turned = f.transpose("permute", parts, [2, 0, 1, 3, 4])
        back = self.exchange(f.reshape(turned, [[0, 1], [2], [3], [4]],
                                       (experts, batch, places, d)))
        turned = f.transpose("permute", back, [1, 0, 2, 3])
        whole = f.reshape(turned, [[0], [1, 2], [3]], (batch, experts * places, d))
        return [f.sum(whole, shard), *self.maybe(mixed, sent)]

    def narrow(self, value):
        """Small numbers, if what is computed has to be exact."""
        if self.is_exact and self.element == "f32":
            return shrink(self.f, Exact(value.text, value.type))
        return value

    def project(self, value, columns):
        batch, length, d = value.type.shape
        flat = self.f.reshape(value, [[0, 1], [2]], (batch * length, d))
        made = self.f.matmul("mm", flat, self.input(d, columns))
        return self.f.reshape(made, [[0, 1], [2]], (batch, length, columns))

    def outer_layout(self):
        """The gathered dimension is not the first one."""
        f, d, batch = self.f, self.small(), self.rng.randint(2, 3)
        rows = self.rows()
        whole = self.gather(self.input(batch, rows, d), 1)
        made = self.activate(self.project(whole, self.small()))
        part = self.scatter(made, 1)
        flat = f.reshape(part, [[0, 1], [2]], (batch * rows, made.type.shape[2]))
        return [flat, *self.maybe(whole)]

    def columns(self):
        """The columns of a product are divided."""
        f, d, width = self.f, self.small(), self.rows()
        weight = self.gather(self.input(d, width), 1)
        product = f.matmul("mm", self.input(self.small(), d), weight)
        part = self.scatter(self.activate(product), 1)
        return [part, *self.maybe(product)]

    def partial_sums(self):
        """Sums over the gathered dimension, of more than is computed beside the gather."""
        f, columns = self.f, self.small()
        whole = self.gather(self.input(8 * columns, self.rows()), 1)
        product = f.matmul("mm", whole, self.input(whole.type.shape[1], columns))
        return [self.activate(product), *self.maybe(product)]

    def uneven_columns(self):
        """Rows that are exchanged by numbers of each rank, with columns that
        stay, and sent back."""
        f, columns = self.f, self.rows()
        sizes = [self.rng.randint(0, 3) for _ in range(self.size - 1)] + [2]
        # Each rank sends and receives as many rows as the others.
        table = [[sizes[(to - rank) % self.size] for to in range(self.size)]
                 for rank in range(self.size)]
        sent = self.row_of(table)
        received = self.row_of([list(column) for column in zip(*table)])
        inner = self.small()
        product = f.matmul("mm", self.input(sum(sizes), inner),
                           self.input(inner, columns))
        there = self.exchange_rows(product, sent, received)
        back = self.exchange_rows(self.activate(there), received, sent)
        return [back, *self.maybe(there)]

    def row_of(self, table):
        """This rank's row, as a tensor."""
        f, size = self.f, self.size
        rank, rows = f.fresh(), Type((size, size), "i64")
        f.lines.append(f"{rank} = commsched.rank on @{self.group} : index")
        whole = f.add(f"arith.constant dense<{table}> : {rows}", rows)
        row = Type((size,), "i64")
        return f.add(f"tensor.extract_slice {whole.text}[{rank}, 0] "
                     f"[1, {size}] [1, 1] : {rows} to {row}", row)

    def exchange_rows(self, value, sent, received):
        return self.collective(
            "all_to_all", value, f"split_dim(0) concat_dim(0) "
            f"input_splits({sent.text} : {sent.type}) "
            f"output_splits({received.text} : {received.type})",
            value.type.shape)


KINDS = ("gather_products_scatter", "scatter_norm_gather", "experts",
         "batch_block", "dual_batch", "outer_layout", "columns",
         "partial_sums", "uneven_columns")

# A machine on which even regions of this size pay.
MACHINE = """module attributes {
  dlti.target_system_spec = #dlti.target_system_spec<
    "GPU" = #dlti.target_device_spec<
      "commsched.preset" = "a100",
      "commsched.multiprocessors" = 0 : i64,
      "commsched.peak_tflops_f32" = 1.0e-6 : f64,
      "commsched.compute_efficiency" = 0.01 : f64,
      "commsched.memory_gb_s" = 1.0e-3 : f64,
      "commsched.kernel_launch_ns" = 0.0 : f64,
      "commsched.collective_launch_us" = 0.0 : f64,
      "commsched.nvlink" = 0 : i64,
      "commsched.intra_channels" = 1 : i64,
      "commsched.intra_channel_gb_s" = 1.0e-5 : f64>>} {
"""


def write_function(kind, seed, numbers=None, name="main"):
    region = Region(kind, seed, numbers, name)
    results = getattr(region, kind)()
    return region.f.finish(results)


def write_module(functions):
    return MACHINE + GROUPS + "".join(functions) + "}\n"


def write_region(kind, seed, numbers=None):
    return write_module([write_function(kind, seed, numbers)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    sys.stdout.write(write_region(options.kind, options.seed))


if __name__ == "__main__":
    main()

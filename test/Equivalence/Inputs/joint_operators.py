# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with a forward and a backward, for random joint functions.

A method computes one more value from `self.pick()` and records what its
gradient asks for: operands, the result, something in between, a size, a state.
Gradients need not be derivatives; they have to use what derivatives use.
"""

from layers import sigmoid
from linalg_text import Type
from mlir_values import Value, list_texts, list_types

LIMIT = 4.0


def clamp(scalar):
    return scalar.max(-LIMIT).min(LIMIT)


class JointOperators:
    """Tensors are [s, d] in f32; `self.f` writes, `self.record(result,
    operands, pull)` remembers."""

    def map(self, name, inputs, make, element=None):
        return self.f.map(name, ",".join(["sd"] * len(inputs)) + "->sd",
                          inputs, make, element)

    # Element by element.

    def silu(self):
        x = self.pick()
        y = self.map("silu", [x], lambda _, e: e * sigmoid(e))
        self.record(y, [x], lambda g: [self.map(
            "silu_backward", [g, x],
            lambda _, p, e: p * sigmoid(e) + e * 0.125)])

    def sigmoid(self):
        """Its gradient asks for the result."""
        x = self.pick()
        y = self.map("sigmoid", [x], lambda _, e: sigmoid(e))
        self.record(y, [x], lambda g: [self.map(
            "sigmoid_backward", [g, y], lambda _, p, e: p * (e - e * e))])

    def relu(self):
        """Its gradient asks for truth values."""
        x = self.pick()
        mask = self.map("gt", [x], lambda _, e: e.compare("sgt", 0.0), "i1")
        y = self.f.map("where", "sd,sd->sd", [mask, x],
                       lambda _, m, e: m.select(e, 0.25), "f32")
        self.record(y, [x], lambda g: [self.f.map(
            "where", "sd,sd->sd", [mask, g], lambda _, m, e:
            m.select(e, 0.0), "f32")])

    def multiply(self):
        x = self.pick()
        z = self.like(x)
        y = self.map("mul", [x, z], lambda _, a, b: clamp(a * b))
        self.record(y, [x, z], lambda g: [
            self.map("mul", [g, z], lambda _, p, e: clamp(p * e)),
            self.map("mul", [g, x], lambda _, p, e: clamp(p * e))])

    def add(self):
        x = self.pick()
        z = self.like(x)
        y = self.map("add", [x, z], lambda _, a, b: a * 0.5 + b * 0.75)
        self.record(y, [x, z], lambda g: [
            self.map("mul", [g], lambda _, p: p * 0.5),
            self.map("mul", [g], lambda _, p: p * 0.75)])

    def measured(self):
        """Of the operand its gradient asks for the size alone."""
        x, f = self.pick(), self.f
        y = self.map("neg", [x], lambda _, e: e * -1)

        def pull(g):
            zero, size, number, scalar = (f.fresh() for _ in range(4))
            f.lines += [f"{zero} = arith.constant 0 : index",
                        f"{size} = tensor.dim {x.text}, {zero} : {x.type}",
                        f"{number} = arith.index_cast {size} : index to i32",
                        f"{scalar} = arith.sitofp {number} : i32 to f32"]
            return [self.scale(g, scalar)]

        self.record(y, [x], pull)

    def scale(self, value, scalar):
        """`value`, eighths of `scalar` times as large."""
        f = self.f
        factor = f.add(f"linalg.fill ins({scalar} : f32) outs("
                       f"{f.empty(value.type).text} : {value.type}) -> "
                       f"{value.type}", value.type)
        return self.map("mul", [value, factor],
                        lambda _, a, b: clamp(a * b * 0.125))

    # Products, sums, views.

    def linear(self):
        x, f = self.pick(), self.f
        sizes = (self.rng.choice([4, 8]), x.type.shape[1])
        name, weight = self.parameter(sizes)
        transposed = f.transpose("t", weight, [1, 0])
        y = self.map("mul", [f.matmul("mm", x, transposed)],
                     lambda _, e: clamp(e / sizes[1]))

        def pull(g):
            rows = f.transpose("t", g, [1, 0])
            self.accumulate(name, f.matmul("mm", rows, x))
            return [f.matmul("mm", g, weight)]

        self.record(y, [x], pull)

    def norm(self):
        x, f = self.pick(), self.f
        mean = f.reduce("mean", "sd->s", [x],
                        lambda _, e, total: total + e * e * 0.25)
        factor = f.map("rsqrt", "s->s", [mean],
                       lambda _, e: (e + 0.5).math("rsqrt"))
        y = f.map("mul", "sd,s->sd", [x, factor], lambda _, e, r: e * r)
        self.record(y, [x], lambda g: [f.map(
            "norm_backward", "sd,sd,s->sd", [g, x, factor],
            lambda _, p, e, r: p * r - e * r * r * 0.25)])

    def swap(self):
        """Both halves of the columns, by slices of it."""
        def run(value):
            f, (rows, columns) = self.f, value.type.shape
            half = columns // 2
            left, right = (f.slice(value, [0, begin], [rows, half])
                           for begin in (0, half))
            return f.concat([right, left], 1)

        x = self.pick()
        self.record(run(x), [x], lambda g: [run(g)])

    def flat(self):
        """Its gradient asks for the operand in another shape."""
        x, f = self.pick(), self.f
        groups, count = [[0, 1]], x.type.count
        view = f.reshape(x, groups, (count,))
        powers = f.map("exp", "a->a", [view],
                       lambda _, e: e.min(1.0).math("exp"))
        y = f.reshape(powers, groups, x.type.shape)
        self.record(y, [x], lambda g: [f.reshape(f.map(
            "exp_backward", "a,a->a", [f.reshape(g, groups, (count,)), view],
            lambda _, p, e: clamp(p * e)), groups, x.type.shape)])

    # Nobody knows what these compute.

    def opaque(self, operator, inputs, types, extra=""):
        f, name = self.f, self.f.fresh()
        count = f":{len(types)}" if len(types) > 1 else ""
        f.lines.append(
            f'{name}{count} = commsched.compute "aten.{operator}"('
            f"{list_texts(inputs)}) {{{f.marks(operator)}{extra}}} : "
            f"({list_types(inputs)}) -> ({', '.join(map(str, types))})")
        return [Value(f"{name}#{place}" if count else name, type)
                for place, type in enumerate(types)]

    def known(self):
        """Some operator that makes one result of one operand."""
        x = self.pick()
        name, extra = self.rng.choice(
            [("gelu", ""), ("relu", ""), ("clone", ""), ("cumsum", ""),
             ("vendor_gemm", ", flops = 1.0e6 : f64")])
        y, = self.opaque(name, [x], [x.type], extra)
        self.record(y, [x], lambda g: self.opaque(
            f"{name}_backward", [g, x], [x.type]))

    def several(self):
        """Its gradient asks for results that the forward has no use for."""
        x = self.pick()
        row = Type(x.type.shape[:1], "f32")
        y, mean, scale = self.opaque("native_layer_norm", [x],
                                     [x.type, row, row])
        self.record(y, [x], lambda g: self.opaque(
            "native_layer_norm_backward", [g, x, mean, scale], [x.type]))

    def dropout(self):
        x = self.pick()
        is_repeated = self.f.attributes.get("recompute") == "must_recompute"
        # Of a state to draw from, the runner makes up other numbers.
        saved = {"recompute": "must_save"} if is_repeated else {}
        with self.f.within(**saved):
            y, mask = self.opaque("native_dropout", [x],
                                  [x.type, x.type.cast("i1")], ", random")
        self.record(y, [x], lambda g: self.opaque(
            "native_dropout_backward", [g, mask], [x.type]))

    def reshaped(self):
        """An operator that says that its result is a view."""
        x = self.pick()
        view, = self.opaque("view", [x], [Type((x.type.count,), "f32")],
                            ", alias = 0 : i64")
        y, = self.opaque("sin", [view], [x.type])
        self.record(y, [x], lambda g: self.opaque(
            "sin_backward", [g, view], [x.type]))

    # Communication.

    def reduce_all(self):
        def run(value):
            group = self.rng.choice(["world", "rows"])
            total, = self.f.wait(self.f.start(
                "all_reduce", [value], group, "reduction(avg)",
                [value.type]))
            return total

        x = self.pick()
        self.record(run(x), [x], lambda g: [run(g)])

    def exchange(self):
        """Its gradient asks for what came from other ranks."""
        x, f = self.pick(), self.f
        ring = "pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : " \
               "tensor<4x2xi64>)"
        other, = f.wait(f.start("permute", [x], "world", ring, [x.type]))
        y = self.map("mul", [x, other], lambda _, a, b: clamp(a * b))
        self.record(y, [x], lambda g: [self.map(
            "mul", [g, other], lambda _, p, e: clamp(p * e))])

    def unused(self):
        """A parameter that is gathered for nothing."""
        self.parameter((4, 4))

    # Memory.

    def memory_used(self):
        """Reads a number that is then written: the backward needs the old
        one."""
        x, f = self.pick(), self.f
        memory = self.memory()
        place, number, more, total = (f.fresh() for _ in range(4))
        f.lines += [
            f"{place} = arith.constant {self.rng.randrange(4)} : index",
            f"{number} = memref.load {memory}[{place}] : memref<4xf32>",
            f"{more} = arith.constant 0.125 : f32",
            f"{total} = arith.addf {number}, {more} : f32",
            f"memref.store {total}, {memory}[{place}] : memref<4xf32>"]
        y = self.scale(x, number)

        def pull(g):
            if self.rng.random() < 0.5:  # Also written by the backward.
                zero, first = f.fresh(), f.fresh()
                f.lines += [
                    f"{zero} = arith.constant 0 : index",
                    f"{first} = tensor.extract {g.text}[{zero}, {zero}] : "
                    f"{g.type}",
                    f"memref.store {first}, {memory}[{zero}] : "
                    f"memref<4xf32>"]
            return [self.scale(g, number)]

        self.record(y, [x], pull)

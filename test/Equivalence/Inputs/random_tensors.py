# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of linalg, tensor, arith and collectives for four ranks.

Small tensors of many types whose elements are exact, so that every order of
summation gives the same; views, writes into what others still read or send,
branches and loops. Whatever nobody else uses is returned.
"""

import argparse
import random
import sys

from exact_values import SMALL, Exact, exact, fits, letters_of, shrink
from linalg_text import Function, Type, is_float
from random_collectives import Collectives, prologue

ELEMENTS = ["f32", "f32", "bf16", "f16", "f64", "i32", "i64", "i8"]
SHAPES = [(4,), (8,), (3,), (2, 4), (1, 4), (4, 1), (1, 1, 4), (2, 3, 2),
          (12,), (6, 2), (8, 4), (), (0, 4)]
MODULES = ["head", "layers.0", "layers.0.mlp", "layers.1.attention",
           "layers.1.mlp"]
TIMES = [0, 3000, 30000, 200000]


class Program:
    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.f = Function("main")
        self.elements = rng.sample(ELEMENTS, rng.randint(2, 4))
        self.shapes = rng.sample(SHAPES, rng.randint(4, 7)) + [(4,), (2, 4)]
        # Operands are among the latest so many values: a chain, or a thicket.
        self.reach = rng.choice([3, 6, 100])
        self.wait_chance = rng.choice([0.1, 0.3, 0.6])
        self.pinned = rng.choice([0, 0.3, 1])
        self.values = []
        self.used = set()
        self.collectives = Collectives(rng, self)

    def write(self):
        rng = self.rng
        role = rng.choice(["parameter", None])
        for index in range(rng.randint(2, 5)):
            argument = self.f.argument(
                f"a{index}", Type(self.shape() if index else (4,),
                                  self.element()),
                role if rng.random() < 0.7 else "input")
            # Six bits behind the point of what comes from outside.
            self.values.append(shrink(self.f, Exact(
                argument.text, argument.type, grain=6)))
        self.fill(rng.randint(8, 22), depth=0)
        unused = [v for v in self.values if v not in self.used]
        self.rng.shuffle(unused)
        return prologue() + self.f.finish(unused[:24] or self.values[:1])

    def fill(self, length, depth):
        pending, rng = [], self.rng
        communication = self.collectives
        makers = [(self.combine, 4), (self.product, 2), (self.sum_up, 1.5),
                  (self.turn, 1), (self.cut, 1.5), (self.join, 1),
                  (self.write_part, 1.5), (self.accumulate, 2),
                  (self.convert, 1.5), (self.choose, 1)]
        starts = [(communication.all_gather, 3),
                  (communication.reduce_scatter, 3),
                  (communication.all_reduce, 3),
                  (communication.all_to_all, 2), (communication.broadcast, 1),
                  (communication.permute, 1), (communication.burst, 5),
                  (communication.packed_gather, 1),
                  (communication.packed_scatter, 1),
                  (communication.added_scatters, 1),
                  (communication.message, 0.4), (communication.barrier, 0.4)]
        if depth < 2:
            makers += [(self.branch, 0.7), (self.loop, 0.7)]
        for _ in range(length):
            if pending and rng.random() < self.wait_chance:
                self.values += communication.wait(pending)
            table = starts if rng.random() < 0.45 else makers
            maker, = rng.choices([m for m, _ in table],
                                 [w for _, w in table])
            with self.f.within(**self.attributes()):
                if table is starts:
                    maker(pending)
                elif maker in (self.branch, self.loop):
                    maker(depth)
                else:
                    maker()
        while pending:
            self.values += communication.wait(pending)

    def attributes(self):
        result = {"module": self.rng.choice(MODULES)}
        if self.rng.random() < self.pinned:
            result["runtime_ns"] = self.rng.choice(TIMES)
        return result

    # What operands are.

    def shape(self):
        return self.rng.choice(self.shapes)

    def element(self):
        return self.rng.choice(self.elements)

    def use(self, value):
        self.used.add(value)
        return value

    def pick(self):
        """One of the latest values that has elements."""
        values = [v for v in self.values if v.type.count]
        return self.use(self.rng.choice(values[-self.reach:]))

    def small(self, value):
        """`value`, or what is left of it if that is too large to compute
        with."""
        limit = SMALL.get(value.element)
        if limit is None or (value.most <= limit and value.grain == 0):
            return value
        return shrink(self.f, value)

    def obtain(self, type):
        """A small value of this type: a known one, or made of one."""
        equal = [v for v in self.values[-self.reach:] if v.type == type]
        if equal and self.rng.random() < 0.7:
            return self.small(self.use(self.rng.choice(equal)))
        return self.resample(self.pick(), type)

    def resample(self, value, type):
        """Made of the elements of `value`, by their places and by chance."""
        value, f = self.small(value), self.f
        offset, more = self.rng.randrange(4), self.rng.randrange(100)

        def read(body):
            place = body.constant(offset, "index")
            for dim in range(len(type.shape)):
                place = place * 3 + body.index(dim)
            rest, indices = place, []
            for size in reversed(value.type.shape):
                indices.insert(0, rest.remainder(size))
                rest = rest / size
            number = body.extract(value, *indices).cast("i64")
            number = number * 11 + place.cast("i64") + more
            if is_float(type.element):
                number = number.remainder(SMALL[type.element] + 1)
                return number.cast("f64" if type.element == "f64" else
                                   "f32").cast(type.element)
            return number.cast(type.element)

        letters = "abcd"[:len(type.shape)]
        return exact(f.structured("resample", f"->{letters}", [],
                                  f.empty(type), read),
                     SMALL.get(type.element, 0))

    def keep(self, value, most=0, grain=0):
        self.values.append(exact(value, most, grain))

    # Computation.

    def combine(self):
        """Two tensors of one shape, or one that is broadcast."""
        a = self.small(self.pick())
        letters = part = letters_of(a)
        if letters and self.rng.random() < 0.3:
            dim = self.rng.randrange(len(letters))
            part = letters[:dim] + letters[dim + 1:]
        shape = tuple(n for n, letter in zip(a.type.shape, letters)
                      if letter in part)
        b = self.obtain(Type(shape, a.element))
        name = self.rng.choice(["add", "sub", "mul", "max", "min"])
        bodies = {"add": lambda _, x, y: x + y, "sub": lambda _, x, y: x - y,
                  "mul": lambda _, x, y: x * y,
                  "max": lambda _, x, y: x.max(y),
                  "min": lambda _, x, y: x.min(y)}
        most = a.most * b.most if name == "mul" else a.most + b.most
        self.keep(self.f.map(name, f"{letters},{part}->{letters}", [a, b],
                             bodies[name]), most)

    def product(self):
        """Of matrices, or of batches of them."""
        element, rng = self.element(), self.rng
        batch = (2,) if rng.random() < 0.3 else ()
        rows, inner, columns = (rng.randint(1, 4) for _ in range(3))
        a = self.obtain(Type((*batch, rows, inner), element))
        b = self.obtain(Type((*batch, inner, columns), element))
        most = a.most * b.most * inner
        out = None
        if rng.random() < 0.3:  # Onto something.
            out = self.obtain(Type((*batch, rows, columns), element))
            most += out.most
        self.keep(self.f.matmul("mm", a, b, out), most)

    def sum_up(self):
        a = self.small(self.pick())
        letters = letters_of(a)
        if not letters:
            return
        rest = "".join(letter for letter in letters
                       if self.rng.random() < 0.4 and letter != letters[0])
        count = a.type.count
        if not fits(a.element, a.most * count):
            return
        self.keep(self.f.reduce("sum", f"{letters}->{rest}", [a],
                                lambda _, x, total: total + x),
                  a.most * count)

    def turn(self):
        a = self.pick()
        order = list(range(len(a.type.shape)))
        self.rng.shuffle(order)
        if order:
            self.keep(self.f.transpose("t", a, order), a.most, a.grain)

    def cut(self):
        """A view: a slice, or another shape."""
        a, f = self.pick(), self.f
        if not a.type.shape:
            return
        if self.rng.random() < 0.5:
            offsets, sizes = [], []
            for size in a.type.shape:
                offsets.append(self.rng.randrange(size))
                sizes.append(self.rng.randint(1, size - offsets[-1]))
            self.keep(f.slice(a, offsets, sizes), a.most, a.grain)
        elif len(a.type.shape) > 1:
            self.keep(f.reshape(a, [range(len(a.type.shape))],
                                (a.type.count,)), a.most, a.grain)
        else:
            self.keep(f.reshape(a, [[0, 1]], (1, a.type.count)),
                      a.most, a.grain)

    def join(self):
        a = self.small(self.pick())
        if not a.type.shape:
            return
        dim = self.rng.randrange(len(a.type.shape))
        b = self.obtain(a.type)
        self.keep(self.f.concat([a, b], dim), max(a.most, b.most))

    def write_part(self):
        """Into a tensor that others may still use."""
        target = self.small(self.pick())
        if not target.type.shape:
            return
        sizes = tuple(self.rng.randint(1, n) for n in target.type.shape)
        offsets = [self.rng.randint(0, n - size)
                   for n, size in zip(target.type.shape, sizes)]
        part = self.obtain(Type(sizes, target.element))
        self.keep(self.f.insert(part, target, offsets),
                  max(part.most, target.most))

    def accumulate(self):
        """A destination that others may still use."""
        target = self.small(self.pick())
        value = self.obtain(target.type)
        letters = letters_of(target)
        if self.rng.random() < 0.5:
            self.keep(self.f.structured(
                "accumulate", f"{letters}->{letters}", [value], target,
                lambda _, x, total: total * 2 + x, reads_out=True),
                2 * target.most + value.most)
        else:  # What is there is of no interest.
            self.keep(self.f.structured(
                "double", f"{letters}->{letters}", [value], target,
                lambda _, x: x + x), 2 * value.most)

    def change_width(self, value):
        """A cast between floats, as before and after collectives."""
        if not value.is_float:
            return value
        value = self.small(value)
        widths = [e for e in ("f64", "f32", "bf16", "f16")
                  if (e == "f64", e == "f32") != (
                      value.element == "f64", value.element == "f32")]
        element = self.rng.choice(widths)
        if not fits(element, value.most):
            return value
        return exact(self.f.cast("_to_copy", value, element), value.most)

    def convert(self):
        value = self.pick()
        if value.is_float:
            self.values.append(self.change_width(value))
        else:
            self.values.append(self.resample(
                value, Type(value.type.shape, self.element())))

    def choose(self):
        """By elements of a tensor of truth values."""
        a = self.small(self.pick())
        letters = letters_of(a)
        same = f"{letters}->{letters}"
        if self.rng.random() < 0.5:
            b = self.obtain(a.type)
            self.keep(self.f.map(
                "where", f"{letters},{same}", [a, b], lambda _, x, y:
                x.compare("slt", y).select(x, y + y)), 2 * b.most + a.most)
            return
        truth = self.f.map("gt", same, [a], lambda _, x: x.compare("sgt", 1),
                           element="i1")
        group, size = self.collectives.group()
        if not truth.type.shape:
            return
        whole, = self.f.wait(self.f.start(
            "all_gather", [truth], group, "dim(0)",
            [truth.type.resized(0, truth.type.shape[0] * size)]))
        self.keep(self.f.map("_to_copy", same, [whole], lambda body, x:
                             x.select(body.constant(1, "i32"), 0),
                             element="i32"))

    # Regions.

    def is_positive(self, scalar):
        f = self.f
        number, zero, result = f.fresh(), f.fresh(), f.fresh()
        f.lines += [
            f"{number} = tensor.extract {scalar.text}[] : {scalar.type}",
            f"{zero} = arith.constant 0 : i32",
            f"{result} = arith.cmpi sgt, {number}, {zero} : i32"]
        return result

    def condition(self):
        """Depends on the data, and is the same on every rank."""
        value = self.obtain(Type((), "i32"))
        most, = self.f.wait(self.f.start(
            "all_reduce", [value], "world", "reduction(max)", [value.type]))
        return self.is_positive(most)

    def region(self, type, depth, extra=()):
        """Fills a region that yields a small value of this type, made of
        what nobody else in there uses."""
        outer, f = self.values, self.f
        self.values = [*outer, *extra]
        self.fill(self.rng.randint(1, 5), depth + 1)
        made = [v for v in self.values[len(outer):] if v.type.count]
        ends = [v for v in made if v not in self.used] or made[-1:]
        letters = "abcd"[:len(type.shape)]
        result = self.resample(ends[0] if ends else self.pick(), type)
        for value in ends[1:]:
            total = f.map("add", f"{letters},{letters}->{letters}",
                          [result, self.resample(value, type)],
                          lambda _, x, y: x + y)
            result = shrink(f, exact(total, 2 * result.most))
        f.lines.append(f"scf.yield {result.text} : {type}")
        self.values = outer
        return result

    def branch(self, depth):
        f, type = self.f, Type(self.shape(), self.element())
        condition, result = self.condition(), f.fresh()
        f.lines.append(f"{result} = scf.if {condition} -> ({type}) {{")
        value = self.region(type, depth)
        f.lines.append("} else {")
        self.region(type, depth)
        f.lines.append("}")
        self.values.append(Exact(result, type, value.most))

    def loop(self, depth):
        f, first = self.f, self.small(self.pick())
        bounds = [f.fresh() for _ in range(3)]
        rounds = self.rng.randint(1, 3)
        for name, number in zip(bounds, (0, rounds, 1)):
            f.lines.append(f"{name} = arith.constant {number} : index")
        result, counter, carried = f.fresh(), f.fresh(), f.fresh()
        f.lines.append(
            f"{result} = scf.for {counter} = {bounds[0]} to {bounds[1]} step "
            f"{bounds[2]} iter_args({carried} = {first.text}) -> "
            f"({first.type}) {{")
        most = SMALL.get(first.element, 0)
        self.region(first.type, depth, [Exact(carried, first.type, most)])
        f.lines.append("}")
        self.values.append(Exact(result, first.type, most))


def write_program(seed):
    return Program(seed).write()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    sys.stdout.write(write_program(parser.parse_args().seed))


if __name__ == "__main__":
    main()

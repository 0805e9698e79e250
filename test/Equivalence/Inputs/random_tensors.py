# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of linalg, tensor, arith and collectives for four ranks.

Small tensors of many types whose elements are exact, so that every order of
summation gives the same; views, writes into what others still read or send,
branches and loops. Values without users are returned.
"""

import argparse
import random
import sys

from exact_values import SMALL, Exact, exact, shrink
from linalg_text import Function
from mlir_values import Type, is_float
from random_collectives import prologue
from random_computation import Computation
from random_patterns import Patterns
from seeds import parse_seeds

ELEMENTS = ["f32", "f32", "bf16", "f16", "f64", "i32", "i64", "i8"]
SHAPES = [(4,), (8,), (3,), (2, 4), (1, 4), (4, 1), (1, 1, 4), (2, 3, 2),
          (12,), (6, 2), (8, 4), (), (0, 4)]
MODULES = ["head", "layers.0", "layers.0.mlp", "layers.1.attention", "layers.1.mlp"]
TIMES = [0, 3000, 30000, 200000]


class Program(Computation):
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
        self.collectives = Patterns(rng, self)

    def write(self):
        rng = self.rng
        role = rng.choice(["parameter", None])
        for index in range(rng.randint(2, 5)):
            argument = self.f.argument(
                f"a{index}", Type(self.shape() if index else (4,), self.element()),
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
                  (communication.neighbours, 2),
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
            maker, = rng.choices([m for m, _ in table], [w for _, w in table])
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
        return exact(f.structured("resample", f"->{letters}", [], f.empty(type), read),
                     SMALL.get(type.element, 0))

    def keep(self, value, most=0, grain=0):
        self.values.append(exact(value, most, grain))

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
        """Fills a region that yields a small value of this type, made of the
        values without users in the region."""
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
    parser.add_argument("--seeds", type=parse_seeds, default=range(1))
    seeds = parser.parse_args().seeds
    sys.stdout.write("// -----\n".join(map(write_program, seeds)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What structured operations compute, element by element.

Bodies are Python functions of scalars, which know `+ - * /` and what `Scalar`
has besides.
"""

from mlir_values import FLOATS, is_float, literal


class Scalar:
    """A value inside of a structured operation."""

    def __init__(self, body, text, element):
        self.body = body
        self.text = text
        self.element = element

    def make(self, name, *others, element=None):
        others = [self.body.constant(o, self.element)
                  if isinstance(o, (int, float)) else o for o in others]
        operands = ", ".join(o.text for o in (self, *others))
        return self.body.add(f"{name} {operands} : {self.element}",
                             element or self.element)

    def arith(self, name, other, signed=False):
        suffix = "f" if is_float(self.element) else "si" if signed else "i"
        return self.make(f"arith.{name}{suffix}", other)

    def __add__(self, other):
        return self.arith("add", other)

    def __sub__(self, other):
        return self.arith("sub", other)

    def __mul__(self, other):
        return self.arith("mul", other)

    def __truediv__(self, other):
        return self.arith("div", other, signed=True)

    def remainder(self, other):
        return self.arith("rem", other, signed=True)

    def max(self, other):
        if is_float(self.element):
            return self.make("arith.maximumf", other)
        return self.make("arith.maxsi", other)

    def min(self, other):
        if is_float(self.element):
            return self.make("arith.minimumf", other)
        return self.make("arith.minsi", other)

    def compare(self, predicate, other):
        """`predicate` as integers have it, such as `slt`."""
        if is_float(self.element):
            predicate = "o" + predicate.lstrip("s")
            return self.make(f"arith.cmpf {predicate},", other, element="i1")
        return self.make(f"arith.cmpi {predicate},", other, element="i1")

    def math(self, name):
        return self.make(f"math.{name}")

    def bit_and(self, number):
        return self.make("arith.andi", number)

    def select(self, yes, no):
        """For an i1."""
        yes, no = (self.body.constant(o, other.element)
                   if isinstance(o, (int, float)) else o
                   for o, other in ((yes, no), (no, yes)))
        return self.body.add(f"arith.select {self.text}, {yes.text}, "
                             f"{no.text} : {yes.element}", yes.element)

    def cast(self, element):
        name = cast_name(self.element, element)
        if name is None:
            return self
        return self.body.add(
            f"{name} {self.text} : {self.element} to {element}", element)


def cast_name(source, target):
    """The operation that converts; None if the types are equal."""
    if source == target:
        return None
    if "index" in (source, target):
        return "arith.index_cast"
    if is_float(source) and is_float(target):
        assert FLOATS[source] != FLOATS[target], (source, target)
        return "arith.extf" if FLOATS[source] < FLOATS[target] else "arith.truncf"
    if is_float(source) or is_float(target):
        return "arith.fptosi" if is_float(source) else "arith.sitofp"
    is_wider = int(source[1:]) < int(target[1:])
    return "arith.extsi" if is_wider else "arith.trunci"


class Body:
    """The operations inside of a structured operation."""

    def __init__(self, function):
        self.function = function
        self.lines = []

    def add(self, text, element):
        name = self.function.fresh()
        self.lines.append(f"{name} = {text}")
        return Scalar(self, name, element)

    def constant(self, number, element):
        return self.add(
            f"arith.constant {literal(number, element)} : {element}", element)

    def index(self, dim):
        return self.add(f"linalg.index {dim} : index", "index")

    def extract(self, value, *indices):
        places = ", ".join(index.text for index in indices)
        return self.add(f"tensor.extract {value.text}[{places}] : "
                        f"{value.type}", value.type.element)

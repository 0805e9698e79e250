# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes functions of linalg, tensor, arith and commsched operations as text.

Structured operations are described by the letters of their dimensions:
`reduce("sd->s", [x], ...)` sums over d. Bodies are Python functions of
scalars, which know `+ - * /` and what `Scalar` has besides.
"""

import math
from contextlib import contextmanager
from dataclasses import dataclass

FLOATS = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}


def is_float(element):
    return element in FLOATS


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

    def cast(self, element):
        return Type(self.shape, element)


@dataclass(eq=False)
class Value:
    text: str
    type: Type


def list_types(values):
    return ", ".join(str(value.type) for value in values)


def list_texts(values):
    return ", ".join(value.text for value in values)


def future_type(types):
    return "!commsched.future" + (
        f"<{', '.join(map(str, types))}>" if types else "")


def literal(number, element):
    """As an attribute: floats have a point, the infinities are bits."""
    if not is_float(element):
        return str(int(number))
    if math.isinf(number):
        return {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}[element]
    mantissa, _, exponent = repr(float(number)).partition("e")
    point = "" if "." in mantissa else ".0"
    return mantissa + point + (f"e{exponent}" if exponent else "")


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
        suffix = ("f" if is_float(self.element) else
                  "si" if signed else "i")
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
        return ("arith.extf" if FLOATS[source] < FLOATS[target]
                else "arith.truncf")
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


class Function:
    """One function, written from its first line to its last."""

    def __init__(self, name):
        self.name = name
        self.arguments = []
        self.lines = []
        self.count = 0
        self.attributes = {}
        self.names = set()

    # What all operations share.

    def fresh(self):
        self.count += 1
        return f"%{self.count}"

    @contextmanager
    def within(self, **attributes):
        """Adds discardable attributes to what is written meanwhile."""
        outer = self.attributes
        self.attributes = {**outer, **attributes}
        yield
        self.attributes = outer

    def unique(self, name):
        """`name`, or with a number behind it, as tracers do."""
        result, number = name, 0
        while result in self.names:
            number += 1
            result = f"{name}_{number}"
        self.names.add(result)
        return result

    def marks(self, name):
        attributes = {"name": self.unique(name), **self.attributes}
        return ", ".join(
            f"commsched.{key} = " + (f"{value} : i64" if isinstance(value, int)
                                     else f'"{value}"')
            for key, value in sorted(attributes.items()))

    def argument(self, name, type, role=None):
        value = Value(f"%{name}", type)
        self.arguments.append(f"{value.text}: {type}" + (
            f' {{commsched.role = "{role}"}}' if role else ""))
        return value

    def add(self, text, type):
        value = Value(self.fresh(), type)
        self.lines.append(f"{value.text} = {text}")
        return value

    def finish(self, results):
        lines = "\n  ".join(self.lines)
        types = list_types(results)
        arguments = ",\n    ".join(self.arguments)
        return (f"func.func @{self.name}(\n    {arguments})\n"
                f"    -> ({types}) {{\n  {lines}\n"
                f"  return {list_texts(results)} : {types}\n}}\n")

    # Tensors.

    def empty(self, type):
        return self.add(f"tensor.empty() : {type}", type)

    def constant(self, number, type):
        return self.add(f"arith.constant dense<"
                        f"{literal(number, type.element)}> : {type}", type)

    def full(self, number, type):
        scalar = self.fresh()
        self.lines.append(f"{scalar} = arith.constant "
                          f"{literal(number, type.element)} : {type.element}")
        return self.add(
            f"linalg.fill ins({scalar} : {type.element}) "
            f"outs({self.empty(type).text} : {type}) -> {type}", type)

    def structured(self, name, letters, inputs, out, make, reads_out=False):
        """A linalg.generic. `letters`: what the dimensions of inputs and of
        `out` are called, in the manner of einsum. `make` gets the body, the
        inputs' elements, and `out`'s if `reads_out`."""
        sources, _, target = letters.partition("->")
        sources = sources.split(",") if inputs else []
        order = list(dict.fromkeys(target + "".join(sources)))
        dims = {letter: f"d{place}" for place, letter in enumerate(order)}
        every = ", ".join(dims.values())
        maps = ", ".join(
            f"affine_map<({every}) -> ({', '.join(dims[d] for d in part)})>"
            for part in [*sources, target])
        kinds = ", ".join('"parallel"' if letter in target else '"reduction"'
                          for letter in order)
        body = Body(self)
        scalars = [Scalar(body, self.fresh(), v.type.element)
                   for v in [*inputs, out]]
        result = make(body, *(scalars if reads_out else scalars[:-1]))
        header = ", ".join(f"{s.text}: {s.element}" for s in scalars)
        ins = (f"ins({list_texts(inputs)} : {list_types(inputs)}) "
               if inputs else "")
        lines = "\n    ".join([*body.lines,
                               f"linalg.yield {result.text} : "
                               f"{result.element}"])
        return self.add(
            f"linalg.generic {{indexing_maps = [{maps}], "
            f"iterator_types = [{kinds}]}} {ins}"
            f"outs({out.text} : {out.type}) attrs = {{{self.marks(name)}}} {{"
            f"\n  ^bb0({header}):\n    {lines}\n  }} -> {out.type}", out.type)

    @staticmethod
    def sizes(letters, inputs):
        sources, _, target = letters.partition("->")
        sizes = {}
        for part, value in zip(sources.split(","), inputs):
            for letter, size in zip(part, value.type.shape, strict=True):
                assert sizes.setdefault(letter, size) == size, letters
        return tuple(sizes[letter] for letter in target)

    def map(self, name, letters, inputs, make, element=None):
        """Element by element; inputs may lack dimensions."""
        type = Type(self.sizes(letters, inputs),
                    element or inputs[0].type.element)
        return self.structured(name, letters, inputs, self.empty(type), make)

    def reduce(self, name, letters, inputs, make, init=0, element=None):
        """`make` gets the elements and what has been accumulated."""
        type = Type(self.sizes(letters, inputs),
                    element or inputs[0].type.element)
        return self.structured(name, letters, inputs, self.full(init, type),
                               make, reads_out=True)

    def named(self, op, name, inputs, out):
        return self.add(
            f"linalg.{op} {{{self.marks(name)}}} "
            f"ins({list_texts(inputs)} : {list_types(inputs)}) "
            f"outs({out.text} : {out.type}) -> {out.type}", out.type)

    def sum(self, a, b):
        return self.named("add", "add", [a, b], self.empty(a.type))

    def matmul(self, name, a, b, out=None):
        """With three dimensions: one product for each index of the first."""
        shape = (*a.type.shape[:-1], b.type.shape[-1])
        if out is None:
            out = self.full(0, Type(shape, a.type.element))
        return self.named("matmul" if len(shape) == 2 else "batch_matmul",
                          name, [a, b], out)

    def transpose(self, name, value, order):
        type = Type(tuple(value.type.shape[dim] for dim in order),
                    value.type.element)
        return self.add(
            f"linalg.transpose ins({value.text} : {value.type}) "
            f"outs({self.empty(type).text} : {type}) permutation = "
            f"{list(order)} {{{self.marks(name)}}}", type)

    def cast(self, name, value, element):
        op = cast_name(value.type.element, element)
        if op is None:
            return value
        type = value.type.cast(element)
        return self.add(f"{op} {value.text} {{{self.marks(name)}}} : "
                        f"{value.type} to {type}", type)

    def reshape(self, value, groups, shape):
        """`groups`: which dimensions of the side with more of them belong
        together."""
        type = Type(tuple(shape), value.type.element)
        groups = str([list(group) for group in groups])
        if len(shape) < len(value.type.shape):
            return self.add(f"tensor.collapse_shape {value.text} {groups} : "
                            f"{value.type} into {type}", type)
        return self.add(
            f"tensor.expand_shape {value.text} {groups} output_shape "
            f"{list(shape)} : {value.type} into {type}", type)

    def slice(self, value, offsets, sizes, strides=None):
        type = Type(tuple(sizes), value.type.element)
        strides = strides or [1] * len(sizes)
        return self.add(
            f"tensor.extract_slice {value.text}{list(offsets)} {list(sizes)} "
            f"{list(strides)} : {value.type} to {type}", type)

    def insert(self, value, target, offsets):
        ones = [1] * len(offsets)
        return self.add(
            f"tensor.insert_slice {value.text} into {target.text}"
            f"{list(offsets)} {list(value.type.shape)} {ones} : "
            f"{value.type} into {target.type}", target.type)

    def concat(self, values, dim):
        type = values[0].type.resized(
            dim, sum(v.type.shape[dim] for v in values))
        return self.add(f"tensor.concat dim({dim}) {list_texts(values)} : "
                        f"({list_types(values)}) -> {type}", type)

    # Communication.

    def start(self, kind, inputs, group, clause, types, into=()):
        """The future, and the types that it delivers."""
        future = self.fresh()
        written = (f" into {list_texts(into)}", f" into {list_types(into)}"
                   ) if into else ("", "")
        clause = f" {clause}" if clause else ""
        self.lines.append(
            f"{future} = commsched.{kind} {list_texts(inputs)} on @{group}"
            f"{clause}{written[0]} {{{self.marks(kind)}}} : "
            f"{list_types(inputs)}{written[1]} -> {future_type(types)}")
        return future, tuple(types)

    def wait(self, flight):
        future, types = flight
        name, count = self.fresh(), len(types)
        results = f"{name}{f':{count}' if count > 1 else ''} = "
        self.lines.append(
            f"{results if types else ''}commsched.wait "
            f"{future} {{{self.marks('wait_tensor')}}} : {future_type(types)}")
        return [Value(f"{name}#{place}" if count > 1 else name, type)
                for place, type in enumerate(types)]

    def copy_in(self, inputs, group, size, element):
        """The slice and the buffer."""
        count = sum(v.type.count for v in inputs)
        types = [Type((count,), element), Type((count * size,), element)]
        name = self.fresh()
        self.lines.append(
            f"{name}:2 = commsched.all_gather_copy_in {list_texts(inputs)} "
            f"on @{group} {{{self.marks('all_gather_copy_in')}}} : "
            f"{list_types(inputs)} -> {types[0]}, {types[1]}")
        return [Value(f"{name}#{place}", type)
                for place, type in enumerate(types)]

    def copy_out(self, buffer, group, types):
        name, count = self.fresh(), len(types)
        self.lines.append(
            f"{name}:{count} = commsched.split_with_sizes_copy {buffer.text} "
            f"on @{group} {{{self.marks('split_with_sizes_copy')}}} : "
            f"{buffer.type} -> {', '.join(map(str, types))}")
        return [Value(f"{name}#{place}", type)
                for place, type in enumerate(types)]

    def chunk_cat(self, inputs, group, size, element):
        """Packs gradients by rank, padded along dimension 0."""
        count = sum(-(-v.type.shape[0] // size) * size
                    * math.prod(v.type.shape[1:]) for v in inputs)
        type = Type((count,), element)
        return self.add(
            f"commsched.chunk_cat {list_texts(inputs)} on @{group} "
            f"{{{self.marks('chunk_cat')}}} : {list_types(inputs)} -> {type}",
            type)

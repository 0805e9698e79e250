# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes functions of linalg, tensor, arith and commsched operations as text.

Structured operations are described by the letters of their dimensions:
`reduce("sd->s", [x], ...)` sums over d.
"""

from contextlib import contextmanager

from communication_text import Communication
from mlir_values import Type, Value, list_texts, list_types, literal
from scalars import Body, Scalar, cast_name


def attribute_text(value):
    if isinstance(value, dict):
        entries = (f"{key} = {attribute_text(entry)}" for key, entry in value.items())
        return f"{{{', '.join(entries)}}}"
    return f"{value} : i64" if isinstance(value, int) else f'"{value}"'


class Function(Communication):
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
        return ", ".join(f"commsched.{key} = {attribute_text(value)}"
                         for key, value in sorted(attributes.items()))

    def argument(self, name, type, role=None):
        value = Value(f"%{name}", type)
        self.arguments.append(f"{value.text}: {type}" + (
            f' {{commsched.role = "{role}"}}' if role else ""))
        return value

    def mark_argument(self, index, mark):
        """Adds an attribute to an argument."""
        text, brace, rest = self.arguments[index].partition(" {")
        rest = f", {rest}" if brace else "}"
        self.arguments[index] = f"{text} {{{mark}{rest}"

    def carry(self, index, result):
        """Says which result the next repetition takes for an argument."""
        self.mark_argument(index, f"commsched.carried = {result} : i64")

    def add(self, text, type):
        value = Value(self.fresh(), type)
        self.lines.append(f"{value.text} = {text}")
        return value

    def finish(self, results, forward=None):
        """`forward`: how many results are the forward's, of a joint
        function."""
        lines = "\n  ".join(self.lines)
        types = list_types(results)
        arguments = ",\n    ".join(self.arguments)
        attributes = "" if forward is None else (
            f" attributes {{commsched.num_forward_outputs = {forward}}}")
        return (f"func.func @{self.name}(\n    {arguments})\n"
                f"    -> ({types}){attributes} {{\n  {lines}\n"
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
        scalars = [Scalar(body, self.fresh(), v.type.element) for v in [*inputs, out]]
        result = make(body, *(scalars if reads_out else scalars[:-1]))
        header = ", ".join(f"{s.text}: {s.element}" for s in scalars)
        ins = f"ins({list_texts(inputs)} : {list_types(inputs)}) " if inputs else ""
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
        type = Type(self.sizes(letters, inputs), element or inputs[0].type.element)
        return self.structured(name, letters, inputs, self.empty(type), make)

    def reduce(self, name, letters, inputs, make, init=0, element=None):
        """`make` gets the elements and what has been accumulated."""
        type = Type(self.sizes(letters, inputs), element or inputs[0].type.element)
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
        type = Type(tuple(value.type.shape[dim] for dim in order), value.type.element)
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
        type = values[0].type.resized(dim, sum(v.type.shape[dim] for v in values))
        return self.add(f"tensor.concat dim({dim}) {list_texts(values)} : "
                        f"({list_types(values)}) -> {type}", type)

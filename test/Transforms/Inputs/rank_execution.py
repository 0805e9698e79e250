# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes a function in the generic form on all ranks at once, exactly.

Elements are numbers that stand for terms: what a computation makes depends on
every element that it reads, a cast on its types and the element, a reduction
on what each rank contributes; sums are linear. Copies, views, packing and
transfers move elements. So two programs that give the same numbers compute the
same results from the same inputs through the same casts and reductions.

A tensor is a view of a storage, which operations may write in place. A
transfer happens either when it starts or when it is waited for: a program
without races gives the same both ways.
"""

import itertools
import math
from functools import lru_cache
from zlib import crc32

from generic_ir import argument_types, delivered_types, parse_tensor

PRIME = (1 << 61) - 1
SUM, AVG = 0, 1
WIDTHS = {"i1": 1, "i8": 1, "f8E4M3FN": 1, "bf16": 2, "f16": 2, "f32": 4,
          "i32": 4, "f64": 8, "i64": 8}
ZERO = 0
ADD = "aten.add.Tensor"
CASTS = ("aten._to_copy", "prims.convert_element_type")


@lru_cache(maxsize=None)
def tag(text):
    return crc32(text.encode())


class Tensor:
    """A view of a storage: `places` are the positions of its elements."""

    __slots__ = ("shape", "element", "storage", "places")

    def __init__(self, shape, element, storage, places=None):
        self.shape = shape
        self.element = element
        self.storage = storage
        self.places = range(len(storage)) if places is None else places
        assert len(self.places) == math.prod(shape), (shape, len(self.places))

    def read(self):
        return [self.storage[place] for place in self.places]

    def write(self, elements):
        for place, element in zip(self.places, elements, strict=True):
            self.storage[place] = element

    def view(self, shape, places=None):
        return Tensor(shape, self.element, self.storage,
                      self.places if places is None else
                      [self.places[place] for place in places])

    def digest(self):
        return hash((self.shape, tag(self.element), *self.read()))


def concatenate(shapes, parts, dim):
    """The elements of tensors joined along `dim`."""
    chunks = [math.prod(shape[dim:]) for shape in shapes]
    return [element
            for row in range(math.prod(shapes[0][:dim]))
            for part, chunk in zip(parts, chunks)
            for element in part[row * chunk:(row + 1) * chunk]]


def cut(shape, elements, dim, count):
    """The elements of `count` equal parts along `dim`."""
    row = math.prod(shape[dim:])
    chunk = row // count
    if not elements:
        return [[] for _ in range(count)]
    return [[element
             for begin in range(part * chunk, len(elements), row)
             for element in elements[begin:begin + chunk]]
            for part in range(count)]


def convert(element, source, target):
    if source == target or element == ZERO:
        return element
    return hash((tag(source), tag(target), element))


def reduce(kind, type, elements):
    """What the ranks make of one element each."""
    if kind in (SUM, AVG):
        return sum(elements) * (tag(f"{kind} {type}") | 1) % PRIME
    return hash((kind, tag(type), *elements))


def to_bytes(elements, type):
    """Each byte says of which element of which type it is which one."""
    if type == "i8":
        return elements
    return [(tag(type), index, element)
            for element in elements for index in range(WIDTHS[type])]


def from_bytes(bytes, type):
    if type == "i8":
        return bytes
    width = WIDTHS[type]
    elements = [b[-1] if isinstance(b, tuple) else None
                for b in bytes[::width]]
    if to_bytes(elements, type) != bytes:
        raise ValueError(f"these are no {type}: {bytes}")
    return elements


def read_groups(ops, world):
    """Group -> the ranks of each of its groups, in their order."""
    groups = {}
    for op in ops:
        if op.name != "commsched.group":
            continue
        size = op.integer("size")
        if "ranks" in op.attributes:
            ranks = op.integers("ranks")
            rows = [ranks[i:i + size] for i in range(0, len(ranks), size)]
        else:
            stride = op.integer("stride") if "stride" in op.attributes else 1
            rows = [range(first, first + size * stride, stride)
                    for base in range(0, world, size * stride)
                    for first in range(base, base + stride)]
        groups[op.symbol()] = [list(row) for row in rows]
    return groups


class Transfer:
    """A collective in flight. `deliver` gives the values of every rank."""

    def __init__(self, deliver, is_late):
        self.deliver = deliver
        self.values = None if is_late else deliver()

    def wait(self):
        return self.deliver() if self.values is None else self.values


class Execution:
    """Runs a function. A value is a list with one entry a rank."""

    def __init__(self, groups, world, is_late, condition):
        self.groups = groups
        self.world = range(world)
        self.is_late = is_late
        self.condition = condition  # What an argument of type i1 is.
        self.values = {}
        self.poison = itertools.count()
        # By rank: what effects and random numbers have seen so far.
        self.effects = [0] * world
        # By rank and group: the sends and receives so far.
        self.messages = {(rank, group): 0
                         for rank in self.world for group in groups}
        self.sent = {}  # What each send has sent.

    def run(self, function):
        """All that can be seen of it when it is over."""
        body = function.blocks[0]
        types = function.attributes["function_type"]
        tensors = []
        for index, (name, type) in enumerate(
                zip(body.arguments, argument_types(types), strict=True)):
            if type == "i1":
                self.values[name] = [self.condition] * len(self.world)
                continue
            shape, element = parse_tensor(type)
            self.values[name] = [
                Tensor(shape, element,
                       [hash((tag("argument"), index, rank, place))
                        for place in range(math.prod(shape))])
                for rank in self.world]
            tensors.append(self.values[name])
        returned = self.run_block(body)
        contents = [[(t.shape, t.element, t.read()) for t in value]
                    for value in returned + tensors]
        return contents, self.effects, self.messages, self.sent

    def run_block(self, block):
        """Returns what its terminator passes on."""
        for op in block.ops:
            operands = [self.values[name] for name in op.operands]
            if op.name in ("func.return", "scf.yield"):
                return operands
            results = getattr(self, op.name.replace(".", "_"))(op, operands)
            self.values.update(zip(op.results, results or (), strict=True))
        return []

    def fresh(self, op, results_of_rank):
        """One value a result: new tensors with the elements of each rank."""
        types = [parse_tensor(type) for type in op.result_types]
        results = [results_of_rank(rank) for rank in self.world]
        return [[Tensor(shape, element, list(results[rank][index]))
                 for rank in self.world]
                for index, (shape, element) in enumerate(types)]

    def garbage(self, count):
        """Returns contents that must not be read."""
        return [hash((tag("garbage"), next(self.poison)))
                for _ in range(count)]

    # Computation.

    def arith_constant(self, op, _):
        text, _, type = op.attributes["value"].partition(" : ")
        if type.startswith("tensor"):
            shape, element = parse_tensor(type)
            elements = [tag(text)] * math.prod(shape)
            return [[Tensor(shape, element, list(elements))
                     for _ in self.world]]
        number = int(text) if type == "index" else text == "true"
        return [[number] * len(self.world)]

    def see(self, op, operands, rank):
        """A number that stands for the operator and its operands."""
        return hash((tag(op.string("callee")),
                     *(value[rank].digest() for value in operands)))

    def touch(self, rank, seen):
        """`rank` has an effect."""
        self.effects[rank] = hash((self.effects[rank], seen))
        return self.effects[rank]

    @staticmethod
    def make(seen, index, type):
        """Elements that depend on `seen`."""
        shape, element = parse_tensor(type)
        return [hash((seen, index, place, tag(element)))
                for place in range(math.prod(shape))]

    def commsched_compute(self, op, operands):
        if op.string("callee") in CASTS:
            return self.cast(op, operands)
        if op.string("callee") == ADD:
            return self.add(op, operands)
        seen = [self.see(op, operands, rank) for rank in self.world]
        if "random" in op.attributes or not op.results:
            seen = [self.touch(rank, seen[rank]) for rank in self.world]
        if "mutates" in op.attributes:
            for index in op.integers("mutates"):
                self.overwrite(operands[index], index, seen)
        if "alias" in op.attributes:
            shape, _ = parse_tensor(op.result_types[0])
            return [[tensor.view(shape)
                     for tensor in operands[op.integer("alias")]]]
        return self.fresh(op, lambda rank: [
            self.make(seen[rank], index, type)
            for index, type in enumerate(op.result_types)])

    @staticmethod
    def overwrite(value, index, seen):
        for rank, tensor in enumerate(value):
            tensor.write([hash((seen[rank], -index, place))
                          for place in range(len(tensor.places))])

    def func_call(self, op, operands):
        """May do anything with what it is given, and does."""
        seen = [self.touch(rank, self.see(op, operands, rank))
                for rank in self.world]
        for index, value in enumerate(operands):
            self.overwrite(value, index, seen)
        return self.fresh(op, lambda rank: [
            self.make(seen[rank], index, type)
            for index, type in enumerate(op.result_types)])

    def cast(self, op, operands):
        _, target = parse_tensor(op.result_types[0])
        return self.fresh(op, lambda rank: [
            [convert(element, operands[0][rank].element, target)
             for element in operands[0][rank].read()]])

    arith_truncf = arith_extf = cast

    def add(self, op, operands):
        return self.fresh(op, lambda rank: [
            [sum(pair) % PRIME
             for pair in zip(*(value[rank].read() for value in operands))]])

    arith_addf = arith_addi = add

    # Views and copies.

    def reshape(self, op, operands):
        shape, _ = parse_tensor(op.result_types[0])
        return [[tensor.view(shape) for tensor in operands[0]]]

    tensor_expand_shape = tensor_collapse_shape = reshape

    def tensor_extract_slice(self, op, operands):
        shape, _ = parse_tensor(op.operand_types[0])
        ranges = [range(offset, offset + size * stride, stride)
                  for offset, size, stride in zip(
                      op.integers("static_offsets"),
                      op.integers("static_sizes"),
                      op.integers("static_strides"), strict=True)]
        places = []
        for index in itertools.product(*ranges):
            place = 0
            for number, size in zip(index, shape):
                place = place * size + number
            places.append(place)
        shape, _ = parse_tensor(op.result_types[0])
        return [[tensor.view(shape, places) for tensor in operands[0]]]

    def tensor_concat(self, op, operands):
        shapes = [value[0].shape for value in operands]
        return self.fresh(op, lambda rank: [concatenate(
            shapes, [value[rank].read() for value in operands],
            op.integer("dim"))])

    def tensor_empty(self, op, _):
        shape, _ = parse_tensor(op.result_types[0])
        return self.fresh(op, lambda _: [self.garbage(math.prod(shape))])

    def linalg_transpose(self, op, operands):
        """Transposes into a destination without other users."""
        shape, order = operands[0][0].shape, op.integers("permutation")
        strides = [math.prod(shape[dim + 1:]) for dim in range(len(shape))]
        places = [sum(number * strides[dim]
                      for number, dim in zip(index, order))
                  for index in itertools.product(
                      *(range(shape[dim]) for dim in order))]

        def transpose(rank):
            elements = operands[0][rank].read()
            return [[elements[place] for place in places]]

        return self.fresh(op, transpose)

    def commsched_all_gather_copy_in(self, op, operands):
        slice_shape, element = parse_tensor(op.result_types[0])
        buffer_shape, _ = parse_tensor(op.result_types[1])
        packed = op.attributes.get("packed")
        targets = ([type.strip() for type in packed[1:-1].split(",")]
                   if packed else [element] * len(operands))
        slices, buffers = [None] * len(self.world), [None] * len(self.world)
        for ranks in self.groups[op.group()]:
            for place, rank in enumerate(ranks):
                buffers[rank] = Tensor(
                    buffer_shape, element,
                    self.garbage(math.prod(buffer_shape)))
                first = place * slice_shape[0]
                slices[rank] = buffers[rank].view(
                    slice_shape, range(first, first + slice_shape[0]))
                content = []
                for value, target in zip(operands, targets, strict=True):
                    tensor = value[rank]
                    part = [convert(e, tensor.element, target)
                            for e in tensor.read()]
                    content += to_bytes(part, target) if packed else part
                slices[rank].write(content)
        return [slices, buffers]

    def commsched_split_with_sizes_copy(self, op, operands):
        count = len(self.groups[op.group()][0])
        types = [parse_tensor(type) for type in op.result_types]

        def unpack(rank):
            buffer = operands[0][rank]
            is_bytes = any(e != buffer.element for _, e in types)
            elements = buffer.read()
            results = [[] for _ in types]
            place = 0
            for _ in range(count):
                for result, (shape, element) in zip(results, types):
                    length = math.prod(shape) // count
                    if is_bytes:
                        length *= WIDTHS[element]
                    part = elements[place:place + length]
                    place += length
                    result += (from_bytes(part, element) if is_bytes
                               else part)
            assert place == len(elements)
            return results

        return self.fresh(op, unpack)

    def commsched_chunk_cat(self, op, operands):
        count = len(self.groups[op.group()][0])
        _, target = parse_tensor(op.result_types[0])

        def pack(rank):
            parts = [[] for _ in range(count)]
            for value in operands:
                tensor = value[rank]
                rows = -(-tensor.shape[0] // count)
                length = rows * math.prod(tensor.shape[1:])
                elements = [convert(e, tensor.element, target)
                            for e in tensor.read()]
                elements += [ZERO] * (length * count - len(elements))
                for place, part in enumerate(parts):
                    part += elements[place * length:(place + 1) * length]
            return [sum(parts, [])]

        return self.fresh(op, pack)

    # Communication.

    def start(self, op, operands, exchange):
        """`exchange` maps what the ranks of a group send to what they get."""
        sent = op.integers("operandSegmentSizes")[0]
        types = [parse_tensor(t) for t in delivered_types(op.result_types[0])]
        inputs, into = operands[:sent], operands[sent:]
        groups = self.groups[op.group()]

        def deliver():
            results = []
            for value, (shape, element) in zip(inputs, types, strict=True):
                result = [None] * len(self.world)
                for ranks in groups:
                    received = exchange([value[rank] for rank in ranks])
                    for rank, elements in zip(ranks, received, strict=True):
                        result[rank] = Tensor(shape, element, elements)
                results.append(result)
            if not into:
                return results
            for buffer, result in zip(into, results, strict=True):
                for target, tensor in zip(buffer, result):
                    target.write(tensor.read())
            return into

        return [Transfer(deliver, self.is_late)]

    def commsched_wait(self, _, operands):
        return operands[0].wait()

    def commsched_all_gather(self, op, operands):
        def exchange(tensors):
            gathered = concatenate([t.shape for t in tensors],
                                   [t.read() for t in tensors],
                                   op.integer("dim"))
            return [list(gathered) for _ in tensors]

        return self.start(op, operands, exchange)

    @staticmethod
    def reduce_all(op, tensors):
        kind = op.integer("reduction")
        return [reduce(kind, tensors[0].element, elements)
                for elements in zip(*(t.read() for t in tensors))]

    def commsched_reduce_scatter(self, op, operands):
        return self.start(op, operands, lambda tensors: cut(
            tensors[0].shape, self.reduce_all(op, tensors), op.integer("dim"),
            len(tensors)))

    def commsched_all_reduce(self, op, operands):
        def exchange(tensors):
            reduced = self.reduce_all(op, tensors)
            return [list(reduced) for _ in tensors]

        return self.start(op, operands, exchange)

    def commsched_all_to_all(self, op, operands):
        def exchange(tensors):
            shape, dim = list(tensors[0].shape), op.integer("split_dim")
            parts = [cut(t.shape, t.read(), dim, len(tensors))
                     for t in tensors]
            shape[dim] //= len(tensors)
            return [concatenate([shape] * len(tensors),
                                [part[place] for part in parts],
                                op.integer("concat_dim"))
                    for place in range(len(tensors))]

        return self.start(op, operands, exchange)

    def commsched_broadcast(self, op, operands):
        return self.start(op, operands, lambda tensors: [
            tensors[op.integer("root")].read() for _ in tensors])

    def commsched_permute(self, op, operands):
        def exchange(tensors):
            delivered = [[ZERO] * math.prod(t.shape) for t in tensors]
            for source, target in op.pairs():
                delivered[target] = tensors[source].read()
            return delivered

        return self.start(op, operands, exchange)

    def message(self, op, rank):
        """Numbers a send or receive by all that came before it."""
        key = rank, op.group()
        peer = op.integer("to" if "to" in op.attributes else "from")
        self.messages[key] = hash((self.messages[key], tag(op.name), peer))
        return self.messages[key]

    def commsched_send(self, op, operands):
        numbers = [self.message(op, rank) for rank in self.world]

        def deliver():
            for rank, number in enumerate(numbers):
                self.sent[rank, op.group(), number] = [
                    value[rank].digest() for value in operands]
            return []

        return [Transfer(deliver, self.is_late)]

    def commsched_recv(self, op, _):
        numbers = [self.message(op, rank) for rank in self.world]
        types = delivered_types(op.result_types[0])
        values = [[Tensor(*parse_tensor(type),
                          self.make(numbers[rank], index, type))
                   for rank in self.world]
                  for index, type in enumerate(types)]
        return [Transfer(lambda: values, self.is_late)]

    def commsched_barrier(self, _op, _operands):
        pass

    # Control flow, the same on every rank.

    def scf_if(self, op, operands):
        block = op.blocks[0 if operands[0][0] else 1]
        return self.run_block(block)

    def scf_for(self, op, operands):
        begin, end, step = (value[0] for value in operands[:3])
        carried = operands[3:]
        block = op.blocks[0]
        for number in range(begin, end, step):
            counter = [number] * len(self.world)
            self.values.update(zip(block.arguments, [counter, *carried]))
            carried = self.run_block(block)
        return carried

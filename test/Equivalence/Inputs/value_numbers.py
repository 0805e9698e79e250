# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives values of functions numbers: equal numbers, equal values.

A value is the operation that makes it, with its attributes and the numbers of
its operands; what memory holds is what was done to it, in this order. A forward
and its backward are numbered one after the other, with one memory, and then
compared with the joint function. Nothing is computed: this works for whatever
operators there are, and whatever their size.
"""

import generic_ir

STATE = ".rng_state"


class Numbering:
    def __init__(self):
        self.numbers = {}  # By what makes a value.
        self.constants = {}  # By the number of an index: what it is.
        self.states = {}  # By number of a generator's state: whose it is.
        self.restart()

    def restart(self):
        """Another program: memory is as it was, nothing has been drawn."""
        self.memory = {}  # By number of a memref: that of what it holds.
        self.drawn = {}  # How often the same random numbers were asked for.

    def number(self, *key):
        return self.numbers.setdefault(key, len(self.numbers))

    def argument(self, index):
        return self.number("argument", index)

    # Operations.

    def describe(self, op, values):
        """All that decides on the results of `op` but its operands."""
        attributes = tuple(sorted(
            (name, text) for name, text in op.attributes.items()
            if name not in ("random", "operandSegmentSizes",
                            "commsched.partition")))
        regions = tuple(self.describe_block(block, values)
                        for block in op.blocks)
        return (op.name, attributes, tuple(op.result_types), regions)

    def describe_block(self, block, outer):
        values = dict(outer)
        for index, argument in enumerate(block.arguments):
            values[argument] = ("inner", index)
        body = []
        for op in block.ops:
            operands = tuple(values[name] for name in op.operands)
            body.append((self.describe(op, values), operands))
            for index, result in enumerate(op.results):
                values[result] = ("made", len(body), index)
        return tuple(body)

    def index_of(self, op, operands):
        """The number that `op` yields as an index; None if it is unknown."""
        if op.name == "arith.constant" and op.result_types == ["index"]:
            return op.integer("value")
        if op.name == "tensor.dim" and operands[1] in self.constants:
            shape, _ = generic_ir.parse_tensor(op.operand_types[0])
            return shape[self.constants[operands[1]]]
        return None

    def apply(self, op, values):
        operands = [values[name] for name in op.operands]
        constant = self.index_of(op, operands)
        if constant is not None:
            number = self.number("index", constant)
            self.constants[number] = constant
            values[op.results[0]] = number
            return
        name = op.stable_name()
        if operands and self.states.get(operands[-1]) == name:
            operands.pop()
        memrefs = [number for number, type in zip(operands, op.operand_types)
                   if type.startswith("memref")]
        held = tuple(self.memory.get(number) for number in memrefs)
        key = self.number(self.describe(op, values), tuple(operands), held)
        if "random" in op.attributes:
            times = self.drawn.get(key, 0)
            self.drawn[key] = times + 1
            if times:
                key = self.number("drawn again", key, times)
        if op.name != "memref.load":
            for number in memrefs:
                self.memory[number] = key
        for index, result in enumerate(op.results):
            values[result] = self.number("result", key, index)
            if name.endswith(STATE):
                self.states[values[result]] = name[:-len(STATE)]

    def run(self, function, arguments):
        """The numbers of the results."""
        block, = function.blocks
        values = dict(zip(block.arguments, arguments, strict=True))
        *body, end = block.ops
        for op in body:
            self.apply(op, values)
        return [values[name] for name in end.operands]


def read_functions(module):
    """By name, of a module in the generic form."""
    return {op.symbol(): op for op in generic_ir.parse(module)
            if op.name == "func.func"}


def check_halves(joint, forward, backward):
    """Raises if the halves do not compute what the joint function does.

    All are functions as `read_functions` returns them."""
    roles = [role.partition('role = "')[2].partition('"')[0] for role in
             generic_ir.split(joint.attributes["arg_attrs"][1:-1])]
    numbering = Numbering()
    arguments = [numbering.argument(index) for index in range(len(roles))]
    whole = numbering.run(joint, arguments)
    memory = numbering.memory

    numbering.restart()
    primals, tangents = (
        [a for a, role in zip(arguments, roles)
         if (role == "tangent") == is_tangent] for is_tangent in (False, True))
    count = joint.integer("commsched.num_forward_outputs")
    results = numbering.run(forward, primals)
    parts = results[:count] + numbering.run(backward,
                                            results[count:] + tangents)
    for index, (one, other) in enumerate(zip(whole, parts, strict=True)):
        if one != other:
            raise ValueError(f"result {index} of @{joint.symbol()} is "
                             "something else in its halves")
    if numbering.memory != memory:
        raise ValueError(f"the halves of @{joint.symbol()} leave something "
                         "else in memory")

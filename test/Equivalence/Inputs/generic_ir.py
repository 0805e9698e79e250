# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads MLIR in the generic form, as `--mlir-print-op-generic` prints it.

Attributes stay text; nothing here knows what an operation means.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

HEAD = re.compile(r'(?:(.*?) = )?"([\w.]+)"\((.*?)\)')
# What may hold or separate something; `->` is no bracket.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>()\[\]{},]')
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")


@dataclass(eq=False)
class Block:
    arguments: list = field(default_factory=list)
    ops: list = field(default_factory=list)


@dataclass(eq=False)
class Op:
    """One operation. A result of several is called `%0#1`."""

    name: str
    results: list
    operands: list
    attributes: dict = field(default_factory=dict)
    operand_types: list = field(default_factory=list)
    result_types: list = field(default_factory=list)
    blocks: list = field(default_factory=list)  # One a region.

    def integer(self, name):
        return int(self.attributes[name].partition(" ")[0])

    def integers(self, name):
        """The numbers of an array, or of the rows of a dense one."""
        text = self.attributes[name].partition(" : ")[0]
        return [int(n) for n in re.findall(r"-?\b\d+", text)]

    def string(self, name):
        """The text of a string or symbol; empty if there is none."""
        return self.attributes.get(name, "").strip('"@')

    def symbol(self):
        return self.string("sym_name")

    def group(self):
        return self.string("group")

    def stable_name(self):
        return self.string("commsched.name")


@lru_cache(maxsize=None)
def split(text):
    """The parts between the commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for token in TOKEN.finditer(text):
        character = token[0]
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[begin:token.start()].strip())
            begin = token.end()
    last = text[begin:].strip()
    return (*parts, last) if last else tuple(parts)


def find_end(text, begin):
    """Behind the bracket that closes the one at `begin`."""
    depth = 0
    for token in TOKEN.finditer(text, begin):
        if token[0] in "<([{":
            depth += 1
        elif token[0] in ">)]}":
            depth -= 1
            if depth == 0:
                return token.end()
    raise ValueError(f"no end: {text}")


@lru_cache(maxsize=None)
def parse_tensor(type):
    """Shape and element type of `tensor<…>`."""
    match = TENSOR.fullmatch(type)
    return tuple(map(int, match[1].split("x")[:-1])), match[2]


def parse_types(text):
    return list(split(text[1:-1] if text.startswith("(") else text))


def parse_attributes(op, text):
    for item in split(text):
        name, _, value = item.partition(" = ")
        op.attributes[name] = value


def parse_tail(op, text):
    """Discardable attributes and types, behind operands and regions."""
    text = text.strip()
    if text.startswith("{"):
        end = find_end(text, 0)
        parse_attributes(op, text[1:end - 1])
        text = text[end:].strip()
    end = find_end(text, 2)
    op.operand_types = parse_types(text[2:end])
    op.result_types = parse_types(text[end + len(" -> "):])


def parse_results(text):
    results = []
    for name in split(text or ""):
        name, _, count = name.partition(":")
        results += ([f"{name}#{index}" for index in range(int(count))]
                    if count else [name])
    return results


def parse_op(line):
    """The operation that a line begins, and whether it has regions."""
    match = HEAD.match(line)
    op = Op(match[2], parse_results(match[1]), list(split(match[3])))
    tail = line[match.end():].strip()
    if tail.startswith("<{"):
        end = find_end(tail, 0)
        parse_attributes(op, tail[2:end - 2])
        tail = tail[end:].strip()
    if tail == "({":
        return op, True
    parse_tail(op, tail)
    return op, False


def parse(text):
    """The operations of the module."""
    module = Block()
    stack = [(None, module)]
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("^"):
            arguments = split(line[line.index("(") + 1:line.rindex(")")])
            stack[-1][1].arguments = [a.partition(":")[0] for a in arguments]
        elif line.startswith("}"):
            op = stack.pop()[0]
            if line == "}, {":
                op.blocks.append(Block())
                stack.append((op, op.blocks[-1]))
            else:
                parse_tail(op, line[len("})"):])
        elif line:
            op, has_regions = parse_op(line)
            stack[-1][1].ops.append(op)
            if has_regions:
                op.blocks.append(Block())
                stack.append((op, op.blocks[-1]))
    return module.ops[0].blocks[0].ops

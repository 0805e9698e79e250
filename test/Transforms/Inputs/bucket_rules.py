# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a bucketing pass may do to a program, read off before and after.

A merged start or wait is called by its members' names, joined by "+". All
rules are about these names; what is computed is another matter
(rank_execution.py).
"""

import math
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from generic_ir import delivered_types, list_ops, parse_tensor, split
from rank_execution import WIDTHS

POINT_TO_POINT = ("commsched.send", "commsched.recv")
KINDS = {"all-gather": "commsched.all_gather",
         "reduce-scatter": "commsched.reduce_scatter",
         "all-reduce": "commsched.all_reduce"}
OVERLAP = "preserve-overlap"


class Violation(Exception):
    """The message says what is wrong."""


def require(condition, problem):
    if not condition:
        raise Violation(problem)


@dataclass
class Bucketing:
    """The options of one run of a pass."""

    kind: str  # Of the pass: all-gather, reduce-scatter or all-reduce.
    mode: str = "copy"
    caps: list = field(default_factory=list)  # Bytes; empty: the default.
    max_count: int = 0
    plan: list = field(default_factory=list)  # Lists of module paths.
    flags: list = field(default_factory=list)

    def pipeline(self):
        options = [f"mode={self.mode}", *self.flags]
        if self.caps:
            caps = ",".join(repr(cap / (1 << 20)) for cap in self.caps)
            options.append(f"cap-mb={caps}")
        if self.max_count:
            options.append(f"max-count={self.max_count}")
        if self.plan:
            entries = ";".join(",".join(entry) for entry in self.plan)
            options.append(f'plan="{entries}"')
        return f"commsched-bucket-{self.kind}{{{' '.join(options)}}}"


def list_blocks(function):
    """The blocks of a function that communicate, by where they are."""
    blocks = {}

    def visit(block, path):
        if any(map(communicates, block.ops)):
            blocks[path] = block
        for op in block.ops:
            if op.name.startswith("scf."):
                for index, inner in enumerate(op.blocks):
                    visit(inner, (*path, op.stable_name(), index))

    visit(function.blocks[0], ())
    return blocks


def is_start(op):
    return any(type.startswith("!commsched.future")
               for type in op.result_types)


def is_wait(op):
    return op.name == "commsched.wait"


def communicates(op):
    return is_start(op) or is_wait(op) or is_barrier(op)


def is_barrier(op):
    return op.name in ("commsched.barrier", "func.call") or any(
        communicates(inner) for block in op.blocks for inner in block.ops)


def members(op):
    return op.stable_name().split("+")


def tensor_bytes(types):
    return sum(math.prod(shape) * WIDTHS[element]
               for shape, element in map(parse_tensor, types))


def bucket_bytes(start):
    """The larger of what it sends and delivers."""
    sent = (start.integers("operandSegmentSizes")[0]
            if "operandSegmentSizes" in start.attributes
            else len(start.operands))
    return max(tensor_bytes(start.operand_types[:sent]),
               tensor_bytes(delivered_types(start.result_types[0])))


def is_named(module, path):
    """Whether a path of a plan stands for the module."""
    return fnmatchcase(module, path) or fnmatchcase(module, path + ".*")


class BlockRules:
    """Compares one block of a function with what became of it."""

    def __init__(self, function, before, after, passes):
        self.function = function
        self.before = before
        self.after = after
        self.passes = passes
        self.collectives = {
            op.stable_name(): op for op in before.ops
            if is_start(op) or op.name == "commsched.barrier"}
        self.starts = {name: op for name, op in self.collectives.items()
                       if is_start(op)}

    def check(self):
        """Returns the buckets."""
        self.check_partition(is_start)
        self.check_partition(is_wait)
        self.check_waits()
        buckets = [op for op in self.after.ops
                   if is_start(op) and len(members(op)) > 1]
        for op in self.after.ops:
            if is_start(op):
                self.check_key(op)
        for bucket in buckets:
            self.check_bucket(bucket)
        for bucketing in self.passes:
            self.check_first_cap(bucketing, buckets)
        self.check_order()
        self.check_sides()
        return buckets

    def check_partition(self, is_kind):
        """Nothing is lost, and nothing is there twice."""
        before = [op.stable_name() for op in self.before.ops if is_kind(op)]
        after = [name for op in self.after.ops if is_kind(op)
                 for name in members(op)]
        require(sorted(before) == sorted(after),
                f"of {sorted(before)} became {sorted(after)}")

    @staticmethod
    def waits(block):
        """Start -> wait, by name."""
        starts = {op.results[0]: op for op in block.ops if is_start(op)}
        return {starts[op.operands[0]].stable_name(): op.stable_name()
                for op in block.ops if is_wait(op)}

    def check_waits(self):
        """A bucket is waited for by the waits of its members."""
        wait_of = self.waits(self.before)
        for start, wait in self.waits(self.after).items():
            expected = [wait_of[name] for name in start.split("+")]
            require(sorted(wait.split("+")) == sorted(expected),
                    f"{start} is waited for by {wait}")

    def check_key(self, start):
        """Members do the same on one group, and so does the bucket."""
        for name in members(start):
            member = self.starts[name]
            for this, that in (
                    (start.name, member.name),
                    (start.group(), member.group()),
                    (start.attributes.get("reduction"),
                     member.attributes.get("reduction"))):
                require(this == that, f"{name}, {that}, is in {this} "
                                      f"{start.stable_name()}")

    def check_bucket(self, bucket):
        names = members(bucket)
        passes = [p for p in self.passes if KINDS[p.kind] == bucket.name]
        require(passes, f"nobody is to merge {bucket.stable_name()}")
        bytes = self.bytes_of(bucket)
        require(any(self.may_merge(p, names, bytes) for p in passes),
                f"no pass may merge {bucket.stable_name()} of {bytes} bytes")

    def bytes_of(self, bucket):
        return sum(bucket_bytes(self.starts[name]) for name in members(bucket))

    def may_merge(self, bucketing, names, bytes):
        starts = [self.starts[name] for name in names]
        if "fsdp-only" in bucketing.flags and not all(
                map(self.may_be_fsdp, starts)):
            return False
        if "bitwise" in bucketing.flags and len(
                {start.attributes.get("dim") for start in starts}) > 1:
            return False
        if bucketing.plan:
            modules = [start.string("commsched.module") for start in starts]
            return any(all(any(is_named(module, path) for path in entry)
                           for module in modules) for entry in bucketing.plan)
        if bucketing.max_count and len(names) > bucketing.max_count:
            return False
        return not bucketing.caps or bytes <= max(bucketing.caps)

    def may_be_fsdp(self, start):
        """A gather must be of one argument, a parameter; what is scattered
        must leave the function and meet nothing else."""
        if start.name == KINDS["all-gather"]:
            return self.is_of_parameter(start)
        if start.name == KINDS["reduce-scatter"]:
            return self.leaves_alone(start)
        return True

    def is_of_parameter(self, gather):
        body = self.function.blocks[0]
        definitions = {result: op for op in self.before.ops
                       for result in op.results}
        reached, stack = set(), list(gather.operands[:1])
        while stack:
            value = stack.pop()
            if value not in definitions:
                reached.add(value)
                continue
            op = definitions[value]
            if is_wait(op) or "flops" in op.attributes:
                return False
            stack += op.operands
        if len(reached) != 1 or not reached <= set(body.arguments):
            return False
        roles = self.function.attributes.get("arg_attrs", "")
        return "commsched.role" not in roles or "parameter" in split(
            roles[1:-1])[body.arguments.index(*reached)]

    def leaves_alone(self, scatter):
        users = {}
        for op in list_ops(self.function):
            for value in op.operands:
                users.setdefault(value, []).append(op)
        stack = list(scatter.results)
        while stack:
            value = stack.pop()
            if value not in users:
                return False
            for user in users[value]:
                if user.name == "func.return":
                    continue
                if len(user.operands) > 1 or user not in self.before.ops:
                    return False
                stack += user.results
        return True

    def check_first_cap(self, bucketing, buckets):
        """The first collective that may be merged opens the first bucket."""
        kinds = [p.kind for p in self.passes]
        if (not bucketing.caps or bucketing.plan
                or OVERLAP in bucketing.flags
                or kinds.count(bucketing.kind) > 1):
            return
        first = {}
        for name, start in self.starts.items():
            if start.name == KINDS[bucketing.kind] and len(
                    start.operands) == 1:
                element = ("bytes" if "multi-dtype" in bucketing.flags else
                           parse_tensor(start.operand_types[0])[1])
                first.setdefault((start.group(), element,
                                  start.attributes.get("reduction")), name)
        for bucket in buckets:
            if members(bucket)[0] in first.values():
                bytes = self.bytes_of(bucket)
                require(bytes <= bucketing.caps[0],
                        f"{bucket.stable_name()}, the first bucket, has "
                        f"{bytes} bytes")

    def check_order(self):
        """commsched.order ascends, also among what was merged."""
        numbers = []
        for op in self.after.ops:
            if not is_start(op) and op.name != "commsched.barrier":
                continue
            originals = (self.collectives[name] for name in members(op))
            own = sorted(original.integer("commsched.order")
                         for original in originals
                         if "commsched.order" in original.attributes)
            kept = ([op.integer("commsched.order")]
                    if "commsched.order" in op.attributes else [])
            require(kept == own[:1],
                    f"{op.stable_name()} has number {kept} of {own}")
            numbers += own
        require(numbers == sorted(numbers), f"the numbers come as {numbers}")

    @staticmethod
    def sides(block):
        """What may not cross which operation: its side of it."""
        sides, communication, streams = {}, set(), {}
        for op in block.ops:
            if is_barrier(op):
                sides[op.stable_name()] = set(communication)
            if op.name in POINT_TO_POINT:
                sides[op.stable_name()] = set(streams.get(op.group(), ()))
            if communicates(op):
                communication.update(members(op))
            if is_start(op) or op.name == "commsched.barrier":
                streams.setdefault(op.group(), set()).update(members(op))
        return sides

    def check_sides(self):
        """Nothing crosses a barrier, or a message on its stream."""
        before, after = self.sides(self.before), self.sides(self.after)
        for name, side in before.items():
            require(after.get(name) == side,
                    f"{sorted(side ^ after.get(name, set()))} crossed {name}")


def check_function(before, after, passes):
    """Raises a violation, or returns the merged starts."""
    blocks, changed = list_blocks(before), list_blocks(after)
    require(blocks.keys() == changed.keys(), "communication changed its block")
    return [bucket for path, block in blocks.items()
            for bucket in BlockRules(before, block, changed[path],
                                     passes).check()]

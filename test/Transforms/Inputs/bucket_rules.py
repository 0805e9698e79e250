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
         "all-reduce": "commsched.all_reduce",
         "permute": "commsched.permute",
         "broadcast": "commsched.broadcast",
         "all-to-all": "commsched.all_to_all"}
# What has to be equal in one bucket besides the kind, group and element type.
KEYS = ("reduction", "root", "split_dim", "concat_dim", "input_splits",
        "output_splits")
DEDUPLICATE = "deduplicate"
SUM_FIRST = "sum-first"


class Violation(Exception):
    """The message says what is wrong."""


def require(condition, problem):
    if not condition:
        raise Violation(problem)


@dataclass
class Bucketing:
    """The options of one run of a pass."""

    kind: str  # Of the pass: one of KINDS.
    mode: str = "copy"
    caps: list = field(default_factory=list)  # Bytes; empty: the default.
    max_count: int = 0
    # Lists of module paths, or `auto`.
    plan: list | str = field(default_factory=list)
    flags: list = field(default_factory=list)

    def pipeline(self):
        options = list(self.flags)
        if self.kind != "all-to-all":  # Always coalesced.
            options.append(f"mode={self.mode}")
        if self.caps:
            caps = ",".join(repr(cap / (1 << 20)) for cap in self.caps)
            options.append(f"cap-mb={caps}")
        if self.max_count:
            options.append(f"max-count={self.max_count}")
        if self.plan == "auto":
            options.append("plan=auto")
        elif self.plan:
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


def key_of(start):
    """What collectives have in common that one launch carries, besides kind,
    group and element type."""
    return (start.pairs() if "pairs" in start.attributes else None,
            *(start.attributes.get(name) for name in KEYS))


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
        self.definitions = {result: op for op in before.ops
                            for result in op.results}
        # A sum that is scattered instead of its parts has all their names.
        self.has_sums = any(SUM_FIRST in p.flags for p in passes)

    def check(self):
        """Returns the buckets."""
        self.dropped = self.find_dropped(is_start) | self.find_dropped(is_wait)
        self.check_waits()
        buckets = [op for op in self.after.ops
                   if is_start(op) and len(members(op)) > 1]
        for op in self.after.ops:
            if is_start(op):
                self.check_key(op)
        for bucket in buckets:
            if not (self.has_sums and bucket.name == KINDS["reduce-scatter"]):
                self.check_bucket(bucket)
        for bucketing in self.passes:
            self.check_first_cap(bucketing)
        if not self.has_sums:
            self.check_order()
        self.check_sides()
        return buckets

    def find_dropped(self, is_kind):
        """Nothing is there twice, and nothing is lost; but gathers may be that
        deliver what others have delivered."""
        before = {op.stable_name(): op for op in self.before.ops
                  if is_kind(op)}
        after = [name for op in self.after.ops if is_kind(op)
                 for name in members(op)]
        lost = before.keys() - after
        require(sorted(after) == sorted(before.keys() - lost),
                f"of {sorted(before)} became {sorted(after)}")
        starts = {self.definitions[op.operands[0]] if is_wait(op) else op
                  for name, op in before.items() if name in lost}
        require(not lost or any(DEDUPLICATE in p.flags for p in self.passes)
                and {start.name for start in starts} == {KINDS["all-gather"]},
                f"{sorted(lost)} is lost")
        return lost

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
                    (key_of(start), key_of(member))):
                require(this == that, f"{name}, {that}, is in {this} "
                                      f"{start.stable_name()}")

    def check_bucket(self, bucket):
        names = members(bucket)
        passes = [p for p in self.passes if KINDS[p.kind] == bucket.name]
        require(passes, f"nobody is to merge {bucket.stable_name()}")
        bytes = self.bytes_of(bucket)
        form = ("copy" if len(delivered_types(bucket.result_types[0])) == 1
                else "coalesced")
        require(any(self.may_merge(p, names, bytes, form) for p in passes),
                f"no pass may merge {bucket.stable_name()} of {bytes} bytes, "
                f"{form}")

    def bytes_of(self, bucket):
        return sum(bucket_bytes(self.starts[name]) for name in members(bucket))

    def may_merge(self, bucketing, names, bytes, form):
        starts = [self.starts[name] for name in names]
        mode = ("coalesced" if "bitwise" in bucketing.flags
                else bucketing.mode)
        if mode not in (form, "auto"):
            return False
        if (bucketing.plan or "fsdp-only" in bucketing.flags) and not all(
                map(self.may_be_fsdp, starts)):
            return False
        if bucketing.plan == "auto":
            return True
        if bucketing.plan:
            modules = [start.string("commsched.module") for start in starts]
            return any(all(any(is_named(module, path) for path in entry)
                           for module in modules) for entry in bucketing.plan)
        if bucketing.max_count and len(names) > bucketing.max_count:
            return False
        return not bucketing.caps or bytes <= max(bucketing.caps)

    def may_be_fsdp(self, start):
        """A gather must be of one argument, a parameter; what is scattered
        must be used, and meet nothing else on its way out of the function."""
        if start.name == KINDS["all-gather"]:
            return self.is_of_parameter(start)
        if start.name == KINDS["reduce-scatter"]:
            return self.leaves_alone(start)
        return True

    def is_of_parameter(self, gather):
        body = self.function.blocks[0]
        reached, stack = set(), list(gather.operands[:1])
        while stack:
            value = stack.pop()
            if value not in self.definitions:
                reached.add(value)
                continue
            op = self.definitions[value]
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
        used, stack = False, list(scatter.results)
        while stack:
            for user in users.get(stack.pop(), ()):
                used = used or not is_wait(user)
                if user.name == "func.return":
                    continue
                if len(set(user.operands)) > 1 or user not in self.before.ops:
                    return False
                stack += user.results
        return used

    def check_first_cap(self, bucketing):
        """What comes first of its key, before and after, is the first bucket.
        """
        kinds = [p.kind for p in self.passes]
        if (not bucketing.caps or bucketing.plan
                or not {SUM_FIRST, DEDUPLICATE}.isdisjoint(
                    bucketing.flags)
                or kinds.count(bucketing.kind) > 1):
            return

        def find_first(block):
            first = {}
            for op in block.ops:
                start = self.starts.get(members(op)[0])
                if (start and is_start(op) and len(start.operands) == 1
                        and start.name == KINDS[bucketing.kind]):
                    element = parse_tensor(start.operand_types[0])[1]
                    if "multi-dtype" in bucketing.flags:
                        element = "any"
                    first.setdefault((start.group(), element,
                                      str(key_of(start))), op)
            return first

        after = find_first(self.after)
        for key, start in find_first(self.before).items():
            names = members(after[key])
            if len(names) > 1 and names[0] == start.stable_name():
                bytes = self.bytes_of(after[key])
                require(bytes <= bucketing.caps[0],
                        f"{after[key].stable_name()}, the first bucket, has "
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
            crossed = (side ^ after[name]) - self.dropped
            require(not crossed, f"{sorted(crossed)} crossed {name}")


def check_function(before, after, passes):
    """Raises a violation, or returns the merged starts."""
    blocks, changed = list_blocks(before), list_blocks(after)
    require(blocks.keys() == changed.keys(), "communication changed its block")
    return [bucket for path, block in blocks.items()
            for bucket in BlockRules(before, block, changed[path],
                                     passes).check()]

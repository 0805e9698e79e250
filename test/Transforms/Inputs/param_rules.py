# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for the removal of unsharded parameters, and values that operations
see.

Both follow the description of the pass, for functions in the generic form with
the operations that random_params.py writes.
"""

from collections import defaultdict

RESIZE, FILL, READ = ("commsched.resize_storage", "commsched.fsdp_copy",
                      "bufferization.to_tensor")
ANYWHERE = "anywhere"


def flatten(block, top=None):
    """Operations in program order, with those of the block that hold them."""
    for op in block.ops:
        yield op, top or op
        for inner in op.blocks:
            yield from flatten(inner, top or op)


def written_operands(op):
    if op.name == "commsched.all_reduce":
        return op.operands[1:]
    if op.name == "commsched.compute" and "mutates" in op.attributes:
        return [op.operands[0]]
    if op.name == "memref.store":
        return [op.operands[1]]
    if op.name in (FILL, "func.call"):
        return op.operands[-1:]
    return []


def aliased(op, starts):
    """The value that the result is a view of, if it is one."""
    if op.name in (READ, "memref.cast"):
        return op.operands[0]
    if op.name == "commsched.wait":
        return next(iter(starts[op.operands[0]].operands[1:]), None)
    return op.operands[0] if "alias" in op.attributes else None


class Function:
    """A function, with what lives where."""

    def __init__(self, op):
        self.block = op.blocks[0]
        self.ops = list(flatten(self.block))
        self.place = {id(op): i for i, (op, _) in enumerate(self.ops)}
        self.starts = {op.results[0]: op for op, _ in self.ops
                       if op.name == "commsched.all_reduce"}
        self.waits = {op.operands[0]: op for op, _ in self.ops
                      if op.name == "commsched.wait"}
        self.storage = {a: a for a in self.block.arguments}
        self.origin = {}  # Of a tensor, the operation that read it.
        self.users = defaultdict(list)
        for op, _ in self.ops:
            for operand in op.operands:
                self.users[operand].append(op)
            for result in op.results:
                base = aliased(op, self.starts)
                self.storage[result] = self.storage[base] if base else result
                self.origin[result] = (op if op.name == READ
                                       else self.origin.get(base))
        self.params = {op.operands[-1] for op, _ in self.ops
                       if op.name in (RESIZE, FILL)}

    def top_place(self, place):
        return self.place[id(self.ops[place][1])]

    def last_use(self, read):
        """The place of the last operation that uses what `read` yields."""
        last = self.place[id(read)]
        for op, _ in self.ops:
            if any(self.origin.get(v) is read for v in op.operands):
                last = max(last, self.place[id(op)])
                if op.name == "commsched.all_reduce":
                    wait = self.waits[op.results[0]]
                    last = max(last, self.place[id(wait)])
        return last

    def writes(self, op):
        """The storages that an operation writes."""
        if op.name == "commsched.wait":
            op = self.starts[op.operands[0]]
        found = {self.storage[v] for v in written_operands(op)}
        if op.name == "func.call" or (op.name == "commsched.compute"
                                      and not op.results):
            found.add(ANYWHERE)
        return found


class Rules:
    """What is to become of each parameter: removed, kept or error."""

    def __init__(self, function):
        self.function = function
        self.verdicts = {p: self.judge(p) for p in sorted(function.params)}

    def judge(self, param):
        function = self.function
        uses = [(op, top) for op, top in function.ops
                if any(function.storage.get(v) == param for v in op.operands)]
        changes = [op for op, _ in uses
                   if op.name in (RESIZE, FILL) and op.operands[-1] == param]
        if any(top is not op for op, top in uses if op in changes):
            return "kept"
        resizes = [op.integer("bytes") for op in changes if op.name == RESIZE]
        if not resizes or resizes != [16, 0] * (len(resizes) // 2):
            return "kept"
        if any(param in function.writes(op) for op, _ in uses
               if op not in changes and op.name != FILL):
            return "error"
        if any(op.name in ("memref.load", "memref.cast", "func.return")
               or op.name == FILL and function.storage[op.operands[0]]
               in function.params for op, _ in uses):
            return "kept"
        return self.judge_contents(param, changes)

    def judge_contents(self, param, changes):
        function = self.function
        reads = [op for op, _ in function.ops
                 if op.name == READ and op.operands[0] == param]
        place = function.place
        grown, copy, last = False, None, defaultdict(int)
        for op in sorted(changes + reads, key=lambda op: place[id(op)]):
            if op.name == RESIZE:
                grown, copy = op.integer("bytes") > 0, None
            elif op.name == FILL and not grown:
                return "error"
            elif op.name == FILL:
                copy = op
            elif not function.users[op.results[0]]:
                continue
            elif not copy:
                return "error"
            else:
                use = function.last_use(op)
                end = next(place[id(c)] for c in changes
                           if place[id(c)] > place[id(op)])
                if use > end:
                    return "kept"
                last[id(copy)] = max(last[id(copy)], use)
        for copy in changes:
            if copy.name == FILL and id(copy) in last and self.is_written(
                    copy.operands[0], place[id(copy)], last[id(copy)]):
                return "kept"
        return "removed"

    def is_written(self, source, first, last):
        function = self.function
        storage = function.storage[source]
        watched = {storage}
        if storage in function.block.arguments and function.users[storage]:
            if any(op.name == READ for op in function.users[storage]):
                watched.add(ANYWHERE)
        return any(watched & function.writes(op) for op, top in function.ops
                   if first < function.place[id(top)]
                   <= function.top_place(last))


class Execution:
    """Executes a function. What it reads of a memref either stays what it was
    then, or changes with the storage."""

    def __init__(self, function, copies):
        self.function = function
        self.copies = copies
        self.storage = {a: a for a in function.block.arguments}
        self.content = {a: ("argument", a) for a in self.storage}
        self.seen = {}
        for op, _ in function.ops:
            self.execute(op)

    def execute(self, op):
        if op.name == RESIZE:
            self.content[op.operands[0]] = ("undefined", op.operands[0])
            return
        if op.name == FILL:
            self.content[op.operands[1]] = self.look(op.operands[0])
            return
        base = aliased(op, self.function.starts)
        sight = [self.look(v) for v in op.operands if v in self.storage]
        if op.name == "commsched.wait":
            sight = [self.look(self.function.starts[op.operands[0]]
                               .operands[0])]
        name = op.stable_name() or op.name
        if name.startswith("f") and op.name != READ:
            self.seen[name] = sight
        written = written_operands(op)
        if op.name == "commsched.wait" and base:
            written = [base]
        for value in written:
            self.content[self.storage[value]] = (name, tuple(sight))
        for result in op.results:
            copied = op.name == READ and self.copies
            if base and not copied:
                self.storage[result] = self.storage[base]
                continue
            self.storage[result] = result
            self.content[result] = (self.look(base) if copied
                                    else (name, tuple(sight)))

    def look(self, value):
        return self.content[self.storage[value]]

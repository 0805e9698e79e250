# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tool on random_steps.py and finds the orders in what it prints.

An operation is recognized by its whole line, so that nothing about it can have
changed.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass

NAME = re.compile(r'commsched\.name = "(\w+)"')
NUMBER = re.compile(r"commsched\.order = \d+ : i64, ")
# The second result of a copy-in, numbered by where it stands.
SECOND = re.compile(r"(%o\d+_)\d+")
LOOP = re.compile(r"%(o\d+) = scf\.for %(\S+) = .* iter_args\(%(\S+) =")
# What comes behind the operations of a region, which belongs to it.
TAIL = re.compile(r"\n( +scf\.yield .*)(?:\n( +} else \{)\n( +scf\.yield .*))?"
                  r"\n( +} \{)")


class Step:
    """A function, its printed lines, and what orders of it cost."""

    def __init__(self, function, printed):
        self.function = function
        self.printed = printed
        self.places = self.find_places(printed)
        self.numberless = self.find_places(NUMBER.sub("", printed))
        self.original = [list(range(len(b.ops))) for b in function.blocks]
        self.costs = self.price(self.original)
        self.peak, self.time = self.costs[0]
        self.dependences = [b.dependences() for b in function.blocks]
        self.kept = {
            "free": [[] for _ in function.blocks],
            "stream": [b.stream_order() for b in function.blocks],
            "all": [b.collective_order() for b in function.blocks],
            "waits": [b.wait_order() for b in function.blocks],
        }

    def find_places(self, printed):
        """Line -> block, operation, and the block that it opens or -1."""
        blocks = self.function.blocks
        indices = {block: index for index, block in enumerate(blocks)}
        places = {}
        for line in printed.split("\n"):
            if line.endswith(" {"):  # A region: the name comes behind it.
                op = self.function.by_name[re.match(r" +%(\w+)", line)[1]]
                places[line] = indices[op.block], op.index, indices[op.body]
            elif match := NAME.search(line):
                op = self.function.by_name[match[1]]
                is_end = op.body is not None
                places[line] = (indices[op.body] if is_end else
                                indices[op.block], -1 if is_end else op.index,
                                indices[op.block] if is_end else -1)
        assert len(places) == sum(len(b.ops) for b in blocks) + len(blocks) - 1, printed
        return places

    def read(self, printed, is_numberless):
        """The order of every block, or None if it is another program."""
        places = self.numberless if is_numberless else self.places
        orders = [[] for _ in self.function.blocks]
        current = 0
        for line in printed.split("\n"):
            block, op, following = places.get(line, (-1, -1, -1))
            if block != current:
                return None
            if op >= 0:
                orders[block].append(op)
            if following >= 0:
                current = following
        if any(sorted(order) != original
               for order, original in zip(orders, self.original)):
            return None
        return orders

    def price(self, orders):
        order_of = dict(zip(self.function.blocks, orders))
        return [(block.peak(order, order_of), block.step_time(order))
                for block, order in zip(self.function.blocks, orders)]

    def find_violation(self, orders, keeps):
        """The first pair that is the wrong way round, or None."""
        for block, order, pairs, kept in zip(
                self.function.blocks, orders, self.dependences,
                self.kept[keeps]):
            position = [0] * len(order)
            for place, index in enumerate(order):
                position[index] = place
            for pair in (pairs, kept):
                for a, b in pair:
                    if position[a] > position[b]:
                        return block.ops[a].name, block.ops[b].name
        return None


def rename_arguments(text):
    """With the arguments of a loop called alike, whether or not it was rebuilt."""
    for loop, counter, carried in LOOP.findall(text):
        text = re.sub(rf"%{counter}\b", f"%{loop}_i", text)
        text = re.sub(rf"%{carried}\b", f"%{loop}_it", text)
    return text


@dataclass
class Output:
    text: str
    bodies: dict  # Function -> the lines of its operations.
    heads: dict  # Function -> its first line.
    tails: dict  # Function -> its terminator.
    reports: dict
    remarks: str


class Tool:
    def __init__(self, command):
        self.command = command

    def run(self, source, pipeline, *options):
        result = subprocess.run(
            [*self.command, f"--pass-pipeline=builtin.module({pipeline})",
             "--mlir-use-nameloc-as-prefix", *options, "-"],
            input=source if isinstance(source, bytes) else source.encode(),
            capture_output=True, check=False)
        # Remarks may quote the bytecode, for want of another source.
        messages = result.stderr.decode(errors="replace")
        if result.returncode:
            errors = "\n".join(line for line in messages.splitlines()
                               if "remark:" not in line)
            sys.exit(f"{pipeline} failed:\n{errors[-4000:]}")
        return result.stdout, messages

    def schedule(self, source, pipeline, remarks=False):
        options = ["--remarks-filter=commsched", "--remark-policy=all",
                   "--remark-format=emitRemark"] if remarks else []
        pipeline += "," if pipeline else ""
        printed, messages = self.run(
            source, pipeline + "commsched-report{format=json}", *options)
        report, _, text = printed.decode().partition("module ")
        text = text.partition("\n")[2]
        reports = map(json.loads, report.splitlines())
        output = Output(text, {}, {}, {}, {r["function"]: r for r in reports}, messages)
        for part in SECOND.sub(r"\1", text).split("  func.func @")[1:]:
            lines, _, _ = part.rpartition("\n  }\n")
            head, _, lines = lines.partition("\n")
            body, _, tail = rename_arguments(lines).rpartition("\n")
            name = head.partition("(")[0]
            output.heads[name] = head
            output.bodies[name] = TAIL.sub(
                lambda m: "\n" + "\t".join(filter(None, m.groups())), body)
            output.tails[name] = tail
        return output

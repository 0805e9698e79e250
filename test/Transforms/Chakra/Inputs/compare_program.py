# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a trace, decoded by protobuf, with the program as JSON.

    compare_program.py PROGRAM.json TRACE GROUPS.json RANK

Nodes, times, sizes and groups are those of the program's operations in their
order, and what a node depends on, through others too, is what docs/guide/chakra.md
says. The program has one function without regions that communicate.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "testsupport/chakra"))

from traces import read_nodes  # noqa: E402

COMM_TYPES = {"all_reduce": 0, "all_gather": 2, "broadcast": 5,
              "all_to_all": 6, "reduce_scatter": 7, "barrier": 9}
TRANSFERS = {"offload": "MEM_STORE_NODE", "reload": "MEM_LOAD_NODE"}
BITS = {"f32": 32, "bf16": 16, "f16": 16, "i64": 64, "i32": 32, "i8": 8}


def count_bytes(type):
    count = BITS[type["element"]] // 8
    for extent in type["shape"]:
        count *= extent
    return count


def round_us(ns):
    return (ns + 500) // 1000


class Expected:
    """What a node must be, and the nodes that must have ended before."""

    def __init__(self, type, name, ns, micros, **fields):
        self.type, self.name, self.ns, self.micros = type, name, ns, micros
        self.fields = {key: str(value) for key, value in fields.items()}
        self.before = set()


class Program:
    def __init__(self, text, rank):
        program = json.loads(text)
        self.rank = rank
        self.groups = {g["name"]: g for g in program["groups"]}
        function, = (f for f in program["functions"] if "operations" in f)
        self.types = {a["id"]: a["type"] for a in function["arguments"]}
        self.nodes = []
        self.computation = None
        self.computed_ns = 0
        self.awaited = set()
        self.last = {}  # Stream -> its last nodes.
        self.started = {}  # Future -> nodes.
        for op in function["operations"]:
            self.add(op)

    def members(self, group):
        """The ranks of the group that this rank is in."""
        size, stride = group["size"], group.get("stride", 1)
        first = (self.rank - self.rank // stride % size * stride)
        return [first + i * stride for i in range(size)]

    def add(self, op):
        for result in op["results"]:
            self.types[result["id"]] = result["type"]
        kind = op["op"].removeprefix("commsched.")
        ns = op["attributes"].get("commsched.runtime_ns", 0)
        if kind == "wait":
            self.awaited.update(self.started[op["operands"][0]])
        elif kind in COMM_TYPES or kind in TRANSFERS or kind == "permute":
            self.add_collective(op, kind, ns)
        elif ns:
            begin = self.computed_ns
            self.computed_ns += ns
            node = Expected("COMP_NODE", op.get("name"), ns,
                            round_us(begin + ns) - round_us(begin))
            self.issue([node], set())
            self.computation = node

    def add_collective(self, op, kind, ns):
        sent = sum(count_bytes(self.types[id]) for id in op["operands"][
            :op["attributes"].get("operandSegmentSizes", [None])[0]])
        group = op["attributes"].get("group", kind).removeprefix("@")
        times = op.get("name"), ns, max(1, round_us(ns))
        if kind in TRANSFERS:
            nodes = [Expected(TRANSFERS[kind], *times, tensor_size=sent)]
        elif kind == "permute":
            nodes = self.make_permute(op, times, sent, self.groups[group])
        else:
            nodes = [Expected("COMM_COLL_NODE", *times, comm_size=sent,
                              comm_type=COMM_TYPES[kind])]
            nodes[0].members = self.members(self.groups[group])
        self.issue(nodes, self.last.get(group, set()))
        # A rank without a part in it waits for nothing.
        self.last[group] = set(nodes) or self.last.get(group, set())
        for result in op["results"]:
            self.started[result["id"]] = nodes
        if kind == "barrier":
            self.awaited.update(nodes)

    def make_permute(self, op, times, sent, group):
        ranks = self.members(group)
        text = op["attributes"]["pairs"]
        pairs = [(ranks[int(a)], ranks[int(b)]) for a, b in
                 re.findall(r"\[(\d+), (\d+)\]", text)]
        return [Expected(type, *times, comm_size=sent, comm_src=a, comm_dst=b)
                for type, end in (("COMM_SEND_NODE", 0), ("COMM_RECV_NODE", 1))
                for a, b in pairs if (a, b)[end] == self.rank]

    def issue(self, nodes, before):
        direct = self.awaited | before
        if self.computation:
            direct = direct | {self.computation}
        for node in nodes:
            node.before = direct.union(*(other.before for other in direct))
        self.nodes += nodes


def fail(problem, found):
    sys.exit(f"error: {problem}\nfound: {found.line}")


def compare(expected, found, groups):
    for what, value in [("type", found.type), ("runtime_ns", found.runtime_ns)]:
        wanted = expected.type if what == "type" else expected.ns
        if value != wanted:
            fail(f"{what} {wanted} of '{expected.name}'", found)
    texts = [f"duration_micros: {expected.micros} " if expected.micros else ""]
    texts += [f"{key}={value} " for key, value in expected.fields.items()]
    if expected.name:
        texts.append(f'name: "{expected.name}" ')
    for text in texts:
        if text not in found.line:
            fail(f"no '{text}'", found)
    if found.group and groups[found.group] != expected.members:
        fail(f"group {groups[found.group]}, not {expected.members}", found)


def main():
    program_file, trace, groups_file, rank = sys.argv[1:]
    program = Program(Path(program_file).read_text(), int(rank))
    groups = json.loads(Path(groups_file).read_text())
    nodes = read_nodes(trace)
    if len(nodes) != len(program.nodes):
        sys.exit(f"error: {len(nodes)} nodes, not {len(program.nodes)}")
    ids = {expected: node.id for expected, node in zip(program.nodes, nodes)}
    before = {}
    for expected, found in zip(program.nodes, nodes):
        compare(expected, found, groups)
        before[found.id] = set(found.dependences).union(
            *(before[id] for id in found.dependences))
        if before[found.id] != {ids[node] for node in expected.before}:
            fail(f"depends on {sorted(before[found.id])}, not on "
                 f"{sorted(ids[node] for node in expected.before)}", found)
    print(f"{len(nodes)} nodes agree")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read Chakra execution traces, and simulate one.

    traces.py print FILE...
    traces.py simulate [--one-collective] FILE

A trace is a sequence of messages, each behind its length. With a tag before each
length it is one message, the Trace of execution_trace.proto, which protoc decodes.
An unknown field or another type of a field is an error.

A simulation begins each node when its dependences have ended and what it runs on
is free: one computation, and one collective on each group. With --one-collective
there is one on all groups together, as in ASTRA-sim.
"""

import argparse
import heapq
import re
import subprocess
import sys
from pathlib import Path

SCHEMA = Path(__file__).with_name("execution_trace.proto")
METADATA_TAG, NODE_TAG = b"\x0a", b"\x12"
ATTRIBUTE = re.compile(
    r'attr \{ name: "(\w+)" \w+(?:: ("[^"]*"|\S+)| (\{.*?\})) \}')


def read_varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def add_tags(data):
    parts, position, tag = [], 0, METADATA_TAG
    while position < len(data):
        length, begin = read_varint(data, position)
        if begin + length > len(data):
            sys.exit("error: the last message is cut off")
        parts += [tag, data[position:begin + length]]
        position, tag = begin + length, NODE_TAG
    return b"".join(parts)


def read_lines(path):
    """The messages of a trace, each as a line of text."""
    text = subprocess.run(
        ["protoc", f"--proto_path={SCHEMA.parent}", "--decode=chakra.Trace",
         SCHEMA.name], input=add_tags(Path(path).read_bytes()), check=True,
        stdout=subprocess.PIPE).stdout.decode()
    # A number in place of a name is a field that the schema lacks.
    if unknown := re.search(r"^ *\d+[:{ ].*", text, re.MULTILINE):
        sys.exit(f"error: unknown field: {unknown.group().strip()}")
    for message in re.split(r"^(?=node|metadata)", text, flags=re.MULTILINE):
        if line := " ".join(message.split()):
            yield ATTRIBUTE.sub(r"\1=\2\3", line)


class Node:
    def __init__(self, line):
        self.line = line
        self.id = int(self._find(r"\bid: (\d+)", "0"))
        self.type = self._find(r"\btype: (\w+)")
        self.dependences = [
            int(text) for text in re.findall(r"data_deps: (\d+)", line)]
        self.runtime_ns = int(self._find(r"\bruntime_ns=(\d+)"))
        self.group = self._find(r'\bpg_name="(\d+)"', "")
        self.comm_type = self._find(r"\bcomm_type=(\d+)", "")

    def _find(self, pattern, default=None):
        match = re.search(pattern, self.line)
        if not match and default is None:
            sys.exit(f"error: no {pattern} in {self.line}")
        return match.group(1) if match else default

    @property
    def is_computation(self):
        return self.type == "COMP_NODE"

    @property
    def resource(self):
        if self.is_computation:
            return "computation"
        return f"{self.type if 'MEM' in self.type else 'group'} {self.group}"


def read_nodes(path):
    return [Node(line) for line in read_lines(path)
            if line.startswith("node")]


def simulate(nodes, one_collective=False):
    """The time of the step in nanoseconds. Of several nodes that could begin,
    the one with the least id does."""
    missing = {node.id: len(node.dependences) for node in nodes}
    successors = {node.id: [] for node in nodes}
    for node in nodes:
        for dependence in node.dependences:
            successors[dependence].append(node)

    def get_resource(node):
        if one_collective and not node.is_computation:
            return "communication"
        return node.resource

    ready, busy, ends = {}, set(), []
    for node in nodes:
        if not node.dependences:
            heapq.heappush(ready.setdefault(get_resource(node), []),
                           (node.id, node))
    now = ended = 0
    while True:
        for resource, queue in ready.items():
            if resource not in busy and queue:
                _, node = heapq.heappop(queue)
                busy.add(resource)
                heapq.heappush(ends, (now + node.runtime_ns, node.id, node))
        if not ends:
            break
        now = ends[0][0]
        while ends and ends[0][0] == now:
            _, _, node = heapq.heappop(ends)
            ended += 1
            busy.discard(get_resource(node))
            for successor in successors[node.id]:
                missing[successor.id] -= 1
                if missing[successor.id] == 0:
                    heapq.heappush(
                        ready.setdefault(get_resource(successor), []),
                        (successor.id, successor))
    if ended != len(nodes):
        sys.exit(f"error: {len(nodes) - ended} nodes never begin")
    return now


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("print").add_argument("files", nargs="+")
    simulation = commands.add_parser("simulate")
    simulation.add_argument("--one-collective", action="store_true")
    simulation.add_argument("file")
    options = parser.parse_args()
    if options.command == "simulate":
        print(f'"step_time_ns":'
              f'{simulate(read_nodes(options.file), options.one_collective)},')
        return
    for path in options.files:
        print(f"{path}:")
        for line in read_lines(path):
            print(line)


if __name__ == "__main__":
    main()

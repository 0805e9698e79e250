# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of docs/guide/model.md on an exported program.

Reads a function as commsched-export-json writes it, and finds out by itself what
waits for what and which memory each operation takes; only the costs are given.
For bodies without regions and calls, of the operations that this project's passes
make.
"""

from math import prod

from simulate import simulate

BYTES = {"f32": 4}
#: Operations of which a result is in the storage of an operand or of another
#: result: the places of both.
VIEWS = {"tensor.extract_slice": 0, "tensor.expand_shape": 0,
         "tensor.collapse_shape": 0, "tensor.cast": 0}
#: Operations that write their result into an operand if nothing needs that any
#: more.
OVERWRITES = {"linalg.copy": 1, "tensor.insert_slice": 1}


def get_bytes(type):
    """What a value takes of the device."""
    if type["kind"] != "tensor" or "host" in type.get("encoding", ""):
        return 0
    return prod(type["shape"]) * BYTES[type["element"]]


def find_last_uses(operations):
    """By value: the last operation that uses it. What a collective sends is in use
    until its wait."""
    waits = {op["operands"][0]: place for place, op in enumerate(operations)
             if op["op"] == "commsched.wait"}
    last = {}
    for place, op in enumerate(operations):
        ends = [waits[r["id"]] for r in op["results"] if r["id"] in waits]
        for value in op["operands"]:
            last[value] = max(last.get(value, 0), place, *ends)
    return last


def is_freeable(argument):
    return (argument.get("role") == "saved_activation"
            or not argument["attributes"].keys().isdisjoint(
                ("commsched.freeable", "commsched.carried")))


class CountedProgram:
    """`problem`: what simulate() takes."""

    def __init__(self, function, costs):
        self.buffers, self.storages = [], {}
        self.nodes, self.starts, self.streams = [], {}, {}
        self.last_uses = find_last_uses(function["operations"])
        self.last_uses.update(
            (value, len(function["operations"])) for value in function["results"])
        for argument in function["arguments"]:
            self.allocate(argument["id"], argument["type"], -1,
                          is_freeable(argument))
        for op, cost in zip(function["operations"], costs, strict=True):
            self.add(op, cost)
        for value in function["results"]:
            self.storages[value][2] = False

    def allocate(self, value, type, producer, is_freed=True):
        self.storages[value] = [get_bytes(type), producer, is_freed, []]
        self.buffers.append(self.storages[value])

    def use(self, values, place):
        for value in values:
            if value in self.storages:
                self.storages[value][3].append(place)

    def add(self, op, cost):
        place, operands, results = len(self.nodes), op["operands"], op["results"]
        if op["op"] == "commsched.wait":
            start, used, delivered = self.starts[operands[0]]
            self.use(used, place)
            for result, storage in zip(results, delivered):
                self.storages[result["id"]] = storage
                storage[3].append(place)
            self.nodes.append(["wait", cost, -1, False, start])
            return
        self.use(operands, place)
        if results and results[0]["type"]["kind"] == "future":
            self.start(op, cost, place)
            return
        self.nodes.append(["compute", cost, -1, False, -1])
        for number, result in enumerate(results):
            if not self.share(op, number, place):
                self.allocate(result["id"], result["type"], place)

    def start(self, op, cost, place):
        operands, future = op["operands"], op["results"][0]
        count, *_ = op["attributes"].get("operandSegmentSizes",
                                         [len(operands)])
        stream = op["attributes"].get("group", op["op"])
        delivered = [self.storages[value] for value in operands[count:]]
        if not delivered:
            for type in future["type"]["values"]:
                delivered.append([get_bytes(type), place, True, []])
                self.buffers.append(delivered[-1])
        self.starts[future["id"]] = place, operands, delivered
        self.nodes.append(["start", cost, self.streams.setdefault(
            stream, len(self.streams)), False, -1])

    def share(self, op, number, place):
        """Whether the result has a storage that is there already."""
        result = op["results"][number]["id"]
        if op["op"] in VIEWS:
            self.storages[result] = self.storages[op["operands"][0]]
        elif op["op"] == "commsched.all_gather_copy_in" and number == 0:
            self.allocate(op["results"][1]["id"], op["results"][1]["type"], place)
            self.storages[result] = self.storages[op["results"][1]["id"]]
        elif "alias" in op["attributes"] and number == 0:
            self.storages[result] = self.storages[
                op["operands"][op["attributes"]["alias"]]]
        elif op["op"] in OVERWRITES:
            target = self.storages[op["operands"][OVERWRITES[op["op"]]]]
            if target[2] and not any(
                    self.last_uses.get(value, 0) > place
                    for value, storage in self.storages.items()
                    if storage is target):
                self.storages[result] = target
        return result in self.storages

    @property
    def problem(self):
        return {"nodes": self.nodes, "dependences": [],
                "buffers": self.buffers}


def count(function, costs):
    """What `function` takes, whose operations take `costs`."""
    program = CountedProgram(function, costs)
    return simulate(program.problem, range(len(program.nodes)))

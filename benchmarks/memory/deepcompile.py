# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DeepCompile's passes on the functions of a problem dump of commsched-peers.

Written from its paper (arXiv 2504.09983) and from deepspeed/compile; README.md
says what was taken from it, and what differs.
"""

from __future__ import annotations

import bisect
from typing import NamedTuple

# Constants of deepspeed/compile/passes/prefetch.py.
MOST_FUSED = 1_000_000_000
MOST_BUFFERED = 4_000_000_000
FUSE_GAIN = 1.2
# ZeRO's reduce_bucket_size, in elements, and the buckets in flight.
REDUCE_BUCKET = 500_000_000
REDUCE_BUFFERS = 2


class Gather(NamedTuple):
    """The gather of a parameter."""

    start: int
    wait: int
    bytes: int
    cost: int
    key: int
    value: str  # the gathered parameter, as commsched.saved_values names it
    shard: str  # the same of what is gathered


class Function:
    """What the passes ask of a function of the dump."""

    def __init__(self, description: dict):
        self.name = description["function"]
        self.nodes = description["nodes"]
        self.values = description["values"]
        self.buffers = description["buffers"]
        self.before = [[] for _ in self.nodes]
        for source, target, _ in description["dependences"]:
            self.before[target].append(source)
        self.waits = {
            node["start"]: index
            for index, node in enumerate(self.nodes)
            if node["start"] >= 0
        }
        self.gathers = {g.start: g for g in self._find_gathers()}

    def _find_gathers(self):
        for start, node in enumerate(self.nodes):
            if node["kind"] != "start" or node["collective"] != "all-gather":
                continue
            if node["key"] < 0 or not self._is_cheap(start):
                continue
            wait = self.waits[start]
            yield Gather(
                start,
                wait,
                node["bytes"],
                node["cost_ns"],
                node["key"],
                self.nodes[wait]["name"],
                self._name(node["operands"][0]),
            )

    def _name(self, value: int) -> str:
        producer = self.values[value]["producer"]
        return self.nodes[producer]["name"] if producer >= 0 else ""

    def ancestors(self, node: int) -> list[int]:
        """Everything that `node` depends on, in program order."""
        found, stack = set(), [node]
        while stack:
            for source in self.before[stack.pop()]:
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return sorted(found)

    def _is_cheap(self, start: int) -> bool:
        """Whether the operand is a parameter, cast or reshaped at most."""
        ancestors = self.ancestors(start)
        return len(ancestors) < 8 and all(
            self.nodes[a]["kind"] == "compute" and not self.nodes[a]["expensive"]
            for a in ancestors
        )

    def live_bytes(self) -> list[int]:
        """The bytes that are live at each node, in program order."""
        change = [0] * (len(self.nodes) + 1)
        for size, producer, is_freed, users in self.buffers:
            change[max(producer, 0)] += size
            last = max([producer, *users])
            if is_freed and last >= 0:
                change[last + 1] -= size
        live, total = [], 0
        for delta in change[:-1]:
            total += delta
            live.append(total)
        return live


class Predictor:
    """The time of a gather of so many bytes, between those of the program."""

    def __init__(self, gathers):
        times: dict[int, int] = {}
        for gather in gathers:
            times[gather.bytes] = max(times.get(gather.bytes, 0), gather.cost)
        self.points = sorted(times.items())

    def __call__(self, size: int) -> float:
        if size == 0 or not self.points:
            return 0.0
        if len(self.points) == 1:
            return self.points[0][1] * size / self.points[0][0]
        place = bisect.bisect_left(self.points, (size, 0))
        place = min(max(place, 1), len(self.points) - 1)
        (x0, y0), (x1, y1) = self.points[place - 1 : place + 1]
        return y0 + (y1 - y0) * (size - x0) / (x1 - x0)


class _Prefetch:
    """The pass `prefetch`: from the last operation to the first it collects
    gathers into groups, and puts a group where memory does not let it go
    further up."""

    def __init__(self, function: Function, limit: int):
        self.function = function
        self.limit = limit
        self.live = function.live_bytes()
        self.predict = Predictor(function.gathers.values())
        self.group: list[Gather] = []
        self.groups: list[list[Gather]] = []
        self.pending = 0
        self.reverse: list = []

    def _launch(self):
        group = self.groups.pop(0)
        self.pending -= sum(g.bytes for g in group)
        self.reverse.append(group)

    def _close(self):
        if self.group:
            self.groups.append(self.group)
            self.group = []

    def _make_room(self, node: int):
        """For what is live at the operation above."""
        while (
            self.live[node - 1] + self.pending > self.limit
            or self.pending > MOST_BUFFERED
        ):
            if self.groups:
                self._launch()
            elif self.group:
                self._close()
            else:
                break

    def _add(self, gather: Gather):
        size = sum(g.bytes for g in self.group)
        alone = max(self.predict(size), self.predict(gather.bytes))
        fused = self.predict(size + gather.bytes)
        is_fused = (
            self.group
            and self.group[0].key == gather.key
            and alone * FUSE_GAIN > fused
            and size + gather.bytes < MOST_FUSED
        )
        if not is_fused:
            self._close()
        self.group.append(gather)
        self.pending += gather.bytes

    def run(self) -> list:
        """Operations, and lists of gathers, in their new order."""
        function = self.function
        for node in reversed(range(len(function.nodes))):
            if node:
                self._make_room(node)
            if node in function.gathers:
                self._add(function.gathers[node])
            else:
                self.reverse.append(node)
        self._close()
        while self.groups:
            self._launch()
        return self.reverse[::-1]


def _reduce_buckets(function: Function) -> list[list[int]]:
    """ZeRO's buckets of gradients: neighbours, up to a number of elements."""
    buckets, elements, key = [], 0, None
    for start, node in enumerate(function.nodes):
        if node["kind"] != "start" or node["collective"] != "reduce-scatter":
            continue
        size = 1
        for dimension in function.values[node["operands"][0]]["shape"]:
            size *= max(dimension, 1)
        if node["key"] < 0 or node["key"] != key or elements + size > REDUCE_BUCKET:
            buckets.append([])
            elements = 0
        buckets[-1].append(start)
        elements += size
        key = node["key"]
    return buckets


def _place_reduces(function: Function, order: list[int], buckets) -> list[int]:
    """Waits for a bucket of gradients where its buffer is used again."""
    waits_of = [[function.waits[s] for s in bucket] for bucket in buckets]
    moved = {wait for waits in waits_of for wait in waits}
    last_start = {bucket[-1]: index for index, bucket in enumerate(buckets)}
    result = []
    for node in order:
        if node in moved:
            continue
        if node in last_start and last_start[node] >= REDUCE_BUFFERS:
            result += waits_of[last_start[node] - REDUCE_BUFFERS]
        result.append(node)
    for waits in waits_of[max(len(buckets) - REDUCE_BUFFERS, 0) :]:
        result += waits
    return result


def prefetch(function: Function, limit: int) -> dict:
    """The entry of an answer: gathers are prefetched within `limit` bytes."""
    order, seen, buckets = [], set(), []

    def append(nodes):
        for node in nodes:
            if node not in seen:
                seen.add(node)
                order.append(node)

    for item in _Prefetch(function, limit).run():
        if isinstance(item, int):
            append([item])
            continue
        for gather in item:
            append(function.ancestors(gather.start))
        append(sorted(g.start for g in item))
        if len(item) > 1:
            buckets.append(sorted(g.start for g in item))
    reduces = _reduce_buckets(function)
    order = _place_reduces(function, order, reduces)
    buckets += [bucket for bucket in reduces if len(bucket) > 1]
    return {"function": function.name, "order": order, "buckets": buckets}


def choose_persistent(functions: list[Function], available: int) -> list[Gather]:
    """The pass `selective_gather`: the parameters that stay gathered, those
    with most time a byte first, up to the first that does not fit."""
    times: dict[str, int] = {}
    first: dict[str, Gather] = {}
    for function in functions:
        for gather in function.gathers.values():
            times[gather.value] = times.get(gather.value, 0) + gather.cost
            first.setdefault(gather.value, gather)
    chosen = []
    # Sorting is stable, and dictionaries keep the order of the program.
    for value in sorted(times, key=lambda v: times[v] / -first[v].bytes):
        available -= first[value].bytes
        if available < 0:
            break
        chosen.append(first[value])
    return chosen

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with buffers, to be ordered: what is legal, how long, how much.

This is docs/guide/model.md once more, written to be compared with the tool: slow,
and without a look at how the tool sees a program. An order of a block is the
list of its operations' indices.
"""

from dataclasses import dataclass, field
from itertools import combinations


@dataclass(eq=False)
class Buffer:
    """Memory that a block allocates, or that is there when it starts."""

    bytes: int
    block: "Block"
    producer: "Op" = None  # None: there from the start.
    users: list = field(default_factory=list)
    stays: bool = False  # To the end of the block.


@dataclass(eq=False)
class Value:
    text: str
    type: "Type"
    owner: "Op"  # What defines it; None for arguments.
    block: "Block"
    buffer: Buffer  # What keeps it.
    place: object  # Where its contents are. Views share one.
    is_fresh: bool  # Made by its owner, in memory that nothing else has seen.
    uses: int = 0


@dataclass(eq=False)
class Op:
    """One operation. `kind`: compute, start, wait, blocking or region."""

    name: str
    kind: str
    block: "Block"
    index: int
    cost: int = 0
    stream: str = ""
    is_point_to_point: bool = False
    number: int = -1  # Its commsched.order.
    start: "Op" = None  # Of a wait.
    needs: set = field(default_factory=set)  # What defines its operands.
    reads: list = field(default_factory=list)  # Places, and so below.
    writes: list = field(default_factory=list)
    # Of a start: the types, buffers and places that its wait delivers, and the
    # values that it sends and writes into.
    delivers: list = field(default_factory=list)
    sent: list = field(default_factory=list)
    into: list = field(default_factory=list)
    body: "Block" = None
    counted: int = 0  # Bytes in the body that the block around counts.

    def is_collective(self):
        return self.kind in ("start", "blocking")

    def is_barrier(self):
        """Nothing that communicates crosses it."""
        return self.kind == "blocking" or self.body and any(
            op.communicates() for op in self.body.ops)

    def streams(self):
        inside = (op.streams() for op in self.body.ops) if self.body else ()
        return {self.stream}.union(*inside)

    def communicates(self):
        return self.kind in ("start", "wait") or self.is_barrier()


@dataclass(eq=False)
class Block:
    function: "Function"
    parent: Op = None  # The operation that it is in; None for a body.
    ops: list = field(default_factory=list)
    buffers: list = field(default_factory=list)
    # Operations that write a part of a tensor, with its buffer and that of
    # their result, which is the same if nothing needs the tensor any more.
    overwrites: list = field(default_factory=list)

    def add(self, name, kind, cost):
        op = Op(name, kind, self, len(self.ops), cost)
        self.ops.append(op)
        return op

    def allocate(self, bytes, producer=None):
        buffer = Buffer(bytes, self, producer)
        self.buffers.append(buffer)
        return buffer

    # What an order has to keep, as pairs of indices.

    def dependences(self):
        """What every pass keeps, but for collectives on one stream."""
        pairs = {(owner.index, op.index) for op in self.ops for owner in op.needs}
        accesses = {}
        for op in self.ops:
            for place in op.reads:
                accesses.setdefault(place, []).append((op.index, False))
            for place in op.writes:
                accesses.setdefault(place, []).append((op.index, True))
        for at_place in accesses.values():
            pairs.update((a, b) for (a, writes), (b, writes_too)
                         in combinations(at_place, 2)
                         if a != b and (writes or writes_too))
        for op, buffer in self.find_taken_over(range(len(self.ops))).values():
            pairs.update((user.index, op.index) for user in buffer.users
                         if user is not op)
        communicating = [op for op in self.ops if op.communicates()]
        for a, b in combinations(communicating, 2):
            if a.is_barrier() or b.is_barrier():
                pairs.add((a.index, b.index))
            elif a.is_collective() and b.is_collective() and (
                    a.number >= 0 and b.number >= 0
                    or a.stream == b.stream
                    and (a.is_point_to_point or b.is_point_to_point)):
                pairs.add((a.index, b.index))
        return sorted(pairs)

    def find_taken_over(self, order):
        """Buffer of a result -> its operation, and the buffer that the
        operation takes over in this order, as its last user."""
        position = {index: place for place, index in enumerate(order)}
        found = {}

        def users(buffer):
            """Of the buffer and all that have been taken over for it."""
            while buffer:
                yield from buffer.users
                buffer = found[buffer][1] if buffer in found else None

        for op, target, result in sorted(
                self.overwrites, key=lambda o: position[o[0].index]):
            if not target.stays and target.bytes == result.bytes and not any(
                    user.kind == "start"
                    or position[user.index] > position[op.index]
                    for user in users(target)):
                found[result] = op, target
        return found

    def stream_order(self):
        """Neighbouring collectives of each stream."""
        last, pairs = {}, []
        for op in self.ops:
            if op.is_collective():
                if op.stream in last:
                    pairs.append((last[op.stream], op.index))
                last[op.stream] = op.index
        return pairs

    def collective_order(self):
        """Neighbouring collectives, whatever their stream."""
        indices = [op.index for op in self.ops if op.is_collective()]
        return list(zip(indices, indices[1:]))

    def wait_order(self):
        """The same, and each wait with the next start."""
        pairs, waiting = self.collective_order(), []
        for op in self.ops:
            if op.kind == "wait":
                waiting.append(op)
            elif op.kind == "start":
                pairs += [(wait.index, op.index) for wait in waiting]
                waiting = []
        return pairs

    # What an order costs.

    def peak(self, order, order_of=None):
        """Live bytes at the worst place of `order`. `order_of` has the orders
        of the blocks inside, of which all that is not counted here is live
        while their operation runs."""
        position = {index: place for place, index in enumerate(order)}
        allocated = [0] * len(order)
        freed = [0] * len(order)
        live = 0
        taken_over = self.find_taken_over(order)
        passed_on = {buffer for _, buffer in taken_over.values()}
        for buffer in self.buffers:
            first = last = -1
            if buffer.producer:
                first = last = position[buffer.producer.index]
            if buffer not in taken_over:
                if buffer.producer:
                    allocated[first] += buffer.bytes
                else:
                    live += buffer.bytes
            if buffer.stays or buffer in passed_on:
                continue
            for user in buffer.users:
                last = max(last, position[user.index])
            if last >= 0:
                freed[last] += buffer.bytes
        peak = live
        for index, grown, shrunk in zip(order, allocated, freed):
            live += grown
            op, inside = self.ops[index], 0
            if op.body:
                inside = op.body.peak(order_of[op.body], order_of) - op.counted
            peak = max(peak, live + max(0, inside))
            live -= shrunk
        return peak

    def step_time(self, order):
        """When the compute stream is through; every start has its wait."""
        clock, streams, ends = 0, {}, {}
        for index in order:
            op = self.ops[index]
            if op.is_collective():
                begin = max(clock, streams.get(op.stream, 0))
                ends[op] = streams[op.stream] = begin + op.cost
                if op.kind == "blocking":
                    clock = ends[op]
            elif op.kind == "wait":
                clock = max(clock, ends[op.start])
            else:
                idle = max(streams.get(stream, 0) for stream in op.streams())
                clock = max(clock, idle) + op.cost
        return clock


@dataclass(eq=False)
class Function:
    name: str
    text: str = ""
    blocks: list = field(default_factory=list)  # The body comes first.
    by_name: dict = field(default_factory=dict)  # Operation of every block.

    def add_block(self, parent=None):
        self.blocks.append(Block(self, parent))
        return self.blocks[-1]


def ancestor_in(block, op):
    """The operation of `block` that `op` is or is in."""
    while op.block is not block:
        op = op.block.parent
    return op


def need(op, owner):
    """`op`, and what it is in, comes after `owner`."""
    ancestor_in(owner.block, op).needs.add(owner)


def keep(op, buffer):
    """`buffer` is there as long as `op`, or what it is in, runs."""
    buffer.users.append(ancestor_in(buffer.block, op))


def access(op, place, writes):
    """`op`, and what it is in, touches `place`."""
    while op:
        (op.writes if writes else op.reads).append(place)
        op = op.block.parent


def use(op, value):
    """`value` is an operand of `op`, which looks at it."""
    value.uses += 1
    if value.owner:
        need(op, value.owner)
    keep(op, value.buffer)
    access(op, value.place, writes=False)

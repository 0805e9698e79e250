# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds what passes did to a function, by its dataflow.

Every operation that passes keep, keeps its name. A value is therefore known
by where it comes from, its origin: an argument, or a result of an operation
with a name. Where an operation of both programs has an operand of another
origin than before, the old value was replaced by the new one. Collectives
that became one have a name that joins theirs, and what it delivers has the
origins of what they delivered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, Optional

from commsched.torch.rewriting.errors import PlanError
from commsched.torch.rewriting.plan import Bucket, Plan

_KINDS = {
    "commsched.all_gather": "all_gather",
    "commsched.reduce_scatter": "reduce_scatter",
    "commsched.all_reduce": "all_reduce",
}
_COPY_INS = frozenset(
    {"commsched.all_gather_copy_in", "commsched.chunk_cat", "tensor.concat"}
)
_RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
_STORAGE_CHANGES = frozenset(
    {"commsched.fsdp_copy", "commsched.resize_storage"}
)
_READ = "bufferization.to_tensor"

# What the importer adds to the names of nodes, for operations beside the one
# that stands for the node.
_ASIDE = (".operand", ".sizes", ".wait", ".view")

# (kind, name or number, number of the result)
Origin = tuple


def make_plan(before: Any, after: Any, function: str) -> Plan:
    """Returns what was done to `function` between two programs.

    `before` and `after` are `commsched.program.Program`s that one run of
    `commsched-opt` exported. Raises PlanError for what a plan cannot say.
    """
    try:
        pair = before.function(function), after.function(function)
    except KeyError as error:
        raise PlanError(str(error.args[0])) from None
    return difference(*pair)


def difference(before: Any, after: Any) -> Plan:
    """Returns the plan that makes of the `commsched.program.Function` `before`
    the function `after`; raises PlanError if no plan does."""
    old = _Before(before)
    new = _After(old, after)
    names = list(_entries(before, set()))
    order = list(_entries(after, new.stages))
    return Plan(
        order=tuple(order),
        buckets=tuple(bucket.finish() for bucket in new.buckets),
        replacements=new.replacements(),
        removed=new.removed(),
        into=tuple(new.into),
        unchanged=names == order,
    )


def _entries(function: Any, stages: Any) -> Iterator:
    """Yields the order's entries: nodes' names, and stages of buckets."""
    names = {op.name for op in function.operations}
    seen: set = set()
    for op in function.operations:
        if id(op) in stages:
            yield stages[id(op)]
            continue
        name = op.name
        base, _, suffix = name.rpartition(".")
        if base:
            # One node that is several operations is where the first is.
            if not suffix.isdigit() or base in names:
                continue
            name = base
        if name and name not in seen:
            seen.add(name)
            yield name


class _Before:
    """The function as it was imported."""

    def __init__(self, function: Any):
        self.function = function
        self.operations: dict[str, list] = {}
        self.origins: dict[int, Origin] = {}
        self.wait_of: dict[str, Any] = {}
        producers = function.producers()
        for number, argument in enumerate(function.arguments):
            self.origins[argument.value.id] = ("argument", number, 0)
        for op in function.operations:
            if op.op == _READ and not op.name:
                self.origins[op.results[0].id] = self.origins[op.operands[0]]
                continue
            if not op.name:
                raise PlanError(
                    f"an operation '{op.op}' of function '{function.name}' "
                    "has no name: import the graph again"
                )
            self.operations.setdefault(op.name, []).append(op)
            for number, value in enumerate(op.results):
                self.origins[value.id] = ("operation", op.name, number)
            if op.op == "commsched.wait":
                self.wait_of[producers[op.operands[0]].name] = op

    def one(self, name: str) -> Any:
        """Returns the operation with that name."""
        found = self.operations.get(name)
        if not found:
            raise PlanError(
                f"'{name}' is not an operation of function "
                f"'{self.function.name}' as it was imported"
            )
        return found[0]

    def operand(self, op: Any, index: int = 0) -> Origin:
        return self.origins[op.operands[index]]


@dataclass
class _BucketFound:
    kind: str
    mode: str
    starts: list
    waits: list
    # Numbers of the values, of the new function, that the copy-in packs or
    # the launch sends.
    sources: list
    offsets: list = field(default_factory=list)
    casts: list = field(default_factory=list)
    bytes: bool = False

    def finish(self) -> Bucket:
        return Bucket(
            self.kind,
            self.mode,
            tuple(self.starts),
            tuple(self.waits),
            self.bytes,
            tuple(self.casts),
        )


class _After:
    """The function after passes, compared with what it was."""

    def __init__(self, old: _Before, function: Any):
        self.old = old
        self.function = function
        self.buckets: list[_BucketFound] = []
        self.into: list[tuple] = []
        # By id of an operation, the stage of a bucket that it is.
        self.stages: dict[int, tuple] = {}
        self._origins: dict[int, Origin] = {}
        # By name of an operation that is left, how many times it was seen.
        self._kept: dict[str, int] = {}
        # By origin, what it became, in the order of discovery.
        self._became: dict[Origin, list] = {}
        for number, argument in enumerate(function.arguments):
            self._origins[argument.value.id] = ("argument", number, 0)
        for op in function.operations:
            self._visit(op)
        for was, now in zip(old.function.results, function.results):
            self._compare(old.origins[was], self._origins[now])
        for bucket in self.buckets:
            self._compare_sources(bucket)

    # -- operations ----------------------------------------------------------

    def _visit(self, op: Any) -> None:
        for handle in (
            self._pass_on,
            self._copy_in,
            self._start,
            self._wait,
            self._copy_out,
        ):
            if handle(op):
                return
        if op.name not in self.old.operations:
            raise PlanError(
                f"a pass has made the operation '{op.op}'"
                + (f" named '{op.name}'" if op.name else "")
                + f" in function '{self.function.name}', which no plan can say"
            )
        self._survivor(op)

    def _survivor(self, op: Any) -> None:
        """Compares an operation with the one that it was."""
        same = self.old.operations[op.name]
        index = self._kept.get(op.name, 0)
        self._kept[op.name] = index + 1
        was = same[min(index, len(same) - 1)]
        if was.op != op.op or len(was.results) != len(op.results):
            raise PlanError(
                f"operation '{op.name}' was a '{was.op}' and is a '{op.op}'"
            )
        given = self._given(op, was)
        if len(given) != len(was.operands):
            raise PlanError(
                f"operation '{op.name}' had {len(was.operands)} operands and "
                f"has {len(given)}"
            )
        for a, b in zip(was.operands, given):
            self._compare(self.old.origins[a], self._origins[b])
        if [v.type for v in was.results] != [v.type for v in op.results]:
            raise PlanError(f"the results of '{op.name}' have other types")
        for number, value in enumerate(op.results):
            self._origins[value.id] = ("operation", op.name, number)

    def _given(self, op: Any, was: Any) -> tuple:
        """Returns the operands of `op` but the buffer that a pass has given it
        to deliver into."""
        if op.op != "commsched.all_gather":
            return op.operands
        sent, into = _segments(op)
        if into == 0 or _segments(was)[1]:
            return op.operands
        kind, name, number = self._origins[op.operands[sent]]
        if into != 1 or kind != "operation":
            raise PlanError(
                f"'{op.name}' delivers into {into} buffers, of which the "
                "first is no result of an operation"
            )
        self.into.append((op.name, name, number))
        return op.operands[:sent]

    def _pass_on(self, op: Any) -> bool:
        """Handles operations without a name, that view what they are given."""
        if op.name:
            return False
        if op.op == _READ or op.op in _RESHAPES:
            self._origins[op.results[0].id] = self._origins[op.operands[0]]
            return True
        if op.op == "tensor.extract_slice":
            kind, number, _ = self._origins[op.operands[0]]
            if kind == "delivered":
                offset = op.attributes.get("static_offsets", [None])[0]
                bucket = self.buckets[number]
                if offset in bucket.offsets:
                    member = bucket.offsets.index(offset)
                    self._deliver(op.results[0], bucket, member)
                    return True
        return False

    # -- buckets -------------------------------------------------------------

    def _copy_in(self, op: Any) -> bool:
        if op.op not in _COPY_INS or op.name in self.old.operations:
            return False
        if not op.name.endswith(".copy_in"):
            return False
        names = op.name[: -len(".copy_in")].split("+")
        number = self._add_bucket("copy", names, op.operands)
        self.stages[id(op)] = (number, "copy_in")
        for value in op.results:
            self._origins[value.id] = ("packed", number, 0)
        return True

    def _start(self, op: Any) -> bool:
        if op.op not in _KINDS:
            return False
        kind, number, _ = self._origins[op.operands[0]]
        if kind != "packed":
            if op.name in self.old.operations:
                return False
            names = op.name.split("+")
            sent = op.operands[: _segments(op)[0]]
            if len(sent) != len(names):
                raise PlanError(
                    f"'{op.name}' is one collective of what {len(names)} "
                    "reduce, which no plan can say"
                )
            number = self._add_bucket("coalesced", names, sent)
        self.stages[id(op)] = (number, "start")
        self._origins[op.results[0].id] = ("started", number, 0)
        return True

    def _wait(self, op: Any) -> bool:
        if op.op != "commsched.wait":
            return False
        kind, number, _ = self._origins[op.operands[0]]
        if kind != "started":
            return False
        bucket = self.buckets[number]
        self.stages[id(op)] = (number, "wait")
        if op.name != "+".join(bucket.waits):
            raise PlanError(
                f"'{op.name}' waits for {', '.join(bucket.starts)}, whose "
                f"waits are {', '.join(bucket.waits)}"
            )
        if bucket.mode == "coalesced":
            for member, value in enumerate(op.results):
                self._deliver(value, bucket, member)
        else:
            self._origins[op.results[0].id] = ("delivered", number, 0)
        return True

    def _copy_out(self, op: Any) -> bool:
        if op.op != "commsched.split_with_sizes_copy":
            return False
        kind, number, _ = self._origins[op.operands[0]]
        if kind != "delivered":
            return False
        self.stages[id(op)] = (number, "copy_out")
        for member, value in enumerate(op.results):
            self._deliver(value, self.buckets[number], member)
        return True

    def _add_bucket(self, mode: str, names: list, sources: Any) -> int:
        starts = [self.old.one(name) for name in names]
        kinds = {start.op for start in starts}
        if len(kinds) != 1 or not kinds <= _KINDS.keys():
            raise PlanError(
                f"{', '.join(names)} are merged, but are not all-gathers, "
                "reduce-scatters or all-reduces, of which alone PyTorch has "
                "operators for several tensors; schedule with "
                "buckets=gathers-and-reductions"
            )
        if len(sources) != len(names):
            raise PlanError(
                f"{len(sources)} tensors are packed for the {len(names)} "
                f"collectives {', '.join(names)}"
            )
        if any(start.attributes.get("dim", 0) for start in starts):
            raise PlanError(
                f"one of {', '.join(names)} does not work along dimension 0, "
                "as those of PyTorch do"
            )
        waits = [self.old.wait_of[name] for name in names]
        if any(len(wait.results) != 1 for wait in waits):
            raise PlanError(
                f"one of {', '.join(names)} delivers several tensors"
            )
        bucket = _BucketFound(
            _KINDS[starts[0].op],
            mode,
            names,
            [wait.name for wait in waits],
            list(sources),
        )
        types = [wait.results[0].type for wait in waits]
        bucket.bytes = mode == "copy" and len({t.element for t in types}) > 1
        offset = 0
        for type_ in types:
            bucket.offsets.append(offset)
            offset += _elements(type_.shape)
        self.buckets.append(bucket)
        return len(self.buckets) - 1

    def _deliver(self, value: Any, bucket: _BucketFound, member: int) -> None:
        self._origins[value.id] = ("operation", bucket.waits[member], 0)

    def _compare_sources(self, bucket: _BucketFound) -> None:
        for name, source in zip(bucket.starts, bucket.sources):
            bucket.casts.append(
                self._absorbed(name, self._origins[source])
            )

    def _absorbed(self, start: str, now: Origin) -> str:
        """Returns the name of the cast that a copy-in does for a member, or
        "". What it packs is what the member sent, or what such a cast of it
        took."""
        was = self.old.operand(self.old.one(start))
        cast = ""
        origin: Optional[Origin] = was
        while origin is not None and origin != now:
            kind, name, _ = origin
            origin = None
            if kind == "operation" and name not in self._kept:
                op = self.old.one(name)
                if len(op.operands) == 1:
                    if not name.endswith(_ASIDE):
                        cast = cast or name
                    origin = self.old.operand(op)
        if origin is None:
            self._compare(was, now)
            return ""
        return cast

    # -- what became of values -----------------------------------------------

    def _compare(self, was: Origin, now: Origin) -> None:
        if now[0] not in ("argument", "operation"):
            raise PlanError(
                f"{_describe(was)} was replaced by a buffer of a bucket"
            )
        found = self._became.setdefault(was, [])
        if now not in found:
            found.append(now)

    def replacements(self) -> tuple:
        """Returns the pairs of nodes' names of which the second stands for the
        first."""
        pairs = []
        for was, found in self._became.items():
            if found == [was]:
                continue
            if was[0] == "argument":
                self._check_storage(was, found)
                continue
            if len(found) > 1 or found[0][0] != "operation":
                raise PlanError(
                    f"{_describe(was)} became "
                    + " and ".join(map(_describe, found))
                    + ", which no plan can say"
                )
            if was[2] != found[0][2]:
                raise PlanError(
                    f"{_describe(was)} became {_describe(found[0])}"
                )
            pair = (was[1], found[0][1])
            if pair not in pairs:
                pairs.append(pair)
        return tuple(pairs)

    def _check_storage(self, was: Origin, found: list) -> None:
        """Raises unless reads of a storage became what was copied into it."""
        sources = [was]
        for op in self.old.function.operations:
            if op.op == "commsched.fsdp_copy" and op.name not in self._kept:
                if self.old.operand(op, 1) == was:
                    sources.append(self.old.operand(op))
        for now in found:
            if now not in sources:
                raise PlanError(
                    f"{_describe(was)} became {_describe(now)}, which was not "
                    "copied into it"
                )

    def removed(self) -> tuple:
        """Returns the names of the changes of storages that are left out;
        raises if anything else with an effect is."""
        merged = {
            name
            for bucket in self.buckets
            for name in (*bucket.starts, *bucket.waits)
        }
        names = []
        for name, same in self.old.operations.items():
            op = same[0]
            if name in self._kept or name in merged:
                continue
            if op.op in _STORAGE_CHANGES:
                names.append(name)
            elif "mutates" in op.attributes or not op.results:
                raise PlanError(
                    f"a pass has left out '{name}', a '{op.op}' that has an "
                    "effect"
                )
        return tuple(names)


def _segments(op: Any) -> tuple:
    """Returns how many operands a collective sends and how many it writes."""
    # Those of an all_to_all end with the tensors that hold its splits.
    sent, into, *_ = op.attributes.get(
        "operandSegmentSizes", [len(op.operands), 0]
    )
    return sent, into


def _elements(shape: tuple) -> int:
    count = 1
    for size in shape:
        count *= size or 0
    return count


def _describe(origin: Origin) -> str:
    kind, name, number = origin
    if kind == "argument":
        return f"argument {name}"
    return f"result {number} of '{name}'"

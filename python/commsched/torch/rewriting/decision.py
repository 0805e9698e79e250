# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the plan from the program that passes have left.

Passes write what they decided: operations are in their order, and what a pass
made of others has these as its origin (`commsched.origin`). An operation that
is neither in the program before nor has an origin, or whose origin is no
bucket, is one that no plan can say. Names are looked up, never taken apart.
"""

from __future__ import annotations

from typing import Any, Iterator

from commsched.torch.rewriting.errors import PlanError
from commsched.torch.rewriting.plan import KINDS, Bucket, Plan

_WAIT = "commsched.wait"
_KINDS = {f"commsched.{kind}": kind for kind in KINDS}
_STORAGE_CHANGES = frozenset(
    {"commsched.fsdp_copy", "commsched.resize_storage"}
)


def make_plan(before: Any, after: Any, function: str) -> Plan:
    """Returns what was done to `function` between two programs.

    `before` and `after` are `commsched.program.Program`s that one run of
    `commsched-opt` exported. Raises PlanError for what a plan cannot say.
    """
    try:
        pair = before.function(function), after.function(function)
    except KeyError as error:
        raise PlanError(str(error.args[0])) from None
    return _Reader(*pair).plan()


class _Reader:
    def __init__(self, before: Any, after: Any):
        self._before = before
        self._after = after
        self._old: dict[str, Any] = {}
        for op in before.operations:
            if op.name:
                self._old.setdefault(op.name, op)
            elif op.op != "bufferization.to_tensor":
                raise PlanError(
                    f"an operation '{op.op}' of function '{before.name}' has "
                    "no name: import the graph again"
                )
        self._producers = after.producers()
        self._users = after.users()
        self._buckets: list[Bucket] = []
        # By id of an operation, the stage of a bucket that it is.
        self._stages: dict[int, tuple] = {}

    def plan(self) -> Plan:
        made = []
        for op in self._after.operations:
            if self._is_kept(op):
                self._check_kept(op)
            elif op.origin:
                made.append(op)
            elif op.name or op.regions:
                raise self._unsaid(op)
        for op in made:
            if any(u.op == _WAIT for u in self._users_of(op)):
                self._add_bucket(op)
        for op in made:
            if id(op) not in self._stages:
                raise self._unsaid(op)
        names = list(self._entries(self._before))
        order = list(self._entries(self._after))
        return Plan(
            order=tuple(order),
            buckets=tuple(self._buckets),
            replacements=tuple(self._replacements()),
            removed=tuple(self._removed()),
            into=tuple(self._into()),
            unchanged=names == order,
        )

    # -- operations ----------------------------------------------------------

    def _one(self, name: str) -> Any:
        if name not in self._old:
            raise PlanError(
                f"'{name}' is not an operation of function "
                f"'{self._before.name}' as it was imported"
            )
        return self._old[name]

    def _node(self, name: str) -> str:
        """Returns the name of the node that an operation is a part of."""
        origin = self._one(name).origin
        return origin[0][0] if origin else name

    def _is_kept(self, op: Any) -> bool:
        """Returns whether `op` is an operation of before, perhaps one that
        others that are gone are equal to."""
        old = self._old.get(op.name)
        if old is None:
            return False
        first = [names[0] for names in op.origin]
        return op.origin == old.origin or first == [op.name]

    def _check_kept(self, op: Any) -> None:
        old = self._old[op.name]
        if old.op != op.op:
            raise PlanError(
                f"operation '{op.name}' was a '{old.op}' and is a '{op.op}'"
            )
        taken = len(op.operands) - (_buffers(op) - _buffers(old))
        if taken != len(old.operands):
            raise PlanError(
                f"operation '{op.name}' had {len(old.operands)} operands and "
                f"has {taken}"
            )
        if [v.type for v in old.results] != [v.type for v in op.results]:
            raise PlanError(f"the results of '{op.name}' have other types")

    def _unsaid(self, op: Any) -> PlanError:
        named = f" named '{op.name}'" if op.name else ""
        return PlanError(
            f"a pass has made the operation '{op.op}'{named} in function "
            f"'{self._after.name}', which no plan can say"
        )

    def _users_of(self, op: Any) -> list:
        return [u for v in op.results for u in self._users.get(v.id, ())]

    def _entries(self, function: Any) -> Iterator:
        """Yields the order's entries: nodes, and stages of buckets. A node
        that is several operations is where the one of its name is, or else
        the first."""
        seen = set()
        for op in function.operations:
            if id(op) in self._stages:
                yield self._stages[id(op)]
            elif op.name in self._old:
                node = self._node(op.name)
                if node != op.name and node in self._old or node in seen:
                    continue
                seen.add(node)
                yield node

    # -- buckets -------------------------------------------------------------

    def _add_bucket(self, start: Any) -> None:
        names = [members[0] for members in start.origin]
        self._check_members(start, names)
        number = len(self._buckets)
        self._stages[id(start)] = (number, "start")
        packed = self._producers[start.operands[0]]
        is_packed = bool(getattr(packed, "origin", ())) and not self._is_kept(
            packed
        )
        casts: tuple = ("",) * len(names)
        if is_packed:
            self._stages[id(packed)] = (number, "copy_in")
            casts = tuple(map(self._cast, packed.origin))
        elif len(start.operands) - _buffers(start) != len(names):
            raise PlanError(
                f"'{start.name}' is one collective of what {len(names)} "
                "reduce, which no plan can say"
            )
        waits: list = []
        for wait in self._users_of(start):
            self._stages[id(wait)] = (number, "wait")
            waits = [self._node(members[0]) for members in wait.origin]
            for user in self._users_of(wait):
                if user.origin and not self._is_kept(user):
                    self._stages[id(user)] = (number, "copy_out")
        self._buckets.append(
            Bucket(
                _KINDS[start.op],
                "copy" if is_packed else "coalesced",
                tuple(map(self._node, names)),
                tuple(waits),
                is_packed and "packed" in packed.attributes,
                casts,
            )
        )

    def _check_members(self, start: Any, names: list) -> None:
        starts = [self._one(name) for name in names]
        if start.op not in _KINDS or {op.op for op in starts} != {start.op}:
            raise PlanError(
                f"{', '.join(names)} are merged, but are not all-gathers, "
                "reduce-scatters or all-reduces, of which alone PyTorch has "
                "operators for several tensors; schedule with "
                "buckets=gathers-and-reductions"
            )
        if any(op.attributes.get("dim", 0) for op in starts):
            raise PlanError(
                f"one of {', '.join(names)} does not work along dimension 0, "
                "as those of PyTorch do"
            )

    def _cast(self, members: tuple) -> str:
        """Returns the node of the cast that a copy-in does for a member."""
        for name in members[1:]:
            if self._one(name).op not in _KINDS:
                return self._node(name)
        return ""

    # -- what became of values -----------------------------------------------

    def _replacements(self) -> Iterator:
        """Yields pairs of nodes of which the second stands for the first."""
        for op in self._after.operations:
            for kept, *others in op.origin if op.op == _WAIT else ():
                for name in others:
                    yield self._node(name), self._node(kept)

    def _removed(self) -> Iterator:
        """Yields the changes of storages that are left out; raises if
        anything else with an effect is."""
        stand = {op.name for op in self._after.operations if self._is_kept(op)}
        for op in self._after.operations:
            stand.update(name for names in op.origin for name in names)
        for name, op in self._old.items():
            if name in stand:
                continue
            if op.op in _STORAGE_CHANGES:
                yield self._node(name)
            elif "mutates" in op.attributes or not op.results:
                raise PlanError(
                    f"a pass has left out '{name}', a '{op.op}' that has an "
                    "effect"
                )

    def _into(self) -> Iterator:
        """Yields the gathers that a pass has given a buffer to deliver into,
        with the node and the number of the result that it is."""
        for op in self._after.operations:
            if op.op != "commsched.all_gather" or not self._is_kept(op):
                continue
            if not _buffers(op) or _buffers(self._old[op.name]):
                continue
            value = op.operands[len(op.operands) - _buffers(op)]
            source = self._producers[value]
            results = [v.id for v in getattr(source, "results", ())]
            if _buffers(op) != 1 or source.name not in self._old:
                raise PlanError(
                    f"'{op.name}' delivers into {_buffers(op)} buffers, of "
                    "which the first is no result of an operation"
                )
            yield (
                self._node(op.name),
                self._node(source.name),
                results.index(value),
            )


def _buffers(op: Any) -> int:
    """Returns how many buffers a collective writes into."""
    _, into, *_ = op.attributes.get("operandSegmentSizes", (0, 0))
    return into

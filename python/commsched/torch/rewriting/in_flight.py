# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that have no more than so many collectives in flight.

Collectives start later than the plan says, behind the wait for an earlier one,
and in the same order: other ranks rely on that, and may wait at other places.
Only where a collective is waited for before it could start so is the wait for
an earlier one moved up.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple, Optional, Union

from torch import fx

from commsched.torch.importer.targets import collective_of, is_wait
from commsched.torch.rewriting.dependences import is_start, started_by
from commsched.torch.rewriting.plan import Entry, Plan

#: A launch: the name of its start, or the number of its bucket.
Launch = Union[str, int]

class Limit(NamedTuple):
    """What may be in flight, in words: at most `most` of the launches of a
    kind that `counts`."""

    what: str
    counts: Callable[[str], bool]
    most: int


def limit_in_flight(
    plan: Plan, graph: fx.Graph, limits: list[Limit]
) -> tuple[Plan, int]:
    """Returns `plan` for `graph` within `limits`, and how many starts or waits
    that moves."""
    if not limits:
        return plan, 0
    order = _Order(plan, graph, limits)
    entries = tuple(order.entries())
    moved = order.moved
    if not moved:
        return plan, 0
    return dataclasses.replace(plan, order=entries, unchanged=False), moved


class _Order:
    def __init__(self, plan: Plan, graph: fx.Graph, limits: list[Limit]):
        self._plan = plan
        self._limits = limits
        self._nodes = {node.name: node for node in graph.nodes}
        # By launch, the entries of its waits; those that came are taken out.
        self._waits: dict[Launch, list[Entry]] = {}
        for entry in plan.order:
            launch = self._waited(entry)
            if launch is not None:
                self._waits.setdefault(launch, []).append(entry)
        self._held: collections.deque[tuple[Launch, Entry]]
        self._held = collections.deque()
        self._flying: dict[Launch, str] = {}
        self.moved = 0

    def entries(self) -> Iterator[Entry]:
        """Yields the order of the plan within the limits."""
        for entry in self._plan.order:
            started, waited = self._started(entry), self._waited(entry)
            if started is not None:
                self._held.append((started, entry))
                if len(self._held) > 1 or not self._has_room(started):
                    self.moved += 1
                yield from self._release()
            elif waited is None:
                yield entry
            elif entry in self._waits[waited]:
                yield from self._start(waited)
                self._waits[waited].remove(entry)
                self._flying.pop(waited, None)
                yield entry
                yield from self._release()
        while self._held:
            yield from self._start(self._held[-1][0])

    def _release(self) -> Iterator[Entry]:
        """Starts what may start."""
        while self._held and self._has_room(self._held[0][0]):
            yield self._launch()

    def _start(self, launch: Launch) -> Iterator[Entry]:
        """Starts `launch` if it is held, and what is held before it."""
        while any(held == launch for held, _ in self._held):
            first = self._held[0][0]
            for earlier, kind in list(self._flying.items()):
                if not self._has_room(first) and self._counted(first, kind):
                    self.moved += 1
                    yield from self._waits.get(earlier, ())
                    self._waits[earlier] = []
                    del self._flying[earlier]
            yield self._launch()

    def _launch(self) -> Entry:
        launch, entry = self._held.popleft()
        self._flying[launch] = self._kind(launch)
        return entry

    def _has_room(self, launch: Launch) -> bool:
        kind = self._kind(launch)
        flying = list(self._flying.values())
        return all(
            sum(map(limit.counts, flying)) < limit.most
            for limit in self._limits
            if limit.counts(kind)
        )

    def _counted(self, launch: Launch, kind: str) -> bool:
        """Whether a limit counts `launch` and what is of `kind` together."""
        own = self._kind(launch)
        return any(
            limit.counts(own) and limit.counts(kind) for limit in self._limits
        )

    # -- entries -------------------------------------------------------------

    def _started(self, entry: Entry) -> Optional[Launch]:
        if not isinstance(entry, str):
            return entry[0] if entry[1] == "start" else None
        node = self._nodes.get(entry)
        return entry if node is not None and is_start(node) else None

    def _waited(self, entry: Entry) -> Optional[Launch]:
        if not isinstance(entry, str):
            return entry[0] if entry[1] == "wait" else None
        node = self._nodes.get(entry)
        if node is None or node.op != "call_function":
            return None
        start = started_by(node) if is_wait(node.target) else None
        return None if start is None else start.name

    def _kind(self, launch: Launch) -> str:
        if isinstance(launch, int):
            return self._plan.buckets[launch].kind
        call = collective_of(self._nodes[launch].target)
        return "" if call is None else call.kind

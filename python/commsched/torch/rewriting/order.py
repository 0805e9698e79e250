# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts nodes into an order, whatever it leaves open or gets wrong.

The result has every node behind what it depends on. A node that the order
names comes at its place, and what it needs and has not come yet directly
before it. Of the nodes that the order does not name, elements of a value with
several, numbers about shapes and dead ends come directly after what they
belong to, and all others directly before their first user, so that nothing
lies in memory longer than it has to.
"""

from __future__ import annotations

import operator
from typing import Callable, Iterable, Mapping, Sequence

import torch
from torch import fx

from commsched.torch.importer.targets import is_wait
from commsched.torch.rewriting.dependences import started_by


def arrange(
    nodes: Sequence[fx.Node],
    wanted: Iterable[fx.Node],
    memory: Mapping[fx.Node, Sequence[fx.Node]],
    inputs: Callable[[fx.Node], Sequence[fx.Node]],
    users: Callable[[fx.Node], Iterable[fx.Node]],
) -> list[fx.Node]:
    """Returns `nodes` in the order `wanted`, corrected and completed.

    `nodes` are in an order of their own that has arguments before users, and
    end with the output; `memory` is what `memory_dependences` returns.
    `inputs` and `users` are the arguments and the users of a node.
    """
    wanted = list(dict.fromkeys(wanted))
    named = set(wanted)
    placed = _Placement(memory, inputs, users, named, _later_waits(nodes, named))
    for node in nodes:
        if node.op == "placeholder":
            placed.put(node)
    for node in wanted:
        placed.put(node)
    for node in nodes:
        placed.put(node)
    return list(placed.order)


class _Placement:
    def __init__(self, memory, inputs, users, named, later_waits):
        self._memory = memory
        self._inputs = inputs
        self._users = users
        self._named = named
        self._later_waits = later_waits
        # An ordered set.
        self.order: dict[fx.Node, None] = {}

    def put(self, node: fx.Node) -> None:
        """Appends `node`, after what it needs and is not there yet."""
        if node in self.order:
            return
        stack = [node]
        while stack:
            current = stack[-1]
            missing = self._missing(current)
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if current not in self.order:
                self.order[current] = None
                stack.extend(reversed(self._followers(current)))

    def _missing(self, node: fx.Node) -> list[fx.Node]:
        order = self.order
        missing = [s for s in self._inputs(node) if s not in order]
        for source in self._memory.get(node, ()):
            if source not in order:
                missing.append(source)
        return missing

    def _followers(self, node: fx.Node) -> list[fx.Node]:
        """Returns what belongs directly behind `node`."""
        found = [
            user
            for user in self._users(node)
            if user not in self._named
            and user not in self.order
            and _stays_behind(user)
            and not self._missing(user)
        ]
        for wait in self._later_waits.get(node, ()):
            if wait not in self.order and not self._missing(wait):
                found.append(wait)
        return found


def _stays_behind(node: fx.Node) -> bool:
    """Returns whether a node that the order does not name belongs directly
    behind its arguments rather than before its first user."""
    if node.op == "output":
        return False
    if node.target is operator.getitem or not node.users:
        return not is_wait(node.target)
    value = node.meta.get("val")
    return isinstance(
        value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
    )


def _later_waits(
    nodes: Sequence[fx.Node], named: set
) -> dict[fx.Node, list[fx.Node]]:
    """Returns, by the first wait of a collective that delivers several
    values, its waits that the order does not name."""
    by_start: dict[fx.Node, list[fx.Node]] = {}
    for node in nodes:
        if node.op == "call_function" and is_wait(node.target):
            start = started_by(node)
            if start is not None:
                by_start.setdefault(start, []).append(node)
    later = {}
    for waits in by_start.values():
        first = [wait for wait in waits if wait in named]
        if first and len(waits) > 1:
            later[first[0]] = [w for w in waits if w not in named]
    return later

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
from typing import Iterable, Mapping, Sequence

import torch
from torch import fx

from commsched.torch.importer.targets import is_wait
from commsched.torch.rewriting.dependences import started_by
from commsched.torch.rewriting.errors import RewriteError


def arrange(
    nodes: Sequence[fx.Node],
    wanted: Iterable[fx.Node],
    memory: Mapping[fx.Node, Sequence[fx.Node]],
) -> list[fx.Node]:
    """Returns `nodes` in the order `wanted`, corrected and completed.

    `nodes` end with the output; `memory` is what `memory_dependences` returns.
    Raises RewriteError where nodes depend on each other in a circle.
    """
    named = dict.fromkeys(wanted)
    placed = _Placement(nodes, memory, named)
    placed.put_inputs()
    for node in named:
        placed.put(node)
    for node in nodes:
        placed.put(node)
    return list(placed.order)


class _Placement:
    def __init__(self, nodes, memory, named):
        self._live = dict.fromkeys(nodes)
        self._memory = memory
        self._named = named
        self._later_waits = _later_waits(nodes, named)
        # An ordered set.
        self.order: dict[fx.Node, None] = {}

    def put_inputs(self) -> None:
        """Puts the graph's inputs, in their order, and what belongs directly
        behind them."""
        inputs = [node for node in self._live if node.op == "placeholder"]
        self.order.update(dict.fromkeys(inputs))
        for node in inputs:
            for follower in self._followers(node):
                self.put(follower)

    def put(self, node: fx.Node) -> None:
        """Appends `node`, after what it needs and is not there yet."""
        if node in self.order:
            return
        stack = [node]
        opened: set[fx.Node] = set()
        while stack:
            current = stack[-1]
            missing = self._missing(current)
            if missing and current not in self.order:
                if current in opened:
                    raise RewriteError(
                        f"'{current.name}' would have to come before itself: "
                        "the plan merges what depends on each other here"
                    )
                opened.add(current)
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if current not in self.order:
                self.order[current] = None
                stack.extend(reversed(self._followers(current)))

    def _missing(self, node: fx.Node) -> list[fx.Node]:
        order = self.order
        missing = [s for s in node.all_input_nodes if s not in order]
        for source in self._memory.get(node, ()):
            if source not in order:
                missing.append(source)
        return missing

    def _followers(self, node: fx.Node) -> list[fx.Node]:
        """Returns what belongs directly behind `node`. Nothing comes between
        placeholders: what follows one comes before its first user."""
        if node.op == "placeholder":
            return []
        found = [
            user
            for user in node.users
            if user in self._live
            and user not in self._named
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
    nodes: Sequence[fx.Node], named: Mapping
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

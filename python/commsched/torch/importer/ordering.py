# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order of a graph's nodes.

A graph may reach a pass with nodes before what they use: Inductor's merge of
DDP's all-reduces leaves one so, and Inductor sorts it later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Optional

import torch

from commsched.torch.private import relink


def used_too_early(
    graph: torch.fx.Graph,
) -> Optional[tuple[torch.fx.Node, torch.fx.Node]]:
    """Returns the first node that uses another before it is there, and that
    other one; None if the graph is in order."""
    seen: set[torch.fx.Node] = set()
    for node in graph.nodes:
        for source in node.all_input_nodes:
            if source not in seen:
                return node, source
        seen.add(node)
    return None


def put_in_order(graph: torch.fx.Graph) -> bool:
    """Moves nodes of `graph` that use what is not there yet behind it, and no
    others; returns whether there were any."""
    if used_too_early(graph) is None:
        return False
    placed: set[torch.fx.Node] = set()
    late: set[torch.fx.Node] = set()
    order: list[torch.fx.Node] = []
    for first in list(graph.nodes):
        ready = [first]
        while ready:
            node = ready.pop()
            # The last two of its sources may both have made it ready.
            if node in placed:
                continue
            if not placed.issuperset(node.all_input_nodes):
                late.add(node)
                continue
            placed.add(node)
            late.discard(node)
            order.append(node)
            ready.extend(u for u in reversed(node.users) if u in late)
    relink(graph, order)
    return True


@contextlib.contextmanager
def in_order(graph: torch.fx.Graph) -> Iterator[None]:
    """Has `graph` in order within the block, and its nodes where they were
    behind it."""
    order = list(graph.nodes)
    moved = put_in_order(graph)
    try:
        yield
    finally:
        if moved:
            relink(graph, order)

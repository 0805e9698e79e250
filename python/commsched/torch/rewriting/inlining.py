# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that call other graphs, whose operators the importer takes for their
own.

Where a called graph communicates, its operators have to be moved one by one,
so the graph becomes the one in which they stand. Other calls stay: what they
run is placed as a whole, where the last of it is in the plan's order.
"""

from __future__ import annotations

from typing import Iterable

from torch import fx

from commsched.torch.private import forget_names
from commsched.torch.importer.inline import (
    body_of,
    inlined,
    is_composite_collective,
    owners,
)
from commsched.torch.importer.targets import (
    attribute_of,
    communicates,
    communication_inside,
)
from commsched.torch.private.names import HigherOrderOperator
from commsched.torch.rewriting.plan import Entry


def without_calls(gm: fx.GraphModule) -> fx.Graph:
    """Returns the graph of `gm`, or a copy without calls of graphs if one of
    them communicates."""
    if any(_communicates(node) for node in gm.graph.nodes):
        graph = inlined(gm)
        for node in graph.find_nodes(op="get_attr"):
            held = attribute_of(gm, str(node.target))
            if not node.users and isinstance(held, fx.GraphModule):
                graph.erase_node(node)
        return graph
    return gm.graph


def _communicates(node: fx.Node) -> bool:
    if isinstance(node.target, HigherOrderOperator):
        return communication_inside(node) is not None
    if is_composite_collective(node.target):
        return body_of(node) is not None
    if node.op != "call_module":
        return False
    body = attribute_of(node.graph.owning_module, str(node.target))
    return isinstance(body, fx.GraphModule) and any(
        _communicates(inner)
        or (inner.op == "call_function" and communicates(inner.target))
        for inner in body.graph.nodes
    )


def place_calls(order: Iterable[Entry], graph: fx.Graph) -> list[Entry]:
    """Returns `order` with calls that stay in the place of the last of the
    nodes that the importer makes of them."""
    order = list(order)
    owner = owners(graph.owning_module) if graph.owning_module else {}
    last = {
        owner[entry]: index
        for index, entry in enumerate(order)
        if entry in owner
    }
    return [
        owner.get(entry, entry)
        for index, entry in enumerate(order)
        if entry not in owner or last[owner[entry]] == index
    ]


def replace_nodes(graph: fx.Graph, other: fx.Graph) -> None:
    """Makes the nodes of `graph` copies of those of `other`, with their
    names."""
    for node in reversed(list(graph.nodes)):
        graph.erase_node(node)
    forget_names(graph)
    known: dict[fx.Node, fx.Node] = {}
    for node in other.nodes:
        known[node] = graph.node_copy(node, known.__getitem__)

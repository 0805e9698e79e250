# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves the nodes of a graph into the order of a module's names."""

from __future__ import annotations

import heapq
import re

import torch

_NAME = re.compile(r'commsched\.name = "([^"]+)"')


def apply_order(gm: torch.fx.GraphModule, text: str) -> None:
    """Sorts the nodes of `gm` by where `text` names them; a node that it
    does not name comes directly before its first user."""
    places: dict[str, int] = {}
    for line in text.splitlines():
        found = _NAME.search(line)
        if found:
            places[found.group(1).partition(".")[0]] = len(places)
    nodes = [n for n in gm.graph.nodes if n.op not in ("placeholder", "output")]
    index = {node: i for i, node in enumerate(nodes)}
    late = len(places)
    key = {}
    for node in reversed(nodes):
        users = [key[user] for user in node.users if user in key]
        own = places.get(node.name)
        key[node] = float(own) if own is not None else min(
            users, default=late
        ) - 0.5
    waiting = {
        node: sum(source in index for source in node.all_input_nodes)
        for node in nodes
    }
    ready = [(key[n], index[n]) for n in nodes if not waiting[n]]
    heapq.heapify(ready)
    output = gm.graph.output_node()
    while ready:
        node = nodes[heapq.heappop(ready)[1]]
        output.prepend(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (key[user], index[user]))
    gm.graph.lint()
    gm.recompile()

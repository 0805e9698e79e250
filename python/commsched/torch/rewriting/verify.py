# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a rewritten graph computes what the graph before it did."""

from __future__ import annotations

from typing import Mapping, Sequence

from torch import fx

from commsched.torch.rewriting.errors import RewriteError


def check_order(
    before: Sequence[fx.Node],
    after: Sequence[fx.Node],
    memory: Mapping[fx.Node, Sequence[fx.Node]],
) -> None:
    """Raises RewriteError unless `after` has the nodes of `before`, each
    behind its arguments and what `memory` says."""
    place = {node: index for index, node in enumerate(after)}
    if len(place) != len(after) or place.keys() != dict.fromkeys(before).keys():
        raise RewriteError("the new order does not have the graph's nodes")
    for node in after:
        here = place[node]
        for source in (*node.all_input_nodes, *memory.get(node, ())):
            if place[source] >= here:
                raise RewriteError(
                    f"node '{node.name}' would come before '{source.name}', "
                    "which it depends on"
                )

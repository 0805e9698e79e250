# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the package uses of Inductor's scheduler, none of which is public.

The scheduler works on a list of nodes, one for each kernel or external call.
External calls and collectives come in the order of the FX graph, until nodes
are fused and moved for peak memory; kernels come where something first reads
them. See Scheduler._init in torch/_inductor/scheduler.py (2.13, 2.15).
"""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.dependencies import WeakDep
from torch._inductor.virtualized import V

#: Key in a graph module's `meta` under which the FX pass leaves word for the
#: passes over the scheduler's nodes.
MARK = "commsched_scheduled"


def mark(gm: torch.fx.GraphModule, scheduled: bool) -> None:
    """Records in `gm` whether its order is to be kept."""
    gm.meta[MARK] = scheduled


def is_scheduled() -> bool:
    """Returns whether the graph that is lowered just now has an order to be
    kept."""
    return bool(_lowered().meta.get(MARK))


def _lowered() -> torch.fx.GraphModule:
    return V.graph.module


def keeps_place(node: Any) -> bool:
    """Returns whether a scheduler node is a start, a wait or an external
    call, alone or with what was fused into it: one whose place among the
    others of its kind is the schedule."""
    return any(
        part.is_template()
        or (part.is_extern() and not isinstance(part.node, ir.MultiOutput))
        for part in node.get_nodes()
    )


def chain(nodes: list[Any]) -> list[Any]:
    """Makes every node that keeps its place depend on the one before.

    These dependences hold no memory. A fusion that would move one of the
    nodes past another would close a cycle, and Inductor refuses it; so does
    every pass that sorts by dependences. Has to run before nodes are fused.
    """
    scheduler = V.graph.scheduler
    previous = None
    for node in nodes:
        if not keeps_place(node):
            continue
        if previous is not None:
            own = next(iter(node.get_buffer_names()))
            before = next(iter(previous.get_buffer_names()))
            node.add_fake_dep(
                WeakDep(before, mutating_buf=own, is_fake=True)
            )
        previous = node
    scheduler.nodes = nodes
    scheduler.compute_ancestors()
    return nodes


def sort_by_graph(nodes: list[Any]) -> list[Any]:
    """Returns `nodes` in the order of the FX graph.

    A node comes at the place of the last FX node that it computes, or before
    the first node that needs it, whichever is earlier.
    """
    places = {n: i for i, n in enumerate(_lowered().graph.nodes)}
    producers = {
        name: node for node in nodes for name in node.get_buffer_names()
    }
    order: list[Any] = []
    done: set[str] = set()
    # Without recursion: graphs are deeper than Python's stack.
    for root in sorted(nodes, key=lambda node: _place(node, places)):
        stack = [(root, False)]
        while stack:
            node, complete = stack.pop()
            if complete:
                order.append(node)
            elif node.get_name() not in done:
                done.add(node.get_name())
                stack.append((node, True))
                needed = {
                    d.name: producers[d.name]
                    for d in node.unmet_dependencies
                    if d.name in producers
                }
                for name in sorted(needed, reverse=True):
                    if needed[name].get_name() not in done:
                        stack.append((needed[name], False))
    return order


def _place(node: Any, places: dict[torch.fx.Node, int]) -> int:
    """Returns the place of the last FX node that `node` computes.

    What a collective's start writes is handed on by its wait, which is
    therefore among the origins of the start.
    """
    last = -1
    for part in node.get_nodes():
        if part.node is None:
            continue
        wait = isinstance(part.node, ir._WaitKernel)
        for origin in part.node.get_origins():
            if origin in places and (wait or not _is_wait(origin)):
                last = max(last, places[origin])
    return last


def _is_wait(node: torch.fx.Node) -> bool:
    return node.target is torch.ops._c10d_functional.wait_tensor.default


def sort_for_peak_memory(nodes: list[Any]) -> list[Any]:
    """Returns `nodes` as Inductor itself would order them."""
    from torch._inductor.memory import reorder_for_peak_memory
    from torch.utils._ordered_set import OrderedSet

    scheduler = V.graph.scheduler
    return reorder_for_peak_memory(
        nodes,
        scheduler.name_to_buf,
        scheduler.name_to_fused_node,
        OrderedSet(V.graph.graph_inputs.keys()),
        OrderedSet(V.graph.get_output_names()),
    )

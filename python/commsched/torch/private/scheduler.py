# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the package uses of Inductor's scheduler, none of which is public.

The scheduler works on a list of nodes, one for each kernel or external call.
External calls and collectives come in the order of the FX graph, until nodes
are fused and moved for peak memory; kernels come where something first reads
them. See Scheduler._init in torch/_inductor/scheduler.py (2.13, 2.15).
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from commsched.torch.private.names import MultiOutput, V, WaitKernel, WeakDep
from commsched.torch.private import names

#: Keys in a graph module's `meta` under which the FX pass leaves word for the
#: passes over the scheduler's nodes.
_SCHEDULED, _LINE = "commsched_scheduled", "commsched_line"


def mark(gm: torch.fx.GraphModule, scheduled: bool, line: Optional[str]) -> None:
    """Records in `gm` whether its order is to be kept, and the line of Python that
    its code ends with, if there is one."""
    gm.meta[_SCHEDULED] = scheduled
    gm.meta[_LINE] = line


def is_scheduled() -> bool:
    """Returns whether the graph that is lowered just now has an order to be
    kept."""
    return bool(_lowered().meta.get(_SCHEDULED))


def write_end() -> None:
    """Makes the code of the graph that is lowered just now end with its line,
    unless it is code in C++."""
    line = _lowered().meta.pop(_LINE, None)
    if line is not None and not V.graph.cpp_wrapper:
        V.graph.wrapper_code.suffix.writeline(line)


def _lowered() -> torch.fx.GraphModule:
    return V.graph.module


def keeps_place(node: Any) -> bool:
    """Returns whether a scheduler node is a start, a wait or an external
    call, alone or with what was fused into it: one whose place among the
    others of its kind is the schedule."""
    return any(
        part.is_template()
        or (part.is_extern() and not isinstance(part.node, MultiOutput))
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
    _compute_ancestors(scheduler, nodes)
    return nodes


def _compute_ancestors(scheduler: Any, nodes: list[Any]) -> None:
    """Computes the ancestors and the order of `nodes`. On a GPU Inductor makes one
    node of several operations that fill the parts of one buffer, and its own
    function (2.11, 2.13) knows nodes of one operation only."""
    scheduler.nodes = [part for node in nodes for part in node.get_nodes()]
    scheduler.compute_ancestors()
    scheduler.nodes = nodes
    for node in nodes:
        parts = node.get_nodes()
        node.ancestors = names.OrderedSet().union(*(p.ancestors for p in parts))
        node.min_order = min(part.min_order for part in parts)
        node.max_order = max(part.max_order for part in parts)


def sort_by_graph(nodes: list[Any]) -> list[Any]:
    """Returns `nodes` in the order of the FX graph.

    A node comes at its place (:func:`places`), or before the first node that
    needs it, whichever is earlier.
    """
    producers = {
        name: node for node in nodes for name in node.get_buffer_names()
    }
    place = dict(zip(nodes, places(nodes)))
    order: list[Any] = []
    done: set[str] = set()
    # Without recursion: graphs are deeper than Python's stack.
    for root in sorted(nodes, key=place.__getitem__):
        stack = [(root, False)]
        while stack:
            node, complete = stack.pop()
            if complete:
                order.append(node)
            elif node.get_name() not in done:
                done.add(node.get_name())
                stack.append((node, True))
                needed = {
                    dep.name: producers[dep.name]
                    for dep in node.unmet_dependencies
                    if dep.name in producers
                }
                for name in sorted(needed, reverse=True):
                    if needed[name].get_name() not in done:
                        stack.append((needed[name], False))
    return order


def places(nodes: list[Any]) -> list[int]:
    """Returns for each node the place, in the FX graph, of the last FX node
    that it computes.

    A node's origins are more than that: a collective's start has its wait
    among them, which hands on what the start writes, and a kernel that
    writes an operand of an external call has the call. One that has nothing
    but the call, as what takes one of its results, is at the call's place.
    """
    index = {
        node: i
        for i, node in enumerate(_lowered().graph.nodes)
        if node.op == "call_function"
    }
    end = len(_lowered().graph.nodes)
    kept = [keeps_place(node) for node in nodes]
    origins = [_origins(node, index) for node in nodes]
    found = [max(own, default=end) for own in origins]
    external = {place for place, keeps in zip(found, kept) if keeps}
    for i, keeps in enumerate(kept):
        own = [place for place in origins[i] if place not in external]
        if own and not keeps:
            found[i] = max(own)
    return found


def _origins(node: Any, index: dict[torch.fx.Node, int]) -> list[int]:
    wait = torch.ops._c10d_functional.wait_tensor.default
    found = []
    for part in node.get_nodes():
        if part.node is None:
            continue
        waits = isinstance(part.node, WaitKernel)
        for origin in part.node.get_origins():
            if origin in index and (waits or origin.target is not wait):
                found.append(index[origin])
    return found


def sort_for_peak_memory(nodes: list[Any]) -> list[Any]:
    """Returns `nodes` as Inductor itself would order them."""
    scheduler = V.graph.scheduler
    return names.reorder_for_peak_memory(
        nodes,
        scheduler.name_to_buf,
        scheduler.name_to_fused_node,
        names.OrderedSet(V.graph.graph_inputs.keys()),
        names.OrderedSet(V.graph.get_output_names()),
    )

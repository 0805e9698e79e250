# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes an FX graph as a plan says."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from torch import fx

from commsched.torch.rewriting.dependences import memory_dependences
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.order import arrange
from commsched.torch.rewriting.plan import Plan, make_plan
from commsched.torch.rewriting.verify import check_order


def apply(
    gm: fx.GraphModule, scheduled: Any, function: Optional[str] = None
) -> fx.GraphModule:
    """Puts a schedule back into the graph that it was made for.

    `gm` was imported as `function` (if None: the only function), and
    `scheduled` is the pair of programs, before and after, that
    `commsched.opt.run_programs` returned. Rewrites `gm` in place and returns
    it. Raises PlanError or RewriteError, with `gm` as it was, if what was done
    to the program cannot be done to the graph.
    """
    before, after = scheduled
    if function is None:
        names = [f.name for f in after.functions]
        if len(names) != 1:
            raise RewriteError(
                "the program has the functions "
                f"{', '.join(names) or '(none)'}: name the one to apply"
            )
        (function,) = names
    return apply_plan(gm, make_plan(before, after, function))


def apply_plan(gm: fx.GraphModule, plan: Plan) -> fx.GraphModule:
    """Rewrites `gm` in place as `plan` says and returns it.

    Names that the graph does not have are skipped, and nodes that the plan
    does not name are placed by rule, so that the plan of a rank whose graph
    has other sizes fits. Raises RewriteError, with `gm` as it was, where the
    result would not compute what `gm` does.
    """
    if plan.is_identity:
        return gm
    graph = gm.graph
    nodes = list(graph.nodes)
    memory = memory_dependences(nodes)
    by_name = {node.name: node for node in nodes}
    wanted = [by_name[name] for name in plan.order if name in by_name]
    order = arrange(
        nodes,
        (node for node in wanted if node.op not in ("placeholder", "output")),
        memory,
        lambda node: node.all_input_nodes,
        lambda node: node.users,
    )
    check_order(nodes, order, memory)
    relink(graph, order)
    gm.recompile()
    return gm


def relink(graph: fx.Graph, order: Sequence[fx.Node]) -> None:
    """Puts the nodes of `graph` into `order`, each linked anew once."""
    end = graph._root
    for node in order:
        end.prepend(node)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes an FX graph as a plan says."""

from __future__ import annotations

from typing import Any, Optional

from torch import fx

from commsched.torch.rewriting.decision import make_plan
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.inlining import replace_nodes, without_calls
from commsched.torch.rewriting.plan import Plan
from commsched.torch.rewriting.rewriter import Rewriter


def apply(
    gm: fx.GraphModule, scheduled: Any, function: Optional[str] = None
) -> fx.GraphModule:
    """Puts a schedule back into the graph that it was made for.

    `gm` was imported as `function` (if None: the only function), and
    `scheduled` is what `commsched.opt.run_programs` returned, or its first
    two elements, the programs before and after. Rewrites `gm` in place and
    returns it. Raises PlanError or RewriteError, with `gm` as it was, if what
    was done to the program cannot be done to the graph.
    """
    before, after = scheduled[:2]
    if function is None:
        names = [f.name for f in after.functions]
        if len(names) != 1:
            raise RewriteError(
                "the program has the functions "
                f"{', '.join(names) or '(none)'}: name the one to apply"
            )
        (function,) = names
    return apply_plan(gm, make_plan(before, after, function))


def apply_plan(
    gm: fx.GraphModule, plan: Plan, *, recompile: bool = True
) -> fx.GraphModule:
    """Rewrites `gm` in place as `plan` says and returns it.

    The object `gm.graph` stays the same, and so do its nodes, unless one of
    them calls a graph that communicates: then `gm` is given copies of all of
    them, with the called graphs' nodes in the place of the calls. `recompile`
    says whether the code of `gm` is made anew, which takes most of the time
    and which a caller that only takes the graph does not need.

    Names in the order that the graph does not have are skipped, and nodes that
    the plan does not name are placed by rule, so that the plan of a rank whose
    graph has other sizes fits. Raises RewriteError, with `gm` as it was, where
    the result would not compute what `gm` does.
    """
    if plan.is_identity:
        return gm
    graph = without_calls(gm)
    rewriter = Rewriter(graph, plan)
    try:
        rewriter.run()
    except BaseException:
        rewriter.undo()
        raise
    rewriter.finish()
    if graph is not gm.graph:
        replace_nodes(gm.graph, graph)
    if recompile:
        gm.recompile()
    return gm

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes an FX graph as a plan says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Optional

from torch import fx

from commsched.torch.importer.targets import communicates
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
    return Trial(gm, plan).keep(recompile)


def follow_plan(gm: fx.GraphModule, plan: Plan) -> fx.GraphModule:
    """Does to `gm` what the plan of another rank says, without making code anew.

    Graphs of ranks that hold nothing of a parameter have other nodes, so that a
    name may be that of another one. Launches and waits correspond; if the whole plan does
    not fit, only these are put into its order. Raises RewriteError as
    :func:`apply_plan`.
    """
    try:
        return apply_plan(gm, plan, recompile=False)
    except RewriteError:
        names = {
            node.name
            for node in gm.graph.nodes
            if node.op == "call_function" and communicates(node.target)
        }
        return apply_plan(gm, plan.order_only(names), recompile=False)


class Trial:
    """A plan that was carried out on a graph, to be kept or taken back."""

    def __init__(self, gm: fx.GraphModule, plan: Plan):
        self.plan = plan
        self._gm = gm
        self._graph = gm.graph
        self._rewriter: Optional[Rewriter] = None
        if plan.is_identity:
            return
        self._graph = without_calls(gm)
        self._rewriter = Rewriter(self._graph, plan)
        try:
            self._rewriter.run()
        except BaseException:
            self._rewriter.undo()
            raise

    def keep(self, recompile: bool = True) -> fx.GraphModule:
        """Ends the trial with the graph rewritten, as :func:`apply_plan`."""
        if self._rewriter is not None:
            self._rewriter.finish()
            if self._graph is not self._gm.graph:
                replace_nodes(self._gm.graph, self._graph)
            if recompile:
                self._gm.recompile()
        return self._gm

    def undo(self) -> None:
        """Ends the trial with the graph as it was."""
        if self._rewriter is not None:
            self._rewriter.undo()


def fit_plan(
    gm: fx.GraphModule,
    plan: Plan,
    adjust: Callable[[Plan], Plan] = lambda plan: plan,
) -> tuple[Trial, list[str]]:
    """Carries out as much of `plan` as fits the graph of `gm`, as `adjust` changes
    it, and returns what was left out, in words. Raises RewriteError if not even
    the order fits."""
    left_out: list[str] = []
    while True:
        try:
            return Trial(gm, adjust(plan)), left_out
        except RewriteError as error:
            less = _less(plan, error)
            if less is None:
                raise
            plan, what = less
            left_out.append(f"{what}, since {error}")


def _less(plan: Plan, error: RewriteError) -> Optional[tuple[Plan, str]]:
    """Returns a plan without what did not fit, and what that is; None if there is
    nothing but the order."""
    if error.bucket is not None:
        members = " + ".join(plan.buckets[error.bucket].starts)
        return plan.without_bucket(error.bucket), f"does not merge {members}"
    if plan.into:
        less = dataclasses.replace(plan, into=(), unchanged=False)
        names = ", ".join(name for name, _, _ in plan.into)
        return less, f"lets {names} deliver into memory of their own"
    if plan.buckets:
        while plan.buckets:
            plan = plan.without_bucket(len(plan.buckets) - 1)
        return plan, "merges nothing"
    return None

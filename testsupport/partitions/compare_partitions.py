# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of both partitions of a joint graph."""

from dataclasses import dataclass, replace

import commsched_partitioner as ours
import torch_partitioners as reference
from cases import copied, simplified
from explanations import explain, is_no_more
from repairs import run_repaired
from ruler import Partition, Ruler

SAME = "same"
NO_MORE = "no more"
DIFFERENT = "different"

#: The strategies with their budgets.
WAYS = (
    ("default", 1.0),
    ("min-cut", 1.0),
    ("min-cut", 0.5),
    ("min-cut", 0.0),
)


@dataclass
class Row:
    """One way to partition one graph, by both. A partition that is None was
    refused. `reason` says why, or why they differ; None: the reason is
    unknown."""

    case: str
    strategy: str
    budget: float
    mine: Partition | None = None
    theirs: Partition | None = None
    reason: str | None = None
    #: How the reference refused the graph.
    refusal: str | None = None
    #: Whether operators are marked to be computed again, so that the default is
    #: a minimum cut; not that of this version of PyTorch, if `is_own`.
    is_marked: bool = False
    is_own: bool = False
    #: Whether the backward has seeds.
    is_seeded: bool = False
    #: Whether an operator has the policy PREFER_SAVE.
    prefers_saving: bool = False

    @property
    def is_cut(self):
        return self.strategy == "min-cut" or self.is_marked

    @property
    def way(self):
        if self.is_own:
            return reference.OWN_DEFAULT
        if self.strategy == "default":
            return "default"
        return f"min-cut {self.budget:g}"

    @property
    def verdict(self):
        """SAME if both save the same, NO_MORE if CommSched saves no more bytes
        and repeats no more flops, else DIFFERENT."""
        if self.mine is None or self.theirs is None:
            return DIFFERENT
        if self.mine.saved == self.theirs.saved:
            return SAME
        return NO_MORE if is_no_more(self.mine, self.theirs) else DIFFERENT


class Subject:
    """A joint graph for both partitioners, and what measures their answers."""

    def __init__(self, case, folder, is_simplified=False):
        self._case = case
        self._folder = folder
        self._is_simplified = is_simplified
        self._ruler = Ruler(case.graph)
        self._module = ours.imported(case)

    def compare(self, strategy, budget):
        row = Row(
            self._case.name,
            strategy,
            budget,
            is_marked=self._case.is_marked,
            is_seeded=self._case.is_seeded,
            prefers_saving=self._case.prefers_saving,
        )
        try:
            row.mine = self._measure(strategy, budget)
            row.theirs = self._measure_reference(strategy, budget)
        except ours.Refusal as refusal:
            row.reason = str(refusal)
            return row
        except reference.Refusal as refusal:
            row.refusal = str(refusal)
        if row.verdict == DIFFERENT:
            most = self._measure("min-cut", 1.0)
            row.reason = explain(row, self._repair(row), most)
        return row

    def compare_own_default(self):
        """The default of this version of PyTorch, which is no minimum cut."""
        row = Row(self._case.name, "default", 1.0, is_marked=True, is_own=True)
        row.mine = self._measure("default", 1.0)
        try:
            row.theirs = self._measure_reference(reference.OWN_DEFAULT, 1.0)
        except reference.Refusal as refusal:
            row.refusal = str(refusal)
            row.reason = "PyTorch 2.13 saves what it cannot, and fails"
            return row
        if row.verdict == DIFFERENT:
            row.reason = "PyTorch 2.13 saves what has no mark"
        return row

    def _measure_reference(self, strategy, budget):
        *parts, _ = reference.run(
            self._case, strategy, budget, self._is_simplified
        )
        return self._ruler.measure(*parts)

    def _measure(self, strategy, budget):
        parts = ours.run(self._module, self._folder, strategy, budget)
        return self._ruler.measure(*parts)

    def _repair(self, row):
        def measure(repairs):
            *parts, _ = run_repaired(
                self._case, repairs, row.strategy, row.budget
            )
            mutual = [repair for repair in repairs if repair.is_mutual]
            mine = row.mine
            if mutual:
                graph = copied(self._case.graph)
                for repair in mutual:
                    repair.change(graph)
                case = replace(self._case, graph=graph)
                mine = self._ruler.measure(
                    *ours.run(
                        ours.imported(case),
                        self._folder,
                        row.strategy,
                        row.budget,
                    )
                )
            return mine, self._ruler.measure(*parts)

        return measure


def compare(case, folder, ways=WAYS):
    """Yields the rows of a case. The
    min-cut partitioners of both get the graph without repeated operators: the
    reference removes them itself, CommSched expects a graph without them."""
    simple = Subject(simplified(case), folder, is_simplified=True)
    original = Subject(case, folder)
    for strategy, budget in ways:
        is_eager = strategy == "default" and not case.is_marked
        yield (original if is_eager else simple).compare(strategy, budget)
    if case.is_marked:
        yield simple.compare_own_default()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of both partitions of a joint graph.

Values that live in one storage are one: saving a view saves its storage. The
flops are those that the importer gives the operations. Where CommSched saves or
repeats more than the reference, the explanation is tested: by repairs of the
reference that remove the difference, and by the results of both within the budget.
"""

from dataclasses import dataclass, replace
from itertools import chain, combinations

import commsched_partitioner as ours
import torch
import torch_partitioners as reference
from cases import copied, simplified
from repairs import REPAIRS, run_repaired
from torch.utils._pytree import tree_leaves
from torch_partitioners import Refusal, SEVERAL

from commsched.torch.importer.flops import flops
from commsched.torch.importer.roles import Roles
from commsched.torch.importer.types import Values

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


@dataclass(frozen=True)
class Partition:
    """saved: of each storage, the first value in it, without parameters and
    buffers, which live as long as the program.
    saved_bytes: of these storages; activation_bytes: without arguments.
    flops: of what the backward computes again; repeated: these operators.
    """

    saved: frozenset
    saved_bytes: int
    activation_bytes: int
    flops: float
    repeated: frozenset


class Ruler:
    """Measures partitions of one joint graph."""

    def __init__(self, graph: torch.fx.GraphModule):
        nodes = graph.graph.nodes
        values = Values({})
        roles = Roles(graph.graph, "joint", values)
        self._flops = {node.name: flops(node, values) or 0.0 for node in nodes}
        self._storages: dict[str, int] = {}
        self._first: dict[int, str] = {}
        self._bytes: dict[str, int] = {}
        self._arguments = {n.name for n in nodes if n.op == "placeholder"}
        self._static = set()
        self._is_view = set()
        for node in nodes:
            tensors = [
                leaf
                for leaf in tree_leaves(node.meta.get("val"))
                if isinstance(leaf, torch.Tensor)
            ]
            many = len(tensors) > 1
            for index, tensor in enumerate(tensors):
                name = f"{node.name}#{index}" if many else node.name
                self._add(name, tensor)
            if node.op == "placeholder" and roles.of(node) == "parameter":
                self._static.add(node.name)
            if node.op == "placeholder" or all(
                self._first[self._key(t)].split("#")[0] != node.name
                for t in tensors
            ):
                self._is_view.add(node.name)

    def _add(self, name, tensor):
        key = self._key(tensor)
        self._storages[name] = key
        if key not in self._first:
            self._first[key] = name
            self._bytes[name] = tensor.untyped_storage().nbytes()

    @staticmethod
    def _key(tensor):
        return tensor.untyped_storage()._cdata

    def first_of(self, name):
        """The first value in the storage of a value."""
        return self._first[self._storages[name]]

    def measure(self, saved, forward, backward):
        """`saved` are names of values: a node's, or `node#i` for the i-th
        tensor of several; `forward` and `backward` the names of the nodes that
        each half computes."""
        bases = {self.first_of(name) for name in saved}
        bases -= self._static
        repeated = frozenset(forward) & frozenset(backward) & self._flops.keys()
        return Partition(
            frozenset(bases),
            sum(self._bytes[name] for name in bases),
            sum(self._bytes[name] for name in bases - self._arguments),
            sum(self._flops[name] for name in repeated),
            repeated - self._is_view,
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
        parts = reference.run(
            self._case, strategy, budget, self._is_simplified
        )
        return self._ruler.measure(*parts)

    def _measure(self, strategy, budget):
        parts = ours.run(self._module, self._folder, strategy, budget)
        return self._ruler.measure(*parts)

    def _repair(self, row):
        def measure(repairs):
            parts = run_repaired(
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


def explain(row, measure, most):
    """The reason for a difference; None if none is known.

    `measure(repairs)` are both partitions with these repairs, `most` what
    CommSched saves at budget 1.
    """
    if row.mine is None or not row.is_cut:
        return None
    if SEVERAL in (row.refusal or ""):
        return f"the reference {SEVERAL}"
    known = [r for r in REPAIRS if r.applies(row)]
    failing = None
    for repairs in chain.from_iterable(
        combinations(known, count) for count in range(len(known) + 1)
    ):
        try:
            mine, theirs = measure(repairs)
        except Refusal as refusal:
            if SEVERAL in str(refusal):
                failing = failing or [*(r.text for r in repairs), SEVERAL]
            continue
        reason = compare_budgets(mine, theirs, row.budget, most)
        if reason is not None:
            texts = [f"the reference {repair.text}" for repair in repairs]
            return "; ".join([*texts, *filter(None, [reason])])
    return failing and "; ".join(f"the reference {text}" for text in failing)


def is_no_more(mine, theirs):
    """Whether `mine` saves no more bytes and repeats no more flops."""
    return (
        mine.saved_bytes <= theirs.saved_bytes and mine.flops <= theirs.flops
    )


def compare_budgets(mine, theirs, budget, most):
    """Why `mine` is as good an answer as `theirs`: the empty text if it is no
    worse; None if there is no reason."""
    if is_no_more(mine, theirs):
        return ""
    if budget == 1:
        return None
    allowed = budget * most.activation_bytes
    if mine.activation_bytes > allowed:
        if mine.activation_bytes < theirs.activation_bytes:
            return "neither keeps the budget, and CommSched saves less"
        return None
    if theirs.activation_bytes > allowed:
        return "the reference is over the budget"
    if (mine.flops, len(mine.repeated)) < (theirs.flops, len(theirs.repeated)):
        return "CommSched uses more of the budget and repeats less"
    return None

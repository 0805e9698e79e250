# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repairs of the reference. Each removes one intended or accidental difference
from CommSched: by the reference's own options, by equivalent operators, or by
marks on nodes."""

import contextlib
from dataclasses import dataclass, replace
from typing import Callable
from unittest import mock

import torch
from torch._functorch import config, partitioners
from torch.utils.checkpoint import CheckpointPolicy

from cases import Case, copied
from commsched.torch.importer.aliases import is_view
from torch_partitioners import find_static, run

aten = torch.ops.aten


@dataclass(frozen=True)
class Repair:
    """text: what the reference does.
    applies: whether it matters to a row.
    change:  edits the graph.
    patch:   gives a context for the partitioner, of the graph.
    budget:  the budget that it gets in place of the given one.
    is_mutual: whether CommSched gets the edited graph, too.
    """

    text: str
    applies: Callable = lambda row: True
    change: Callable = lambda graph: None
    patch: Callable = lambda graph: contextlib.nullcontext()
    budget: Callable = lambda budget: budget
    is_mutual: bool = False


def _transposes_as_permutations(graph):
    for node in graph.graph.nodes:
        if node.target is aten.transpose.int:
            source, *swapped = node.args
            order = list(range(node.meta["val"].dim()))
            first, second = (order[i] for i in swapped)
            order[first], order[second] = second, first
            node.target, node.args = aten.permute.default, (source, order)
        elif node.target is aten._unsafe_view.default:
            node.target = aten.view.default


def _must_save_random(graph):
    for node in graph.graph.nodes:
        if is_random(node) and "recompute" not in node.meta:
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def _prefer_save_as_must(graph):
    for node in graph.graph.nodes:
        if node.meta.get("recompute") == CheckpointPolicy.PREFER_SAVE:
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def _no_region_of_several(graph):
    """Takes the region from operators with several results."""
    for node in graph.graph.nodes:
        if isinstance(node.meta.get("val"), (list, tuple)):
            for each in (node, *node.users):
                each.meta.pop("ac_graph_id", None)


def _no_region_of_views(graph):
    """Takes the region from views."""
    for node in filter(is_view, graph.graph.nodes):
        node.meta.pop("ac_graph_id", None)


def keep_seed_readers(graph):
    """Keeps what needs a seed of the backward there, as a tangent does."""
    needing = set()
    for node in graph.graph.nodes:
        if node.op == "output" or not (
            partitioners._is_bwd_seed_offset(node)
            or needing.intersection(node.all_input_nodes)
        ):
            continue
        needing.add(node)
        if node.op != "placeholder":
            node.meta["partitioner_tag"] = "must_be_in_backward"


def is_random(node):
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and torch.Tag.nondeterministic_seeded in node.target.tags
    )


def _sizes_without_parameters(graph):
    primals = list(filter(partitioners._is_primal, graph.graph.nodes))
    static = {primals[i].name for i in find_static(graph)}
    size_of = partitioners._size_of

    def size(node):
        is_static = node.op == "placeholder" and node.name in static
        return 0 if is_static else size_of(node)

    return mock.patch.object(partitioners, "_size_of", size)


REPAIRS = (
    Repair(
        "saves what needs a seed of the backward, and fails",
        applies=lambda row: row.is_seeded,
        change=keep_seed_readers,
    ),
    Repair(
        "saves none of several results between regions",
        applies=lambda row: row.is_marked,
        change=_no_region_of_several,
        is_mutual=True,
    ),
    Repair(
        "saves no view between regions",
        applies=lambda row: row.is_marked,
        change=_no_region_of_views,
        is_mutual=True,
    ),
    Repair(
        "takes no notice of PREFER_SAVE",
        applies=lambda row: row.prefers_saving,
        change=_prefer_save_as_must,
    ),
    Repair(
        "saves views, and takes transposes for no views",
        change=_transposes_as_permutations,
        patch=lambda graph: config.patch(recompute_views=True),
    ),
    Repair(
        "draws random numbers again, without their state",
        applies=lambda row: row.budget < 1,
        change=_must_save_random,
    ),
    Repair(
        "counts parameters in the budget",
        applies=lambda row: 0 < row.budget < 1,
        patch=_sizes_without_parameters,
    ),
    Repair(
        "saves nothing at budget 0, not even collectives and what is marked",
        applies=lambda row: row.budget == 0,
        budget=lambda budget: 1e-9,
    ),
)


def run_repaired(case: Case, repairs, strategy, budget):
    """As torch_partitioners.run, with these repairs, on a graph without
    repeated operators."""
    graph = copied(case.graph)
    with contextlib.ExitStack() as stack:
        for repair in repairs:
            repair.change(graph)
            budget = repair.budget(budget)
        for repair in repairs:
            stack.enter_context(repair.patch(graph))
        return run(replace(case, graph=graph), strategy, budget, True)

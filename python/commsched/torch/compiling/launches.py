# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The launches of a graph, described as every rank sees them.

Graphs of ranks that run one program may differ in sizes, in the padding of
shards, and in the names of process groups: the ranks of one row of a mesh
have another group than those of the next. What the ranks have in common is
the sequence of collectives. A group is therefore known by the place of its
first use and by its size.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

import torch

from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.groups import Groups
from commsched.torch.importer.targets import (
    bind,
    collective_of,
    communicates,
    communication_inside,
    is_wait,
    overload_of,
    target_name,
)
from commsched.torch.importer.types import has_value, raw_value
from commsched.torch.private.names import tree_leaves

#: Operators whose peers differ from rank to rank.
_POINT_TO_POINT = frozenset(
    ("isend", "irecv", "batch_p2p_ops", "send", "recv")
)


@dataclasses.dataclass(frozen=True)
class Group:
    """A process group: a name that its members agree on, its ranks if they
    are known, and its size (0 if that is unknown)."""

    name: str
    ranks: Optional[tuple[int, ...]]
    size: int


@dataclasses.dataclass(frozen=True)
class Launch:
    """One collective. `group` is the number of the process group by first
    use; `tensors` is how many it delivers; `element` their type."""

    name: str
    target: str
    group: int
    size: int
    reduction: str
    element: str
    tensors: int


@dataclasses.dataclass(frozen=True)
class Launches:
    """The collectives of a graph in its order, and their groups. `modules` are
    those whose parameters each group gathers, in that order."""

    items: tuple[Launch, ...]
    groups: tuple[Group, ...]
    modules: tuple[tuple[str, ...], ...] = ()

    @staticmethod
    def of(
        graph: torch.fx.Graph,
        known: Sequence[Group] = (),
        roles: Mapping[str, Optional[str]] = {},
    ) -> "Launches":
        """Reads the launches of `graph`. Groups are numbered by first use,
        after those in `known`; `roles` are those of placeholders."""
        reader = _Reader(known)
        nodes = [
            node
            for node in graph.nodes
            if node.op == "call_function" and _launches(node)
        ]
        items = [reader.launch(node) for node in nodes]
        modules: list[tuple[str, ...]] = [() for _ in reader.groups]
        for node, item in zip(nodes, items):
            modules[item.group] += _list_modules(node, roles)
        return Launches(tuple(items), tuple(reader.groups), tuple(modules))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(launch.name for launch in self.items)

    @property
    def asymmetric(self) -> list[str]:
        """The names of point-to-point launches: a rank sends where another
        receives, so their sequences differ."""
        return [
            launch.name
            for launch in self.items
            if not _POINT_TO_POINT.isdisjoint(launch.target.split("."))
        ]

    @property
    def peers(self) -> list[int]:
        """The ranks of the groups; all ranks of the job if those of one are
        not known."""
        known = [group.ranks for group in self.groups]
        if None in known and torch.distributed.is_initialized():
            return list(range(torch.distributed.get_world_size()))
        return sorted({rank for ranks in known for rank in ranks or ()})

    def digest(self, kind: str) -> str:
        """Returns what is equal on all ranks that run the same graph, and on
        no others: `kind`, and all that is known of each launch."""
        return digest_of([kind, [dataclasses.astuple(i) for i in self.items]])

    def sequence(self, merged: Iterable[Sequence[str]] = ()) -> list[str]:
        """Returns the launches in order as text, for comparison with those
        of other ranks. `merged` are the members of each merged launch."""
        lines = [
            f"{item.name}: {item.target} of {item.tensors} {item.element} "
            f"on group {item.group} of {item.size} ranks {item.reduction}"
            for item in self.items
        ]
        return lines + ["merged " + " + ".join(names) for names in merged]


class _Reader:
    """Numbers the process groups while it reads launches."""

    def __init__(self, known: Sequence[Group]):
        self.groups = list(known)
        # What the importer knows of groups: names, members and meshes.
        self._facts = Groups({}, 1)

    def launch(self, node: torch.fx.Node) -> Launch:
        bound = {}
        overload = overload_of(node.target)
        if overload is not None:
            bound = bind(overload, node)
        group = self._number(node, bound)
        values = _tensors(node)
        return Launch(
            node.name,
            target_name(node.target),
            group,
            self.groups[group].size,
            str(bound.get("reduce_op", bound.get("reduceOp", ""))).lower(),
            "+".join(sorted({str(value.dtype) for value in values})),
            len(values),
        )

    def _number(self, node: torch.fx.Node, bound: dict) -> int:
        group = self._group(node, bound)
        if group not in self.groups:
            self.groups.append(group)
        return self.groups.index(group)

    def _group(self, node: torch.fx.Node, bound: dict) -> Group:
        try:
            facts = self._facts.use(node, bound)
        except GraphImportError:
            return Group("unknown", None, 0)
        name = facts.symbol
        if facts.members is not None:
            name = digest_of(list(facts.members))[:16]
        return Group(name, facts.members, facts.size or 0)


def _list_modules(
    node: torch.fx.Node, roles: Mapping[str, Optional[str]]
) -> tuple[str, ...]:
    """Returns the module whose parameter `node` gathers, by its path in Dynamo's
    frame, which is the same on all ranks; nothing for other nodes."""
    call = collective_of(node.target)
    if call is None or call.kind != "all_gather":
        return ()
    (operand, *_) = node.all_input_nodes
    while operand.op == "call_function" and len(operand.all_input_nodes) == 1:
        (operand,) = operand.all_input_nodes
    stack = node.meta.get("nn_module_stack")
    if roles.get(operand.name) != "parameter" or not stack:
        return ()
    path, _ = list(stack.values())[-1]
    return (path,)


def _launches(node: torch.fx.Node) -> bool:
    """Whether a call launches something, be it in a graph that it calls."""
    if communicates(node.target):
        return not is_wait(node.target)
    return communication_inside(node) is not None


def _tensors(node: torch.fx.Node) -> list[torch.Tensor]:
    value: Any = raw_value(node) if has_value(node) else None
    return [
        leaf
        for leaf in tree_leaves(value)
        if isinstance(leaf, torch.Tensor)
    ]


def digest_of(data: Any) -> str:
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

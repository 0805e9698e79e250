# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names and ranks of process groups."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import torch

from commsched import ir
from commsched.torch import private
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.targets import GROUP_OF_MESH, schema_name
from commsched.torch.importer.types import has_value, raw_value
from commsched.torch.private.names import tree_leaves


@dataclass
class GroupFacts:
    """A process group: its size, this rank's members if known, and every row
    of the partition if known. first_use is the node that first named it."""

    symbol: str
    first_use: torch.fx.Node
    size: Optional[int] = None
    members: Optional[tuple] = None
    rows: Optional[tuple] = None
    size_node: Optional[torch.fx.Node] = None
    backend: Optional[str] = None


class Groups:
    """The process groups that graphs name, in the order of their first use.

    `given` are those of the user, which come first: by name, a size, the
    ranks of one group, or rows of ranks. The rest is looked up in
    torch.distributed. `taken` are symbols that no group may have.

    What a group does with tensors of another type of device is a group of its
    own here: other libraries transport those, and no launch has both.
    """

    def __init__(
        self,
        given: Mapping[str, Union[int, Sequence]],
        ranks_per_node: int,
        taken: Iterable[str] = (),
    ):
        self._given = dict(given)
        self._symbols = set(taken)
        self._ranks_per_node = ranks_per_node
        self._groups: dict[str, GroupFacts] = {}
        #: By the name of a group: the type of device of its first use.
        self._devices: dict[str, str] = {}

    def use(self, node: torch.fx.Node, bound: Mapping[str, Any]) -> GroupFacts:
        """Returns the group that a collective's arguments name.

        A size among the arguments is learnt, or checked against what is
        known.
        """
        ranks = bound.get("ranks")
        if "group_name" in bound:
            facts = self._named(self._name(bound["group_name"], node), node)
        elif isinstance(ranks, (list, tuple)):
            tag = str(bound.get("tag") or "")
            facts = self._listed(tag, tuple(ranks), node)
        else:
            raise GraphImportError("names no process group", node)
        size = bound.get("group_size")
        if isinstance(size, int):
            self._learn_size(facts, size, node)
        return facts

    def size_of(self, facts: GroupFacts, node: torch.fx.Node) -> int:
        """Returns the group's size; raises if nothing says it."""
        if facts.size is None:
            raise GraphImportError(
                f"the size of process group '{facts.symbol}' is unknown: "
                "torch.distributed has no such group here, and none is given",
                node,
            )
        return facts.size

    def rank_in_group(
        self, facts: GroupFacts, rank: int, node: torch.fx.Node
    ) -> int:
        """Returns the place of a global rank in the group."""
        if facts.members is not None:
            if rank not in facts.members:
                raise GraphImportError(
                    f"rank {rank} is not in process group '{facts.symbol}', "
                    f"which has ranks {list(facts.members)}",
                    node,
                )
            return facts.members.index(rank)
        return self.check_rank(facts, rank, node)

    def check_rank(
        self, facts: GroupFacts, rank: int, node: torch.fx.Node
    ) -> int:
        """Returns `rank`, a place in the group; raises if it is none."""
        if not 0 <= rank < self.size_of(facts, node):
            raise GraphImportError(
                f"rank {rank} is outside process group '{facts.symbol}' of "
                f"size {facts.size}",
                node,
            )
        return rank

    def declare(self, module: ir.Module) -> None:
        for facts in self._groups.values():
            self.size_of(facts, facts.first_use)
            module.add_group(self._declaration(facts))

    # -- names ---------------------------------------------------------------

    def _name(self, value: Any, node: torch.fx.Node) -> str:
        """Returns a group's name; `value` may be one, or a group, or a node
        that gives either."""
        if isinstance(value, torch.fx.Node):
            value = self._held(value)
        if isinstance(value, str):
            return value
        name = getattr(value, "group_name", None)
        if isinstance(name, str):
            return name
        raise GraphImportError("its process group has no name", node)

    def _held(self, node: torch.fx.Node) -> Any:
        """Returns the group, or the mesh of groups, that `node` gives."""
        if has_value(node):
            held = raw_value(node)
        elif schema_name(node.target) == GROUP_OF_MESH:
            mesh, dim = node.args
            if isinstance(mesh, torch.fx.Node):
                mesh = self._held(mesh)
            held = mesh.get_group(dim) if hasattr(mesh, "get_group") else None
        else:
            held = None
        return getattr(held, "real_obj", held)

    def _named(self, name: str, node: torch.fx.Node) -> GroupFacts:
        device = _find_device(node)
        key = name
        if device and self._devices.setdefault(name, device) != device:
            key = f"{name}_{device}"
        facts = self._groups.get(key)
        if facts is None:
            facts = GroupFacts(self._symbol(f"pg_{key}"), node)
            given = self._given.get(name)
            if given is not None:
                _describe(facts, name, given)
            else:
                _look_up(facts, name, device)
            self._groups[key] = facts
        return facts

    def _listed(self, tag: str, ranks: tuple, node) -> GroupFacts:
        """A group that is given by its members, as older graphs do."""
        key = f"{tag}:{','.join(map(str, ranks))}"
        facts = self._groups.get(key)
        if facts is None:
            stride = _stride(ranks)
            if stride is None:
                digest = hashlib.sha256(key.encode()).hexdigest()[:8]
                name = f"pg_ranks_{digest}"
            else:
                name = f"pg_ranks_{ranks[0]}_to_{ranks[-1]}_by_{stride}"
            if tag:
                name += f"_{tag}"
            facts = GroupFacts(self._symbol(name), node, len(ranks), ranks)
            self._groups[key] = facts
        return facts

    def _symbol(self, wanted: str) -> str:
        """Returns `wanted`, with a number if something else is called so."""
        symbol, count = wanted, 0
        while symbol in self._symbols:
            count += 1
            symbol = f"{wanted}_{count}"
        self._symbols.add(symbol)
        return symbol

    def _learn_size(self, facts, size, node) -> None:
        if facts.size is None:
            facts.size, facts.size_node = size, node
        elif facts.size != size:
            other = "its process group"
            if facts.size_node is not None:
                other = f"node '{facts.size_node.name}'"
            raise GraphImportError(
                f"group size {size} of process group '{facts.symbol}' "
                f"disagrees with {facts.size}, which {other} has",
                node,
            )

    # -- declarations --------------------------------------------------------

    def _declaration(self, facts: GroupFacts) -> ir.Group:
        per_node = stride = rows = None
        if facts.members is not None:
            nodes = [rank // self._ranks_per_node for rank in facts.members]
            # Where nodes hold unequal shares, the largest.
            per_node = max(nodes.count(node) for node in set(nodes))
            stride = _stride(facts.members)
            if facts.rows is not None and not _same_stride(facts.rows, stride):
                stride = None
            if stride is None:
                rows = facts.rows or (facts.members,)
        return ir.Group(
            facts.symbol,
            facts.size,
            per_node,
            stride if stride is not None and stride > 1 else None,
            rows,
            facts.backend,
        )


def _describe(facts: GroupFacts, name: str, given) -> None:
    if isinstance(given, int):
        facts.size = given
        return
    rows = [tuple(row) if isinstance(row, (list, tuple)) else row
            for row in given]
    if not rows:
        raise GraphImportError(f"process group '{name}' is given no ranks")
    if not isinstance(rows[0], tuple):
        facts.members = tuple(rows)
    else:
        if any(len(row) != len(rows[0]) for row in rows):
            raise GraphImportError(
                f"process group '{name}' is given rows of different lengths"
            )
        facts.rows = tuple(rows)
        facts.members = rows[0]
    facts.size = len(facts.members)


def _find_device(node: torch.fx.Node) -> Optional[str]:
    """Returns the type of device of what `node` delivers if that is known."""
    value = raw_value(node) if has_value(node) else None
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            return leaf.device.type
    return None


def _look_up(facts: GroupFacts, name: str, device: Optional[str]) -> None:
    """Adds what torch.distributed knows of a group: its ranks, and the library
    that transports its messages from `device` if it has one."""
    if not torch.distributed.is_available():
        return
    try:
        group = private.names.resolve_process_group(name)
        facts.members = tuple(torch.distributed.get_process_group_ranks(group))
        facts.size = len(facts.members)
        backend = _find_backend(group, device)
    except (RuntimeError, ValueError, KeyError):
        return
    if backend not in ("fake", "undefined", "custom"):
        facts.backend = str(backend)


def _find_backend(group: Any, device: Optional[str]) -> str:
    distributed = torch.distributed
    if device:
        for entry in distributed.get_backend_config(group).split(","):
            if entry.startswith(f"{device}:"):
                return entry.partition(":")[2]
    return distributed.get_backend(group)


def _stride(ranks: Sequence[int]) -> Optional[int]:
    """Returns the constant distance between ranks; None if there is none."""
    if len(ranks) < 2:
        return 1
    step = ranks[1] - ranks[0]
    even = all(b - a == step for a, b in zip(ranks, ranks[1:]))
    return step if step > 0 and even else None


def _same_stride(rows: Sequence[Sequence[int]], stride) -> bool:
    return all(_stride(row) == stride for row in rows)

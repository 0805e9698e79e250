# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an argument holds: `commsched.role` of a placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Mapping, Optional

import torch

from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.types import Values, leaves
from commsched.torch.importer.unsharded import UnshardedParams

#: The roles of random states: anybody's, the forward's, the backward's.
RNG_ROLES = ("rng_state", "fwd_rng_state", "bwd_rng_state")
ROLES = (
    "parameter",
    "input",
    "saved_activation",
    "tangent",
    *RNG_ROLES,
    "unsharded_param",
)

#: Of a joint graph's arguments: those that only the backward has, and the one
#: that comes last in the forward.
BACKWARD_ROLES = ("tangent", "bwd_rng_state")
FORWARD_SEED = "fwd_rng_state"

# Descriptions refer to what they are part or base of.
_MAX_DEPTH = 16

# The names of random states, and of those that are one half's.
_RNG = re.compile(r"philox|rng_state|(fwd|bwd)_(seed|base_offset)")
_OWNED_RNG = re.compile(r"(fwd|bwd)_(?:seed|base_offset|rng_state)")
# Names that torch.export and Dynamo give to parameters and buffers.
_PARAMETER = re.compile(
    r"\A(p|b|c)_\w|_(modules|parameters|buffers)_\w*(parameters|buffers)_"
    r"|\A_?(param|tensor)_constant"
)


class Roles:
    """Roles of the placeholders of one graph.

    In this order: what the user gives, what FSDP does to the storage, AOT
    autograd's description of the input, the forward's role for what a backward
    graph takes over from it, and the placeholder's name.
    """

    def __init__(
        self,
        graph: torch.fx.Graph,
        kind: str,
        values: Values,
        given: Optional[Mapping[str, Optional[str]]] = None,
        forward: Optional[torch.fx.Graph] = None,
    ):
        self._kind = kind
        self._values = values
        self._unsharded = UnshardedParams(graph, values)
        self._given = dict(given or {})
        for name, role in self._given.items():
            if role is not None and role not in ROLES:
                raise GraphImportError(
                    f"unknown role '{role}' for '{name}'; roles are "
                    + ", ".join(ROLES)
                )
        self._forward: dict[str, Optional[str]] = {}
        self._forward_storages: dict[int, Optional[str]] = {}
        if kind == "backward" and forward is not None:
            self._read_forward(forward)

    def of(self, node: torch.fx.Node) -> Optional[str]:
        if node.name in self._given:
            return self._given[node.name]
        if self._unsharded.is_changed(node):
            return "unsharded_param"
        described = _described(node.meta.get("desc"))
        if described not in (None, "input"):
            return described
        if node.name.startswith("tangents"):
            return "tangent"
        if _RNG.search(node.name):
            return _rng_role(_OWNED_RNG.findall(node.name))
        if self._kind == "backward" and described is None:
            return self._taken_over(node)
        if node.name in self._forward:
            return self._forward[node.name]
        if _PARAMETER.search(node.name) or any(
            facts.is_parameter for facts in leaves(self._values.of(node))
        ):
            return "parameter"
        return "input"

    def is_stored(self, node: torch.fx.Node) -> bool:
        """Returns whether a placeholder is a memref in the module."""
        return (
            node.op == "placeholder"
            and self.of(node) == "unsharded_param"
            and self._unsharded.fits(node)
        )

    def _read_forward(self, forward: torch.fx.Graph) -> None:
        roles = Roles(forward, "forward", self._values, self._given)
        for node in forward.nodes:
            if node.op != "placeholder":
                continue
            role = roles.of(node)
            self._forward[node.name] = role
            for facts in leaves(self._values.of(node)):
                if facts.storage is not None:
                    self._forward_storages.setdefault(facts.storage, role)

    def _taken_over(self, node: torch.fx.Node) -> Optional[str]:
        """A view of a forward's argument is not the backward's to free."""
        if node.name in self._forward:
            return self._forward[node.name]
        for facts in leaves(self._values.of(node)):
            if facts.storage in self._forward_storages:
                return self._forward_storages[facts.storage]
        if node.name.startswith("primals"):
            return "input"
        return "saved_activation"


def innermost(description: Any) -> Any:
    """Returns AOT autograd's description of the whole that something is a
    part, a view or the base of."""
    for _ in range(_MAX_DEPTH):
        inner = getattr(description, "base", None)
        if inner is None:
            inner = getattr(description, "base_of", None)
        if inner is None:
            break
        description = inner
    return description


def _rng_role(halves: Iterable[str]) -> str:
    """Returns the role of a random state that these halves claim."""
    owners = set(halves)
    return f"{owners.pop()}_rng_state" if len(owners) == 1 else "rng_state"


def _described(description) -> Optional[str]:
    """Returns the role that an AOT autograd input description means."""
    name = type(innermost(description)).__name__
    if name.startswith(("Param", "Buffer")):
        return "parameter"
    if name.startswith("Tangent"):
        return "tangent"
    if name.startswith("Philox"):
        return _rng_role(
            half
            for half, word in (("fwd", "Forward"), ("bwd", "Backward"))
            if word in name
        )
    if name == "PlainAOTInput":
        return "input"
    return None

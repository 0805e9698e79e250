# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what happens to the storage of unsharded parameters.

A read takes a tensor of the memref, once for all reads up to the next change
of the storage. A view of the parameter is put off to its first use, as graphs
may take it before the storage is filled, and taken again after a change.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from commsched import ir
from commsched.torch.importer.environment import (
    Bound,
    Deferred,
    Stored,
    flatten,
)
from commsched.torch.importer.types import NOT_A_TENSOR, TensorFacts
from commsched.torch.importer.unsharded import change_arguments, storage_change


class StorageEmitter:
    """The storages of one graph's unsharded parameters."""

    def __init__(self, converter):
        self._converter = converter
        # By placeholder.
        self._stored: dict[torch.fx.Node, Stored] = {}
        # What lives in a storage since its last change: by the name of the
        # value, the placeholder; by placeholder, views to be taken again.
        self._homes: dict[str, torch.fx.Node] = {}
        self._views: dict[torch.fx.Node, list[Deferred]] = {}

    def argument(
        self, node: torch.fx.Node, facts: TensorFacts, attrs: dict
    ) -> Stored:
        """Makes the placeholder `node` a memref."""
        type_ = ir.MemRefType(facts.type.shape, facts.type.element)
        value = self._converter.function.argument(node.name, type_, attrs)
        self._stored[node] = Stored(node, value, facts)
        return self._stored[node]

    def change(self, node: torch.fx.Node) -> Any:
        """Imports a resize or a fill; returns None if it has to be a
        computation."""
        param, given = change_arguments(node)
        stored = self._stored.get(param)
        if stored is None:
            return None
        converter = self._converter
        if storage_change(node) == "fsdp_copy":
            (source,) = converter.values_of(given)
            converter.function.fsdp_copy(
                source, stored.value, attrs=converter.names(node)
            )
        else:
            size = converter.values.integer(given, node, "its size")
            converter.function.resize_storage(
                stored.value, size, attrs=converter.names(node)
            )
        converter.bind(param, stored)
        for view in self._views.pop(param, ()):
            converter.bind(view.node, view)
        return NOT_A_TENSOR

    def read(self, stored: Stored) -> Bound:
        """Takes a tensor of the memref."""
        value = self._converter.function.to_tensor(
            stored.value, hint=f"{stored.node.name}_tensor"
        )
        self._homes[value.ref] = stored.node
        return Bound(value, stored.facts)

    def add_view(
        self,
        node: torch.fx.Node,
        structure: Any,
        base: ir.Value,
        view: ir.Value,
    ) -> None:
        """Says that `view`, of `node`'s value, is a view of `base`."""
        param = self._homes.get(base.ref)
        if param is None:
            return
        self._homes[view.ref] = param
        if isinstance(structure, TensorFacts):
            views = self._views.setdefault(param, [])
            views.append(Deferred(node, structure))

    def holds(self, node: torch.fx.Node) -> bool:
        """Returns whether `node` is an unsharded parameter or a view of
        one."""
        return bool(self._stored) and self._home(node) is not None

    def _home(self, node: torch.fx.Node) -> Optional[torch.fx.Node]:
        stack = [node]
        while stack:
            for tensor in flatten(self._converter.lookup(stack.pop())):
                if isinstance(tensor, Stored):
                    return tensor.node
                if isinstance(tensor, Bound):
                    home = self._homes.get(tensor.value.ref)
                    if home is not None:
                        return home
                if isinstance(tensor, Deferred):
                    stack.extend(tensor.node.all_input_nodes)
        return None

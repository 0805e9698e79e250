# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which arguments are the unsharded parameters of FSDP.

FSDP grows the storage of an unsharded parameter, fills it with what was
gathered, computes with it and frees it again. Such an argument is a memref in
the module, where the graph does nothing to its storage that the dialect has
no operation for; otherwise it is a tensor like any other, and what resizes or
fills it a computation that writes it in place.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from commsched import ir
from commsched.torch.importer.aliases import analyze, operands_of, returns_of
from commsched.torch.importer.environment import (
    Bound,
    Deferred,
    Stored,
    bind_structure,
    flatten,
)
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.targets import (
    bind,
    overload_of,
    schema_name,
    schema_of,
)
from commsched.torch.importer.types import (
    NOT_A_TENSOR,
    TensorFacts,
    Values,
    has_value,
    leaves,
)

_KINDS = {
    "fsdp::copy_": "fsdp_copy",
    "inductor::resize_storage_bytes_": "resize_storage",
}


def storage_change(node: torch.fx.Node) -> Optional[str]:
    """Returns the operation of the dialect that `node` resembles: one that
    resizes or fills a storage."""
    if node.op != "call_function":
        return None
    return _KINDS.get(schema_name(overload_of(node.target)))


def change_arguments(node: torch.fx.Node) -> tuple[Any, Any]:
    """Returns what `node` resizes or fills, and the new size or contents."""
    overload = overload_of(node.target)
    bound = bind(overload, node)
    return tuple(bound.get(a.name) for a in schema_of(overload).arguments)


class UnshardedParams:
    """The unsharded parameters among the placeholders of one graph."""

    def __init__(self, graph: torch.fx.Graph, values: Values):
        self._values = values
        # By placeholder: how often it is filled.
        self._filled: dict[torch.fx.Node, int] = {}
        self._unfit: set[torch.fx.Node] = set()
        for node in graph.nodes:
            if storage_change(node) is not None:
                self._read_change(node)
        self._exclude_shared(graph)

    def is_changed(self, node: torch.fx.Node) -> bool:
        """Returns whether the graph resizes or fills the placeholder `node`,
        and does nothing to its storage that the dialect cannot say."""
        return node in self._filled and self.fits(node)

    def fits(self, node: torch.fx.Node) -> bool:
        """Returns whether the placeholder `node` may be a memref."""
        return (
            node not in self._unfit
            and isinstance(self._facts(node), TensorFacts)
            and self._is_only_read(node)
        )

    def _read_change(self, node: torch.fx.Node) -> None:
        target, given = change_arguments(node)
        root = target
        while isinstance(root, torch.fx.Node) and root.op != "placeholder":
            root = root.args[0] if root.args else None
        if not isinstance(root, torch.fx.Node):
            return
        fills = storage_change(node) == "fsdp_copy"
        self._filled[root] = self._filled.get(root, 0) + fills
        facts = self._facts(root)
        fit = target is root and isinstance(facts, TensorFacts)
        if fit and fills:
            source = self._facts(given)
            fit = isinstance(source, TensorFacts) and source.type == facts.type
        elif fit:
            fit = self._size(given, node) in (0, facts.bytes)
        if not fit:
            self._unfit.add(root)

    def _exclude_shared(self, graph: torch.fx.Graph) -> None:
        """Two arguments of one storage cannot be two memrefs."""
        owners: dict[int, torch.fx.Node] = {}
        for node in graph.nodes:
            if node.op != "placeholder":
                continue
            for facts in leaves(self._facts(node)):
                if facts.storage is None:
                    continue
                owner = owners.setdefault(facts.storage, node)
                if owner is not node:
                    self._unfit.update((owner, node))

    def _is_only_read(self, root: torch.fx.Node) -> bool:
        """Returns whether only resizes and fills write the storage, and every
        view of it can be taken again after it is filled again."""
        again = self._filled.get(root, 0) > 1
        views = {root}
        stack = [root]
        while stack:
            for user in stack.pop().users:
                if user in views or storage_change(user) is not None:
                    continue
                written, is_view = self._use(user, views)
                many = not isinstance(self._facts(user), TensorFacts)
                if written or (is_view and many and again):
                    self._unfit.add(root)
                    return False
                if is_view:
                    views.add(user)
                    stack.append(user)
        return True

    def _use(self, user: torch.fx.Node, views: set) -> tuple[bool, bool]:
        """Returns whether `user` writes one of `views` in place, and whether
        it views one."""
        if user.op == "output":
            return False, False
        operands = [o for o, _ in operands_of(user, self._structure)]
        structure = self._facts(user)
        results = leaves(structure)
        aliases = analyze(user, operands, results, returns_of(user, structure))
        lives = [o.node in views for o in operands]
        return (
            any(lives[i] for i in aliases.written),
            any(i is not None and lives[i] for i in aliases.results),
        )

    def _structure(self, node: torch.fx.Node) -> Any:
        return bind_structure(
            self._facts(node), lambda facts: Deferred(node, facts)
        )

    def _facts(self, node: Any) -> Any:
        if not isinstance(node, torch.fx.Node) or not has_value(node):
            return NOT_A_TENSOR
        return self._values.of(node)

    def _size(self, size: Any, node: torch.fx.Node) -> Optional[int]:
        try:
            return self._values.integer(size, node, "its size")
        except GraphImportError:
            return None


class StorageEmitter:
    """The storages of one graph's unsharded parameters.

    A read takes a tensor of the memref, once for all reads up to the next
    change of the storage. A view of the parameter is put off to its first use,
    as graphs may take it before the storage is filled, and taken again after a
    change.
    """

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

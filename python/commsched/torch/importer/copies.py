# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits the bucket copies of FSDP as the dialect's own operations.

`fsdp::all_gather_copy_in`, `fsdp::split_with_sizes_copy` and `fsdp::chunk_cat`
write into buffers that they are given; the operations of the dialect allocate
their results. These are used only where the buffer is a fresh allocation, so
that both are equivalent, and where the shapes are those that the dialect
requires. Otherwise the copies become opaque computations.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Optional

import torch

from commsched import ir
from commsched.torch.importer import costs
from commsched.torch.importer.environment import Bound, Deferred, flatten
from commsched.torch.importer.groups import GroupFacts
from commsched.torch.importer.targets import (
    bind,
    communicates,
    is_wait,
    overload_of,
    schema_name,
)
from commsched.torch.importer.types import NOT_A_TENSOR, leaves


COPIES = {
    "fsdp::all_gather_copy_in": "all_gather_copy_in",
    "fsdp::chunk_cat": "chunk_cat",
    "fsdp::split_with_sizes_copy": "split_with_sizes_copy",
}

# How many nodes to look at for the collective that a copy belongs to.
_SEARCH_LIMIT = 64


def copy_kind(target) -> Optional[str]:
    """Returns the operation of the dialect that `target` resembles."""
    return COPIES.get(schema_name(overload_of(target)))


def collective_near(
    node: torch.fx.Node, is_collective, backwards: bool
) -> Optional[torch.fx.Node]:
    """Returns the nearest collective among those that use `node`, directly or
    through others, or among those that it uses."""
    queue = deque([node])
    seen = {node}
    while queue and len(seen) < _SEARCH_LIMIT:
        current = queue.popleft()
        if current is not node and is_collective(current):
            return current
        near = current.all_input_nodes if backwards else list(current.users)
        for other in near:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return None


class CopyEmitter:
    """Emits the bucket copies of one graph, where they are the dialect's."""

    def __init__(self, converter):
        self._converter = converter

    def emit(self, node: torch.fx.Node) -> Any:
        """Imports a copy; returns None if it has to be a computation."""
        kind = copy_kind(node.target)
        bound = bind(overload_of(node.target), node)
        # A gather or scatter uses what the copy-in gives or fills; the
        # copy-out uses what a gather gave.
        filled = self._fresh(bound["out"]) if kind == "chunk_cat" else node
        group = self._group(filled, kind == "split_with_sizes_copy")
        if group is None or group.size is None:
            return None
        return getattr(self, f"_{kind}")(node, bound, group)

    # -- the three copies ----------------------------------------------------

    def _all_gather_copy_in(self, node, bound, group) -> Any:
        root = self._fresh(bound["all_gather_output"])
        results = leaves(self._converter.values.of(node))
        operands = self._converter.values_of(bound["all_gather_inputs"])
        if root is None or len(results) != 2 or not operands:
            return None
        slice_, buffer = (facts.type for facts in results)
        if any(value.type.dynamic for value in operands):
            return None
        packed = sum(value.type.num_elements for value in operands)
        if (
            len(slice_.shape) != 1
            or len(buffer.shape) != 1
            or slice_.num_elements != packed
            or buffer.num_elements != packed * group.size
        ):
            return None
        made = self._copy("all_gather_copy_in", node, operands, group,
                          [slice_, buffer])
        bounds = [Bound(v, f) for v, f in zip(made, results)]
        self._converter.bind(root, bounds[1])
        return bounds

    def _split_with_sizes_copy(self, node, bound, group) -> Any:
        outs = bound["out"]
        if not isinstance(outs, (list, tuple)) or not outs:
            return None
        roots = [self._fresh(out) for out in outs]
        (operand,) = self._converter.values_of(bound["all_gather_output"])
        if None in roots or len(set(roots)) != len(roots):
            return None
        facts = [self._converter.lookup(root).facts for root in roots]
        types = [fact.type for fact in facts]
        if (
            any(t.dynamic for t in (*types, operand.type))
            or any(t.element != operand.type.element for t in types)
            or any(not t.shape or t.shape[0] % group.size for t in types)
            or sum(t.num_elements for t in types) != operand.type.num_elements
        ):
            return None
        made = self._copy("split_with_sizes_copy", node, [operand], group,
                          types)
        for root, value, fact in zip(roots, made, facts):
            self._converter.bind(root, Bound(value, fact))
        return NOT_A_TENSOR

    def _chunk_cat(self, node, bound, group) -> Any:
        root = self._fresh(bound["out"])
        operands = self._converter.values_of(bound["tensors"])
        if root is None or bound["dim"] != 0 or not operands:
            return None
        if bound["num_chunks"] != group.size:
            return None
        facts = self._converter.lookup(root).facts
        if len(facts.type.shape) != 1 or any(
            not value.type.shape or value.type.dynamic for value in operands
        ):
            return None
        padded = sum(_padded(value.type, group.size) for value in operands)
        if facts.type.num_elements != padded:
            return None
        (value,) = self._copy("chunk_cat", node, operands, group, [facts.type])
        self._converter.bind(root, Bound(value, facts))
        return NOT_A_TENSOR

    # -- helpers -------------------------------------------------------------

    def _copy(self, kind, node, operands, group, types) -> list[ir.Value]:
        return self._converter.function.copy_op(
            kind,
            operands,
            group.symbol,
            types,
            hint=node.name,
            attrs=self._converter.timed_names(node),
        )

    def _group(self, node, backwards: bool) -> Optional[GroupFacts]:
        """Returns the group of the collective that is near `node`."""
        if node is None:
            return None
        near = collective_near(
            node,
            lambda other: other.op == "call_function"
            and communicates(other.target)
            and not is_wait(other.target),
            backwards,
        )
        if near is None:
            return None
        arguments = bind(overload_of(near.target), near)
        return self._converter.groups.use(near, arguments)

    def _fresh(self, node: Any) -> Optional[torch.fx.Node]:
        """Returns the allocation that `node` is, or is a view of, if it has not
        been used yet."""
        while isinstance(node, torch.fx.Node):
            structure = self._converter.lookup(node)
            if not isinstance(structure, Deferred):
                return None
            if costs.is_allocation(node) and not node.all_input_nodes:
                return node
            inputs = [
                source
                for source in node.all_input_nodes
                if flatten(self._converter.lookup(source))
            ]
            node = inputs[0] if len(inputs) == 1 else None
        return None


def _padded(type_: ir.TensorType, size: int) -> int:
    """Elements of a tensor whose dimension 0 is padded to a multiple of
    `size`."""
    rows = type_.shape[0]
    if rows == 0:
        return 0
    return type_.num_elements // rows * (-(-rows // size) * size)

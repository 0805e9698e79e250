# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds nodes to a graph, with the values that they would have."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, Union

import torch
from torch import fx

from commsched.torch.private.names import (
    FakeTensor,
    FakeTensorMode,
    is_contiguous_or_false,
    tree_map,
)
from commsched.torch.rewriting.errors import RewriteError

aten = torch.ops.aten

Size = Union[int, fx.Node]

# What a value's metadata says of the value alone.
_OF_VALUE = ("val", "tensor_meta", "example_value")


class NodeMaker:
    """Adds nodes before the output of a graph; `made` lists them."""

    def __init__(self, graph: fx.Graph):
        self._graph = graph
        self._output = next(iter(graph.find_nodes(op="output")))
        self._mode: Optional[FakeTensorMode] = None
        self.made: list[fx.Node] = []

    def call(
        self,
        target: Any,
        args: tuple,
        name: str,
        like: fx.Node,
        kwargs: Optional[dict] = None,
        value: Any = None,
    ) -> fx.Node:
        """Adds a call named after `name`, with what the metadata of `like`
        says of where it comes from. `value` is its value if that is known."""
        kwargs = kwargs or {}
        with self._graph.inserting_before(self._output):
            node = self._graph.create_node(
                "call_function", target, args, kwargs, name=name
            )
        self.made.append(node)
        node.meta = {
            key: item for key, item in like.meta.items() if key not in _OF_VALUE
        }
        node.meta["val"] = (
            self._run(target, args, kwargs, like) if value is None else value
        )
        return node

    def item(self, source: fx.Node, index: int, name: str, like) -> fx.Node:
        """Adds the element `index` of a list."""
        value = source.meta["val"][index]
        return self.call(
            operator.getitem, (source, index), name, like, value=value
        )

    def part(self, source: fx.Node, index: int, name: str, like) -> fx.Node:
        """Adds the element `index` of the parts of a buffer, which do not overlap.
        Memory is told apart by storages, so that each part has one of its own."""
        part = source.meta["val"][index]
        with self._fake_mode(like):
            value = torch.empty_strided(
                part.size(), part.stride(), dtype=part.dtype, device=part.device
            )
        return self.call(
            operator.getitem, (source, index), name, like, value=value
        )

    def view(
        self, source: fx.Node, shape: Sequence[Size], name: str, like: fx.Node
    ) -> fx.Node:
        """Views `source`, or a contiguous copy of it, in another shape."""
        value = value_of(source)
        contiguous = is_contiguous_or_false(value)
        if contiguous and _is_same(shape, value.shape):
            return source
        if not contiguous:
            source = self.copy(source, f"{name}_contiguous", like)
        return self.call(
            aten.view.default, (source, list(shape)), name, like
        )

    def copy(self, source: fx.Node, name: str, like: fx.Node) -> fx.Node:
        """Copies `source` into contiguous memory of its own."""
        return self.call(
            aten.clone.default,
            (source,),
            name,
            like,
            {"memory_format": torch.contiguous_format},
        )

    def size(self, source: fx.Node, dim: int) -> Size:
        size = value_of(source).shape[dim]
        if isinstance(size, int):
            return size
        return self.call(
            aten.sym_size.int, (source, dim), f"{source.name}_size", source
        )

    def product(self, sizes: Sequence[Size], like: fx.Node) -> Size:
        result: Size = 1
        for size in sizes:
            if isinstance(result, int) and isinstance(size, int):
                result *= size
            elif isinstance(result, int) and result == 1:
                result = size
            else:
                result = self.call(
                    operator.mul, (result, size), f"{like.name}_numel", like
                )
        return result

    def quotient(self, size: Size, by: int, like: fx.Node) -> Size:
        """Returns `size` divided by a number that divides it."""
        if isinstance(size, int):
            return size // by
        return self.call(
            operator.floordiv, (size, by), f"{like.name}_part", like
        )

    def value(self, node: fx.Node) -> Any:
        """Returns the value that `node` has for its present arguments."""
        return self._run(node.target, node.args, node.kwargs, node)

    def discard(self) -> None:
        """Removes the nodes that were added; nothing else may use them."""
        for node in reversed(self.made):
            self._graph.erase_node(node)
        self.made.clear()

    def _run(self, target, args, kwargs, like: fx.Node) -> Any:
        def find(source: fx.Node) -> Any:
            return self._fake(source)

        args, kwargs = fx.node.map_arg((args, kwargs), find)
        with self._fake_mode(like):
            return target(*args, **kwargs)

    def _fake(self, source: fx.Node) -> Any:
        value = source.meta.get("val")
        if isinstance(value, FakeTensor):
            return value
        if value is None:
            raise RewriteError(
                f"node '{source.name}' has no value in its metadata, so what "
                "is made of it has none; trace the graph with fake tensors"
            )
        mode = self._fake_mode(source)
        return tree_map(
            lambda item: mode.from_tensor(item)
            if isinstance(item, torch.Tensor)
            and not isinstance(item, FakeTensor)
            else item,
            value,
        )

    def _fake_mode(self, near: fx.Node) -> FakeTensorMode:
        if self._mode is None:
            for node in self._graph.nodes:
                value = node.meta.get("val")
                if isinstance(value, FakeTensor):
                    self._mode = value.fake_mode
                    break
            else:
                self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        return self._mode


def _is_same(shape: Sequence[Size], other: Sequence[Any]) -> bool:
    """Returns whether a view in `shape` of what has the shape `other` is the
    same; one size of the former may be -1."""
    if len(shape) != len(other):
        return False
    if not all(type(size) is int for size in (*shape, *other)):
        return False
    return sum(a != b for a, b in zip(shape, other)) == list(shape).count(-1)


def value_of(node: fx.Node) -> torch.Tensor:
    """Returns the tensor that `node` gives; raises if the graph says none."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise RewriteError(
            f"node '{node.name}' is to be merged, but its metadata holds "
            f"{type(value).__name__} and no tensor"
        )
    return value

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensor operands of a call, with the parameters that they belong to."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional

import torch

from commsched.torch.importer.aliases import Operand
from commsched.torch.importer.environment import flatten
from commsched.torch.importer.targets import bind, overload_of, schema_of
from commsched.torch.importer.types import TensorFacts


def operands_of(node: torch.fx.Node, environment: Callable) -> list:
    """Returns (Operand, tensor) pairs of `node`, in the order of its
    arguments; `environment` gives the structure that a node stands for."""
    pairs = []
    for argument, source in _tensor_arguments(node):
        for tensor in flatten(environment(source)):
            pairs.append((Operand(source, tensor.facts, argument), tensor))
    return pairs


def _tensor_arguments(node) -> Iterator[tuple[Any, torch.fx.Node]]:
    overload = overload_of(node.target) if node.op == "call_function" else None
    if overload is None:
        for leaf in _nodes((node.args, node.kwargs)):
            yield None, leaf
        return
    bound = bind(overload, node)
    for argument in schema_of(overload).arguments:
        for leaf in _nodes(bound.get(argument.name)):
            yield argument, leaf


def _nodes(argument: Any) -> list[torch.fx.Node]:
    found: list[torch.fx.Node] = []
    torch.fx.node.map_arg(argument, found.append)
    return found


def return_positions(structure: Any) -> list[Optional[int]]:
    """Returns, for each tensor of a call's value, which of the schema's
    returns it belongs to, were there several; see `single_return`."""
    positions: list[Optional[int]] = []
    items = structure if isinstance(structure, list) else [structure]
    for index, item in enumerate(items):
        positions.extend([index] * _count(item))
    return positions


def returns_of(node: torch.fx.Node, structure: Any) -> list[Optional[int]]:
    """As `return_positions`, but knows that a single return may be a list."""
    overload = overload_of(node.target) if node.op == "call_function" else None
    if overload is not None and len(schema_of(overload).returns) == 1:
        return [0] * _count(structure)
    return return_positions(structure)


def _count(structure: Any) -> int:
    if isinstance(structure, TensorFacts):
        return 1
    if isinstance(structure, list):
        return sum(_count(item) for item in structure)
    if isinstance(structure, dict):
        return sum(_count(item) for item in structure.values())
    return 0

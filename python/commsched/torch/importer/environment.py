# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of the nodes that have been imported.

A node stands for a structure (tensors in lists and dictionaries) of these:

* :class:`Bound`: an SSA value;
* :class:`Pending`: what a collective in flight will deliver; it becomes
  bound when something waits for it or uses it;
* :class:`Deferred`: an operation that is yet to be emitted, such as a view of
  something pending, or an allocation without uses so far;
* :class:`Stored`: an unsharded parameter, a memref that is yet to be read;
* None, or NOT_A_TENSOR for what has no place in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

import torch

from commsched import ir
from commsched.torch.importer.types import TensorFacts


@dataclass
class Bound:
    """An SSA value and what is known of the tensor."""

    value: ir.Value
    facts: TensorFacts


@dataclass
class Launch:
    """A started collective. `hints` name what its wait delivers; `values`
    are None until the wait is emitted."""

    node: torch.fx.Node
    future: ir.Value
    hints: list
    wait_node: Optional[torch.fx.Node] = None
    values: Optional[list] = None


@dataclass
class Pending:
    """What a launch delivers at `index`. A send delivers nothing: its wait
    stands for `sent`."""

    launch: Launch
    index: int
    facts: TensorFacts
    sent: Optional[Bound] = None


@dataclass
class Deferred:
    """The operation of `node`, to be emitted when it is needed."""

    node: torch.fx.Node
    facts: TensorFacts


@dataclass
class Stored:
    """The memref of the placeholder `node`, with what is known of the tensor
    in it."""

    node: torch.fx.Node
    value: ir.Value
    facts: TensorFacts


LEAVES = (Bound, Pending, Deferred, Stored)


def map_structure(function: Callable, structure: Any) -> Any:
    if isinstance(structure, (list, tuple)):
        return [map_structure(function, item) for item in structure]
    if isinstance(structure, dict):
        return {k: map_structure(function, v) for k, v in structure.items()}
    return function(structure) if isinstance(structure, LEAVES) else structure


def flatten(structure: Any) -> list:
    """Returns the tensors of a structure, in order."""
    found: list = []
    map_structure(found.append, structure)
    return found


def bind_structure(facts: Any, make: Callable) -> Any:
    """Returns the structure of `facts` with `make(facts)` for each tensor,
    called in order."""
    if isinstance(facts, TensorFacts):
        return make(facts)
    if isinstance(facts, list):
        return [bind_structure(item, make) for item in facts]
    if isinstance(facts, dict):
        return {k: bind_structure(v, make) for k, v in facts.items()}
    return facts

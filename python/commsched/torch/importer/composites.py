# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that start collectives, wait for them, and rearrange the results.

Context parallelism with flex attention gathers keys and values so, and reduces
their gradients. Such an operator is replaced by what it does, so that its
collectives overlap with other work.
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from commsched.torch.importer.targets import schema_name
from commsched.torch.private.names import FakeTensor

_c10d = torch.ops._c10d_functional


def _gather(x: torch.Tensor, dim: int, size: int, group: Any) -> torch.Tensor:
    started = _c10d.all_gather_into_tensor(x.contiguous(), size, group)
    whole = _c10d.wait_tensor(started)
    return torch.cat(whole.chunk(size), dim) if dim else whole


def _scatter(x: torch.Tensor, dim: int, size: int, group: Any) -> torch.Tensor:
    rows = torch.cat(x.chunk(size, dim)) if dim else x.contiguous()
    started = _c10d.reduce_scatter_tensor(rows, "sum", size, group)
    return _c10d.wait_tensor(started)


#: What operators on two tensors, a dimension and a group do to each tensor.
_COMPOSITES = {
    "cplib::flex_cp_allgather": _gather,
    "cplib::flex_cp_allgather_backward": _scatter,
}

_bodies: weakref.WeakKeyDictionary[fx.Node, Optional[fx.GraphModule]] = (
    weakref.WeakKeyDictionary()
)


def is_composite_collective(target: Any) -> bool:
    """Returns whether a call of `target` may have a body."""
    return schema_name(target) in _COMPOSITES


def body_of(node: fx.Node) -> Optional[fx.GraphModule]:
    """Returns the graph that `node` runs on its first two arguments, or None if
    their shapes are not known."""
    if node not in _bodies:
        _bodies[node] = _traced(node)
    return _bodies[node]


def _traced(node: fx.Node) -> Optional[fx.GraphModule]:
    if len(node.args) != 4:
        return None
    *operands, dim, group = node.args
    given = [operand.meta.get("val") for operand in operands]
    made = node.meta.get("val")
    values = [*given, *(made if isinstance(made, (list, tuple)) else [None])]
    if not all(_is_static(value) for value in values):
        return None
    dim %= given[0].dim()
    sizes = sorted((given[0].shape[dim], made[0].shape[dim]))
    size = sizes[1] // sizes[0]
    apply = _COMPOSITES[schema_name(node.target)]
    return make_fx(
        lambda *parts: tuple(apply(part, dim, size, group) for part in parts)
    )(*given)


def _is_static(value: Any) -> bool:
    return isinstance(value, FakeTensor) and all(
        isinstance(length, int) and length for length in value.shape
    )

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point operations, as PyTorch's flop counter has them."""

from __future__ import annotations

import operator
from typing import Any, Optional

import torch
from torch.fx.passes.shape_prop import TensorMetadata
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from commsched.torch.importer.aliases import is_composite, writes_by_convention
from commsched.torch.importer.targets import nodes_in, overload_of, packet_of, schema_of
from commsched.torch.importer.types import Values, raw_value
from commsched.torch.private.names import HigherOrderOperator, OpOverload, tree_map


def flops(node: torch.fx.Node, values: Values) -> Optional[float]:
    """Returns the flops of a call; None if the counter knows nothing of it.

    A higher-order operator that is given an operator to call, such as those
    that restore a random state first, costs what that one does. What is no
    operator of its own (`aten.linear`, `torch.matmul`, `Tensor.matmul`) is
    run on tensors without memory, and what it calls is counted.
    """
    target, given = node.target, node.args
    if isinstance(target, HigherOrderOperator):
        for index, arg in enumerate(given):
            if isinstance(arg, OpOverload):
                target, given = arg, given[index + 1 :]
                break
    kwargs = node.kwargs if target is node.target else {}
    packet = packet_of(target)
    formula = flop_registry.get(packet) or _MORE_FORMULAS.get(packet)
    if formula is None and not _is_made_of_others(node):
        return None
    try:
        if formula is None:
            return _counted(node, values)
        args, kwargs = torch.fx.node.map_arg(
            (given, kwargs), lambda n: _without_memory(raw_value(n), values, n)
        )
        out = _without_memory(raw_value(node), values, node)
        return float(formula(*args, **kwargs, out_val=out))
    except Exception:
        # A formula that this call does not fit leaves the count unknown;
        # the operator is then priced by its bytes.
        return None


def _grouped_product(
    a: torch.Tensor, b: torch.Tensor, *args: Any, out_val: Any, **kwargs: Any
) -> int:
    """Each row of `a`, or each column of `b`, is of one group only."""
    if a.dim() == 3 and b.dim() == 2:
        return 2 * a.shape[-2] * a.shape[-1] * b.shape[-1]
    return 2 * a.numel() * b.shape[-1]


#: Operators that the flop counter does not know.
_MORE_FORMULAS = {torch.ops.aten._grouped_mm: _grouped_product}


def _is_made_of_others(node: torch.fx.Node) -> bool:
    """Returns whether the call is to be run to see what it calls. What has
    less than two tensors multiplies nothing; what writes is left alone."""
    if len(nodes_in((node.args, node.kwargs))) < 2 or "out" in node.kwargs:
        return False
    if node.op == "call_method":
        return not writes_by_convention(node)
    overload = overload_of(node.target)
    if overload is not None:
        return is_composite(overload) and not schema_of(overload).is_mutable
    if isinstance(node.target, HigherOrderOperator):
        return False
    module = getattr(node.target, "__module__", None) or ""
    return node.target is operator.matmul or module.split(".")[0] == "torch"


def _counted(node: torch.fx.Node, values: Values) -> Optional[float]:
    """Runs the call on meta tensors and counts."""
    args, kwargs = torch.fx.node.map_arg(
        (node.args, dict(node.kwargs)),
        lambda n: _without_memory(raw_value(n), values, n),
    )
    function = node.target
    if node.op == "call_method":
        function = getattr(torch.Tensor, node.target)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        function(*args, **kwargs)
    return float(counter.get_total_flops()) or None


def _without_memory(value: Any, values: Values, node: torch.fx.Node) -> Any:
    """Replaces tensors by meta tensors and symbolic sizes by their hints."""

    def leaf(item):
        if isinstance(item, torch.SymInt):
            return values.integer(item, node, "an argument")
        if not isinstance(item, (torch.Tensor, TensorMetadata)):
            return item
        shape = [values.integer(s, node, "a size") for s in item.shape]
        return torch.empty(shape, dtype=item.dtype, device="meta")

    return tree_map(
        leaf, value, is_leaf=lambda item: isinstance(item, TensorMetadata)
    )

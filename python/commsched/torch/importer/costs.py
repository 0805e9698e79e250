# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an operator costs: its floating-point operations and bytes moved."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import flop_registry

from commsched.torch.importer.aliases import Aliases, Operand
from commsched.torch.importer.targets import overload_of, packet_of
from commsched.torch.importer.types import TensorFacts, Values, has_value, raw_value

# Read no more of their first operand than they write.
_GATHERS = frozenset(
    {
        "_unsafe_index",
        "_unsafe_masked_index",
        "embedding",
        "gather",
        "index",
        "index_select",
        "select_copy",
        "slice_copy",
        "take",
        "take_along_dim",
    }
)

# Allocate, and run nothing.
_ALLOCATIONS = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
)

# Write the whole of the operand that they change, without reading it.
_OVERWRITES = frozenset(
    {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_",
     "exponential_", "_foreach_copy_", "_foreach_zero_"}
)


def flops(node: torch.fx.Node, values: Values) -> Optional[float]:
    """Returns what PyTorch's flop counter says of `node`; None if nothing.

    A higher-order operator that is given an operator to call, such as those
    that restore a random state first, costs what that one does.
    """
    target, given = node.target, node.args
    if isinstance(target, HigherOrderOperator):
        for index, arg in enumerate(given):
            if isinstance(arg, OpOverload):
                target, given = arg, given[index + 1 :]
                break
    formula = flop_registry.get(packet_of(target))
    if formula is None:
        return None
    kwargs = node.kwargs if target is node.target else {}
    try:
        args, kwargs = torch.fx.node.map_arg(
            (given, kwargs), lambda n: _static(raw_value(n), values, n)
        )
        out = _static(raw_value(node), values, node)
        return float(formula(*args, **kwargs, out_val=out))
    except Exception:
        # A formula that this call does not fit leaves the count unknown;
        # the operator is then priced by its bytes.
        return None


def is_allocation(node: torch.fx.Node) -> bool:
    """Returns whether `node` only makes room for a tensor."""
    return _base_name(node) in _ALLOCATIONS


def bytes_moved(
    node: torch.fx.Node,
    operands: Sequence[Operand],
    results: Sequence[TensorFacts],
    aliases: Aliases,
) -> int:
    """Returns the bytes that the operator reads and writes.

    A view moves nothing. What is written in place counts once if the
    operator overwrites it and twice if it reads it too. A broadcast
    dimension of an operand is read once.
    """
    name = _base_name(node)
    if name in _ALLOCATIONS:
        return 0
    if results and not aliases.written and None not in aliases.results:
        return 0
    fresh = [r for r, a in zip(results, aliases.results) if a is None]
    written = set(aliases.written)
    total = sum(result.touched_bytes for result in fresh)
    for index, operand in enumerate(operands):
        if index in written:
            once = operand.is_out or name in _OVERWRITES
            total += operand.facts.bytes * (1 if once else 2)
        elif _is_read(name):
            total += operand.facts.touched_bytes
    if name in _GATHERS and fresh and operands:
        whole = operands[0].facts.touched_bytes
        total -= max(0, whole - sum(r.bytes for r in fresh))
    return total


def default_bytes(
    operands: Sequence[Operand], results: Sequence[TensorFacts]
) -> int:
    """Returns what is assumed of an operation that says nothing."""
    return sum(o.facts.bytes for o in operands) + sum(r.bytes for r in results)


def _is_read(name: str) -> bool:
    """`zeros_like` and the like ask only for a shape."""
    return not (
        name.startswith("new_")
        or name in {"zeros_like", "ones_like", "full_like", "rand_like",
                    "randn_like", "randint_like"}
    )


def _base_name(node: torch.fx.Node) -> str:
    if node.op == "call_method":
        return str(node.target)
    overload = overload_of(node.target)
    if overload is not None:
        return overload._schema.name.partition("::")[2]
    return getattr(node.target, "__name__", "")


def _static(value: Any, values: Values, node: torch.fx.Node) -> Any:
    """Replaces symbolic sizes by their hints; tensors become meta tensors."""

    def leaf(item):
        if isinstance(item, torch.Tensor):
            shape = [values.integer(s, node, "a size") for s in item.shape]
            if all(isinstance(s, int) for s in item.shape):
                return item
            return torch.empty(shape, dtype=item.dtype, device="meta")
        if isinstance(item, torch.SymInt):
            return values.integer(item, node, "an argument")
        return item

    if not has_value(node):
        return value
    return tree_map(leaf, value)

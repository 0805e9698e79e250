# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes that an operator moves."""

from __future__ import annotations

from typing import Optional, Sequence

import torch

from commsched.torch.importer.aliases import Aliases, Operand
from commsched.torch.importer.targets import overload_of, schema_of
from commsched.torch.importer.types import TensorFacts

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
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided",
     "resize_storage_bytes_"}
)

# Write the whole of the operand that they change, without reading it.
_OVERWRITES = frozenset(
    {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_",
     "exponential_", "_foreach_copy_", "_foreach_zero_"}
)


def is_allocation(node: torch.fx.Node) -> bool:
    """Returns whether `node` only makes room for a tensor."""
    return _base_name(node) in _ALLOCATIONS


def bytes_moved(
    node: torch.fx.Node,
    operands: Sequence[Operand],
    results: Sequence[TensorFacts],
    aliases: Aliases,
) -> Optional[int]:
    """Returns the bytes that the operator reads and writes; None if nothing is
    known of a size.

    A view moves nothing. What is written in place counts once if the
    operator overwrites it and twice if it reads it too. A broadcast
    dimension of an operand is read once.
    """
    name = _base_name(node)
    if name in _ALLOCATIONS:
        return 0
    if results and not aliases.written and None not in aliases.results:
        return 0
    if default_bytes(operands, results) is None:
        return None
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
) -> Optional[int]:
    """Returns what is assumed of an operation that says nothing; None if
    nothing is known of a size."""
    sizes = [o.facts.bytes for o in operands] + [r.bytes for r in results]
    return None if None in sizes else sum(sizes)


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
        return schema_of(overload).name.partition("::")[2]
    return getattr(node.target, "__name__", "")

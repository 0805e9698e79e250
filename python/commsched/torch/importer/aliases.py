# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which results view an operand's memory, and which operands are written.

An operator's schema is what counts: its annotations say what is written and
what a result may view. Where the schema leaves it open (an operator that
views if it can and copies if it must) and where there is none (functions,
higher-order operators), the values' storages decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional, Sequence

import torch

from commsched.torch.importer.targets import overload_of
from commsched.torch.importer.types import TensorFacts

# Views whose schema does not say so.
_UNANNOTATED_VIEWS = frozenset({"aten::_unsafe_view"})


@dataclass
class Operand:
    """A tensor operand of a call: `argument` is its parameter in the schema,
    or None where there is no schema."""

    node: torch.fx.Node
    facts: TensorFacts
    argument: Optional[Any] = None

    @property
    def is_written(self) -> bool:
        info = getattr(self.argument, "alias_info", None)
        return info is not None and info.is_write

    @property
    def is_out(self) -> bool:
        return self.argument is not None and self.argument.is_out

    @property
    def is_annotated(self) -> bool:
        return getattr(self.argument, "alias_info", None) is not None

    @property
    def sets(self) -> frozenset:
        info = getattr(self.argument, "alias_info", None)
        return frozenset(info.before_set) if info is not None else frozenset()


@dataclass
class Aliases:
    """results[i] is the index of the operand that result i views, or None;
    written lists the operands that are written in place."""

    results: list = field(default_factory=list)
    written: list = field(default_factory=list)


def analyze(
    node: torch.fx.Node,
    operands: Sequence[Operand],
    results: Sequence[TensorFacts],
    return_of: Sequence[Optional[int]],
) -> Aliases:
    """Returns the aliasing facts of a call.

    `return_of[i]` is the position, among the schema's returns, of what
    result i belongs to.
    """
    overload = overload_of(node.target) if node.op == "call_function" else None
    if overload is None:
        return Aliases(
            [_by_storage(operands, result) for result in results],
            _written_by_convention(node, operands),
        )
    returns = overload._schema.returns
    undecided = _may_copy(overload)
    aliases = []
    for result, position in zip(results, return_of):
        info = None
        if position is not None and position < len(returns):
            info = returns[position].alias_info
        if info is None:
            unmarked = undecided or overload._schema.name in _UNANNOTATED_VIEWS
            aliases.append(_by_storage(operands, result) if unmarked else None)
            continue
        aliases.append(_by_schema(operands, result, info, undecided))
    written = [i for i, operand in enumerate(operands) if operand.is_written]
    return Aliases(aliases, written)


def _by_storage(operands, result) -> Optional[int]:
    if result.storage is None:
        return None
    for index, operand in enumerate(operands):
        if operand.facts.storage == result.storage:
            return index
    return None


def _by_schema(operands, result, info, undecided) -> Optional[int]:
    sets = frozenset(info.before_set) | frozenset(info.after_set)
    # Annotations of lists carry no set; they match any annotated operand.
    marked = [
        i
        for i, operand in enumerate(operands)
        if operand.is_annotated
        and (not sets or not operand.sets or operand.sets & sets)
    ]
    if not marked:
        return _by_storage(operands, result)
    for index in marked:
        if (
            result.storage is not None
            and operands[index].facts.storage == result.storage
        ):
            return index
    known = result.storage is not None and all(
        operands[i].facts.storage is not None for i in marked
    )
    return None if undecided and known else marked[0]


def _may_copy(overload) -> bool:
    """Returns whether the operator is a composite, which may view its operand
    or copy it as the case demands, such as `reshape`."""
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(
            overload.name(), "CompositeImplicitAutograd"
        )
    except RuntimeError:
        return False


def _written_by_convention(node, operands) -> list:
    """In-place methods end in an underscore, in-place operators in `i...`."""
    if not operands:
        return []
    name = node.target if node.op == "call_method" else getattr(
        node.target, "__name__", ""
    )
    module = getattr(node.target, "__module__", None)
    in_place = (
        node.op == "call_method"
        and name.endswith("_")
        and not name.endswith("__")
    ) or (
        module == "_operator"
        and name in {"iadd", "isub", "imul", "itruediv", "iand", "ior", "ixor",
                     "ipow", "imatmul", "ifloordiv", "imod", "setitem"}
    )
    return [0] if in_place else []

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which results view an operand's memory, and which operands are written.

An operator's schema is what counts: its annotations say what is written and
what a result may view. Where the schema leaves it open (an operator that
views if it can and copies if it must) and where there is none (functions,
higher-order operators), the values' storages decide; where the graph has no
storages either, the operator of the same name does.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from commsched.torch import private
from commsched.torch.importer.environment import flatten
from commsched.torch.importer.targets import bind, nodes_in, overload_of, schema_of
from commsched.torch.importer.types import TensorFacts, leaves, raw_value
from commsched.torch.private.names import (
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
)

# Views whose schema does not say so.
_UNANNOTATED_VIEWS = frozenset({"aten::_unsafe_view"})

_IN_PLACE_FUNCTIONS = frozenset(
    {"iadd", "iand", "ifloordiv", "imatmul", "imod", "imul", "ior", "ipow",
     "isub", "itruediv", "ixor", "setitem"}
)


@dataclass
class Operand:
    """A tensor operand of a call: `argument` is its parameter in the schema,
    or None where there is no schema."""

    node: torch.fx.Node
    facts: TensorFacts
    argument: Optional[Any] = None

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
        written = _written_without_schema(node, operands, results)
        return Aliases(
            [_by_name(node, operands, result, written) for result in results],
            written,
        )
    returns = schema_of(overload).returns
    undecided = is_composite(overload)
    unmarked = undecided or schema_of(overload).name in _UNANNOTATED_VIEWS
    aliases = []
    for result, position in zip(results, return_of):
        info = None
        if position is not None and position < len(returns):
            info = returns[position].alias_info
        if info is None:
            aliases.append(_by_storage(operands, result) if unmarked else None)
            continue
        aliases.append(_by_schema(operands, result, info, undecided))
    names = written_arguments(overload)
    return Aliases(
        aliases,
        [i for i, each in enumerate(operands) if each.argument.name in names],
    )


@functools.lru_cache(maxsize=4096)
def written_arguments(overload) -> tuple[str, ...]:
    schema = schema_of(overload)
    names = [
        argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    if not names and not schema.returns and schema.name.endswith("_"):
        # Some operators that act on a storage do not say that they write.
        return schema.names[:1]
    return tuple(names)


def written_nodes(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Returns the nodes that a call writes, if it writes any."""
    overload = overload_of(node.target) if node.op == "call_function" else None
    if overload is not None:
        bound = bind(overload, node)
        return nodes_in([bound.get(name) for name in written_arguments(overload)])
    if isinstance(node.target, HigherOrderOperator):
        written = _written_by_kernel(node)
        if written is not None:
            return [each for each in written if isinstance(each, torch.fx.Node)]
        return node.all_input_nodes
    return node.all_input_nodes[:1]


def _written_without_schema(node, operands, results) -> list[int]:
    if isinstance(node.target, HigherOrderOperator) and not results:
        nodes = _written_by_kernel(node)
        if nodes is None:
            # It is called for its effects, and nothing describes its writes.
            return list(range(len(operands)))
        return [i for i, o in enumerate(operands) if o.node in nodes]
    return [0] if operands and writes_by_convention(node) else []


def _written_by_kernel(node) -> Optional[list]:
    """Returns what a call of a Triton kernel writes; None for any other call,
    and where the kernel cannot be read."""
    if node.target.name() != "triton_kernel_wrapper_mutation":
        return None
    def given(value):
        return raw_value(value) if isinstance(value, torch.fx.Node) else value

    try:
        names = private.names.get_mutated_tensors(
            node.kwargs["kernel_idx"],
            node.kwargs["constant_args_idx"],
            {name: given(v) for name, v in node.kwargs["kwargs"].items()},
            node.kwargs.get("tma_descriptor_metadata", {}),
        )
    except Exception:
        # Triton is not installed, or does not compile for this machine.
        return None
    return [node.kwargs["kwargs"].get(name) for name in names]


def _by_storage(operands, result) -> Optional[int]:
    if result.storage is None:
        return None
    for index, operand in enumerate(operands):
        if operand.facts.storage == result.storage:
            return index
    return None


def _by_name(node, operands, result, written) -> Optional[int]:
    """Decides without a schema: by the storages where they are known, else by
    what functions and methods of that name do."""
    index = _by_storage(operands, result)
    if index is not None or not operands or result.storage is not None:
        return index
    first = operands[0].facts
    if written:
        return 0 if first.type == result.type else None
    return 0 if _is_named_like_view(node, first, result) else None


def _is_named_like_view(node, operand, result) -> bool:
    if node.op == "call_function" and node.target is getattr:
        return True
    if node.target is operator.getitem:
        # Lists and tensors as indices make a copy.
        return not any(
            isinstance(key, (list, torch.fx.Node))
            for key in _index_parts(node.args[1])
        )
    name = node.target if node.op == "call_method" else getattr(
        node.target, "__name__", ""
    )
    packet = getattr(torch.ops.aten, str(name), None)
    if not isinstance(packet, OpOverloadPacket):
        return False
    overloads = [getattr(packet, key) for key in packet.overloads()]
    if operand.dtype != result.dtype and any(map(is_composite, overloads)):
        return False
    return any(map(_gives_view, overloads))


def _gives_view(overload) -> bool:
    returns = schema_of(overload).returns
    info = returns[0].alias_info if returns else None
    return info is not None and not info.is_write


def _index_parts(key: Any) -> tuple:
    return key if isinstance(key, tuple) else (key,)


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
    converted = operands[marked[0]].facts.dtype != result.dtype
    return None if undecided and (known or converted) else marked[0]


def is_view(node: torch.fx.Node) -> bool:
    """Returns whether `node` shows its first operand's storage by its
    schema."""
    target = node.target
    if target is operator.getitem:
        return is_view(node.args[0])
    return isinstance(target, OpOverload) and (
        target.is_view or schema_of(target).name in _UNANNOTATED_VIEWS
    )


@functools.lru_cache(maxsize=4096)
def is_composite(overload) -> bool:
    """Returns whether the operator is a composite, which may view its operand
    or copy it as the case demands, such as `reshape`."""
    try:
        return private.names.has_kernel_for_key(
            overload.name(), "CompositeImplicitAutograd"
        )
    except RuntimeError:
        return False


def writes_by_convention(node: torch.fx.Node) -> bool:
    """Returns whether a function or method writes its first operand:
    in-place methods end in an underscore, in-place operators in `i...`."""
    if node.op == "call_method":
        name = str(node.target)
        return name.endswith("_") and not name.endswith("__")
    return (
        getattr(node.target, "__module__", None) == "_operator"
        and getattr(node.target, "__name__", "") in _IN_PLACE_FUNCTIONS
    )


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
        for leaf in nodes_in((node.args, node.kwargs)):
            yield None, leaf
        return
    bound = bind(overload, node)
    for argument in schema_of(overload).arguments:
        for leaf in nodes_in(bound.get(argument.name)):
            yield argument, leaf


def returns_of(node: torch.fx.Node, structure: Any) -> list[Optional[int]]:
    """Returns, for each tensor of a call's value, which of the schema's
    returns it belongs to. A single return may be a list."""
    overload = overload_of(node.target) if node.op == "call_function" else None
    items = structure if isinstance(structure, list) else [structure]
    if overload is not None and len(schema_of(overload).returns) == 1:
        items = [structure]
    return [index for index, item in enumerate(items) for _ in leaves(item)]

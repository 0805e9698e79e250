# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a node that is a collective: what it sends, to whom, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

import torch

from commsched import ir
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.groups import GroupFacts, Groups
from commsched.torch.importer.targets import (
    bind,
    collective_of,
    overload_of,
    schema_of,
    target_name,
)
from commsched.torch.importer.types import (
    Values,
    has_value,
    is_unbacked,
    raw_value,
)

_REDUCTIONS = {
    "avg": "avg",
    "band": "band",
    "bor": "bor",
    "bxor": "bxor",
    "max": "max",
    "min": "min",
    "prod": "prod",
    "product": "prod",
    "sum": "sum",
}


@dataclass
class Start:
    """One launch: `operands` are sent and `into` are written in place, both
    as nodes (a tensor, or a node whose value is a list of tensors).

    Of splits that only the device knows, `input_numbers` and `output_numbers`
    are the arguments that give them, `input_splits` and `output_splits` the
    values that hold them.
    """

    kind: str
    group: GroupFacts
    operands: Any = ()
    into: Any = ()
    reduction: Optional[str] = None
    root: Optional[int] = None
    peer: Optional[int] = None
    tag: Optional[int] = None
    dims: tuple = (0, 0)
    input_splits: Union[list, ir.Value, None] = None
    output_splits: Union[list, ir.Value, None] = None
    input_numbers: Optional[list] = None
    output_numbers: Optional[list] = None
    pairs: Optional[tuple] = None

    @property
    def has_splits(self) -> bool:
        return any(
            splits is not None
            for splits in (
                self.input_splits,
                self.output_splits,
                self.input_numbers,
                self.output_numbers,
            )
        )


@dataclass
class Collective:
    """A node that is a collective.

    is_list: its value is a list, one entry a delivered tensor.
    starts:  one launch, but for batched point-to-point operations, which are
             one start each.
    """

    is_list: bool
    starts: list = field(default_factory=list)


def read_collective(
    node: torch.fx.Node, groups: Groups, values: Values
) -> Collective:
    """Returns the collective that `node` is; raises if it is an unknown
    one."""
    overload = overload_of(node.target)
    call = collective_of(overload)
    if call is None:
        name = target_name(node.target)
        hint = ""
        if name.startswith("symm_mem."):
            hint = "; import the graph as it was before it was fused"
        elif name.startswith("torch.distributed."):
            hint = "; import the graph that AOT autograd makes of this one"
        raise GraphImportError(f"unknown collective '{name}'{hint}", node)
    bound = bind(overload, node)
    _check_arguments(overload, node, bound)
    operands = bound[schema_of(overload).arguments[0].name]
    group = groups.use(node, bound)
    kind = call.kind
    if kind == "batch":
        return _batch(node, bound, group, groups, values)
    start = Start(kind, group, operands)
    if "out" in bound:
        start.into = bound["out"]
    elif call.is_in_place:
        start.into = operands
    if kind in ("send", "recv"):
        peer = bound["dst" if kind == "send" else "src"]
        peer = values.integer(peer, node, "its peer")
        start.peer = groups.rank_in_group(group, peer, node)
        start.tag = values.integer(bound["tag"], node, "its tag")
        if kind == "recv":
            start.operands, start.into = (), operands
    elif kind == "broadcast":
        root = values.integer(bound["src"], node, "its root")
        start.root = groups.check_rank(group, root, node)
    elif kind == "all_to_all":
        _read_splits(start, node, bound, values)
    elif kind == "permute":
        _read_pairs(start, node, bound, groups)
    _read_reduction(start, node, bound)
    return Collective(call.is_coalesced, [start])


def clauses(start: Start) -> str:
    """Returns the text between a start's group and its `into`."""
    parts = []
    if start.reduction is not None:
        parts.append(f"reduction({start.reduction})")
    if start.kind in ("all_gather", "reduce_scatter"):
        parts.append("dim(0)")
    if start.kind == "all_to_all":
        parts.append(f"split_dim({start.dims[0]}) concat_dim({start.dims[1]})")
        for name in ("input_splits", "output_splits"):
            splits = getattr(start, name)
            if isinstance(splits, ir.Value):
                parts.append(f"{name}({splits} : {splits.type})")
            elif splits is not None:
                parts.append(f"{name}([{', '.join(map(str, splits))}])")
    if start.root is not None:
        parts.append(f"root({start.root})")
    if start.peer is not None:
        word = "to" if start.kind == "send" else "from"
        parts.append(f"{word}({start.peer})")
    if start.tag is not None:
        parts.append(f"tag({start.tag})")
    if start.pairs is not None:
        rows = ", ".join(f"[{a}, {b}]" for a, b in start.pairs)
        size = len(start.pairs)
        parts.append(f"pairs(dense<[{rows}]> : tensor<{size}x2xi64>)")
    return " ".join(parts)


def delivered(
    start: Start,
    types: Sequence[ir.TensorType],
    groups: Groups,
    node: torch.fx.Node,
) -> list[ir.TensorType]:
    """Returns what the start delivers for operands of `types`; raises where
    the group's size does not fit the shapes."""
    if start.kind == "send":
        return []
    if start.kind in ("all_reduce", "broadcast", "permute", "recv"):
        return list(types)
    size = groups.size_of(start.group, node)
    return [_delivered_one(start, type_, size, node) for type_ in types]


def check_reduction(
    start: Start, types: Sequence[ir.TensorType], node: torch.fx.Node
) -> None:
    """Raises where the reduction is not defined for an element type."""
    for type_ in types:
        element = type_.element
        if element.startswith("complex"):
            undefined = {"band", "bor", "bxor", "max", "min"}
        elif element.lstrip("u").startswith("i"):
            undefined = {"avg"}
        else:
            undefined = {"band", "bor", "bxor"}
        if start.reduction in undefined:
            raise GraphImportError(
                f"reduction '{start.reduction}' is not defined for elements "
                f"of type {element}",
                node,
            )


def _delivered_one(start, type_, size, node) -> ir.TensorType:
    if start.kind == "all_gather":
        return _scaled(type_, {0: size}, {}, size, node)
    if start.kind == "reduce_scatter":
        return _scaled(type_, {}, {0: size}, size, node)
    split, concat = start.dims
    if concat >= len(type_.shape):
        raise GraphImportError(
            f"its operand has no dimension {concat} to gather along", node
        )
    if start.has_splits:
        return _exchanged(start, type_, size, node)
    return _scaled(type_, {concat: size}, {split: size}, size, node)


def _exchanged(start, type_, size, node) -> ir.TensorType:
    """Returns what an all-to-all with splits delivers. Of splits that only the
    device knows nothing is expected here: the graph's value says more."""
    rows = type_.shape[0]
    dynamic = tuple(dim for dim in type_.dynamic if dim != 0)
    sent = start.input_numbers or start.input_splits
    received = start.output_numbers or start.output_splits
    if sent is None:
        _check_divides(type_, 0, size, node)
    else:
        _check_count("input", sent, size, node)
    if sent and not start.input_numbers and 0 not in type_.dynamic:
        _check_sum("input", sent, rows, node)
    if received is None:
        return type_
    _check_count("output", received, size, node)
    if start.output_numbers:
        rows, dynamic = None, (0, *dynamic)
    else:
        rows = sum(received)
        _check_sum("output", received, rows, node)
    return ir.TensorType((rows, *type_.shape[1:]), type_.element, dynamic)


def _scaled(type_, times, divided, size, node) -> ir.TensorType:
    """Returns `type_` with some dimensions multiplied and others divided."""
    shape = list(type_.shape)
    for dim, factor in divided.items():
        _check_divides(type_, dim, size, node)
        if shape[dim] is not None:
            shape[dim] //= factor
    for dim, factor in times.items():
        if shape[dim] is not None:
            shape[dim] *= factor
    return ir.TensorType(tuple(shape), type_.element, type_.dynamic)


def _check_divides(type_, dim, size, node) -> None:
    """Raises unless `size` divides a dimension, as far as it is known."""
    shape = type_.shape
    if dim in type_.dynamic:
        return
    if dim >= len(shape) or shape[dim] % size:
        what = f"size {shape[dim]}" if dim < len(shape) else "no such"
        raise GraphImportError(
            f"its operand has {what} dimension {dim}, which the group size "
            f"{size} does not divide",
            node,
        )


def _check_count(which, splits, size, node) -> None:
    if size is not None and len(splits) != size:
        raise GraphImportError(
            f"{len(splits)} {which} splits for a process group of size {size}",
            node,
        )


def _check_sum(which, splits, rows, node) -> None:
    if sum(splits) != rows or min(splits) < 0:
        raise GraphImportError(
            f"{which} splits {splits} do not add up to {rows}", node
        )


def _check_arguments(overload, node, bound: Mapping) -> None:
    """Raises where a call does not fit its schema: a graph is not run."""
    names = [argument.name for argument in schema_of(overload).arguments]
    missing = [name for name in names if name not in bound]
    if missing:
        raise GraphImportError(f"lacks its argument '{missing[0]}'", node)
    if len(node.args) > len(names) or len(bound) > len(names):
        raise GraphImportError(
            f"is called with more than its arguments {', '.join(names)}", node
        )


def _read_reduction(start: Start, node, bound: Mapping) -> None:
    name = bound.get("reduce_op", bound.get("reduceOp"))
    if name is None:
        return
    start.reduction = _REDUCTIONS.get(str(name).lower())
    if start.reduction is None:
        raise GraphImportError(
            f"unknown reduction '{name}'; reductions are "
            + ", ".join(sorted(_REDUCTIONS)),
            node,
        )


def _read_splits(start: Start, node, bound: Mapping, values: Values) -> None:
    if "gather_dim" in bound:
        start.dims = (bound["shard_dim"], bound["gather_dim"])
        if min(start.dims) < 0:
            raise GraphImportError(f"negative dimension {start.dims}", node)
        return
    for side in ("input", "output"):
        given = bound.get(f"{side}_split_sizes")
        if isinstance(given, torch.fx.Node):
            given = raw_value(given)
        if given is None or (isinstance(given, (list, tuple)) and not given):
            continue
        if not isinstance(given, (list, tuple)):
            raise GraphImportError(f"its {side} splits are not listed", node)
        if any(map(_is_dynamic, given)):
            setattr(start, f"{side}_numbers", list(given))
            continue
        splits = [
            values.integer(size, node, f"{side} split {index}")
            for index, size in enumerate(given)
        ]
        setattr(start, f"{side}_splits", splits)
    if (
        start.input_splits
        and start.input_splits == start.output_splits
        and len(set(start.input_splits)) == 1
    ):
        # Even parts need no lists; PyTorch always spells them out.
        _check_count("input", start.input_splits, start.group.size, node)
        start.input_splits = start.output_splits = None


def _is_dynamic(number: Any) -> bool:
    """Returns whether only the device knows a number."""
    if isinstance(number, torch.fx.Node):
        number = raw_value(number) if has_value(number) else None
    return is_unbacked(number)


def _read_pairs(start: Start, node, bound: Mapping, groups: Groups) -> None:
    """`src_dst` lists, for every rank, the rank that it sends to."""
    targets = bound.get("src_dst")
    if not isinstance(targets, (list, tuple)):
        raise GraphImportError("its pairs are not a list", node)
    start.pairs = tuple(
        (source, groups.check_rank(start.group, target, node))
        for source, target in enumerate(targets)
        if target >= 0
    )


def _batch(node, bound, group, groups, values) -> Collective:
    """Reads batched point-to-point operations, in their order."""
    tensors = bound["tensors"]
    if isinstance(tensors, torch.fx.Node):
        raise GraphImportError("its tensors are not listed", node)
    counts = [
        len(bound[key])
        for key in ("op_list", "peer_list", "tag_list", "tensors")
    ]
    if len(set(counts)) > 1:
        raise GraphImportError(
            "lists {} operations, {} peers, {} tags and {} tensors".format(
                *counts
            ),
            node,
        )
    collective = Collective(True)
    for what, peer, tag, tensor in zip(
        bound["op_list"], bound["peer_list"], bound["tag_list"], tensors
    ):
        if what not in ("isend", "irecv"):
            raise GraphImportError(
                f"unknown point-to-point operation '{what}'", node
            )
        kind = "send" if what == "isend" else "recv"
        start = Start(kind, group, tag=tag)
        start.peer = groups.rank_in_group(group, peer, node)
        if kind == "send":
            start.operands = tensor
        else:
            start.into = tensor
        collective.starts.append(start)
    return collective

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of a program, as far as a trace can be matched with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Optional

from commsched.program import Function, Operation, Program, Type

DEFAULT_IMPLEMENTATION = "nccl"

_RUNTIME = "commsched.runtime_ns"
_IMPLEMENTATION = "commsched.implementation"
_GRAPH = "commsched.graph"
_GRAPH_NAME = "commsched.graph_name"


@dataclass(frozen=True)
class Target:
    """An operation of the program that takes time.

    `operator` is what rows of a cost file call it, `label` its name, or kind
    and number. `kind`, `elements`, `shapes` and `element` are as for
    activities, `results` are the shapes of the results. `types` is the text
    of its types, or "" if it is not known. `is_free` says that it is a view;
    `row` is its row of measured collectives but for the time, and
    `implementation` what carries it out. `measured_as` are the graph and the
    name by which rows of a cost file know it, whatever passes made of them.
    """

    function: str
    operator: str
    name: str
    label: str
    kind: str
    elements: Optional[int]
    shapes: Optional[tuple]
    results: Optional[tuple]
    element: str
    types: str
    is_free: bool
    pinned_ns: Optional[int]
    row: Optional[tuple]
    implementation: str
    measured_as: tuple = ("", "")


def list_targets(program: Program) -> list[Target]:
    """The operations that take time, in program order."""
    targets = []
    for function in program.functions:
        types = {a.value.id: a.value.type for a in function.arguments}
        counts: Counter = Counter()
        for operation in function.operations:
            target = _target(program, function, operation, types, counts)
            if target:
                targets.append(target)
            for result in operation.results:
                types[result.id] = result.type
    return targets


def _target(program: Program, function: Function, operation: Operation,
            types: dict, counts: Counter) -> Optional[Target]:
    operands = [types[value] for value in operation.operands]
    results = [result.type for result in operation.results]
    attributes = operation.attributes
    if operation.op in ("commsched.wait", "arith.constant"):
        return None
    futures = [t for t in results if t.kind == "future"]
    kind = operation.op.removeprefix("commsched.") if futures else ""
    label = operation.name
    if kind:
        label = label or f"{kind}_{counts[kind]}"
        counts[kind] += 1
        segments = attributes.get("operandSegmentSizes")
        operands = operands[:segments[0]] if segments else operands
    tensors = _tensors(operands)
    is_static = all(None not in t.shape for t in tensors)
    operator = operation.op
    if operator == "commsched.compute":
        operator = attributes.get("callee", operator)
    implementation = attributes.get(_IMPLEMENTATION, DEFAULT_IMPLEMENTATION)
    return Target(
        function.name, operator, operation.name, label or operator, kind,
        sum(prod(t.shape) for t in tensors) if is_static else None,
        _shapes(tensors), _shapes(_tensors(results)),
        next((t.element for t in tensors), ""),
        "" if kind else _types_text(operands, results),
        "alias" in attributes and not kind, attributes.get(_RUNTIME),
        _row(program, operation, kind, tensors, futures) if is_static else None,
        implementation,
        (attributes.get(_GRAPH, function.attributes.get(_GRAPH, function.name)),
         attributes.get(_GRAPH_NAME, operation.name)))


def _tensors(types: list) -> list:
    return [t for t in types if t.kind in ("tensor", "memref")]


def _shapes(tensors: list) -> Optional[tuple]:
    """The shapes that have dimensions; None if a size is not known."""
    if any(None in t.shape for t in tensors):
        return None
    return tuple(t.shape for t in tensors if t.shape)


def _types_text(operands: list, results: list) -> str:
    """As MLIR writes the type of a function; "" for types whose text is not
    known."""
    parts = [[_type_text(t) for t in types] for types in (operands, results)]
    if not all(map(all, parts)):
        return ""
    left, right = (", ".join(part) for part in parts)
    return f"({left}) -> " + (right if len(results) == 1 else f"({right})")


def _type_text(value: Type) -> str:
    if value.kind != "tensor":
        return ""
    sizes = ["?" if size is None else str(size) for size in value.shape]
    return f"tensor<{'x'.join([*sizes, value.element])}>"


_BYTES = {"i1": 1, "i8": 1, "ui8": 1, "i16": 2, "bf16": 2, "f16": 2,
          "i32": 4, "f32": 4, "i64": 8, "f64": 8}


def _bytes_of(types: list) -> Optional[int]:
    total = 0
    for value in types:
        if None in value.shape or value.element not in _BYTES:
            return None
        total += prod(value.shape) * _BYTES[value.element]
    return total


def _row(program: Program, operation: Operation, kind: str, sent: list,
         futures: list) -> Optional[tuple]:
    """Kind, ranks, nodes and bytes of a collective of one tensor."""
    if not kind or operation.group is None:
        return None
    delivered = [t for future in futures for t in future.values]
    sizes = _bytes_of(sent), _bytes_of(delivered)
    if None in sizes or max(sizes) == 0 or max(len(sent), len(delivered)) > 1:
        return None
    group = program.group(operation.group)
    nodes = -(-group.size // group.ranks_per_node)
    return kind, group.size, nodes, max(sizes)

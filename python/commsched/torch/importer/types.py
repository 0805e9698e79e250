# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors as the importer sees them: static shapes, MLIR types, storages.

What is known of a node's value comes from its metadata, in this order:
"val" (AOT autograd, export), "example_value" (Dynamo), "tensor_meta" (shape
propagation). Symbolic sizes become their hints, or what stands for them.
"""

from __future__ import annotations

import operator
import sys
from dataclasses import dataclass
from typing import Any, Mapping, Optional

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.passes.shape_prop import TensorMetadata

from commsched import ir
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.standins import StandIns
from commsched.torch.importer.targets import attribute_of
from commsched.torch.private import storage_key

_VALUE_KEYS = ("val", "example_value", "tensor_meta")

# What a node's value is when nothing of it lives in device memory: numbers,
# symbolic integers, process groups, submodules.
NOT_A_TENSOR = object()


def _element_types() -> dict:
    names = {
        "bool": "i1",
        "uint8": "ui8",
        "uint16": "ui16",
        "uint32": "ui32",
        "uint64": "ui64",
        "int8": "i8",
        "int16": "i16",
        "int32": "i32",
        "int64": "i64",
        "float16": "f16",
        "bfloat16": "bf16",
        "float32": "f32",
        "float64": "f64",
        "complex32": "complex<f16>",
        "complex64": "complex<f32>",
        "complex128": "complex<f64>",
        "float8_e4m3fn": "f8E4M3FN",
        "float8_e4m3fnuz": "f8E4M3FNUZ",
        "float8_e5m2": "f8E5M2",
        "float8_e5m2fnuz": "f8E5M2FNUZ",
        "float8_e8m0fnu": "f8E8M0FNU",
        # Two values a byte: what a rank stores and sends is bytes.
        "float4_e2m1fn_x2": "i8",
        "bits8": "i8",
        "bits16": "i16",
    }
    # Sub-byte integers take a byte each.
    names.update({f"uint{bits}": "ui8" for bits in range(1, 8)})
    names.update({f"int{bits}": "i8" for bits in range(1, 8)})
    return {
        getattr(torch, name): element
        for name, element in names.items()
        if isinstance(getattr(torch, name, None), torch.dtype)
    }


ELEMENT_TYPES: Mapping[torch.dtype, str] = _element_types()


@dataclass(frozen=True)
class TensorFacts:
    """One tensor: its MLIR type and what the cost and alias rules ask.

    storage is a key that two tensors share exactly when one views the other's
    memory; None if unknown. strides are in elements; None if unknown.
    symbolic lists the dimensions that are symbols, of which `type` has what is
    expected.
    """

    type: ir.TensorType
    dtype: torch.dtype
    strides: Optional[tuple] = None
    storage: Optional[int] = None
    is_parameter: bool = False
    symbolic: tuple = ()

    @property
    def bytes(self) -> Optional[int]:
        """Bytes of the tensor as the dialect counts them; None if unknown."""
        count = self.type.num_elements
        return None if count is None else count * self.dtype.itemsize

    @property
    def touched_bytes(self) -> Optional[int]:
        """Bytes of distinct elements: a broadcast dimension counts once."""
        if self.bytes is None:
            return None
        count = 1
        strides = self.strides or (1,) * len(self.type.shape)
        for size, stride in zip(self.type.shape, strides):
            count *= 1 if stride == 0 and size > 0 else size
        return count * self.dtype.itemsize


class Values:
    """Reads nodes' metadata, each node once.

    `hints` gives sizes to symbols that have none, by the names of symbols or
    nodes, `default_size` to the others.
    """

    def __init__(
        self,
        hints: Optional[Mapping[str, int]] = None,
        default_size: Optional[int] = None,
    ):
        self.standins = StandIns(hints, default_size)
        self._known: dict[torch.fx.Node, Any] = {}

    def of(self, node: torch.fx.Node) -> Any:
        """Returns the structure of `node`'s value.

        Tensors are `TensorFacts`; tuples, lists and dictionaries stay what
        they are; None stays None; all else is NOT_A_TENSOR. Raises where the
        graph says nothing of the value.
        """
        if node not in self._known:
            self._known[node] = self._structure(node, raw_value(node))
        return self._known[node]

    def integer(self, value: Any, node: torch.fx.Node, what: str) -> int:
        """Returns an integer argument of `node`: a number, a symbolic one,
        or a node that gives one."""
        return self.known_integer(value, node, what)[0]

    def known_integer(
        self, value: Any, node: torch.fx.Node, what: str
    ) -> tuple[int, bool]:
        """As `integer`, with whether it is known, and no stand-in."""
        if isinstance(value, torch.fx.Node):
            if not has_value(value):
                raise GraphImportError(
                    f"{what} is node '{value.name}', of which the graph gives "
                    "no value",
                    node,
                )
            value = raw_value(value)
        size, known = self._size(value)
        if size is None:
            raise GraphImportError(
                f"{what} is {value}, which has no hint: give one in "
                "ImportOptions.hints",
                node,
            )
        return size, known

    def _structure(self, node: torch.fx.Node, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, TensorMetadata):
            return self._facts(node, value, value.stride)
        if isinstance(value, torch.Tensor):
            return self._tensor(node, value)
        if isinstance(value, (tuple, list)):
            return [self._structure(node, item) for item in value]
        if isinstance(value, dict):
            return {k: self._structure(node, v) for k, v in value.items()}
        return NOT_A_TENSOR

    def _tensor(self, node: torch.fx.Node, value: torch.Tensor) -> TensorFacts:
        if _is_distributed(value):
            raise GraphImportError(
                "a DTensor, whose operators communicate unseen: import the "
                "graph that AOT autograd makes of this one",
                node,
            )
        if value.layout is not torch.strided:
            raise GraphImportError(
                f"a tensor of layout {value.layout} has no MLIR type", node
            )
        storage = storage_key(value)
        parameter = isinstance(value, torch.nn.Parameter)
        return self._facts(node, value, value.stride(), storage, parameter)

    def _facts(
        self, node, value, strides, storage=None, parameter=False
    ) -> TensorFacts:
        element = ELEMENT_TYPES.get(value.dtype)
        if element is None:
            raise GraphImportError(
                f"element type {value.dtype} has no MLIR type", node
            )
        shape = []
        for index, size in enumerate(value.shape):
            known = self._hint(size)
            if known is None and not is_unbacked(size):
                raise GraphImportError(
                    f"dimension {index} is {size}, which has no hint: give "
                    "one in ImportOptions.hints",
                    node,
                )
            shape.append(known)
        if strides is not None:
            # Only zero or not matters; an unknown stride is not zero.
            strides = tuple(1 if self._hint(s) != 0 else 0 for s in strides)
        dynamic = tuple(
            index
            for index, size in enumerate(value.shape)
            if is_unbacked(size)
        )
        type_ = ir.TensorType(tuple(shape), element, dynamic)
        symbolic = tuple(
            index
            for index, size in enumerate(value.shape)
            if not isinstance(size, int)
        )
        return TensorFacts(
            type_, value.dtype, strides, storage, parameter, symbolic
        )

    def _hint(self, size: Any) -> Optional[int]:
        """Returns the number that stands for `size`, or None."""
        return self._size(size)[0]

    def _size(self, size: Any) -> tuple[Optional[int], bool]:
        if isinstance(size, int) and not isinstance(size, bool):
            return size, True
        if not isinstance(size, torch.SymInt):
            return None, False
        return self.standins.size(size)


def is_unbacked(size: Any) -> bool:
    """Returns whether only the device knows a size."""
    return isinstance(size, torch.SymInt) and bool(free_unbacked_symbols(size))


def _is_distributed(value: torch.Tensor) -> bool:
    # Whoever has made one has also imported its module.
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(value, module.DTensor)


def has_value(node: torch.fx.Node) -> bool:
    """Returns whether the graph says anything of `node`'s value."""
    return _find_value(node)[0]


def raw_value(node: torch.fx.Node) -> Any:
    """Returns `node`'s value as the graph has it; raises if it doesn't."""
    found, value = _find_value(node)
    if not found:
        raise GraphImportError(
            "the graph says nothing of its value: none of "
            + ", ".join(f"'{key}'" for key in _VALUE_KEYS)
            + " is in its metadata (propagate fake tensors or shapes through "
            "the graph first)",
            node,
        )
    return value


def _find_value(node: torch.fx.Node) -> tuple[bool, Any]:
    found, value = _own_value(node)
    return (True, value) if found else _from_items(node)


def _own_value(node: torch.fx.Node) -> tuple[bool, Any]:
    """A value that the node or what it indexes says, not its users."""
    for key in _VALUE_KEYS:
        if key in node.meta:
            return True, node.meta[key]
    if node.op == "get_attr" and node.graph.owning_module is not None:
        return True, attribute_of(node.graph.owning_module, node.target)
    if node.target is operator.getitem:
        return _indexed(node)
    return False, None


def _indexed(node: torch.fx.Node) -> tuple[bool, Any]:
    """An element or a slice of a tensor, which Dynamo may not describe."""
    source, key = node.args
    parts = key if isinstance(key, tuple) else (key,)
    known = all(isinstance(p, (int, slice, type(None), type(...))) for p in parts)
    if not known or not isinstance(source, torch.fx.Node):
        return False, None
    _, value = _own_value(source)
    if not isinstance(value, torch.Tensor):
        return False, None
    try:
        with torch.no_grad():
            return True, value[key]
    except (IndexError, RuntimeError, TypeError):
        return False, None


def _from_items(node: torch.fx.Node) -> tuple[bool, Any]:
    """Several results of which only the parts that are used are described,
    as partitioners leave calls that they wrap."""
    items = {}
    for user in node.users:
        if user.target is not operator.getitem or user.args[0] is not node:
            return False, None
        found, value = _find_value(user)
        if not found or not isinstance(user.args[1], int):
            return False, None
        items[user.args[1]] = value
    if not items or min(items) < 0:
        return False, None
    return True, [items.get(index) for index in range(max(items) + 1)]


def leaves(structure: Any) -> list:
    """Returns the TensorFacts of a structure, in order."""
    if isinstance(structure, TensorFacts):
        return [structure]
    if isinstance(structure, list):
        return [leaf for item in structure for leaf in leaves(item)]
    if isinstance(structure, dict):
        return [leaf for item in structure.values() for leaf in leaves(item)]
    return []

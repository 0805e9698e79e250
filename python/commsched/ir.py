# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds modules of the ``commsched`` dialect and prints them as MLIR text.

The classes mirror what is printed: a :class:`Module` holds process groups and
functions, a :class:`Function` holds operations in program order, and a
:class:`Value` is what an operation defines. Nothing is verified here:
``commsched-opt`` does that. The same calls always give the same text:
attributes are sorted by name, everything else keeps the order of the calls.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

_BARE_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")
_VALUE_NAME = re.compile(r"(?:[A-Za-z_$.\-][A-Za-z0-9_$.\-]*|[0-9]+)\Z")


#: The encoding of tensors in pinned memory of the host.
HOST = "#commsched.host"


@functools.lru_cache(maxsize=1 << 14)
def _tensor_text(
    shape: tuple, element: str, dynamic: tuple, encoding: str
) -> str:
    dims = ("?" if i in dynamic else dim for i, dim in enumerate(shape))
    text = f"{''.join(f'{dim}x' for dim in dims)}{element}"
    return f"tensor<{text}, {encoding}>" if encoding else f"tensor<{text}>"


@dataclass(frozen=True)
class TensorType:
    """A ranked tensor; `element` is MLIR text such as bf16.

    `dynamic` lists the dimensions whose sizes are not known before the program
    runs: `shape` has what is expected of them, or None. `encoding` is MLIR
    text such as HOST.
    """

    shape: tuple
    element: str
    dynamic: tuple = ()
    encoding: str = ""

    def __str__(self) -> str:
        return _tensor_text(
            self.shape, self.element, self.dynamic, self.encoding
        )

    @property
    def num_elements(self) -> Optional[int]:
        """The number of elements, as far as expected; None if unknown."""
        count = 1
        for dim in self.shape:
            if dim is None:
                return None
            count *= dim
        return count

    @property
    def expected(self) -> list:
        """What is expected of the dynamic dimensions, in order."""
        return [self.shape[dim] for dim in self.dynamic]


@dataclass(frozen=True)
class MemRefType:
    """A memref of static shape in the default layout and memory space."""

    shape: tuple
    element: str

    def __str__(self) -> str:
        dims = "".join(f"{dim}x" for dim in self.shape)
        return f"memref<{dims}{self.element}>"


@dataclass(frozen=True)
class FutureType:
    """A collective in flight that will give values of these types."""

    values: tuple

    def __str__(self) -> str:
        if not self.values:
            return "!commsched.future"
        return f"!commsched.future<{_join(self.values)}>"


Type = Union[TensorType, MemRefType, FutureType]


@dataclass(frozen=True)
class Value:
    """An SSA value; `ref` is its text without the leading percent sign."""

    ref: str
    type: Type

    def __str__(self) -> str:
        return f"%{self.ref}"


class Raw(str):
    """Attribute text that is printed as it stands."""


@functools.lru_cache(maxsize=1 << 14)
def quote(text: str) -> str:
    """Returns `text` as an MLIR string literal."""
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        if char in '"\\' or not 0x20 <= byte < 0x7F:
            out.append(f"\\{byte:02X}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def symbol(name: str) -> str:
    """Returns a reference to the symbol `name`, quoted where MLIR needs it."""
    return "@" + (name if _BARE_SYMBOL.match(name) else quote(name))


def attribute(value: Any) -> str:
    """Returns the text of an attribute.

    Strings become string attributes, integers i64, floats f64, sequences of
    integers dense i64 arrays; `Raw` text is taken as it is. `True` has no
    text: it is a unit attribute, which :func:`attributes` prints by its name.
    """
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{float_text(value)} : f64"
    if isinstance(value, Mapping):
        return attributes(value)
    if isinstance(value, (list, tuple)):
        if not value:
            return "array<i64>"
        if isinstance(value[0], str):
            return f"[{_join(map(quote, value))}]"
        return f"array<i64: {_join(value)}>"
    raise TypeError(f"no attribute for a value of type {type(value).__name__}")


def float_text(value: float) -> str:
    """Returns the shortest decimal text that MLIR reads back as `value`."""
    text = repr(float(value))
    if "inf" in text or "nan" in text:
        raise ValueError(f"'{text}' is not a finite number")
    mantissa, mark, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + mark + exponent


def attributes(values: Mapping[str, Any]) -> str:
    """Returns an attribute dictionary; entries that are None are left out."""
    parts = []
    for key in sorted(values):
        value = values[key]
        if value is None:
            continue
        name = key if _BARE_SYMBOL.match(key) else quote(key)
        parts.append(name if value is True else f"{name} = {attribute(value)}")
    return "{" + ", ".join(parts) + "}"


@dataclass(frozen=True)
class Group:
    """A process group; fields that are None are left to the dialect."""

    name: str
    size: int
    ranks_per_node: Optional[int] = None
    stride: Optional[int] = None
    ranks: Optional[tuple] = None
    backend: Optional[str] = None

    def __str__(self) -> str:
        text = f"commsched.group {symbol(self.name)} size({self.size})"
        if self.ranks_per_node is not None:
            text += f" ranks_per_node({self.ranks_per_node})"
        if self.stride is not None:
            text += f" stride({self.stride})"
        if self.ranks is not None:
            text += f" ranks({_matrix(self.ranks)})"
        return text + _dictionary({"commsched.backend": self.backend})


#: The function that fences call.
FENCE = "commsched.fence"


class Function:
    """A function with one block, to which operations are appended."""

    def __init__(self, name: str, private: bool = False):
        self.name = name
        self.private = private
        self.attributes: dict[str, Any] = {}
        self.arguments: list[tuple[Value, dict]] = []
        self.results: list[Value] = []
        self.has_fences = False
        self._lines: list[str] = []
        self._names: dict[str, int] = {}

    # -- values ------------------------------------------------------------

    def unique_name(self, hint: str) -> str:
        """Returns a value name near `hint` that nothing else here has."""
        base = hint if _VALUE_NAME.match(hint) else _sanitize(hint)
        count = self._names.get(base, 0)
        name = base
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names[base] = count
        self._names.setdefault(name, 0)
        return name

    def argument(
        self,
        name: str,
        type: Union[TensorType, MemRefType],
        attrs: Optional[Mapping] = None,
    ) -> Value:
        value = Value(self.unique_name(name), type)
        self.arguments.append((value, _with_hints(attrs, [type])))
        return value

    # -- operations --------------------------------------------------------

    def compute(
        self,
        op: str,
        operands: Sequence[Value],
        types: Sequence[TensorType],
        *,
        hint: str,
        attrs: Optional[Mapping] = None,
    ) -> list[Value]:
        """Appends `commsched.compute`; several results share one name."""
        results, left = self._results(hint, types)
        attrs = _with_hints(attrs, types)
        self._append(
            f"{left}commsched.compute {quote(op)}({_join(operands)})"
            f"{_dictionary(attrs)} : ({_types(operands)}) -> "
            f"{_result_types(types)}"
        )
        return results

    def start(
        self,
        kind: str,
        operands: Sequence[Value],
        group: Optional[str],
        types: Sequence[TensorType],
        *,
        hint: str,
        clauses: str = "",
        into: Sequence[Value] = (),
        attrs: Optional[Mapping] = None,
    ) -> Value:
        """Appends the start of a collective and returns its future.

        Transfers from and to the host have no `group`. `clauses` is what
        follows the group, such as ``dim(0)``; `into` are the buffers that the
        collective writes in place.
        """
        future = FutureType(tuple(types))
        (result,), left = self._results(hint, [future])
        text = f"{left}commsched.{kind}"
        if operands:
            text += f" {_join(operands)}"
        if group is not None:
            text += f" on {symbol(group)}"
        if clauses:
            text += f" {clauses}"
        if into:
            text += f" into {_join(into)}"
        text += f"{_dictionary(_with_hints(attrs, types))} : "
        sides = [_types(operands)] if operands else []
        if into:
            sides.append(f"into {_types(into)}")
        sides = [" ".join(sides)] if sides else []
        self._append(text + " -> ".join([*sides, str(future)]))
        return result

    def wait(
        self,
        future: Value,
        *,
        hints: Sequence[str],
        attrs: Optional[Mapping] = None,
    ) -> list[Value]:
        """Appends the wait of `future`; every result has a name of its own."""
        names = [self.unique_name(hint) for hint in hints]
        results = [Value(n, t) for n, t in zip(names, future.type.values)]
        left = f"{_join(results)} = " if results else ""
        self._append(
            f"{left}commsched.wait {future}{_dictionary(attrs)} : {future.type}"
        )
        return results

    def copy_op(
        self,
        kind: str,
        operands: Sequence[Value],
        group: str,
        types: Sequence[TensorType],
        *,
        hint: str,
        attrs: Optional[Mapping] = None,
    ) -> list[Value]:
        """Appends a bucket copy: `all_gather_copy_in`,
        `split_with_sizes_copy` or `chunk_cat`."""
        results, left = self._results(hint, types)
        self._append(
            f"{left}commsched.{kind} {_join(operands)} on {symbol(group)}"
            f"{_dictionary(attrs)} : {_types(operands)} -> {_join(types)}"
        )
        return results

    def resize_storage(
        self, storage: Value, size: int, *, attrs: Optional[Mapping] = None
    ) -> None:
        """Appends the resize of a memref's storage to `size` bytes."""
        self._append(
            f"commsched.resize_storage {storage} bytes({size})"
            f"{_dictionary(attrs)} : {storage.type}"
        )

    def fsdp_copy(
        self,
        source: Value,
        storage: Value,
        *,
        attrs: Optional[Mapping] = None,
    ) -> None:
        """Appends the copy of a tensor into a memref."""
        self._append(
            f"commsched.fsdp_copy {source} into {storage}"
            f"{_dictionary(attrs)} : {source.type}, {storage.type}"
        )

    def to_tensor(self, storage: Value, *, hint: str) -> Value:
        """Appends the tensor that a memref holds now."""
        type_ = TensorType(storage.type.shape, storage.type.element)
        (result,), left = self._results(hint, [type_])
        self._append(
            f"{left}bufferization.to_tensor {storage} : {storage.type} to "
            f"{type_}"
        )
        return result

    def fence(self, attrs: Mapping) -> None:
        """Appends what no start, wait or other communication crosses: a call of
        a function of which nothing is known."""
        attrs = {**attrs, "commsched.runtime_ns": 0}
        self._append(f"func.call {symbol(FENCE)}(){_dictionary(attrs)} : () -> ()")
        self.has_fences = True

    def call(
        self, name: str, operands: Sequence[Value], types: Sequence[Type]
    ) -> list[Value]:
        """Appends a call of another function; its results share one name."""
        results, left = self._results(name, types)
        self._append(
            f"{left}func.call {symbol(name)}({_join(operands)}) : "
            f"({_types(operands)}) -> {_result_types(types)}"
        )
        return results

    def return_(self, values: Sequence[Value]) -> None:
        """Ends the function; called exactly once, last."""
        self.results = list(values)
        text = "return"
        if values:
            text += f" {_join(values)} : {_types(values)}"
        self._lines.append(f"  {text}")

    # -- printing ----------------------------------------------------------

    def _results(self, hint: str, types: Sequence[Type]):
        if not types:
            return [], ""
        name = self.unique_name(hint)
        if len(types) == 1:
            return [Value(name, types[0])], f"%{name} = "
        values = [Value(f"{name}#{i}", t) for i, t in enumerate(types)]
        return values, f"%{name}:{len(types)} = "

    def _append(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def __str__(self) -> str:
        parts = []
        for value, attrs in self.arguments:
            parts.append(f"{value}: {value.type}{_dictionary(attrs)}")
        head = "func.func private " if self.private else "func.func "
        head += f"{symbol(self.name)}({', '.join(parts)})"
        if self.results:
            head += f" -> {_result_types([v.type for v in self.results])}"
        if own := _dictionary(self.attributes):
            head += f" attributes{own}"
        return "\n".join([head + " {", *self._lines, "}"])


@dataclass
class Module:
    """Process groups and functions, printed in the order they were added."""

    groups: list[Group] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    attributes: dict[str, object] = field(default_factory=dict)

    def add_group(self, group: Group) -> Group:
        self.groups.append(group)
        return group

    def add_function(self, name: str, private: bool = False) -> Function:
        function = Function(name, private)
        self.functions.append(function)
        return function

    def __str__(self) -> str:
        parts = []
        if self.groups:
            parts.append("\n".join(str(group) for group in self.groups))
        if any(function.has_fences for function in self.functions):
            parts.append(f"func.func private {symbol(FENCE)}()")
        parts.extend(str(function) for function in self.functions)
        body = "\n\n".join(parts) + "\n"
        attrs = _dictionary(self.attributes)
        return f"module attributes{attrs} {{\n{body}}}\n" if attrs else body


def _with_hints(attrs: Optional[Mapping], types: Sequence[Type]) -> dict:
    """Adds what is expected of the sizes of `types` to the attributes of what
    defines them, if all of it is known."""
    sizes = [
        size
        for type_ in types
        if isinstance(type_, TensorType)
        for size in type_.expected
    ]
    attrs = dict(attrs or {})
    if sizes and None not in sizes:
        attrs["commsched.size_hints"] = sizes
    return attrs


def _join(items: Iterable) -> str:
    return ", ".join(str(item) for item in items)


def _types(values: Sequence[Value]) -> str:
    return _join(value.type for value in values)


def _result_types(types: Sequence[Type]) -> str:
    return str(types[0]) if len(types) == 1 else f"({_join(types)})"


def _dictionary(attrs: Optional[Mapping]) -> str:
    text = attributes(attrs or {})
    return "" if text == "{}" else f" {text}"


def _matrix(rows: Sequence[Sequence[int]]) -> str:
    body = ", ".join(f"[{_join(row)}]" for row in rows)
    return f"dense<[{body}]> : tensor<{len(rows)}x{len(rows[0])}xi64>"


def _sanitize(hint: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_$.\-]", "_", hint) or "value"
    return text if _VALUE_NAME.match(text) else f"_{text}"

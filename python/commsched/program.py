# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the JSON form of a module, as ``commsched-export-json`` writes it.

A :class:`Program` holds process groups and functions, a :class:`Function`
operations in program order, and an :class:`Operation` the numbers of the values
that it takes and gives. ``docs/reference/program-json.md`` describes the
format. :func:`commsched.opt.run_programs` gives the programs before and after
passes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union

VERSION = 1
"""The version of the format that this module reads."""


class ProgramError(ValueError):
    """What was read is no program, or one of another version."""


@dataclass(frozen=True)
class Type:
    """The type of a value.

    `kind` is "tensor", "memref", "future" or "other". The first two have a
    `shape`, in which a dynamic size is None, and an `element` such as "bf16";
    a future has the types of its `values`; `text` is the MLIR text of another
    type.
    """

    kind: str
    shape: tuple = ()
    element: str = ""
    values: tuple = ()
    text: str = ""


@dataclass(frozen=True)
class Value:
    """A value: its number within the function, and its type."""

    id: int
    type: Type


@dataclass(eq=False)
class Group:
    """A process group: the ranks of one axis, in groups of `size` ranks."""

    name: str
    size: int
    ranks_per_node: int
    stride: Optional[int] = None
    ranks: Optional[list] = None
    attributes: dict = field(default_factory=dict)


@dataclass(eq=False)
class Argument:
    """An argument of a function; name and role are "" if it has none."""

    value: Value
    name: str
    role: str
    attributes: dict


@dataclass(eq=False)
class Operation:
    """An operation of a function; `name` is "" if it has none.

    `operands` are numbers of values. The regions of an operation are not read:
    `captures` are the numbers of the values that they use. `origin` is what a
    pass made it of: for each of several operations, or the one, its name and
    those of others whose work it does.
    """

    op: str
    name: str
    operands: tuple
    results: tuple
    attributes: dict
    regions: int = 0
    captures: tuple = ()
    origin: tuple = ()

    @property
    def group(self) -> Optional[str]:
        """The name of the process group that it runs on, if it does."""
        symbol = self.attributes.get("group")
        if isinstance(symbol, str) and symbol.startswith("@"):
            return symbol[1:]
        return None

    @property
    def inputs(self) -> tuple:
        """The numbers of all values that it uses."""
        return self.operands + self.captures


@dataclass(eq=False)
class Function:
    """A function. Without a body of exactly one block it has neither
    arguments nor operations."""

    name: str
    attributes: dict
    blocks: int
    arguments: list = field(default_factory=list)
    operations: list = field(default_factory=list)
    results: tuple = ()

    def by_name(self) -> dict:
        """The operations that have a name, by it, in program order. Raises
        ProgramError if two have the same."""
        found: dict[str, Operation] = {}
        for operation in self.operations:
            if not operation.name:
                continue
            if operation.name in found:
                raise ProgramError(
                    f"@{self.name} has two operations with the name "
                    f"'{operation.name}'"
                )
            found[operation.name] = operation
        return found

    def producers(self) -> dict:
        """By number of a value: the Argument or Operation that defines it."""
        found: dict[int, Union[Argument, Operation]] = {
            argument.value.id: argument for argument in self.arguments
        }
        for operation in self.operations:
            for result in operation.results:
                found[result.id] = operation
        return found

    def users(self) -> dict:
        """By number of a value: the operations that use it, in program order,
        each once. The function's return is not among them."""
        found: dict[int, list] = {}
        for operation in self.operations:
            for value in dict.fromkeys(operation.inputs):
                found.setdefault(value, []).append(operation)
        return found


@dataclass(eq=False)
class Program:
    """A module: its attributes, process groups and functions."""

    groups: list
    functions: list
    attributes: dict = field(default_factory=dict)

    def function(self, name: str) -> Function:
        """The function of that name. Raises KeyError if there is none."""
        for function in self.functions:
            if function.name == name:
                return function
        names = ", ".join(f"@{function.name}" for function in self.functions)
        raise KeyError(f"no function @{name}, only {names or 'none'}")

    def group(self, name: str) -> Group:
        """The process group of that name. Raises KeyError if there is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"no process group @{name}")


def from_json(text: Union[str, bytes]) -> Program:
    """Reads a program. Raises ProgramError if `text` is no JSON, lacks a key,
    or is of another version than VERSION."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ProgramError(f"a program is no JSON: {error}") from None
    version = data.get("version") if isinstance(data, dict) else None
    if version != VERSION:
        raise ProgramError(
            f"version {version} of a program's JSON cannot be read, only "
            f"{VERSION}: commsched-opt and this package have to be of one "
            "version"
        )
    try:
        return _Reader().program(data)
    except KeyError as error:
        raise ProgramError(f"a program lacks the key {error}") from None
    except (AttributeError, TypeError) as error:
        raise ProgramError(
            f"a program has a key of another type: {error}"
        ) from None


class _Reader:
    """Reads the parts of one program; equal types become one object."""

    def __init__(self) -> None:
        self._types: dict[tuple, Type] = {}

    def program(self, data: Mapping) -> Program:
        return Program(
            groups=[Group(**_known(Group, group)) for group in data["groups"]],
            functions=[self.function(f) for f in data["functions"]],
            attributes=data["attributes"],
        )

    def function(self, data: Mapping) -> Function:
        function = Function(data["name"], data["attributes"], data["blocks"])
        if function.blocks == 1:
            function.arguments = [self.argument(a) for a in data["arguments"]]
            function.operations = [
                self.operation(operation) for operation in data["operations"]
            ]
            function.results = tuple(data["results"])
        return function

    def argument(self, data: Mapping) -> Argument:
        return Argument(
            self.value(data),
            data.get("name", ""),
            data.get("role", ""),
            data["attributes"],
        )

    def operation(self, data: Mapping) -> Operation:
        return Operation(
            data["op"],
            data.get("name", ""),
            tuple(data["operands"]),
            tuple(map(self.value, data["results"])),
            data["attributes"],
            data.get("regions", 0),
            tuple(data.get("captures", ())),
            tuple(map(tuple, data.get("origin", ()))),
        )

    def value(self, data: Mapping) -> Value:
        return Value(data["id"], self.type(data["type"]))

    def type(self, data: Mapping) -> Type:
        fields = (
            data["kind"],
            tuple(data.get("shape", ())),
            data.get("element", ""),
            tuple(map(self.type, data.get("values", ()))),
            data.get("text", ""),
        )
        known = self._types.get(fields)
        if known is None:
            known = self._types[fields] = Type(*fields)
        return known


def _known(kind: Any, data: Mapping) -> dict:
    """The keys of `data` that are fields of the dataclass `kind`: a later
    version of the tool may add keys."""
    return {
        key: data[key] for key in kind.__dataclass_fields__ if key in data
    }

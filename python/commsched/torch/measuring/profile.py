# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file of measured times: what passes call a profile.

A profile is a JSON object. The passes read its list `rows`, one measured
collective each, and the measured fields of the target
(docs/guide/cost-model.md, "Measured tables"); they ignore the list
`operators`, which the import of a graph reads:

    {"name": ..., "source": ..., "device": ...,
     "target": {"memory_gb_s": 9.1},
     "rows": [{"collective": "all_gather", "ranks": 2, "nodes": 1,
               "bytes": 65536, "time_ns": 39700}],
     "operators": [{"operator": "aten.mm.default(f32[64,8], f32[8,4])",
                    "time_ns": 8100, "count": 3}]}

`operator` is a call's :func:`signature`, `count` how many calls of the
measured graphs have it.
"""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Iterable, Mapping, Optional, Union

import torch
from torch import fx

from commsched.output import write_members
from commsched.torch.importer.targets import (
    communicates,
    is_wait,
    transfer_kind,
)
from commsched.torch.importer.types import ELEMENT_TYPES, has_value, raw_value
from commsched.torch.private.names import OpOverload, make_contiguous_strides_for

Path = Union[str, "os.PathLike[str]"]


class ProfileError(ValueError):
    """A profile cannot be read; the message names the file and the entry."""


def write_profile(
    path: Path,
    rows: Iterable[Mapping[str, Any]],
    operators: Iterable[Mapping[str, Any]] = (),
    target: Optional[Mapping[str, float]] = None,
    *,
    name: str,
    source: str,
    device: str,
) -> None:
    """Writes a profile, whole or not at all. Raises OSError."""
    members = {"name": name, "source": source, "device": device}
    members["target"] = dict(target or {})
    members["rows"], members["operators"] = list(rows), list(operators)
    write_members(path, members)


def read_operators(path: Path) -> dict[str, int]:
    """Returns the times of a profile's operators, in nanoseconds, by
    signature. A profile without operators has none.

    Raises ProfileError.
    """
    try:
        status = os.stat(path)
        return dict(
            _read(os.fspath(path), status.st_mtime_ns, status.st_size)
        )
    except OSError as error:
        raise ProfileError(
            f"the profile '{path}' cannot be read: {error.strerror}"
        ) from error


@functools.lru_cache(maxsize=16)
def _read(path: str, _mtime: int, _size: int) -> dict[str, int]:
    """Reads the file again only when its time or size changes."""
    with open(path, encoding="utf-8") as file:
        try:
            profile = json.load(file)
        except ValueError as error:
            raise ProfileError(
                f"the profile '{path}' is not JSON ({error}); "
                "python -m commsched.torch.measure writes one"
            ) from None
    return operators_in(profile, path)


def operators_in(profile: Any, path: Path) -> dict[str, int]:
    """As `read_operators`, of what the file at `path` holds."""
    entries = profile.get("operators", []) if isinstance(profile, dict) else []
    if not isinstance(entries, list):
        raise ProfileError(f"the profile '{path}': 'operators' is not a list")
    times = {}
    for index, entry in enumerate(entries):
        where = f"the profile '{path}': operator {index}"
        if not isinstance(entry, dict):
            raise ProfileError(f"{where}: is not an object")
        operator, time_ns = entry.get("operator"), entry.get("time_ns")
        if not isinstance(operator, str):
            raise ProfileError(f"{where}: 'operator' is not a string")
        if type(time_ns) is not int or time_ns < 0:
            raise ProfileError(
                f"{where}: 'time_ns' is {time_ns!r}, not a number of "
                "nanoseconds"
            )
        if times.setdefault(operator, time_ns) != time_ns:
            raise ProfileError(f"{where}: '{operator}' is there twice")
    return times


def operator_runtimes(
    gm: fx.GraphModule, operators: Mapping[str, int]
) -> dict[str, int]:
    """Returns the measured time of every node of `gm` that `operators` has,
    in nanoseconds, by the node's name."""
    runtimes = {}
    for node in gm.graph.nodes:
        text = signature(node)
        if text in operators:
            runtimes[node.name] = operators[text]
    return runtimes


def signature(node: fx.Node) -> Optional[str]:
    """Returns what decides how long a call takes, as text: the operator, and
    its arguments as element types, shapes and constants.

    Strides are given where a tensor is not contiguous. Symbolic sizes are
    their hints. None for what is not timed: a node that is no operator's
    call, communicates, or has an argument of which the graph says nothing.
    """
    target = node.target
    if (
        node.op != "call_function"
        or not isinstance(target, OpOverload)
        or communicates(target)
        or is_wait(target)
        or transfer_kind(target) is not None
    ):
        return None
    try:
        parts = [_describe(argument) for argument in node.args]
        parts += [f"{k}={_describe(v)}" for k, v in node.kwargs.items()]
    except _Unknown:
        return None
    return f"{target}({', '.join(parts)})"


class _Unknown(Exception):
    """The graph does not say what an argument is."""


def _describe(value: Any) -> str:
    if isinstance(value, fx.Node):
        if not has_value(value):
            raise _Unknown
        return _describe(raw_value(value))
    if isinstance(value, torch.Tensor):
        return _describe_tensor(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_describe(item) for item in value) + "]"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return repr(hint_of(value))
    return repr(value) if isinstance(value, str) else str(value)


def _describe_tensor(value: torch.Tensor) -> str:
    element = ELEMENT_TYPES.get(value.dtype, str(value.dtype))
    shape = [hint_of(size) for size in value.shape]
    text = f"{element}[{','.join(map(str, shape))}]"
    if value.layout is not torch.strided:
        return f"{text} {value.layout}"
    strides = [hint_of(stride) for stride in value.stride()]
    if strides != list(make_contiguous_strides_for(shape)):
        text += f":({','.join(map(str, strides))})"
    return text


def hint_of(value: Any) -> Any:
    """Returns the number that stands for a symbolic one; raises _Unknown if
    there is none."""
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value
    constant = value.node.maybe_as_int()
    if constant is not None:
        return constant
    if not value.node.has_hint():
        raise _Unknown
    return value.node.hint

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the nodes of a bucket compute, read off the nodes themselves.

The value of a node is described in terms of nodes of the graph before: the
elements, in row-major order, of some of them, one after the other or woven
(the first part of each, then the second of each); or what a collective
delivers of these. Taken apart again it has to be what each member delivered.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import torch
from torch import fx

from commsched.torch.importer.targets import (
    GROUP_OF_MESH,
    CollectiveCall,
    collective_of,
    is_wait,
    schema_name,
)
from commsched.torch.rewriting.plan import KINDS

aten = torch.ops.aten

_CASTS = (
    aten._to_copy.default,
    torch.ops.prims.convert_element_type.default,
)
_NUMBERS = (aten.sym_size.int, operator.mul, operator.floordiv)


@dataclass(frozen=True)
class Contents:
    """Elements in row-major order.

    parts:   pairs of a node of the graph before, whose elements these are,
             and the nodes that had written them last when they were read; None
             where only views were taken so far.
    woven:   into how many rows each part is cut; all first rows come first. 1:
             one part after the other.
    made_by: the kind of collective that delivers this, of one part after the
             other or woven, and the rest of its arguments; None: no
             collective.
    is_late: it is in flight.
    """

    parts: tuple
    woven: int = 1
    made_by: Optional[tuple] = None
    is_late: bool = False


class Unknown(Exception):
    """A node whose value cannot be described; the message says why."""


def is_cast(node: fx.Node) -> bool:
    """Returns whether `node` converts its operand to another element type and
    does nothing else."""
    return node.target in _CASTS and not node.kwargs.keys() - {"dtype"}


def collective(kind_of: Any, args: tuple, version: tuple) -> Optional[Contents]:
    """Returns what a collective of one tensor delivers, given what it calls
    and with which arguments, and the version of what it sends; None for any
    other call."""
    call = _mergeable(kind_of)
    if call is None or call.is_coalesced or not args:
        return None
    return Contents(
        ((args[0], version),), made_by=(call.kind, _identify_rest(args))
    )


def identify(argument: Any) -> Any:
    """Returns what is equal of equal arguments: each collective may have a node of
    its own for the group of a mesh."""
    if isinstance(argument, fx.Node) and schema_name(argument.target) == GROUP_OF_MESH:
        return argument.target, argument.args
    return argument


def _identify_rest(args: Sequence) -> tuple:
    """Identifies the arguments of a collective behind what it sends."""
    return tuple(map(identify, args[1:]))


def _mergeable(target: Any) -> Optional[CollectiveCall]:
    """Returns the collective that `target` is if buckets are made of such."""
    call = collective_of(target)
    is_known = call is not None and call.kind in KINDS
    return call if is_known and not call.is_in_place else None


def describe(
    node: fx.Node, known: Callable, version: Callable, same_call: Callable
) -> Any:
    """Returns the Contents of a node that was added, a list of them, or None
    for a number.

    `known(argument)` gives those of an argument, `version(node, argument)` the
    nodes that wrote it last, and `same_call(node, operand, version)` the node
    of the graph before that did the same to `operand`, or None. Raises
    Unknown.
    """
    target = node.target
    if target in _NUMBERS:
        return None
    if target is operator.getitem:
        source = known(node.args[0])
        if isinstance(source, list):
            return source[node.args[1]]
        return Contents(((node, None),))

    def read(source: fx.Node) -> Contents:
        contents = _here(known(source))
        parts = tuple(
            (part, version(node, source) if seen is None else seen)
            for part, seen in contents.parts
        )
        return replace(contents, parts=parts)

    call = _mergeable(target)
    if call is not None and call.is_coalesced:
        rest = _identify_rest(node.args)
        return [
            _launched(call.kind, rest, read(source)) for source in node.args[0]
        ]
    if target == aten.cat.default:
        return _joined(node, [read(source) for source in node.args[0]])
    source = node.args[0]
    if is_wait(target):
        contents = known(source)
        if not isinstance(contents, Contents) or not contents.is_late:
            raise Unknown("waits for what is not in flight")
        return replace(contents, is_late=False)
    if target in (aten.view.default, aten.view.dtype):
        return _here(known(source))
    if target == aten.clone.default:
        return read(source)
    if is_cast(node):
        return _converted(node, read(source), same_call)
    if call is not None:
        return _launched(call.kind, _identify_rest(node.args), read(source))
    if target == aten.split_with_sizes.default:
        return _pieces(node, _here(known(source)))
    raise Unknown(f"calls {target}")


def _here(contents: Any) -> Contents:
    if not isinstance(contents, Contents) or contents.is_late:
        raise Unknown("uses what is in flight")
    return contents


def _converted(
    node: fx.Node, source: Contents, same_call: Callable
) -> Contents:
    """What converts all parts gives what converted each."""
    if source.made_by is not None:
        raise Unknown("converts what a collective delivers")
    parts = [same_call(node, part, seen) for part, seen in source.parts]
    if None in parts:
        raise Unknown("converts what was not converted so before")
    return replace(source, parts=tuple((part, ()) for part in parts))


def _joined(node: fx.Node, sources: list[Contents]) -> Contents:
    dim = node.args[1] if len(node.args) > 1 else 0
    if any(s.made_by or len(s.parts) != 1 for s in sources):
        raise Unknown("packs what is packed already")
    shapes = [source.meta["val"].shape for source in node.args[0]]
    ranks = {len(shape) for shape in shapes}
    parts = tuple(part for s in sources for part in s.parts)
    if dim == 0 and ranks == {1} or len(parts) == 1:
        return Contents(parts)
    if dim == 1 and ranks == {2}:
        return Contents(parts, woven=int(shapes[0][0]))
    raise Unknown(f"joins along dimension {dim}")


def _launched(kind: str, rest: tuple, source: Contents) -> Contents:
    if source.made_by is not None:
        raise Unknown("sends what another collective delivers")
    width = rest[-2] if kind != "all_reduce" else 1
    wanted = width if kind == "reduce_scatter" and len(source.parts) > 1 else 1
    if source.woven != wanted:
        raise Unknown(f"sends {source.woven} rows to {width} ranks")
    return Contents(source.parts, source.woven, (kind, rest), True)


def _pieces(node: fx.Node, source: Contents) -> list[Contents]:
    """Takes apart what a collective delivered."""
    if source.made_by is None:
        raise Unknown("takes apart what no collective delivered")
    kind, rest = source.made_by
    _, sizes, dim = node.args
    whole = node.args[0].meta["val"]
    if kind == "all_gather":
        fits = dim == 1 and len(whole.shape) == 2 and whole.shape[0] == rest[0]
    else:
        fits = dim == 0 and len(whole.shape) == 1
    if not fits or len(sizes) != len(source.parts):
        raise Unknown(f"cuts {list(whole.shape)} along dimension {dim}")
    for (part, _), size in zip(source.parts, sizes):
        value = part.meta["val"]
        count = value.numel()
        if kind == "reduce_scatter":
            count = count // rest[-2]
        count = count * value.dtype.itemsize // whole.dtype.itemsize
        if not _is_equal(size, count):
            raise Unknown(f"cuts {size} off where '{part.name}' has {count}")
    return [Contents((part,), 1, source.made_by) for part in source.parts]


def _is_equal(size: Any, count: Any) -> bool:
    if isinstance(size, fx.Node):
        size = size.meta["val"]
    if isinstance(size, int) and isinstance(count, int):
        return size == count
    a, b = (getattr(getattr(x, "node", None), "expr", x) for x in (size, count))
    return bool((a - b).expand() == 0) if hasattr(a - b, "expand") else a == b

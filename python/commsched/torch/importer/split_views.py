# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes of operators that only say otherwise which element is where.

DTensor shards whole dimensions. These operators also join and divide them, or
put tensors one behind the other, so that an axis may be a part of a dimension.
All follows from the shapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from commsched.torch.importer.split_text import Factor, SplitAxes
from commsched.torch.importer.targets import schema_of
from commsched.torch.private.names import OpOverload

_RESHAPES = frozenset(
    {
        "_unsafe_view",
        "flatten",
        "reshape",
        "squeeze",
        "unflatten",
        "unsqueeze",
        "view",
        "view_copy",
    }
)

# A part or several parts of the whole, one behind the other along `dim`.
_PARTS = frozenset(
    {"chunk", "narrow", "slice", "split", "split_with_sizes", "tensor_split"}
)


def view_axes(
    overload: OpOverload,
    arguments: Mapping[str, Any],
    operands: Sequence[Sequence[int]],
    results: Sequence[Sequence[int]],
    symbolic: bool,
) -> Optional[SplitAxes]:
    """Returns the axes of one of these operators, None for any other.

    `arguments` are by name. `symbolic` says that the shapes have numbers that
    only stand for sizes; these are equal, or divide each other, by chance.
    """
    schema = schema_of(overload)
    namespace, _, name = schema.name.partition("::")
    if namespace != "aten" or schema.overload_name in ("dtype", "Dimname"):
        return None
    if name in _RESHAPES:
        if symbolic:
            return _outer_axes(operands[0], results[0])
        return reshape_axes(operands[0], results[0])
    if name == "expand":
        return expand_axes(operands[0], results[0])
    if name not in _PARTS and name not in ("cat", "stack", "select", "unbind"):
        return None
    rank = max(map(len, (*operands, *results)))
    dim = arguments.get("dim", arguments.get("axis", 0))
    if not isinstance(dim, int) or not -rank <= dim < rank:
        return None
    dim %= rank
    if name in ("cat", "stack"):
        if any(len(shape) != len(operands[0]) for shape in operands):
            return None
        axes = SplitAxes(operands, results[:1])
        (whole,), parts = axes.results, axes.operands
    else:
        axes = SplitAxes(operands[:1], results)
        (whole,), parts = axes.operands, axes.results
    share = _share_layers if name in ("stack", "select", "unbind") else _share_parts
    share(axes, whole, parts, dim)
    return axes


def _outer_axes(operand: Sequence[int], result: Sequence[int]) -> SplitAxes:
    """As `reshape_axes`, but only of the first and the last dimensions, which
    both have."""
    axes = SplitAxes([operand], [result])
    shorter = min(len(operand), len(result))
    for step in (1, -1):
        for count in range(shorter):
            dim = count if step == 1 else -1 - count
            if operand[dim] != result[dim]:
                break
            _share(axes, [(axes.operands[0], dim), (axes.results[0], dim)])
    return axes


def reshape_axes(operand: Sequence[int], result: Sequence[int]) -> SplitAxes:
    """Returns the axes of a change of shape that keeps the row-major order,
    from the outermost on, as far as sizes divide each other."""
    axes = SplitAxes([operand], [result])
    old, new = list(_segments(operand, result)), []
    for before, after in old:
        new.append(_factors(axes, operand, before, result, after))
    for placed in new:
        for value, dims in zip((axes.operands[0], axes.results[0]), placed):
            for dim, factors in dims.items():
                value[dim] = factors
    return axes


def _segments(operand: Sequence[int], result: Sequence[int]):
    """Yields the smallest runs of dimensions of both that have the same number
    of elements, as pairs of ranges."""
    start, end = (0, 0), [0, 0]
    sizes = [1, 1]
    shapes = (operand, result)
    while end[0] < len(operand) or end[1] < len(result):
        side = 0 if sizes[0] <= sizes[1] else 1
        if end[side] == len(shapes[side]):
            side = 1 - side
        sizes[side] *= shapes[side][end[side]]
        end[side] += 1
        if sizes[0] == sizes[1]:
            yield range(start[0], end[0]), range(start[1], end[1])
            start, sizes = tuple(end), [1, 1]


def _factors(axes, operand, before, result, after) -> tuple[dict, dict]:
    """Returns the factors of the dimensions of one run, of both sides."""
    left = [(dim, operand[dim]) for dim in before if operand[dim] > 1]
    right = [(dim, result[dim]) for dim in after if result[dim] > 1]
    placed: tuple[dict, dict] = (
        {dim: [] for dim in before},
        {dim: [] for dim in after},
    )
    while left and right:
        (dim, size), (other, length) = left[0], right[0]
        common = math.gcd(size, length)
        if common > 1:
            factor = Factor(common, axes.new_axis())
            placed[0][dim].append(factor)
            placed[1][other].append(factor)
        left[0], right[0] = (dim, size // common), (other, length // common)
        if left[0][1] > 1 and right[0][1] > 1:
            break
        left = left[left[0][1] == 1 :]
        right = right[right[0][1] == 1 :]
    for side, rest in enumerate((left, right)):
        for dim, size in rest:
            placed[side][dim].append(Factor(size))
    return placed


def expand_axes(operand: Sequence[int], result: Sequence[int]) -> SplitAxes:
    axes = SplitAxes([operand], [result])
    shift = len(result) - len(operand)
    for dim, size in enumerate(result):
        if dim < shift or operand[dim - shift] != size:
            axis = axes.new_axis(is_repeat=True)
            axes.results[0][dim] = [Factor(size, axis)]
            continue
        _share(axes, [(axes.operands[0], dim - shift), (axes.results[0], dim)])
    return axes


def _share_parts(axes: SplitAxes, whole: list, parts: list, dim: int) -> None:
    """Shares the axes of parts of a tensor, which lie one behind the other
    along `dim`: those of the other dimensions, and the one within the parts
    if all have the same size."""
    size = whole[dim][0].size
    within = {part[dim][0].size for part in parts}
    for other in range(len(whole)):
        if other != dim:
            _share(axes, [(value, other) for value in (whole, *parts)])
    if len(within) == 1 and size == (part := within.pop()) * len(parts):
        axis = axes.new_axis()
        whole[dim] = [Factor(len(parts)), Factor(part, axis)]
        for value in parts:
            value[dim] = [Factor(part, axis)]


def _share_layers(axes: SplitAxes, whole: list, parts: list, dim: int) -> None:
    """Shares the axes of parts that lack dimension `dim` of the tensor."""
    for other in range(len(whole)):
        if other != dim:
            place = other - (other > dim)
            _share(axes, [(whole, other), *((part, place) for part in parts)])


def _share(axes: SplitAxes, places: list) -> None:
    """Gives dimensions an axis, where they are as large as the first."""
    axis = axes.new_axis()
    value, dim = places[0]
    size = value[dim][0].size
    for value, dim in places:
        if value[dim][0].size == size:
            value[dim] = [Factor(size, axis)]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the dimensions of an operation's operands and results belong together,
and the text of it: the attribute `split` of `commsched.compute`.

The notation is that of einops: `"m k, k n -> m n"`, `"s c -> (8 s) c"`. `_` is
a dimension that cannot be split, a number a part of that size that cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Factor:
    """A part of a dimension: the index of the dimension is that of its
    factors, the outermost first. `axis` is None where it cannot be split."""

    size: int
    axis: Optional[int] = None


class SplitAxes:
    """The axes of one operation, with their places."""

    def __init__(self, operands: Sequence, results: Sequence):
        """Takes the shapes; nothing can be split yet."""
        self.operands = [_whole(shape) for shape in operands]
        self.results = [_whole(shape) for shape in results]
        self._sums: set[int] = set()
        self._repeats: set[int] = set()
        self._count = 0

    def new_axis(
        self, *, is_sum: bool = False, is_repeat: bool = False
    ) -> int:
        """Returns an axis, without a place so far. It is one to sum over,
        which the results lack, one along which they repeat, which the operands
        lack, or one that both have."""
        self._count += 1
        if is_sum:
            self._sums.add(self._count)
        if is_repeat:
            self._repeats.add(self._count)
        return self._count

    def exclude(self, dim: list[Factor]) -> None:
        """Takes back the axes that have a place in a dimension."""
        gone = {factor.axis for factor in dim}
        for value in (*self.operands, *self.results):
            value[:] = [
                [Factor(f.size) if f.axis in gone else f for f in other]
                for other in value
            ]

    def text(self) -> Optional[str]:
        """Returns the text of what can be said so; None if that is
        nothing."""
        while self._drop_one_round():
            pass
        names: dict[int, str] = {}
        operands, results = (
            ", ".join(
                " ".join(_dimension(dim, names) for dim in value)
                for value in side
            ).strip()
            for side in (self.operands, self.results)
        )
        return f"{operands} -> {results}".rstrip() if names else None

    # -- what can be said ----------------------------------------------------

    def _drop_one_round(self) -> bool:
        """Drops the axes that are none, or that the text cannot hold."""
        values = [*self.operands, *self.results]
        for value in values:
            value[:] = [_merged(dim) for dim in value]
        used = set(_axes(values))
        kept = {axis for axis in used if self._is_axis(axis)}
        kept &= _of_known_size(values, kept)
        for value in values:
            value[:] = [
                [f if f.axis in kept else Factor(f.size) for f in dim]
                for dim in value
            ]
        return kept != used

    def _is_axis(self, axis: int) -> bool:
        """Returns whether those have the axis that should."""
        if (axis in _axes(self.operands)) == (axis in self._repeats):
            return False
        having = [axis in _axes([value]) for value in self.results]
        return all(having) if axis not in self._sums else not any(having)


def _whole(shape: Sequence[int]) -> list[list[Factor]]:
    return [[Factor(size)] for size in shape]


def _merged(dim: list[Factor]) -> list[Factor]:
    """Leaves factors of size 1 out and joins those that cannot be split."""
    merged: list[Factor] = []
    for factor in dim:
        if factor.size == 1:
            continue
        if factor.axis is None and merged and merged[-1].axis is None:
            merged[-1] = Factor(merged[-1].size * factor.size)
        else:
            merged.append(factor)
    return merged


def _axes(values: Sequence) -> Iterator[int]:
    for value in values:
        for dim in value:
            for factor in dim:
                if factor.axis is not None:
                    yield factor.axis


def _of_known_size(values: Sequence, axes: set[int]) -> set[int]:
    """Returns those of `axes` whose sizes follow from the sizes of the
    dimensions."""
    known: set[int] = set()
    groups = [
        [f.axis for f in dim if f.axis in axes]
        for value in values
        for dim in value
    ]
    while True:
        found = {
            unknown[0]
            for group in groups
            if len(unknown := [a for a in group if a not in known]) == 1
        }
        if not found:
            return known
        known |= found


def _dimension(dim: list[Factor], names: dict[int, str]) -> str:
    if all(factor.axis is None for factor in dim):
        return "_"
    parts = [
        str(f.size)
        if f.axis is None
        else names.setdefault(f.axis, _name(len(names)))
        for f in dim
    ]
    return parts[0] if len(parts) == 1 else f"({' '.join(parts)})"


def _name(index: int) -> str:
    """Returns a, b, ... z, a1, b1, ..."""
    round_, letter = divmod(index, 26)
    return chr(ord("a") + letter) + (str(round_) if round_ else "")

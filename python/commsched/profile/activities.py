# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the readers of traces return: what a rank did, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional


class TraceError(ValueError):
    """A trace cannot be used; the message names the file and the place."""


@dataclass(frozen=True)
class Activity:
    """A computation or a collective of a trace.

    `name` is an operator such as "aten.mm", or what the trace calls it;
    `operation` the name of the operation in the program, if the trace has it.
    `busy_ns` is the time that it takes, without gaps between its kernels.
    Of a collective, `kind` is the kind and `elements` the number of elements
    that a rank sends, if known. `shapes` are those of the operands that have
    dimensions, if known, and `element` is the type of the first. `kernels` are
    begins and ends of the kernels of a computation that has several.
    """

    name: str
    begin_ns: int
    end_ns: int
    busy_ns: int
    stream: str = ""
    operation: str = ""
    kind: str = ""
    elements: Optional[int] = None
    shapes: Optional[tuple] = None
    element: str = ""
    kernels: tuple = ()

    def running(self) -> tuple:
        """Begins and ends of the times that `busy_ns` consists of."""
        return self.kernels or (
            (self.begin_ns, self.begin_ns + self.busy_ns),)


@dataclass
class Step:
    """What a rank did in one step, in the order of the beginnings."""

    rank: str
    begin_ns: int
    end_ns: int
    activities: list[Activity]

    @property
    def time_ns(self) -> int:
        return self.end_ns - self.begin_ns


@dataclass
class Trace:
    """The steps of all ranks of a file, and how many activities are in none."""

    path: str
    steps: list[Step] = field(default_factory=list)
    outside: int = 0


def lower_median(values: list[int]) -> int:
    """The median; of an even number of values the lower of the two in the
    middle, so that it is always one of them."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]

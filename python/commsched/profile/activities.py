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
    begins and ends of the kernels of a computation that has several. Of a
    kernel of a collective, `launch_ns` is when the host launched it, `queue`
    the stream of the device, and `group` what all ranks call its group, each
    if known.
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
    launch_ns: Optional[int] = None
    queue: str = ""
    group: str = ""

    def running(self) -> tuple:
        """Begins and ends of the times that `busy_ns` consists of."""
        return self.kernels or (
            (self.begin_ns, self.begin_ns + self.busy_ns),)


@dataclass(frozen=True)
class Kernel:
    """A kernel or a copy of a device. `launch_ns` is when the host began to
    launch it, and `launched_ns` when it had done so, if known; `name` is that
    of its operator, or its own."""

    begin_ns: int
    end_ns: int
    launch_ns: Optional[int] = None
    launched_ns: Optional[int] = None
    name: str = ""


@dataclass(frozen=True)
class Device:
    """What computes and copies on the device while a step runs, whichever step
    launched it, in the order of the beginnings. `waits` are begins, ends and
    names of the calls with which the host waited for the device in all of the
    trace, by their begins."""

    kernels: list[Kernel]
    copies: list[Kernel]
    waits: list[tuple[int, int, str]]


@dataclass
class Step:
    """What a rank did in one step, in the order of the beginnings. `number` is
    the same on all ranks; `device` is known if the trace has kernels."""

    rank: str
    begin_ns: int
    end_ns: int
    activities: list[Activity]
    number: int = 0
    device: Optional[Device] = None

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

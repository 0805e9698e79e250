# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a device computes nothing while no collective is in flight."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Optional

from commsched.profile.activities import Kernel, Step

#: The host had not yet launched what runs next.
HOST = "host"
#: Only copies ran.
COPIES = "copies"
#: The host waited for the device, or had nothing queued since it did.
SYNCHRONIZATION = "synchronization"
#: What runs next was launched, or the trace does not say.
REST = "rest"
CAUSES = (HOST, COPIES, SYNCHRONIZATION, REST)


def split_idle(step: Step, idle: list) -> list[tuple[int, int, str]]:
    """The parts of times without computation and without collectives, each with
    its cause. `idle` are begins and ends in their order."""
    device = step.device
    if device is None:
        return [(begin, end, REST) for begin, end in idle]
    collectives = [Kernel(a.begin_ns, a.end_ns, a.launch_ns, a.launch_ns)
                   for a in step.activities if a.kind]
    runs = sorted([*device.kernels, *device.copies, *collectives],
                  key=lambda run: run.begin_ns)
    begins = [run.begin_ns for run in runs]
    copies = _merge([(c.begin_ns, c.end_ns) for c in device.copies])
    waits = Waits(device.waits)
    parts = []
    for piece in idle:
        for begin, end, is_copy in _cut(*piece, copies):
            if is_copy:
                parts.append((begin, end, COPIES))
                continue
            index = bisect_left(begins, end)
            following = runs[index] if index < len(runs) else None
            parts += _by_launch(begin, end, following, waits)
    return parts


def _by_launch(begin: int, end: int, following: Optional[Kernel],
               waits: Waits) -> list[tuple[int, int, str]]:
    """The causes of a time in which nothing runs before `following` does."""
    launched = begin
    if following is not None and following.launched_ns is not None:
        launched = min(max(begin, following.launched_ns), end)
    parts = [(low, high, SYNCHRONIZATION if is_wait else HOST)
             for low, high, is_wait in _cut(begin, launched, waits.merged)]
    # If the host waited until the device had nothing left, nothing is queued
    # when it goes on, so that the time until the launch is due to that, too.
    first = waits.first(begin, launched)
    if first is not None and first[0] <= begin:
        parts = [(begin, launched, SYNCHRONIZATION)]
    return parts + ([(launched, end, REST)] if launched < end else [])


class Waits:
    """The calls with which the host waits for the device."""

    def __init__(self, waits: list[tuple[int, int, str]]) -> None:
        self._waits = waits
        self._reach = list(accumulate((end for _, end, _ in waits), max))
        self.merged = _merge([(begin, end) for begin, end, _ in waits])

    def first(self, begin: int, end: int) -> Optional[tuple[int, int, str]]:
        """The first wait within a time."""
        index = bisect_right(self._reach, begin)
        if index == len(self._waits) or self._waits[index][0] >= end:
            return None
        return self._waits[index]


def _merge(times: list) -> list:
    """Times in their order, without overlap."""
    merged: list = []
    for begin, end in times:
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((begin, end))
    return merged


def _cut(begin: int, end: int, others: list) -> list[tuple[int, int, bool]]:
    """The parts of a time that are within `others`, and those that are not."""
    parts = []
    index = bisect_right(others, begin, key=lambda other: other[1])
    while begin < end:
        low, high = others[index] if index < len(others) else (end, end)
        low, high = min(max(low, begin), end), min(high, end)
        parts += [(begin, low, False), (low, high, True)]
        begin, index = high, index + 1
    return [part for part in parts if part[0] < part[1]]

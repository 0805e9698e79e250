# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When collectives are in flight, and how long computation runs beside them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from commsched.profile.activities import Activity

# Copy engines carry out host transfers, which the model has no tax for.
_HOST_TRANSFERS = ("offload", "reload")


class InFlight:
    """When at least one collective is in flight."""

    def __init__(self, activities: Iterable[Activity]) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        # How much of the time before each begin has one in flight.
        self._before: list[int] = []
        total = 0
        spans = sorted((a.begin_ns, a.end_ns) for a in activities
                       if a.kind and a.kind not in _HOST_TRANSFERS)
        for begin, end in spans:
            if self._ends and begin <= self._ends[-1]:
                total += max(0, end - self._ends[-1])
                self._ends[-1] = max(end, self._ends[-1])
                continue
            self._before.append(total)
            self._begins.append(begin)
            self._ends.append(end)
            total += end - begin

    def overlap(self, activity: Activity) -> int:
        """How long the activity ran while one was in flight."""
        return sum(self._until(end) - self._until(begin)
                   for begin, end in activity.running())

    def _until(self, time: int) -> int:
        index = bisect_right(self._begins, time) - 1
        if index < 0:
            return 0
        last = min(time, self._ends[index]) - self._begins[index]
        return self._before[index] + last

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of a measured step is exposed communication.

As in the model, what is exposed is the step without its computation. While
nothing is computed, the time counts to the collective in flight that ends
first; what is left is neither computation nor a collective.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from commsched.profile.activities import Activity, Step, lower_median


@dataclass(frozen=True)
class CollectiveExposure:
    """A collective of a step; times count from the step's begin."""

    name: str
    kind: str
    stream: str
    start_ns: int
    end_ns: int
    exposed_ns: int


@dataclass(frozen=True)
class StepExposure:
    rank: str
    step_ns: int
    compute_ns: int
    comm_ns: int
    exposed_ns: int
    idle_ns: int
    collectives: list


def measure_exposure(step: Step) -> StepExposure:
    """What of a step is computation, communication, and neither."""
    collectives = [a for a in step.activities if a.kind]
    gaps = _gaps(step, [a for a in step.activities if not a.kind])
    exposed = _share_out(gaps, collectives)
    free = sum(end - begin for begin, end in gaps)
    return StepExposure(
        step.rank, step.time_ns, step.time_ns - free,
        sum(a.busy_ns for a in collectives), free, free - sum(exposed),
        [
            CollectiveExposure(
                a.operation or a.name, a.kind, a.stream,
                a.begin_ns - step.begin_ns, a.end_ns - step.begin_ns, time)
            for a, time in zip(collectives, exposed)
        ])


def _gaps(step: Step, computed: list[Activity]) -> list[tuple[int, int]]:
    """The times in which nothing is computed, in their order."""
    gaps, time = [], step.begin_ns
    for activity in sorted(computed, key=lambda a: a.begin_ns):
        if activity.begin_ns > time:
            gaps.append((time, activity.begin_ns))
        time = max(time, activity.end_ns)
    if time < step.end_ns:
        gaps.append((time, step.end_ns))
    return gaps


def _share_out(gaps: list, collectives: list[Activity]) -> list[int]:
    """The part of the gaps that counts to each collective: of each moment the
    collective in flight that ends first."""
    exposed = [0] * len(collectives)
    order = sorted(range(len(collectives)),
                   key=lambda i: (collectives[i].end_ns, i))
    # Taken in the order of the ends, a moment that an earlier one has taken
    # lies before `taken`, or before that one's begin.
    rest = [list(gap) for gap in gaps]
    for index in order:
        activity = collectives[index]
        left = []
        first = _first_after(rest, activity.begin_ns)
        last = first
        while last < len(rest) and rest[last][0] < activity.end_ns:
            begin, end = rest[last]
            low = max(begin, activity.begin_ns)
            high = min(end, activity.end_ns)
            exposed[index] += max(0, high - low)
            left += [[b, e] for b, e in ((begin, low), (high, end)) if b < e]
            last += 1
        rest[first:last] = left
    return exposed


def _first_after(gaps: list, time: int) -> int:
    """The first gap that ends after `time`."""
    low, high = 0, len(gaps)
    while low < high:
        middle = (low + high) // 2
        if gaps[middle][1] <= time:
            low = middle + 1
        else:
            high = middle
    return low


def median_exposures(steps: list[Step]) -> StepExposure:
    """The medians over ranks and steps; collectives are those that all steps
    have, by name and by how often it has occurred in the step."""
    measured = [measure_exposure(step) for step in steps]
    same = defaultdict(list)
    for exposure in measured:
        counts: dict = defaultdict(int)
        for collective in exposure.collectives:
            key = collective.name, collective.stream
            same[(*key, counts[key])].append(collective)
            counts[key] += 1

    def median(items, field: str) -> int:
        return lower_median([getattr(item, field) for item in items])

    collectives = [
        CollectiveExposure(
            items[0].name, items[0].kind, items[0].stream,
            *(median(items, f) for f in ("start_ns", "end_ns", "exposed_ns")))
        for items in same.values()
        if len(items) == len(measured)
    ]
    ranks = {exposure.rank for exposure in measured}
    return StepExposure(
        min(ranks) if len(ranks) == 1 else f"{len(ranks)} ranks",
        *(median(measured, f) for f in
          ("step_ns", "compute_ns", "comm_ns", "exposed_ns", "idle_ns")),
        sorted(collectives, key=lambda c: (c.start_ns, c.end_ns)))

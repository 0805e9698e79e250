# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of a measured step is exposed communication.

As in the model, what is exposed is the step without its computation. While
nothing is computed, the time counts to the collective in flight that ends
first; what is left is neither computation nor a collective, and idle.py says
why. reasons.py says why a collective is exposed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import Optional

from commsched.profile.activities import Activity, Step, lower_median
from commsched.profile.idle import CAUSES, split_idle
from commsched.profile.reasons import Reason, find_reasons, slower_ranks
from commsched.profile.tables import format_time


@dataclass(frozen=True)
class CollectiveExposure:
    """A collective of a step; times count from the step's begin. `operation`
    is what the trace or the program calls it, or "", and `name` that, or its
    kind and a number. `reason` is None if nothing of it is exposed."""

    operation: str
    name: str
    kind: str
    stream: str
    start_ns: int
    end_ns: int
    exposed_ns: int
    reason: Optional[Reason] = None


@dataclass(frozen=True)
class StepExposure:
    """`idle_by_cause` has the time of each cause of idle.CAUSES. Of a step,
    `pieces` are the times that count to each collective, and `idle` those that
    count to none, each with its cause. Of medians, `left_out` counts the
    collectives that not all steps have."""

    rank: str
    step_ns: int
    compute_ns: int
    comm_ns: int
    exposed_ns: int
    idle_ns: int
    idle_by_cause: dict
    collectives: list
    left_out: int = 0
    pieces: list = field(default_factory=list)
    idle: list = field(default_factory=list)


def measure_exposure(step: Step, slower: Optional[dict] = None) -> StepExposure:
    """What of a step is computation, communication, and neither. `slower` is
    what slower_ranks() has found of the collectives of this step."""
    collectives = [a for a in step.activities if a.kind]
    gaps = _gaps(step)
    pieces, rest = _share_out(gaps, collectives)
    idle = split_idle(step, rest)
    times = Counter({cause: 0 for cause in CAUSES})
    for begin, end, cause in idle:
        times[cause] += end - begin
    free = sum(end - begin for begin, end in gaps)
    reasons = find_reasons(step, collectives, gaps, pieces, slower or {})
    return StepExposure(
        step.rank, step.time_ns, step.time_ns - free,
        sum(a.busy_ns for a in collectives), free, sum(times.values()),
        dict(times), _name([
            CollectiveExposure(
                a.operation, a.operation, a.kind, a.stream,
                a.begin_ns - step.begin_ns, a.end_ns - step.begin_ns,
                sum(end - begin for begin, end in part), reason)
            for a, part, reason in zip(collectives, pieces, reasons)
        ]), pieces=pieces, idle=idle)


def _name(collectives: list) -> list:
    """Gives those without a name one of kind and number, by their starts."""
    counts: Counter = Counter()
    named = []
    for collective in collectives:
        number = counts[collective.kind]
        counts[collective.kind] += 1
        named.append(collective if collective.name else replace(
            collective, name=f"{collective.kind}_{number}"))
    return named


def _computed(step: Step) -> list[tuple[int, int]]:
    """When something is computed: of a device its kernels, without copies."""
    if step.device is not None:
        return [(k.begin_ns, k.end_ns) for k in step.device.kernels]
    return sorted((a.begin_ns, a.end_ns) for a in step.activities
                  if not a.kind)


def _gaps(step: Step) -> list[tuple[int, int]]:
    """The times in which nothing is computed, in their order."""
    gaps, time = [], step.begin_ns
    for begin, end in _computed(step):
        if begin > time:
            gaps.append((time, begin))
        time = max(time, end)
    if time < step.end_ns:
        gaps.append((time, step.end_ns))
    return gaps


def _share_out(gaps: list, collectives: list[Activity]) -> tuple[list, list]:
    """The parts of the gaps that count to each collective, and those that count
    to none: of each moment the collective in flight that ends first."""
    pieces: list = [[] for _ in collectives]
    order = sorted(range(len(collectives)),
                   key=lambda i: (collectives[i].end_ns, i))
    rest = list(gaps)
    for index in order:
        activity = collectives[index]
        left = []
        first = _first_after(rest, activity.begin_ns)
        last = first
        while last < len(rest) and rest[last][0] < activity.end_ns:
            begin, end = rest[last]
            low = max(begin, activity.begin_ns)
            high = min(end, activity.end_ns)
            if low < high:
                pieces[index].append((low, high))
            left += [(b, e) for b, e in ((begin, low), (high, end)) if b < e]
            last += 1
        rest[first:last] = left
    return pieces, rest


def _first_after(gaps: list, time: int) -> int:
    return bisect_right(gaps, time, key=lambda gap: gap[1])


def measure_all(steps: list[Step]) -> list[StepExposure]:
    """The exposure of each step, with what other ranks say of its
    collectives."""
    slower = slower_ranks(steps)
    return [measure_exposure(step, found)
            for step, found in zip(steps, slower)]


def median_exposures(measured: list[StepExposure]) -> StepExposure:
    """The medians over ranks and steps; collectives are those that all steps
    have, by name and by how often it has occurred in the step."""
    same = defaultdict(list)
    for exposure in measured:
        counts: Counter = Counter()
        for collective in exposure.collectives:
            name = collective.name
            same[name, counts[name]].append(collective)
            counts[name] += 1

    def median(items, field: str) -> int:
        return lower_median([getattr(item, field) for item in items])

    collectives = []
    for items in same.values():
        if len(items) == len(measured):
            exposed = median(items, "exposed_ns")
            collectives.append(replace(
                items[0], start_ns=median(items, "start_ns"),
                end_ns=median(items, "end_ns"), exposed_ns=exposed,
                reason=(_main_reason(items, exposed, measured) if exposed
                        else None)))
    ranks = {exposure.rank for exposure in measured}
    return StepExposure(
        min(ranks) if len(ranks) == 1 else f"{len(ranks)} ranks",
        *(median(measured, f) for f in
          ("step_ns", "compute_ns", "comm_ns", "exposed_ns", "idle_ns")),
        {cause: lower_median([m.idle_by_cause[cause] for m in measured])
         for cause in CAUSES},
        sorted(collectives, key=lambda c: (c.start_ns, c.end_ns)),
        sum(len(items) for items in same.values()
            if len(items) < len(measured)))


def _main_reason(items: list, exposed: int,
                 measured: list) -> Optional[Reason]:
    """The reason of most of the exposed time, with the text of the rank and
    step with the median of that; which they are, and how much of the time has
    this reason, is behind it."""
    times: Counter = Counter()
    for item in items:
        if item.reason:
            times[item.reason.code] += item.exposed_ns
    if not times:
        return None
    code, time = times.most_common(1)[0]
    found = sorted(
        ((item.exposed_ns, exposure.rank, item.reason.text)
         for item, exposure in zip(items, measured)
         if item.reason and item.reason.code == code))
    there, rank, text = found[(len(found) - 1) // 2]
    facts = []
    if len({exposure.rank for exposure in measured}) > 1:
        facts.append(rank)
    if there != exposed:
        facts.append(f"{format_time(there)} exposed")
    if time < sum(times.values()):
        share = 100 * time / sum(times.values())
        facts.append(f"{share:.0f} % of the exposed time")
    return Reason(code, f"{text} ({', '.join(facts)})" if facts else text)

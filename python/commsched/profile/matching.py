# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matches the activities of steps to the operations of a program.

Names decide where the trace has them. Else the n-th operation of an operator,
shapes and element type is the n-th activity of them in the step, and so for
collectives with their kind and size. Where a trace has no shapes, the operator
alone decides, if the step has as many of them as the program. The time of fused
kernels is divided among operations that nothing else matches, in proportion to
their times by the model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Optional

from commsched.profile.activities import Activity, Step, Trace, TraceError
from commsched.profile.fused import group_fused, split
from commsched.profile.kineto import operator_name
from commsched.profile.programs import Target


@dataclass
class Matching:
    """`samples` are the times of each operation by its index, `ranks` where
    each was measured, `overlaps` how much of it was beside collectives in
    flight, and `steps` all steps; `fused` are the operations with parts of the
    times of fused kernels, and `kernels` how many kernels these were over all
    steps; `missing` the operations that no step has, `unknown` how often an
    activity of a name is in no operation, over all steps, and `outside` how
    many activities are in no step. `matched` counts activities, fused kernels
    included."""

    samples: dict[int, list[int]] = field(default_factory=dict)
    ranks: dict[int, list[str]] = field(default_factory=dict)
    overlaps: dict[int, list[int]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    fused: set[int] = field(default_factory=set)
    kernels: int = 0
    missing: list[int] = field(default_factory=list)
    unknown: Counter = field(default_factory=Counter)
    matched: int = 0
    outside: int = 0


def match(targets: list[Target], traces: list[Trace],
          model_ns: list[Optional[int]]) -> Matching:
    """Matches all steps, and names the operation of each activity that has
    one. `model_ns` are the times of the operations by the model, where known.
    Raises TraceError if a trace fits no operation."""
    index = _Index(targets)
    result = Matching()
    weights = [time or 0 for time in model_ns]
    for trace in traces:
        in_flight = _in_flight(trace)
        before = result.matched
        result.outside += trace.outside
        for step in trace.steps:
            overlaps = [in_flight[step.rank].overlap(activity)
                        for activity in step.activities]
            found = index.match(step.activities)
            _add_step(result, targets, step, found, overlaps, weights)
        if result.matched == before:
            raise TraceError(
                f"{trace.path}: no activity fits an operation of the program; "
                f"expected a trace of the same model. {_example(trace)}")
    result.samples = {i: result.samples[i] for i in sorted(result.samples)}
    result.missing = [
        i for i, target in enumerate(targets)
        if i not in result.samples and not target.is_free
    ]
    return result


def _add_step(result: Matching, targets: list[Target], step: Step,
              found: list[Optional[int]], overlaps: list[int],
              weights: list[int]) -> None:
    """Adds the times of a step, and names the operations in it."""
    result.steps.append(step)
    kernels = _add_fused(result, targets, step, found, overlaps, weights)
    for position, target in enumerate(found):
        activity = step.activities[position]
        if target is not None:
            _add(result, target, step, activity.busy_ns, overlaps[position])
            result.matched += 1
            step.activities[position] = replace(
                activity, operation=targets[target].label)
        elif position not in kernels:
            result.unknown[activity.name] += 1


def _add(result: Matching, target: int, step: Step, time_ns: int,
         overlap_ns: int) -> None:
    result.samples.setdefault(target, []).append(time_ns)
    result.ranks.setdefault(target, []).append(step.rank)
    result.overlaps.setdefault(target, []).append(overlap_ns)


def _add_fused(result: Matching, targets: list[Target], step: Step,
               found: list[Optional[int]], overlaps: list[int],
               weights: list[int]) -> set[int]:
    """Adds the times of fused kernels; returns the positions of these."""
    kernels: set[int] = set()
    for group in group_fused(targets, step.activities, found):
        ratio = [weights[target] for target in group.operations]
        times = split(sum(step.activities[i].busy_ns for i in group.kernels),
                      ratio)
        beside = split(sum(overlaps[i] for i in group.kernels), ratio)
        for target, *parts in zip(group.operations, times, beside):
            _add(result, target, step, *parts)
        result.fused.update(group.operations)
        kernels.update(group.kernels)
    result.kernels += len(kernels)
    result.matched += len(kernels)
    return kernels


def _in_flight(trace: Trace) -> dict[str, InFlight]:
    """When collectives are in flight on each rank: those that a step has
    launched may run beside the next one."""
    activities = defaultdict(list)
    for step in trace.steps:
        activities[step.rank] += step.activities
    return {rank: InFlight(found) for rank, found in activities.items()}


def _example(trace: Trace) -> str:
    first = trace.steps[0].activities[0]
    what = f"'{first.name}'"
    if first.shapes:
        sizes = [f"{first.element}{list(shape)}" for shape in first.shapes]
        what += " of " + ", ".join(sizes)
    return f"The trace begins with {what}"


class _Index:
    """The operations of a program by what activities may say of them."""

    def __init__(self, targets: list[Target]) -> None:
        self._by_key: dict[tuple, list[int]] = defaultdict(list)
        for index, target in enumerate(targets):
            for key in _target_keys(target):
                self._by_key[key].append(index)

    def match(self, activities: list[Activity]) -> list[Optional[int]]:
        """The operation of each activity of a step, or None. Kernels of an
        operation that repeats within the step are not told apart."""
        found: list[Optional[int]] = [None] * len(activities)
        groups: dict[tuple, list[int]] = defaultdict(list)
        for position, activity in enumerate(activities):
            for key in _activity_keys(activity):
                groups[key].append(position)
        taken: set = set()
        # The precise keys first: they leave the rest to the others.
        for key in sorted(groups, key=lambda k: _PRECISION[k[0]]):
            free = [i for i in self._by_key.get(key, ()) if i not in taken]
            positions = [i for i in groups[key] if found[i] is None]
            if key[0] == "operator" and len(free) != len(positions):
                continue
            for target, position in zip(free, positions):
                found[position] = target
                taken.add(target)
        return found


_PRECISION = {"name": 0, "sizes": 1, "emulated": 2, "operator": 3}


def _target_keys(target: Target) -> list[tuple]:
    operator = target.kind or operator_name(target.operator)
    sizes = target.elements if target.kind else target.shapes
    keys = [("operator", operator)]
    if target.kind:
        keys.append(("name", operator, target.label))
    if sizes is not None:
        keys.append(("sizes", operator, sizes, target.element))
        # Compiled code calls the variants that write into given buffers, which
        # traces have behind the operands.
        if not target.kind and target.results:
            keys.append(("sizes", operator, sizes + target.results,
                         target.element))
        if target.kind == "reduce_scatter":
            keys.append(("emulated", sizes, target.element))
    return keys


def _activity_keys(activity: Activity) -> list[tuple]:
    operator = activity.kind or operator_name(activity.name)
    if activity.operation:
        return [("name", operator, activity.operation)]
    sizes = activity.elements if activity.kind else activity.shapes
    if sizes is None:
        return [("operator", operator)]
    keys: list[tuple] = [("sizes", operator, sizes, activity.element)]
    # Which may be a reduce_scatter, since gloo has none.
    if activity.name == "gloo:all_reduce":
        keys.append(("emulated", sizes, activity.element))
    return keys


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

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the timelines that commsched-run writes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from commsched.profile.activities import Activity, Step, Trace, TraceError
from commsched.profile.reading import span_ns

_PROCESS = re.compile(r"(rank \d+) measured")
# What precedes the name of a collective in that of its waits.
_WAIT = "wait for "


def is_timeline(event: dict[str, Any]) -> bool:
    """Whether the first event of a trace is that of a timeline."""
    return event.get("ph") == "M" and (
        event.get("args", {}).get("name") == "predicted"
        or _measured(event) != ""
    )


def _measured(event: dict[str, Any]) -> str:
    name = event.get("args", {}).get("name")
    match = _PROCESS.fullmatch(name) if isinstance(name, str) else None
    return match.group(1) if match else ""


def read_timeline(path: str, events: Iterable[dict[str, Any]]) -> Trace:
    """The measured steps of all ranks."""
    ranks: dict[Any, str] = {}
    threads: dict[tuple, str] = {}
    found: dict[str, list[Activity]] = {}
    waits: dict[str, list[tuple]] = defaultdict(list)
    for event in events:
        process = event.get("pid")
        if event.get("ph") == "M":
            if event.get("name") == "process_name" and _measured(event):
                ranks[process] = _measured(event)
                found[ranks[process]] = []
            elif event.get("name") == "thread_name":
                threads[process, event.get("tid")] = event["args"]["name"]
        elif event.get("ph") == "X" and process in ranks:
            category = event.get("cat", "")
            begin, end = span_ns(path, event)
            if category == "wait":
                waits[ranks[process]].append(
                    (begin, end, str(event.get("name"))))
                continue
            is_compute = category == "compute"
            name = str(event.get("name"))
            found[ranks[process]].append(Activity(
                name, begin, end, end - begin,
                threads.get((process, event.get("tid")), ""),
                operation="" if is_compute else name,
                kind="" if is_compute else category,
            ))
    if not found:
        raise TraceError(
            f"{path}: the timeline has no measured rank, only a prediction; "
            "expected one of commsched-run --timeline"
        )
    trace = Trace(path)
    for rank, activities in found.items():
        steps = _split(rank, activities)
        stalls = _stalls(activities, waits[rank])
        for step in steps:
            step.activities = _add_calls(step, stalls)
        trace.outside += len(activities) - sum(
            len(step.activities) for step in steps)
        trace.steps += steps
    if not trace.steps:
        raise TraceError(f"{path}: no rank of the timeline did anything")
    return trace


def _stalls(activities: list[Activity],
            waits: list[tuple]) -> list[tuple[int, int]]:
    """When a rank stood still: from the begin of each wait to the end of its
    collective. What a wait takes after that is work, such as a copy."""
    ends = defaultdict(deque)
    for activity in sorted(activities, key=lambda a: a.begin_ns):
        if activity.kind:
            ends[_WAIT + activity.name].append(activity.end_ns)
    stalls = []
    for begin, end, name in sorted(waits):
        if ends[name]:
            end = min(end, ends[name].popleft())
        stalls.append((begin, max(begin, end)))
    return stalls


def _add_calls(step: Step, stalls: list[tuple[int, int]]) -> list[Activity]:
    """Adds to the time of a computation all until the next one of the step
    begins but the stalls: the step consists of them."""
    starts = sorted(a.begin_ns for a in step.activities if not a.kind)
    begins = [begin for begin, _ in stalls]
    added = []
    for activity in step.activities:
        if not activity.kind:
            # The next one may begin a nanosecond before the end, by rounding.
            index = bisect_left(starts, activity.end_ns - 1)
            # Behind the last one there is nothing that would have to wait.
            if index < len(starts):
                between = stalls[bisect_left(begins, activity.end_ns - 1):
                                 bisect_left(begins, starts[index])]
                busy = starts[index] - activity.begin_ns - sum(
                    end - begin for begin, end in between)
                activity = replace(
                    activity, busy_ns=max(activity.busy_ns, busy))
        added.append(activity)
    return added


def _split(rank: str, activities: list[Activity]) -> list[Step]:
    """The steps of a rank: what occurs n times occurs once in each of n
    repetitions. A collective is named, so the rarest one says how many."""
    occurrences = defaultdict(list)
    for activity in sorted(activities, key=lambda a: a.begin_ns):
        occurrences[activity.name, activity.kind].append(activity)
    if not occurrences:
        return []
    named = [len(v) for key, v in occurrences.items() if key[1]]
    count = min(named or [len(v) for v in occurrences.values()])
    parts: list[list[Activity]] = [[] for _ in range(count)]
    for same in occurrences.values():
        each = len(same) // count
        # What does not occur equally often belongs to no step.
        if len(same) % count == 0:
            for index, activity in enumerate(same):
                parts[index // each].append(activity)
    return [
        Step(rank, min(a.begin_ns for a in part),
             max(a.end_ns for a in part),
             sorted(part, key=lambda a: a.begin_ns), number)
        for number, part in enumerate(parts)
        if part
    ]

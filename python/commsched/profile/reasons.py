# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a collective of a trace is exposed, by what the trace says alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Optional

from commsched.profile.activities import Activity, Step, lower_median
from commsched.profile.idle import Waits
from commsched.profile.tables import format_time

#: A rank that comes later keeps the others waiting in the collective.
SLOWER_RANK = "slower_rank"
#: Collectives before it on its stream delay it.
STREAM_BUSY = "stream_busy"
#: The host launched it when nothing was computed any more.
LAUNCHED_LATE = "launched_late"
#: The host had launched nothing else that could run.
NOTHING_LAUNCHED = "nothing_launched"
#: What was launched did not run beside it.
NOTHING_TO_RUN = "nothing_to_run"

# Kernels of one stream with less between them run one behind the other.
_BETWEEN_NS = 20_000
# Between these, each rank has what the others send.
_ONE_WAY = ("send", "recv", "send_recv", "permute")


@dataclass(frozen=True)
class Reason:
    """`text` is for people, with the numbers."""

    code: str
    text: str


@dataclass(frozen=True)
class Slower:
    """A collective takes `time_ns` on `rank`, the one that came last, and
    `here_ns` on the rank of the step; their ends are `apart_ns` apart."""

    rank: str
    time_ns: int
    here_ns: int
    apart_ns: int

    @property
    def waited_ns(self) -> int:
        return self.here_ns - self.time_ns


#===--- Ranks ------------------------------------------------------------===


def slower_ranks(steps: list[Step]) -> list[dict]:
    """What other ranks say of the collectives of each step: by the index among
    the collectives, where a rank came later. Clocks of ranks need not agree:
    what is compared are lengths, and ends less their usual distance."""
    places: dict = defaultdict(list)
    for index, step in enumerate(steps):
        counts: Counter = Counter()
        collectives = [a for a in step.activities if a.kind]
        for number, activity in enumerate(collectives):
            if activity.kind in _ONE_WAY:
                continue
            what = activity.group, activity.kind
            places[(step.number, *what, counts[what])].append(
                (step.rank, index, number, activity))
            counts[what] += 1
    found: list[dict] = [{} for _ in steps]
    same = {key: group for key, group in places.items()
            if len({rank for rank, *_ in group}) == len(group) > 1}
    clocks = _clocks(same)
    for (_, name, *_), group in same.items():
        rank, _, _, last = min(group, key=lambda g: (g[3].busy_ns, g[0]))
        for here, index, number, activity in group:
            if activity.busy_ns > last.busy_ns:
                distance = (activity.end_ns - clocks[name, here]
                            - last.end_ns + clocks[name, rank])
                found[index][number] = Slower(
                    rank, last.busy_ns, activity.busy_ns, abs(distance))
    return found


def _clocks(same: dict) -> dict:
    """By how much the collectives of a group usually end later on a rank than
    on the first: the distance of their clocks."""
    apart = defaultdict(list)
    for (_, name, *_), group in same.items():
        first = min(group)[3].end_ns
        for rank, _, _, activity in group:
            apart[name, rank].append(activity.end_ns - first)
    return {key: lower_median(times) for key, times in apart.items()}


#===--- One rank ---------------------------------------------------------===


def find_reasons(step: Step, collectives: list[Activity], gaps: list,
                 pieces: list, slower: dict) -> list[Optional[Reason]]:
    """For each collective why it is exposed, or None. `gaps` are the times in
    which nothing is computed, `pieces` what of them counts to each."""
    facts = _Facts(step, collectives, gaps)
    return [facts.reason(index, part, slower.get(index)) if part else None
            for index, part in enumerate(pieces)]


class _Facts:
    """What is around the collectives of a step."""

    def __init__(self, step: Step, collectives: list[Activity],
                 gaps: list) -> None:
        self._collectives, self._gaps = collectives, gaps
        self._step_begin = step.begin_ns
        device = step.device
        self._kernels = device.kernels if device else []
        self._begins = [kernel.begin_ns for kernel in self._kernels]
        self._has_device = device is not None
        self._waits = Waits(device.waits if device else [])
        queues = defaultdict(list)
        for activity in collectives:
            queues[activity.queue].append(activity)
        self._queues = {
            queue: sorted(found, key=lambda a: a.begin_ns)
            for queue, found in queues.items()}

    def reason(self, index: int, pieces: list,
               slower: Optional[Slower]) -> Reason:
        """The first reason that accounts for half of the exposed time."""
        activity = self._collectives[index]
        exposed = sum(end - begin for begin, end in pieces)
        largest = max(pieces, key=lambda piece: piece[1] - piece[0])
        return (self._slower_rank(exposed, slower)
                or self._stream_busy(activity, exposed)
                or self._launched_late(activity, largest)
                or self._nothing_launched(exposed, pieces)
                or self._nothing_to_run(activity, largest))

    def _slower_rank(self, exposed: int,
                     slower: Optional[Slower]) -> Optional[Reason]:
        if slower is None or 2 * slower.waited_ns < exposed or \
                2 * slower.apart_ns > slower.waited_ns:
            return None
        return Reason(SLOWER_RANK, (
            f"waits for a slower rank: takes {format_time(slower.here_ns)}, "
            f"and {format_time(slower.time_ns)} on {slower.rank}, which comes "
            f"{format_time(slower.waited_ns)} later"))

    def _stream_busy(self, activity: Activity,
                     exposed: int) -> Optional[Reason]:
        if activity.launch_ns is None:
            return None
        queue = self._queues[activity.queue]
        place = bisect_left(queue, activity.begin_ns, key=lambda a: a.begin_ns)
        begin, before = activity.begin_ns, []
        for other in reversed(queue[:place]):
            if begin - other.end_ns > _BETWEEN_NS or \
                    other.end_ns <= activity.launch_ns:
                break
            before.append(other)
            begin = other.begin_ns
        delay = activity.begin_ns - max(begin, activity.launch_ns)
        if not before or 2 * delay < exposed:
            return None
        what = (f"the {before[0].kind} before it" if len(before) == 1 else
                f"{len(before)} collectives before it")
        return Reason(STREAM_BUSY, (
            f"stream busy with another collective: launched in time, it begins "
            f"{format_time(delay)} later, behind {what} on {activity.queue}"))

    def _launched_late(self, activity: Activity,
                       largest: tuple) -> Optional[Reason]:
        dry = self._gaps[bisect_right(
            self._gaps, largest[0], key=lambda gap: gap[1])][0]
        launch = activity.launch_ns
        if launch is None or launch < dry or activity.begin_ns < dry:
            return None
        before = "the step began" if dry == self._step_begin else \
            "the last computation ended"
        text = (f"launched late by the host: {format_time(launch - dry)} after "
                f"{before}")
        return Reason(LAUNCHED_LATE, text + self._waited(dry, launch))

    def _nothing_launched(self, exposed: int,
                          pieces: list) -> Optional[Reason]:
        missing, waited = 0, ""
        for begin, end in pieces:
            following = self._following(end)
            if following is not None and following.launch_ns is not None:
                launch = min(max(following.launch_ns, begin), end)
                missing += launch - begin
                waited = waited or self._waited(begin, launch)
        if 2 * missing < exposed:
            return None
        return Reason(NOTHING_LAUNCHED, (
            f"nothing else launched: for {format_time(missing)} the host had "
            f"not launched the next computation{waited}"))

    def _nothing_to_run(self, activity: Activity, piece: tuple) -> Reason:
        begin, end = piece
        following = self._following(end)
        text = f"nothing else to run for {format_time(end - begin)}"
        if following is None:
            text += (": no computation of the step follows"
                     if self._has_device else "")
        elif end < activity.end_ns:
            text += ", until the next computation began beside it"
        else:
            text += (": the next computation began "
                     f"{format_time(following.begin_ns - end)} after its end")
        if following is not None and following.launch_ns is not None:
            text += (f", launched {format_time(end - following.launch_ns)} "
                     "before")
        return Reason(NOTHING_TO_RUN, text)

    def _following(self, time: int):
        """The computation of the device that begins next."""
        index = bisect_left(self._begins, time)
        return self._kernels[index] if index < len(self._kernels) else None

    def _waited(self, begin: int, end: int) -> str:
        """Names the call in which the host stood for half of a time."""
        wait = self._waits.first(begin, end)
        time = min(wait[1], end) - max(wait[0], begin) if wait else 0
        if wait is None or not 0 < end - begin <= 2 * time:
            return ""
        return f"; it stood in {wait[2]} for {format_time(time)}"

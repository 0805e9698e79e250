# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws a measured step of each rank on the page of commsched-report.

The template is that of the report, lib/Report/Page in the sources; what its
data mean is in lib/Report/TimelinePage.cpp. A rank stands for a function, and
its step is "measured". `gaps` are the times in which nothing is computed, each
with the index of the collective that it counts to, or -1, and its cause.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Optional

from commsched.output import replacing
from commsched.profile.activities import Activity, Step, TraceError
from commsched.profile.exposure import StepExposure
from commsched.profile.tables import format_time

_FOLDER = Path(__file__).parent / "page"
_PART = re.compile(r"\{\{([a-z]+\.(?:css|js))\}\}")
_DATA = "{{data}}"
_BYTES = {"i1": 1, "ui8": 1, "i8": 1, "f16": 2, "bf16": 2, "i32": 4,
          "f32": 4, "i64": 8, "f64": 8}


def write_page(path: str, steps: list[Step], measured: list[StepExposure],
               report: dict[str, Any]) -> None:
    """Writes the page, whole or not at all. `report` is that of the exposure,
    for the reasons that a program gives."""
    chosen = _choose(steps)
    pairs = [(steps[i], measured[i]) for i in chosen]
    text = _fill(_data(pairs, len(steps) // len(chosen), report))
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def _choose(steps: list[Step]) -> list[int]:
    """A step of each rank: the one that takes the median time on the slowest
    rank, if all ranks have it, or else the median of the rank."""
    by_rank: dict = defaultdict(dict)
    for index, step in enumerate(steps):
        by_rank[step.rank].setdefault(step.number, index)
    common = set.intersection(*map(set, by_rank.values()))
    if common:
        slowest = sorted((max(steps[ranks[number]].time_ns
                              for ranks in by_rank.values()), number)
                         for number in common)
        _, number = slowest[(len(slowest) - 1) // 2]
        return [ranks[number] for ranks in by_rank.values()]
    medians = []
    for ranks in by_rank.values():
        ordered = sorted(ranks.values(), key=lambda i: steps[i].time_ns)
        medians.append(ordered[(len(ordered) - 1) // 2])
    return medians


class _Texts:
    """The places of texts among all texts."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.all)
            self.all.append(text)
        return self._places[text]


def _data(pairs: list, count: int, report: dict[str, Any]) -> str:
    texts = _Texts()
    advice = {(c["name"], c["kind"]): c for c in report["collectives"]
              if "limited_by" in c}
    functions = [
        {"function": step.rank,
         "measured": _record(step, exposure, count, advice, texts)}
        for step, exposure in pairs]
    return json.dumps({"functions": functions, "texts": texts.all},
                      separators=(",", ":"))


def _record(step: Step, exposure: StepExposure, count: int, advice: dict,
            texts: _Texts) -> dict[str, Any]:
    causes = ", ".join(f"{cause} {format_time(time)}" for cause, time
                       in exposure.idle_by_cause.items() if time)
    notes = [f"step {step.number}" + (f", one of {count}" if count > 1 else "")]
    if causes:
        notes.append(f"nothing is computed without a collective: {causes}")
    return {
        "figures": {
            "step_time_ns": exposure.step_ns,
            "exposed_comm_ns": exposure.exposed_ns,
            "idle_ns": exposure.idle_ns,
            "compute_time_ns": exposure.compute_ns,
            "comm_time_ns": exposure.comm_ns,
            "num_collectives": len(exposure.collectives),
            "notes": notes,
            "evidence": "measured: the times of the trace"},
        "computations": _computations(step, texts),
        "collectives": _collectives(step, exposure, advice, texts),
        "gaps": _gaps(step, exposure, texts),
        "memory": {"time": [], "bytes": []},
        "buffers": {"name": [], "bytes": [], "begin": [], "time": []},
    }


def _steps(times: list[int]) -> list[int]:
    """The difference of each time to the one before."""
    return [time - before for before, time in zip([0, *times], times)]


def _computations(step: Step, texts: _Texts) -> dict[str, list]:
    if step.device is not None:
        runs = [(max(k.begin_ns, step.begin_ns), k.end_ns, k.name)
                for k in step.device.kernels if k.end_ns > step.begin_ns]
    else:
        runs = sorted((a.begin_ns, a.end_ns, a.name)
                      for a in step.activities if not a.kind)
    return {
        "name": [texts.place(name) for _, _, name in runs],
        "begin": _steps([begin - step.begin_ns for begin, _, _ in runs]),
        "time": [end - begin for begin, end, _ in runs]}


def _collectives(step: Step, exposure: StepExposure, advice: dict,
                 texts: _Texts) -> dict[str, list]:
    activities = [a for a in step.activities if a.kind]
    found = exposure.collectives
    # When the computation began to stand still for it.
    waits = [part[0][0] - step.begin_ns if part else c.end_ns
             for c, part in zip(found, exposure.pieces)]
    told = [advice.get((c.operation, c.kind), {}) for c in found]
    reasons = [c.reason.text if c.reason else "" for c in found]
    return {
        "name": [texts.place(c.name) for c in found],
        "kind": [texts.place(c.kind) for c in found],
        "group": [texts.place(c.stream) for c in found],
        # Its lane is what the trace calls it, not a group of a program.
        "transfer": [1] * len(found),
        "bytes": [_bytes(activity) for activity in activities],
        "expected": [0] * len(found),
        "begin": _steps([c.start_ns for c in found]),
        "time": [c.end_ns - c.start_ns for c in found],
        "wait": _steps(waits),
        "exposed": [c.exposed_ns for c in found],
        "limit": [texts.place(known.get("limited_by", reason))
                  for known, reason in zip(told, reasons)],
        "remedy": [texts.place(known.get("remedy", "")) for known in told]}


def _bytes(activity: Activity) -> Optional[int]:
    """What a rank sends, if known."""
    size = _BYTES.get(activity.element)
    if size is None or activity.elements is None:
        return None
    return size * activity.elements


def _gaps(step: Step, exposure: StepExposure,
          texts: _Texts) -> dict[str, list]:
    gaps = sorted([
        *((begin, end, index, "") for index, part in enumerate(exposure.pieces)
          for begin, end in part),
        *((begin, end, -1, cause) for begin, end, cause in exposure.idle)])
    return {
        "begin": _steps([begin - step.begin_ns for begin, *_ in gaps]),
        "time": [end - begin for begin, end, *_ in gaps],
        "collective": [index for _, _, index, _ in gaps],
        "cause": [texts.place(cause) for *_, cause in gaps]}


def _fill(data: str) -> str:
    """The page with these data."""
    def part(match: re.Match) -> str:
        return (_FOLDER / match.group(1)).read_text(encoding="utf-8")

    try:
        page = _PART.sub(part, (_FOLDER / "page.html").read_text("utf-8"))
    except OSError as error:
        raise TraceError(
            f"{error.filename}: the template of the page cannot be read "
            f"({error.strerror}); a wheel of commsched and an editable "
            "installation from its repository have it") from None
    head, tail = page.split(_DATA)
    # Only texts can hold what would end the element, and there an escape means
    # the same.
    return head + data.replace("<", "\\u003c") + tail

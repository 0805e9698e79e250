# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows records for people."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

#: Buckets, and exposed collectives, that are shown for each graph.
_SHOWN = 5

_DECIDED = {
    "alone": "this rank's plan",
    "agreed": "this rank's plan, which the others follow",
    "followed": "the plan of the rank that was first",
}


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What `explain` shows: the records of a step's graphs, in the order of
    compilation."""

    records: tuple

    def __str__(self) -> str:
        if not self.records:
            return (
                "CommSched has seen no graph of this step: it compiles when "
                "the step first runs, or its code came from a cache"
            )
        return "\n\n".join(show(record) for record in self.records)


def show(record: Any) -> str:
    """Returns what happened to one graph, in lines."""
    lines = [_title(record)]
    if record.status != "scheduled":
        lines.append(f"  left as it was: {record.reason}")
    else:
        done = "partitioned" if record.kind == "joint" else "scheduled"
        lines.append(
            f"  {done} by {_DECIDED[record.decided]} "
            f"in {record.seconds:.2f} s"
        )
        lines += [f"  {note}" for note in record.notes]
        if record.reason:
            lines.append(f"  this rank had no plan: {record.reason}")
        elif record.decided == "followed" and record.before:
            lines.append("  the figures are those of this rank's own plan")
    if record.before and record.after:
        lines += _figures(record.before, record.after)
        lines += _merged(record.merged)
        lines += _exposed(record.after)
    return "\n".join(lines)


def _title(record: Any) -> str:
    title = f"{record.kind} graph"
    if record.frame is not None:
        title += f" [{record.frame}]"
    if record.codes:
        code = record.codes[0]
        file = os.path.basename(code.co_filename)
        title += f" of {code.co_name} ({file}:{code.co_firstlineno})"
    return title


def _figures(before: dict, after: dict) -> list[str]:
    bound = after.get("tight_lower_bound_ns", after["lower_bound_ns"])
    return [
        f"  {'':20} {'before':>12} {'after':>12} {'bound':>12}",
        _row("step", before, after, "step_time_ns", _time)
        + f" {_time(bound):>12}",
        _row("exposed", before, after, "exposed_comm_ns", _time),
        _row("computation", before, after, "compute_time_ns", _time),
        _row("communication", before, after, "comm_time_ns", _time),
        _row("peak memory", before, after, "peak_memory_bytes", size_text),
        _row("collectives", before, after, "num_collectives", str),
    ]


def _row(title: str, before: dict, after: dict, key: str, text: Any) -> str:
    return f"  {title:20} {text(before[key]):>12} {text(after[key]):>12}"


def _merged(buckets: list[list[str]]) -> list[str]:
    lines = [f"  merged: {_short(bucket)}" for bucket in buckets[:_SHOWN]]
    if len(buckets) > _SHOWN:
        members = sum(len(bucket) for bucket in buckets[_SHOWN:])
        lines.append(f"  and {len(buckets) - _SHOWN} more, of {members}")
    return lines


def _exposed(report: dict) -> list[str]:
    exposed = [c for c in report["collectives"] if c["exposed_ns"]]
    exposed.sort(key=lambda c: -c["exposed_ns"])
    lines = []
    for collective in exposed[:_SHOWN]:
        reason = collective.get("limited_by", "")
        name = _short(collective["name"].split("+"))
        lines.append(
            f"  exposed: {name} {_time(collective['exposed_ns'])}: {reason}"
        )
        if collective.get("remedy"):
            lines.append(f"    remedy: {collective['remedy']}")
    if len(exposed) > _SHOWN:
        lines.append(f"  and {len(exposed) - _SHOWN} more are exposed")
    return lines


def _short(members: list[str]) -> str:
    """Returns the name of a bucket with its first and last member only."""
    if len(members) <= 2:
        return "+".join(members)
    return f"{members[0]}+...+{members[-1]} ({len(members)} collectives)"


def _time(ns: int) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"


def size_text(count: int) -> str:
    """Returns a number of bytes with a unit."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"

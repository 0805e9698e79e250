# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows the reports of a schedule as text.

A report is the object that ``commsched-report`` prints for a function
(``docs/reference/report.md``).
"""

from __future__ import annotations

from typing import Any

#: Buckets, and exposed collectives, that are shown for each function.
_SHOWN = 5


def evidence_lines(before: dict, after: dict) -> list[str]:
    """Returns what the figures of two reports rest on."""
    texts = before["evidence"], after["evidence"]
    if texts[0] == texts[1]:
        return [f"  {texts[0]}"]
    return [f"  before {texts[0]}", f"  after {texts[1]}"]


def figure_lines(before: dict, after: dict) -> list[str]:
    """Returns a table of two reports: what scheduling changed."""
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


def merged_lines(buckets: list[list[str]]) -> list[str]:
    """Returns which collectives were merged; a bucket is their names."""
    lines = [f"  merged: {_short(bucket)}" for bucket in buckets[:_SHOWN]]
    if len(buckets) > _SHOWN:
        members = sum(len(bucket) for bucket in buckets[_SHOWN:])
        lines.append(f"  and {len(buckets) - _SHOWN} more, of {members}")
    return lines


def exposed_lines(report: dict) -> list[str]:
    """Returns the collectives that are exposed most, and why."""
    exposed = [c for c in report["collectives"] if c["exposed_ns"]]
    exposed.sort(key=lambda c: -c["exposed_ns"])
    lines = []
    for collective in exposed[:_SHOWN]:
        reason = collective.get("limited_by", "")
        name = _short(collective.get("members", [collective["name"]]))
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

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows records for people."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from commsched.figures import (
    evidence_lines,
    exposed_lines,
    figure_lines,
    merged_lines,
)

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
                "the step first runs, and nothing where each forward breaks the "
                "graph in a loop or a block (torch._dynamo.explain finds where)"
            )
        return "\n\n".join(show(record) for record in self.records)


def show(record: Any) -> str:
    """Returns what happened to one graph, in lines."""
    lines = [_title(record)]
    if record.status != "scheduled":
        lines.append(f"  left as it was: {record.reason}")
    else:
        done = "partitioned" if record.kind == "joint" else "scheduled"
        when = (
            "when this code was compiled; it came from a cache"
            if record.cached
            else f"in {record.seconds:.2f} s"
        )
        lines.append(f"  {done} by {_DECIDED[record.decided]} {when}")
        lines += [f"  {note}" for note in record.notes]
        if record.reason:
            lines.append(f"  this rank had no plan: {record.reason}")
        elif record.decided == "followed" and record.before:
            lines.append("  the figures are those of this rank's own plan")
    if record.before and record.after:
        lines += evidence_lines(record.before, record.after)
        lines += figure_lines(record.before, record.after)
        lines += merged_lines(record.merged)
        lines += exposed_lines(record.after)
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

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scheduling did to each function of a module."""

from __future__ import annotations

import dataclasses

from commsched.figures import (
    evidence_lines,
    exposed_lines,
    figure_lines,
    merged_lines,
)


@dataclasses.dataclass(frozen=True)
class Report:
    """What :func:`commsched.jax.schedule` did; `print` shows it.

    before, after: by name of a function, the object of commsched-report
                   (docs/reference/report.md). The body of a `shard_map` is a
                   function of its own. Functions without collectives are left
                   out.
    seconds:       what scheduling took: text out of JAX, commsched-opt, and
                   text into JAX.
    note:          why the module was left as it was, or "".
    """

    before: dict
    after: dict
    seconds: float = 0.0
    note: str = ""

    def merged(self, function: str) -> list[list[str]]:
        """Returns the names of the collectives of each bucket."""
        collectives = self.after[function]["collectives"]
        return [c["members"] for c in collectives if "members" in c]

    def __str__(self) -> str:
        if self.note:
            return f"left as it was: {self.note}"
        return "\n\n".join(map(self._show, self.after))

    def _show(self, function: str) -> str:
        before, after = self.before[function], self.after[function]
        lines = [
            f"function {function}",
            f"  scheduled with its module in {self.seconds:.2f} s",
            *evidence_lines(before, after),
            *figure_lines(before, after),
            *merged_lines(self.merged(function)),
            *exposed_lines(after),
        ]
        return "\n".join(lines)


def with_collectives(reports: dict) -> dict:
    """Returns the reports of functions that communicate, in order.

    The first function, which is the entry, is left out if another one has its step
    and its collectives: then it does nothing but call that.
    """
    kept = {name: r for name, r in reports.items() if r["num_collectives"]}
    steps = [(r["step_time_ns"], r["collectives"]) for r in reports.values()]
    if steps and steps[0] in steps[1:]:
        kept.pop(next(iter(reports)), None)
    return kept

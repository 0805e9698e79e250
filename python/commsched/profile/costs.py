# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the cost file of a profile from matched activities."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Optional

from commsched.profile.activities import lower_median
from commsched.profile.matching import Matching
from commsched.profile.programs import DEFAULT_IMPLEMENTATION, Target
from commsched.profile.tax import Tax

_MOST_SLACK = 1000


def make_costs(targets: list[Target], matching: Matching, source: str,
               tax: Optional[Tax]) -> dict[str, Any]:
    """The members of a cost file (docs/guide/cost-model.md, "Measured
    tables"): medians over ranks and steps. With a tax, the times of the
    matching are those without it."""
    operations, by_types, by_row = [], defaultdict(list), defaultdict(list)
    names: dict = {}
    for index, times in matching.samples.items():
        target = targets[index]
        # What an operation takes in a fused kernel it does not take elsewhere.
        if target.types and index not in matching.fused:
            by_types[target.operator, target.types] += times
        if target.row:
            by_row[(*target.row, target.implementation)] += times
        if target.name:
            key = (*target.measured_as, target.operator, target.implementation)
            names.setdefault(key, []).extend(times)
    for (graph, name, operator, implementation), times in names.items():
        operations.append({"operator": operator, "name": name,
                           "function": graph, **_times(times),
                           **_implementation(implementation)})
    for (operator, types), times in sorted(by_types.items()):
        operations.append({"operator": operator, "types": types,
                           **_times(times)})
    rows = [
        {"collective": kind, "ranks": ranks, "nodes": nodes, "bytes": size,
         "time_ns": max(1, lower_median(times)),
         **_implementation(implementation)}
        for (kind, ranks, nodes, size, implementation), times
        in sorted(by_row.items())
    ]
    costs: dict[str, Any] = {"name": "profile of a run", "source": source}
    slack = _slack_percent(targets, matching)
    if slack is not None:
        costs["slack_percent"] = slack
    if tax:
        costs["implementations"] = {
            DEFAULT_IMPLEMENTATION: {"tax": tax.fraction}}
    return {**costs, "operations": operations, "rows": rows}


def _implementation(name: str) -> dict[str, str]:
    return {} if name == DEFAULT_IMPLEMENTATION else {"implementation": name}


def _times(times: list[int]) -> dict[str, int]:
    return {"time_ns": lower_median(times), "least_ns": min(times),
            "ninth_decile_ns": ninth_decile(times), "count": len(times)}


def ninth_decile(times: list[int]) -> int:
    """The least of the times that nine tenths of them do not exceed."""
    return sorted(times)[(9 * len(times) + 9) // 10 - 1]


def _slack_percent(targets: list[Target],
                   matching: Matching) -> Optional[int]:
    """By how many percent the ninth deciles of the collectives exceed the
    medians, all together, rounded up. None if nothing was measured twice."""
    median, decile, is_repeated = 0, 0, False
    for index, times in matching.samples.items():
        if targets[index].kind:
            median += lower_median(times)
            decile += ninth_decile(times)
            is_repeated |= len(times) > 1
    if not is_repeated or median == 0:
        return None
    return min(_MOST_SLACK, -(-100 * (decile - median) // median))
